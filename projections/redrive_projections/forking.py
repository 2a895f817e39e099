"""What of a run goes on in one that is forked from it: all that is known, and nothing that is under way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeGuard

from msgspec.structs import replace

from redrive_events import (
    NOTES,
    ApprovalAsked,
    ModelAsked,
    ModelFailed,
    OutcomeStated,
    PersonAsked,
    Record,
    Request,
    RunForked,
    RunStarted,
    ToolCalled,
)
from redrive_projections.saying import respond
from redrive_projections.state import RunState
from redrive_projections.transcript import opening

NOT_RUN_HERE: Final = (
    "Not run here: this run goes on from another one, in which the call was under way. "
    "What became of it there is not known here."
)


def forked(state: RunState, event: RunForked, position: int) -> None:
    """The state goes on as that of a run of its own.

    Signals that nobody has heard are dropped. People, reads and calls that wait for an approval are asked about again
    by whoever takes the run up; what may act, or is another run, is answered here as not run.
    """
    if state.started is None:  # a recording without its beginning
        return
    before = state.started
    if not any(isinstance(one, RunForked) for one in state.unheard):
        state.people = []
    state.people += map(_again, filter(_is_question, state.requests.values()))
    for number in _under_way(state):
        respond(state, number, NOT_RUN_HERE, position, "not run")
        _off_plan(state, number)
    if any(isinstance(one, ModelAsked) for one in state.requests.values()):
        state.failure = ModelFailed(kind="cancelled")  # nobody reads what it says
    state.requests, state.hearing, state.unheard = {}, [], [event]
    # What was done before is that run's to undo.
    state.worker, state.effects, state.not_undone = "", {}, []
    given = state.forked or event
    state.forked = replace(event, contract=event.contract or given.contract, policy=event.policy or given.policy)
    state.started = begun_as(before, event)
    state.parts = {name: part.digest for name, part in state.started.parts.items()} if event.parts else state.parts
    if state.started.parts.get("prompt") != before.parts.get("prompt"):
        state.messages[: len(opening(before))] = opening(state.started)


def begun_as(started: RunStarted, fork: RunForked) -> RunStarted:
    """How a fork was begun: as the run it goes on from, but for what is given for it."""
    parts = fork.parts or started.parts
    return replace(
        started,
        nonce=fork.nonce,
        rules=fork.rules,
        agent=fork.agent or started.agent,
        version=fork.version if fork.agent else started.version,
        contract=fork.contract or started.contract,
        parts=parts if fork.policy is None else {**parts, "policy": fork.policy},
        labels=started.labels if fork.labels is None else fork.labels,
        parent=None,
    )


def start_of(records: Iterable[Record]) -> RunStarted | None:
    """How the run of these records was begun, that of a fork with what is given for it; None if they do not say."""
    started: RunStarted | None = None
    for record in records:
        if started is None:
            if not isinstance(record.event, RunStarted):
                return None
            started = record.event
        elif isinstance(record.event, RunForked):
            started = begun_as(started, record.event)
    return started


def forks_in(records: Iterable[Record]) -> Iterator[tuple[int, RunForked]]:
    """By which events, and where, the run of these records was forked; the last of them is its own."""
    return ((record.position, record.event) for record in records if isinstance(record.event, RunForked))


def is_run(run_id: str) -> bool:
    """Whether this is the name of a run that stands for itself: no child of another, and nothing beside one."""
    return "/" not in run_id and not run_id.endswith(NOTES)


def _is_question(request: Request) -> TypeGuard[PersonAsked]:
    return isinstance(request, PersonAsked) and request.effect is None


def _again(asked: PersonAsked) -> PersonAsked:
    return replace(asked, expires=None)


def _under_way(state: RunState) -> Iterator[int]:
    """The calls of which the run that goes on cannot know what becomes of them."""
    for request in list(state.requests.values()):
        if isinstance(request, PersonAsked):
            number = request.effect
        elif isinstance(request, ApprovalAsked) or (isinstance(request, ToolCalled) and request.effect == "read"):
            continue
        else:
            number = getattr(request, "call", None)
        if number is not None:
            yield number
    for signal in state.unheard:
        if isinstance(signal, OutcomeStated):  # nothing has followed from it yet
            yield signal.call


def _off_plan(state: RunState, number: int) -> None:
    """A step of a plan that was under way has the rest drawn anew."""
    call, plan = state.calls.get(number), state.plan
    if call is not None and call.effect == "run" and plan is not None and 0 < state.begun <= len(plan.steps):
        words = plan.steps[state.begun - 1].words
        state.off_plan = f"step {state.begun} ({words}) was under way in the run that this one goes on from"
