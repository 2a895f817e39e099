"""How a run's state follows from its records: one step a kind, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from redrive_events import (
    ANSWERS,
    DRIVERS,
    STRANGERS,
    AnnotationMade,
    ApprovalAsked,
    ApprovalGiven,
    BadInput,
    BudgetWarned,
    CallIntercepted,
    CancelRequested,
    DeadlinePassed,
    DecisionMade,
    EffectCompensated,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    Event,
    EventLog,
    FactCommitted,
    FinishRefused,
    LeaseGranted,
    LeaseRevoked,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    OutcomeStated,
    PersonAsked,
    PlanDrawn,
    Quarantined,
    ReconcileAsked,
    Record,
    RecoveryChosen,
    ReflectionNoted,
    ReplyRefused,
    Request,
    Returned,
    RunEnded,
    RunForked,
    RunStarted,
    SignalsHeard,
    StopDecided,
    ToolCalled,
    ToolUse,
    VerdictGiven,
    arguments_of,
    blocks_of,
    text_of,
)
from redrive_projections.forking import forked
from redrive_projections.people import OF_PEOPLE, approval, message, person_asked, stated
from redrive_projections.saying import notice, referred, respond, settle, settled
from redrive_projections.state import Call, Fact, RunState, close
from redrive_projections.transcript import Message, observed, opening, planned
from redrive_projections.watching import WATCHED

NOT_RUN = "Not run: the run was stopped."
_HEARS = DRIVERS | ANSWERS
_MICROSECOND = timedelta(microseconds=1)


def fold(records: Iterable[Record]) -> RunState:
    """The state after all of ``records``."""
    state = RunState()
    for record in records:
        evolve(state, record)
    return state


def state_at(log: EventLog, run_id: str, position: int) -> RunState:
    """The state of a run as it was after the event at ``position``, whatever has happened since.

    Raises:
        BadInput: the run has no such event.
    """
    state = fold(takewhile(lambda record: record.position <= position, log.read(run_id)))
    if position < 1 or state.position != position:
        last = log.head(run_id).position
        raise BadInput(f"it has no event {position}; the last one is {last}", place=f"run {run_id}")
    return state


def evolve(state: RunState, record: Record) -> RunState:
    """One record further: place and time come from the record, everything else from its event."""
    event = record.event
    kind = type(event)
    state.run_id = record.run_id
    state.position = position = record.position
    if kind is Quarantined:  # its time may be anything
        state.quarantined[position] = event.reason  # type: ignore[union-attr]
        return state
    if state.counted != record.at:
        _count_time(state, event, record.at)
    state.now = record.at
    if state.end is not None:
        return state
    if kind in _HEARS:
        state.hearing, state.unheard = state.unheard, []
        state.requests.pop(record.cause, None)
    for step in _STEPS[kind]:
        step(state, event, position)
    return state


def follow(state: RunState, event: Event, position: int) -> None:
    """As `evolve`, for what follows from an input in the same append: time and run are that of the input."""
    state.position = position
    for step in _STEPS[type(event)]:
        step(state, event, position)


def _count_time(state: RunState, event: Event, at: datetime) -> None:
    """Time in which only people are awaited does not count, nor that between two workers, or in front of a fork.

    What a stranger appends says nothing of a worker, so the time before it counts with the worker's next record.
    """
    people = _only_people(state)
    if not people and type(event) in STRANGERS:
        return
    if state.counted is not None and not people and type(event) is not LeaseGranted:
        state.wall_us += (at - state.counted) // _MICROSECOND
    state.counted = at


def _only_people(state: RunState) -> bool:
    for request in state.requests.values():
        if type(request) not in OF_PEOPLE:
            return False
    return bool(state.requests)


def _started(state: RunState, event: RunStarted, position: int) -> None:
    state.started = event
    state.parts = {name: part.digest for name, part in event.parts.items()}
    state.facts = {key: Fact(value, position, (position,), "parent") for key, value in event.known.items()}
    state.messages.extend(opening(event))


def _cancel(state: RunState, event: CancelRequested, position: int) -> None:
    state.unheard.append(event)


def _revoked(state: RunState, event: LeaseRevoked, position: int) -> None:
    if event.epoch == state.epoch:
        state.worker = ""


def _lease(state: RunState, event: LeaseGranted, position: int) -> None:
    state.worker, state.epoch = event.worker, event.epoch
    state.parts = event.parts or state.parts


def _request(state: RunState, event: Request, position: int) -> None:
    state.requests[position] = event


def _model_asked(state: RunState, event: ModelAsked, position: int) -> None:
    settle(state)
    state.purpose = event.purpose
    if event.purpose == "act":
        state.failures = []
    state.requests[position] = event
    state.asked.go_on(event.kept, referred(state, event.new))


def _replied(state: RunState, event: ModelReplied, position: int) -> None:
    state.steps += 1
    state.failure = None
    state.cost_micros += event.cost_micros or 0
    if event.usage is not None:
        usage = event.usage
        state.tokens += usage.input + usage.cache_read + usage.cache_write + usage.output
    if state.purpose == "act":  # what it said of a plan or a lesson stands in the event that was made of it
        state.messages.append(Message("assistant", event.content, position))


def _model_failed(state: RunState, event: ModelFailed, position: int) -> None:
    state.failure = event


def _decided(state: RunState, event: DecisionMade, position: int) -> None:
    content = state.messages[-1].content if state.messages else ""
    state.answer = (event.answer or text_of(content)) if event.kind == "finish" else ""
    blocks = blocks_of(content) if event.calls else ()
    state.begun = event.step or state.begun
    for proposed in event.calls:
        number, arguments, index, label = proposed.call, proposed.arguments, proposed.block, ""
        if index is not None and 0 <= index < len(blocks):
            block = blocks[index]
            if type(block) is ToolUse:  # in a recording that is not ours it may be anything: the fold goes on
                arguments, label = arguments_of(block.arguments), block.id
        state.calls[number] = Call(number, proposed.tool, arguments, arguments, label, index is not None)
        state.calls_made = number


def _reply_refused(state: RunState, event: ReplyRefused, position: int) -> None:
    state.messages.append(Message("user", event.text, position))


def _finish_refused(state: RunState, event: FinishRefused, position: int) -> None:
    if event.call is None:
        state.messages.append(Message("user", event.text, position))
    else:
        respond(state, event.call, event.text, position, "refused")


def _intercepted(state: RunState, event: CallIntercepted, position: int) -> None:
    respond(state, event.call, event.text, position, "intercepted")


def _warned(state: RunState, event: BudgetWarned, position: int) -> None:
    notice(state, event.text, position)


def _recovered(state: RunState, event: RecoveryChosen, position: int) -> None:
    state.model = event.model or state.model
    state.undoing = event.reason if event.rung == "compensate" else state.undoing
    notice(state, event.text, position)


def _reflected(state: RunState, event: ReflectionNoted, position: int) -> None:
    state.failures = []
    state.lessons.append(event.lesson)
    notice(state, event.lesson, position)


def _planned(state: RunState, event: PlanDrawn, position: int) -> None:
    state.plan, state.begun, state.off_plan = event, 0, ""
    notice(state, planned(event), position)


def _verdict(state: RunState, event: VerdictGiven, position: int) -> None:
    call = state.calls.get(event.call)
    if event.verdict == "deny":
        respond(state, event.call, event.text, position, "denied")
        close(state, ApprovalAsked, event.call)
    elif event.verdict == "edit" and call is not None:
        call.arguments = event.arguments


def _tool_called(state: RunState, event: ToolCalled, position: int) -> None:
    state.requests[position] = event
    call = state.calls.get(event.call)
    if call is None:
        call = state.calls[event.call] = Call(event.call, event.tool, event.arguments)
    call.arguments, call.effect, call.key = event.arguments, event.effect, event.key
    call.attempt, call.response, call.outcome = event.attempt, None, ""
    call.epoch, call.asked = state.epoch, state.now
    if event.compensates is not None:
        call.compensates, state.calls_made = event.compensates, max(state.calls_made, event.call)
        if state.effects.pop(event.compensates, None) is not None:
            state.not_undone.append(event.compensates)
    if event.attempt == 1:
        state.tool_calls += 1
        call.order, call.digest = state.tool_calls, event.digest


def _observed(state: RunState, event: ObservationReceived, position: int) -> None:
    respond(state, event.call, observed(event), position, event.status)
    if event.returned is not None:
        _came_back(state, event.returned)
    elif event.status == "error":
        state.failures.append(position)


def _came_back(state: RunState, child: Returned) -> None:
    """What a child used counts here too; one that did not do its step puts the run off its plan."""
    state.child_tokens += child.tokens
    state.child_tool_calls += child.tool_calls
    state.child_cost_micros += child.cost_micros
    step = state.plan.steps[state.begun - 1].words if state.plan and 0 < state.begun <= len(state.plan.steps) else ""
    if child.status in {"succeeded", "finished"}:
        state.done.append(f"{step} → {child.answer}")
    else:
        state.off_plan = f"step {state.begun} ({step}) ended {child.status}: {child.reason}"


def _observation_refused(state: RunState, event: ObservationRefused, position: int) -> None:
    respond(state, event.call, event.text, position, "refused")


def _in_doubt(state: RunState, event: EffectInDoubt, position: int) -> None:
    close(state, ToolCalled, event.call)


def _confirmed(state: RunState, event: EffectConfirmed, position: int) -> None:
    call = state.calls.get(event.call)
    if call is not None and call.compensates is None:
        state.effects[event.call] = call


def _compensated(state: RunState, event: EffectCompensated, position: int) -> None:
    if event.call in state.not_undone:
        state.not_undone.remove(event.call)


def _fact(state: RunState, event: FactCommitted, position: int) -> None:
    state.facts[event.key] = Fact(event.value, position, event.evidence, event.verifier)


def _stopped(state: RunState, event: StopDecided, position: int) -> None:
    state.stop = event
    for place, request in list(state.requests.items()):
        if type(request) in OF_PEOPLE:
            del state.requests[place]
    under_way = {getattr(request, "call", 0) for request in state.requests.values()}
    for call in state.calls.values():
        if not call.outcome and call.number not in under_way:
            respond(state, call.number, NOT_RUN, position, "not run")


def _ended(state: RunState, event: RunEnded, position: int) -> None:
    state.end = event


def _nothing(state: RunState, event: Event, position: int) -> None:
    """What the record's place and time do not already say changes nothing."""


