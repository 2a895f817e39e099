"""How what is watched follows from a run's records: one step for each kind of event that says something of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from redrive_events import (
    SLIPS,
    BudgetWarned,
    DecisionMade,
    EffectConfirmed,
    EffectReconciled,
    FactCommitted,
    Failure,
    FinishRefused,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    OutcomeStated,
    PersonAsked,
    RecoveryChosen,
    ReplyRefused,
    RunStarted,
    ToolCalled,
    VerdictGiven,
)
from redrive_projections.budget import used
from redrive_projections.people import doubts_of
from redrive_projections.state import RunState
from redrive_projections.watch import Made, Turn

PEOPLE: Final = frozenset({"user", "operator"})


def _failed(state: RunState, kind: Failure, position: int) -> None:
    state.watch.failures.setdefault(kind, []).append(position)


def _went_well(state: RunState, *kinds: Failure) -> None:
    if state.watch.failures:  # seldom
        for kind in kinds:
            state.watch.failures.pop(kind, None)
            state.watch.answered.pop(kind, None)


def _started(state: RunState, event: RunStarted, position: int) -> None:
    state.watch.grounds[position] = event.goal


def _message(state: RunState, event: MessageReceived, position: int) -> None:
    if event.content and event.actor in PEOPLE:
        state.watch.grounds[position] = event.content
    if event.content:
        del state.watch.turns[:-1]
        _excused(state)


def _excused(state: RunState) -> None:
    if state.watch.turns:
        state.watch.turns[-1].excused = True


def _asked(state: RunState, event: ModelAsked, position: int) -> None:
    state.watch.spent = used(state)


def _replied(state: RunState, event: ModelReplied, position: int) -> None:
    _went_well(state, "model_failed")
    if state.purpose == "act":
        state.watch.turns.append(Turn(position, event.content))


def _model_failed(state: RunState, event: ModelFailed, position: int) -> None:
    if event.kind != "cancelled":  # nobody was asked: the run is ending, or another program asks its own
        _failed(state, "model_failed", position)


def _decided(state: RunState, event: DecisionMade, position: int) -> None:
    _went_well(state, "unreadable")
    if state.watch.turns and not event.step:  # a step is the engine's own decision
        state.watch.turns[-1].summary = event.summary


def _reply_refused(state: RunState, event: ReplyRefused, position: int) -> None:
    _failed(state, "unreadable", position)


def _verdict(state: RunState, event: VerdictGiven, position: int) -> None:
    """Only what decides counts, and what a rule or a person made of the arguments is no slip of the model's."""
    call = state.calls.get(event.call)
    if event.verdict == "allow":
        _went_well(state, "arguments", "denied")
    elif event.verdict == "ask":
        _went_well(state, "arguments")
    elif event.verdict == "deny" and event.rule not in SLIPS:
        _went_well(state, "arguments")
        _failed(state, "denied", position)
    elif event.verdict == "deny" and (call is None or call.arguments == call.proposed):
        _failed(state, "arguments", position)


def _called(state: RunState, event: ToolCalled, position: int) -> None:
    if event.attempt > 1:
        return
    calls, turns = state.watch.calls, state.watch.turns
    if turns:
        turns[-1].acted |= event.digest not in calls
        turns[-1].tools += (event.tool,)
    calls.setdefault(event.digest, []).append(Made(state.tool_calls + 1, position))


def _forgiven(state: RunState, call: int) -> None:
    """A call that infrastructure kept from being answered may be made again: it is no repeat."""
    made = state.calls.get(call)
    if made is not None and made.digest in state.watch.calls:
        left = [one for one in state.watch.calls.pop(made.digest) if one.order != made.order]
        if left:
            state.watch.calls[made.digest] = left


def _observed(state: RunState, event: ObservationReceived, position: int) -> None:
    _looked(state)
    if event.returned is not None:  # how a child ended is its plan's matter, and no tool's
        return
    if event.status == "ok":
        _went_well(state, "tool_failed", "infrastructure")
    elif event.status == "error" and event.error != "unavailable":
        _went_well(state, "infrastructure")
        _failed(state, "tool_failed", position)
    else:
        _failed(state, "infrastructure", position)
        _excused(state)
        call = state.calls.get(event.call)
        if call is not None and call.effect == "read":
            _forgiven(state, event.call)


def _stated(state: RunState, event: OutcomeStated, position: int) -> None:
    if doubts_of(state, event, state.now):
        _reconciled(state, event, position)


def _reconciled(state: RunState, event: EffectReconciled | OutcomeStated, position: int) -> None:
    _looked(state)
    if event.outcome == "landed":
        _went_well(state, "tool_failed", "infrastructure")
    elif event.outcome == "not_landed":
        _forgiven(state, event.call)


def _looked(state: RunState) -> None:
    """All verifiers have looked at the observation before this one: if none refused it, it was a success."""
    if state.watch.accepted:
        state.watch.accepted = 0
        _went_well(state, "refused")


def _verified(state: RunState, event: ObservationVerified, position: int) -> None:
    call = state.calls.get(event.call)
    state.watch.accepted = event.call
    if call is not None and call.response is not None and call.response.content is not None:
        state.watch.grounds[call.observed] = call.response.content


def _refused(state: RunState, event: ObservationRefused, position: int) -> None:
    call = state.calls.get(event.call)
    state.watch.accepted = 0
    _failed(state, "refused", position)
    if call is not None:  # what one verifier accepted, another did not
        state.watch.grounds.pop(call.observed, None)


def _fact(state: RunState, event: FactCommitted, position: int) -> None:
    _went_well(state, "finish")
    if state.watch.turns:
        state.watch.turns[-1].learnt = True


def _finish_refused(state: RunState, event: FinishRefused, position: int) -> None:
    if event.missing or event.unsupported:  # else it was only put off
        _failed(state, "finish", position)


def _landed(state: RunState, event: EffectConfirmed, position: int) -> None:
    call = state.calls.get(event.call)
    state.watch.landed = max(state.watch.landed, call.order if call else 0)


def _warned(state: RunState, event: BudgetWarned, position: int) -> None:
    state.watch.warned[event.dimension] = position


def _recovered(state: RunState, event: RecoveryChosen, position: int) -> None:
    state.watch.answered[event.failure] = state.watch.in_a_row(event.failure)
    state.watch.rungs.append(event.rung)
    state.watch.escalating = event if event.rung == "escalate" else state.watch.escalating


def _person_asked(state: RunState, event: PersonAsked, position: int) -> None:
    state.watch.escalating = None


# Each takes a state that does not hold the event yet.
WATCHED: Final[Mapping[type, Callable[[RunState, Any, int], None]]] = {
    RunStarted: _started,
    MessageReceived: _message,
    ModelAsked: _asked,
    ModelReplied: _replied,
    ModelFailed: _model_failed,
    DecisionMade: _decided,
    ReplyRefused: _reply_refused,
    VerdictGiven: _verdict,
    ToolCalled: _called,
    PersonAsked: _person_asked,
    ObservationReceived: _observed,
    EffectReconciled: _reconciled,
    OutcomeStated: _stated,
    ObservationVerified: _verified,
    ObservationRefused: _refused,
    EffectConfirmed: _landed,
    FactCommitted: _fact,
    FinishRefused: _finish_refused,
    BudgetWarned: _warned,
    RecoveryChosen: _recovered,
}
