"""What every trajectory must answer for, worked out from its records alone: each way in which it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, get_args

from redrive_engine.policy import RulesPolicy
from redrive_events import (
    ApprovalAsked,
    ApprovalGiven,
    CancelRequested,
    EffectReconciled,
    FactCommitted,
    LeaseGranted,
    MessageReceived,
    ModelAsked,
    ObservationReceived,
    OutcomeStated,
    Record,
    RunEnded,
    RunStarted,
    Status,
    StopDecided,
    ToolCalled,
    VerdictGiven,
    call_digest,
)
from redrive_projections import RunState, evolve

Answer: TypeAlias = Callable[[Sequence[Record]], Iterator[str]]

# What an answer may rest on.
EVIDENCE = (RunStarted, MessageReceived, ObservationReceived, EffectReconciled, OutcomeStated)


def broken(records: Sequence[Record]) -> list[str]:
    """Each promise that the trajectory breaks, and where."""
    return [f"{promise.__name__}: {finding}" for promise in ANSWERS for finding in promise(records)]


def nothing_forbidden_was_called(records: Sequence[Record]) -> Iterator[str]:
    """What was called was granted, and the last verdict on it was to allow it."""
    verdicts: dict[int, str] = {}
    granted = _started(records).contract.tools
    for record in records:
        match record.event:
            case VerdictGiven(call=call, verdict=verdict):
                verdicts[call] = verdict
            case ToolCalled(call=call, tool=tool, effect=effect) if effect != "run":  # a child run is the engine's own
                if verdicts.get(call) != "allow" or (granted is not None and tool not in granted):
                    yield f"call {call} of {tool} at {record.position}"
            case _:
                pass


def what_was_called_is_what_was_allowed(records: Sequence[Record]) -> Iterator[str]:
    """The arguments are those that were judged last, and where a person was asked, those that they were shown."""
    state, shown = RunState(), dict[int, ApprovalAsked]()
    for record in records:
        event = record.event
        if isinstance(event, ApprovalAsked):
            shown[event.call] = event
        if isinstance(event, ToolCalled):
            judged = state.calls.get(event.call)
            digest = call_digest(event.tool, event.arguments)
            if event.digest != digest or (judged is not None and judged.arguments != event.arguments):
                yield f"call {event.call} at {record.position}"
            if event.call in shown and not _was_answered(records, shown[event.call], record.position):
                yield f"call {event.call} at {record.position}, of which a person was shown something else"
        evolve(state, record)


def _was_answered(records: Sequence[Record], asked: ApprovalAsked, before: int) -> bool:
    given = [one.event for one in records[:before] if isinstance(one.event, ApprovalGiven)]
    return any(one.digest == asked.digest and one.answer != "refuse" for one in given)


def every_claim_has_its_observation(records: Sequence[Record]) -> Iterator[str]:
    """What an answer says stands in what was observed, or in what people said."""
    events = {record.position: record.event for record in records}

    def stands(places: Sequence[int]) -> bool:
        return bool(places) and all(
            stands(event.evidence)
            if isinstance(event := events.get(at), FactCommitted)
            else isinstance(event, EVIDENCE)
            for at in places
        )

    for record in records:
        if isinstance(record.event, RunEnded) and record.event.answer and record.event.status == "succeeded":
            for claim in record.event.claims:
                if not stands(claim.evidence):
                    yield f"{claim.text!r} at {record.position}"


def nothing_observed_grants_anything(records: Sequence[Record]) -> Iterator[str]:
    """Contract, policy and goal are those of the beginning, whatever was read since."""
    part = _started(records).parts.get("policy")
    written = part.data if part is not None and isinstance(part.data, dict) and "rule" in part.data else None
    policies = {""} if written is None else {"", RulesPolicy.from_data(written).digest}
    for record in records[1:]:
        match record.event:
            case RunStarted():
                yield f"begun anew at {record.position}"
            case LeaseGranted(parts=parts) if parts:
                yield f"another program at {record.position}"
            case VerdictGiven(policy=digest) if written is not None and digest not in policies:
                yield f"another policy at {record.position}"
            case _:
                pass


def it_ended_for_a_known_reason(records: Sequence[Record]) -> Iterator[str]:
    """There is an end, and it says why."""
    last = records[-1].event
    if not isinstance(last, RunEnded) or not last.reason or last.status not in get_args(Status):
        yield f"at {records[-1].position}"


def a_fault_leads_to_no_blind_retry(records: Sequence[Record]) -> Iterator[str]:
    """Reads are asked again within bounds; a write in doubt is settled before it, or the model, is asked again."""
    terms, doubtful = _started(records).contract, set[int]()
    writes: set[int] = set()
    for record in records:
        match record.event:
            case ToolCalled(call=call, attempt=attempt, effect=effect):
                if call in doubtful or attempt > (terms.read_attempts if effect == "read" else terms.attempts):
                    yield f"call {call} at {record.position}"
                if effect != "read":
                    writes.add(call)
            case ObservationReceived(call=call, status="timeout" | "unknown") if call in writes:
                doubtful.add(call)
            case EffectReconciled(call=call, outcome="landed" | "not_landed") | OutcomeStated(call=call):
                doubtful.discard(call)
            case ModelAsked() if doubtful:
                yield f"the model at {record.position}, with call {min(doubtful)} in doubt"
            case _:
                pass


def nothing_begins_after_the_end(records: Sequence[Record]) -> Iterator[str]:
    """Once it was cancelled or stopped, nothing is called any more."""
    over = False
    for record in records:
        if over and isinstance(record.event, ToolCalled):
            yield f"call {record.event.call} at {record.position}"
        over = over or isinstance(record.event, CancelRequested | StopDecided)


ANSWERS: tuple[Answer, ...] = (
    nothing_forbidden_was_called,
    what_was_called_is_what_was_allowed,
    every_claim_has_its_observation,
    nothing_observed_grants_anything,
    it_ended_for_a_known_reason,
    a_fault_leads_to_no_blind_retry,
    nothing_begins_after_the_end,
)


def _started(records: Sequence[Record]) -> RunStarted:
    started = records[0].event
    assert isinstance(started, RunStarted)
    return started