_CHANGES: dict[type, Callable[[RunState, Any, int], None]] = {
    RunStarted: _started,
    RunForked: forked,
    MessageReceived: message,
    ApprovalGiven: approval,
    OutcomeStated: stated,
    CancelRequested: _cancel,
    LeaseRevoked: _revoked,
    LeaseGranted: _lease,
    ModelAsked: _model_asked,
    ToolCalled: _tool_called,
    ApprovalAsked: _request,
    PersonAsked: person_asked,
    ReconcileAsked: _request,
    ModelReplied: _replied,
    ModelFailed: _model_failed,
    ObservationReceived: _observed,
    EffectReconciled: settled,
    DecisionMade: _decided,
    ReplyRefused: _reply_refused,
    VerdictGiven: _verdict,
    ObservationRefused: _observation_refused,
    FactCommitted: _fact,
    FinishRefused: _finish_refused,
    CallIntercepted: _intercepted,
    BudgetWarned: _warned,
    RecoveryChosen: _recovered,
    ReflectionNoted: _reflected,
    PlanDrawn: _planned,
    EffectInDoubt: _in_doubt,
    StopDecided: _stopped,
    RunEnded: _ended,
    SignalsHeard: _nothing,
    DeadlinePassed: _nothing,
    ObservationVerified: _nothing,
    EffectConfirmed: _confirmed,
    EffectCompensated: _compensated,
    AnnotationMade: _nothing,
}
# What is watched is judged by the state before.
_STEPS = {
    kind: tuple(one for one in (WATCHED.get(kind, _nothing), step) if one is not _nothing)
    for kind, step in _CHANGES.items()
}
