"""A run that goes on from a position of another one, which is left as it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import takewhile

import msgspec

from redrive_engine.agent import Agent
from redrive_engine.contract import Contract
from redrive_engine.live import mint
from redrive_engine.masking import Mask, masked_event, says_something
from redrive_engine.policy import Given, policy_of, recorded_policy
from redrive_engine.program import RULES
from redrive_engine.signals import door_of
from redrive_events import (
    NOTES,
    AnnotationMade,
    ApprovalAsked,
    ApprovalGiven,
    BadInput,
    EventLog,
    NoSuchRun,
    OutcomeStated,
    Part,
    PersonAsked,
    Record,
    Request,
    RunForked,
    StaleAppend,
    StopDecided,
    Terms,
    ToolCalled,
    UnknownEvent,
    check_run_id,
    check_undamaged,
)
from redrive_projections import Effect, RunState, effects, is_run, state_at

_NEAR = "it can be forked at"


@dataclasses.dataclass(frozen=True, slots=True)
class Fork:
    """A run that was forked: from which one, and where; ``open`` is what was under way there, or answered unheard.

    ``standing`` are the effects of the other run, and of those that it goes on from, that are no part of what is
    inherited, and that have landed or may have: forking undoes nothing.
    """

    run_id: str
    parent: str
    position: int
    open: tuple[Request, ...]
    standing: tuple[Effect, ...]


def fork(
    log: EventLog,
    run_id: str,
    position: int,
    *,
    at: datetime,
    new_id: str = "",
    agent: Agent | None = None,
    contract: Contract | None = None,
    policy: Given | None = None,
    labels: Mapping[str, str] | None = None,
    mask: Mask | None = None,
) -> Fork:
    """Begin a run that goes on from ``position`` of another, which may be under way; nobody drives it yet.

    What the other one holds up to there is inherited, and not copied; where that is itself inherited, the run that
    owns it is forked. ``contract`` and ``policy`` take the place of those of whichever ``agent`` drives it, ``labels``
    that of the other's.

    Raises:
        NoSuchRun: nobody began that run.
        UnknownEvent: one of its events up to there cannot be read.
        BrokenChain: it is damaged up to there.
        BadInput: it cannot be forked there, or not under this id; the contract or the policy cannot be used.
    """
    new_id = _free(new_id or mint()[:10])
    check_undamaged(log, run_id, until=position)
    _check_place(log, run_id, position)
    state = state_at(log, run_id, position)
    parent = state.run_id
    for place, reason in state.quarantined.items():
        raise UnknownEvent(reason, run_id=run_id, position=place)
    if agent is None and state.started is not None and state.started.source is not None:
        raise BadInput("it is imported, and only an agent of yours can go on with it; give one", place=f"run {run_id}")
    event = _forked(log, state, agent, contract, policy, labels)
    if says_something(event):
        event = masked_event(door_of(log, run_id, mask), event)
    moment = max(at, state.now or at)
    record = Record(run_id=new_id, position=position + 1, at=moment, cause=0, left=0, event=event)
    try:
        log.append(new_id, [record], expected=position)
    except StaleAppend as error:
        raise BadInput("the id is taken by another run", place=f"run {new_id}") from error
    return Fork(new_id, parent, position, tuple(_open(log, state)), tuple(_outside(log, state)))


def _forked(
    log: EventLog,
    state: RunState,
    agent: Agent | None,
    contract: Contract | None,
    policy: Given | None,
    labels: Mapping[str, str] | None,
) -> RunForked:
    assert state.started is not None
    joint = next(log.lines(state.run_id, after=state.position - 1))
    return RunForked(
        parent=state.run_id,
        position=state.position,
        digest=joint.digest.hex(),
        # It belongs to the tree of its root, whose masked values it can put back; no call has a number like this.
        nonce=f"{state.started.nonce.partition('/')[0]}/fork-{mint()}",
        rules=RULES if agent else state.started.rules,
        agent=agent.name if agent else "",
        version=agent.version if agent else "",
        parts=_parts(agent) if agent else {},
        contract=_terms(state, agent, contract),
        policy=_policy(policy),
        labels=None if labels is None else dict(labels),
    )


def _parts(agent: Agent) -> dict[str, Part]:
    """The parts of the agent's program; the contract with its data, which the run has from there on."""
    program = agent.program
    contract = Part(digest=program.parts["contract"].digest, data=msgspec.to_builtins(program.terms))
    return program.parts | {"contract": contract}


