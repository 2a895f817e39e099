"""What of a run goes on in one that is forked from it: all that is known, and nothing that is under way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeGuard

import msgspec
from msgspec.structs import replace

from redrive_events import (
    NOTES,
    ModelAsked,
    ModelFailed,
    OutcomeStated,
    Part,
    PersonAsked,
    ReconcileAsked,
    Record,
    Request,
    RunForked,
    RunStarted,
    Terms,
    digest,
)
from redrive_projections.state import RunState
from redrive_projections.transcript import opening


def forked(state: RunState, event: RunForked, position: int) -> None:
    """The state goes on as that of a run of its own.

    Signals that nobody has heard are dropped, and nothing is open: whoever takes the run up hears of the fork, and asks
    again. Until then a call that had no response, or was in doubt, has none.
    """
    if state.started is None:  # a recording without its beginning
        return
    before = state.started
    if not any(isinstance(one, RunForked) for one in state.unheard):
        state.people = []
    state.people += map(_again, filter(_is_question, state.requests.values()))
    for number in filter(state.calls.__contains__, _in_doubt(state)):
        state.calls[number].outcome, state.calls[number].response = "", None
    _off_plan(state)
    if any(isinstance(one, ModelAsked) for one in state.requests.values()):
        state.failure = ModelFailed(kind="cancelled")  # nobody reads what it says
    state.requests, state.hearing, state.unheard = {}, [], [event]
    # What was done before is that run's to undo.
    state.worker, state.effects, state.not_undone = "", {}, []
    state.forked, state.started = all_given(state.forked, event), begun_as(before, event)
    before_parts = {} if event.parts else state.parts
    state.parts = before_parts | {name: one.digest for name, one in (event.parts | _given_parts(event)).items()}
    if state.started.parts.get("prompt") != before.parts.get("prompt"):
        state.messages[: len(opening(before))] = opening(state.started)


def begun_as(started: RunStarted, fork: RunForked) -> RunStarted:
    """How a fork was begun: as the run it goes on from, but for what is given for it."""
    return replace(
        started,
        nonce=fork.nonce,
        rules=fork.rules,
        agent=fork.agent or started.agent,
        version=fork.version if fork.agent else started.version,
        contract=fork.contract or _contract(fork) or started.contract,
        parts=(fork.parts or started.parts) | _given_parts(fork),
        labels=started.labels if fork.labels is None else fork.labels,
        parent=None,
        source=None if fork.agent else started.source,
    )


def _contract(fork: RunForked) -> Terms | None:
    """The contract of the program that takes the run up, where it is told."""
    part = fork.parts.get("contract")
    return None if part is None or part.data is None else msgspec.convert(part.data, Terms)


def all_given(before: RunForked | None, fork: RunForked) -> RunForked:
    """``fork`` with what was given for the one that it is forked from, where nothing takes the place of that."""
    if before is None:
        return fork
    return replace(fork, contract=fork.contract or before.contract, policy=fork.policy or before.policy)


def _given_parts(fork: RunForked) -> dict[str, Part]:
    contract = {} if fork.contract is None else {"contract": Part(digest=digest(fork.contract))}
    return contract | ({} if fork.policy is None else {"policy": fork.policy})


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


def fork_of(records: Iterable[Record]) -> RunForked | None:
    """How the run of these records was forked, with all that is given for it; None if it was not."""
    fork: RunForked | None = None
    for record in records:
        if isinstance(record.event, RunForked):
            fork = all_given(fork, record.event)
    return fork


def is_run(run_id: str) -> bool:
    """Whether this is the name of a run that stands for itself: no child of another, and nothing beside one."""
    return "/" not in run_id and not run_id.endswith(NOTES)


def _is_question(request: Request) -> TypeGuard[PersonAsked]:
    return isinstance(request, PersonAsked) and request.effect is None


def _again(asked: PersonAsked) -> PersonAsked:
    return replace(asked, expires=None)


def _in_doubt(state: RunState) -> Iterator[int]:
    """The calls of which it was asked whether they landed, or of which nobody has heard yet that they did."""
    for request in state.requests.values():
        if isinstance(request, ReconcileAsked):
            yield request.call
        elif isinstance(request, PersonAsked) and request.effect is not None:
            yield request.effect
    yield from (signal.call for signal in state.unheard if isinstance(signal, OutcomeStated))


def _off_plan(state: RunState) -> None:
    """A step of a plan that was under way has the rest drawn anew."""
    plan, children = state.plan, [call for call in state.calls.values() if call.effect == "run" and not call.outcome]
    if children and plan is not None and 0 < state.begun <= len(plan.steps):
        words = plan.steps[state.begun - 1].words
        state.off_plan = f"step {state.begun} ({words}) was under way in the run that this one goes on from"