def _terms(state: RunState, agent: Agent | None, contract: Contract | None) -> Terms | None:
    """The contract that is given; a child run, unless it is imported, keeps the one that its parent gave it."""
    started = state.started
    assert started is not None
    if contract is None:
        return started.contract if started.parent is not None and started.source is None else None
    terms = contract.terms()
    if agent is not None:
        agent.under(terms)
    return terms


def _policy(given: Given | None) -> Part | None:
    policy = policy_of(given)
    if policy is None:
        return None
    recorded_policy(policy.data)  # which a function is not
    return Part(digest=policy.wording, data=policy.data)


def _free(run_id: str) -> str:
    if not is_run(check_run_id(run_id)):
        raise BadInput("a fork is a run of its own: its id has no '/' and no '@'", place=f"run {run_id}")
    return run_id


def _check_place(log: EventLog, run_id: str, position: int) -> None:
    """Whether a run can be forked at a position: the last of an append, and nothing is decided on its end.

    Raises:
        BadInput: it cannot; the nearest positions are named.
    """
    place, ends, last, stopped = f"run {run_id}", list[int](), 0, 0
    if run_id.endswith(NOTES):
        raise BadInput("what was said beside a run is no run", place=place)
    for record in log.read(run_id):
        last = record.position
        stopped = stopped or (last if isinstance(record.event, StopDecided) else 0)
        if not record.left and not stopped:
            ends.append(last)
    if position in ends:
        return
    if not ends:
        raise NoSuchRun("nobody began this run", place=place)
    before, behind = [one for one in ends if one < position], [one for one in ends if one > position]
    nearest = " or ".join(str(one) for one in [*before[-1:], *behind[:1]])
    if stopped and not behind:
        raise BadInput(f"at event {stopped} its end was decided; {_NEAR} {nearest}", place=place)
    if position > last:
        raise BadInput(f"it has no event {position}; {_NEAR} {nearest}", place=place)
    raise BadInput(f"event {position} is not the last of its append; {_NEAR} {nearest}", place=place)


def _open(log: EventLog, state: RunState) -> Iterator[Request]:
    """What a run asks for at this moment, and what people have answered of which it has not heard yet."""
    yield from state.requests.values()
    approved = {one.call for one in state.unheard if isinstance(one, ApprovalGiven)}
    stated = {one.call for one in state.unheard if isinstance(one, OutcomeStated)}
    asked: dict[tuple[type, int], Request] = {}
    for record in takewhile(lambda one: one.position <= state.position, log.read(state.run_id)):
        event = record.event
        if isinstance(event, ApprovalAsked) and event.call in approved:
            asked[ApprovalAsked, event.call] = event
        elif isinstance(event, PersonAsked) and event.effect in stated:
            asked[PersonAsked, event.effect] = event
    yield from asked.values()


def _outside(log: EventLog, state: RunState) -> Iterator[Effect]:
    """What stands of the run that is forked, and then of each that it goes on from, behind what is inherited."""
    yield from _standing(log, state.run_id, state)
    while state.forked is not None:
        state = state_at(log, state.forked.parent, state.forked.position)
        yield from _standing(log, state.run_id, state)


def _standing(log: EventLog, parent: str, state: RunState) -> Iterator[Effect]:
    """The effects of a run, and of those below it, that were not there or not known at a position, and stand now."""
    under_way = {_call_of(one) for one in state.requests.values()}
    records = list(log.read(parent))
    remarks = (one.event for one in log.read(parent + NOTES) if isinstance(one.event, AnnotationMade))
    for effect in effects(records, remarks):
        new = effect.position > state.position or effect.call in under_way
        if new and effect.stage != "compensated" and effect.outcome != "not_landed" and effect.compensates is None:
            yield effect
    for record in records:
        event = record.event
        if not isinstance(event, ToolCalled) or event.effect != "run":
            continue
        if record.position > state.position or event.call in under_way:
            yield from _standing(log, f"{parent}/{event.call}", RunState())


def _call_of(request: Request) -> int | None:
    return request.effect if isinstance(request, PersonAsked) else getattr(request, "call", None)
