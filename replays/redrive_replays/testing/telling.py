"""A run in lines that stay the same from run to run: references in place of positions and ids, no clock."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from redrive_events import (
    ApprovalAsked,
    CallIntercepted,
    DecisionMade,
    EffectConfirmed,
    FactCommitted,
    Json,
    ModelReplied,
    ObservationReceived,
    PersonAsked,
    Quarantined,
    Record,
    RecoveryChosen,
    ReflectionNoted,
    RunEnded,
    RunStarted,
    StopDecided,
    ToolCalled,
    VerdictGiven,
    calls_of,
    canonical,
    kind_of,
    text_of,
)
from redrive_projections import RunState, evolve, timeline
from redrive_replays.testing.matching import STRICT, Matching
from redrive_replays.testing.references import References
from redrive_replays.testing.shortening import short, short_value
from redrive_replays.testing.whole import whole

Level: TypeAlias = Literal["decisions", "steps", "full"]

# What is told at each level but `full`, which tells all there is. Whoever reads decisions wants to know what was
# decided, allowed and done; whoever reads steps also what was said and found. The rest is how a run is kept going.
HOUSEKEEPING: Final = frozenset(
    {"lease_granted", "signals_heard", "model_asked", "observation_verified", "reconcile_asked", "annotation_made"}
)
FOUND: Final = frozenset(
    {
        *("model_replied", "model_failed", "observation_received", "effect_reconciled", "outcome_stated"),
        *("observation_refused", "fact_committed", "effect_confirmed", "budget_warned", "reflection_noted"),
    }
)
UNTOLD: Final[Mapping[Level, frozenset[str]]] = {
    "decisions": HOUSEKEEPING | FOUND,
    "steps": HOUSEKEEPING,
    "full": frozenset(),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One event: where it stands, its reference, and what it says; of a call also the tool and its arguments."""

    position: int
    kind: str
    reference: str
    told: str
    data: Mapping[str, Json] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """As it stands in a snapshot."""
        return f"{self.reference}  {self.told}"


class _Seen(NamedTuple):
    """An event, the state that already holds it, and what its positions are called."""

    event: Any
    state: RunState
    names: References
    matching: Matching

    def at(self, positions: Sequence[int]) -> str:
        """The events at these positions by name."""
        return ", ".join(self.names.at(one) for one in positions)

    def words(self, text: str) -> str:
        """A text on one line."""
        return short(self.names.plain(text))

    def value(self, value: Json) -> str:
        """Plain data on one line."""
        return short(self.names.plain(canonical(value).decode()))

    def called(self, tool: str, arguments: Json) -> str:
        """A call as code is written, what a matcher allows in its words."""
        if not isinstance(arguments, dict):
            return f"{tool}({self.value(arguments)})"
        values = {key: self._argument(one) for key, one in arguments.items()}
        values |= self.matching.arguments(tool, arguments)
        return f"{tool}({', '.join(f'{key}={values[key]}' for key in sorted(values))})"

    def _argument(self, value: Json) -> str:
        return short_value(self.names.plain(canonical(value).decode()))


def lines_of(records: Sequence[Record], level: Level, matching: Matching = STRICT) -> Iterator[Line]:
    """The events of a run in lines, as far as they are told at this level."""
    state, names, moments = RunState(), References(records), timeline(records)
    for record, moment in zip(records, moments, strict=True):
        evolve(state, record)
        kind, event = kind_of(record.event), record.event
        if kind in UNTOLD[level]:
            continue
        seen = _Seen(event, state, names, matching)
        if isinstance(event, ToolCalled) and matching.leaves_out(event.tool):
            continue
        if level == "full" and type(event) is not Quarantined:
            told = whole(record, names, matching)
        else:
            told = _TOLD.get(type(event), lambda _, text=moment.text: short(names.plain(text)))(seen)
        yield Line(record.position, kind, names.at(record.position), told, _data(event, seen))


def _data(event: object, seen: _Seen) -> dict[str, Json]:
    """What a program may want to read of a line beside its words."""
    if isinstance(event, ToolCalled):
        fitting = seen.matching.arguments(event.tool, event.arguments)
        given = event.arguments if isinstance(event.arguments, dict) else {"": event.arguments}
        return {"tool": event.tool, "arguments": {**given, **fitting}}
    if isinstance(event, FactCommitted):
        told = seen.matching.of(f"fact:{event.key}", event.value)
        return {"key": event.key, "value": event.value if told is None else told}
    return {}


def _started(seen: _Seen) -> str:
    event: RunStarted = seen.event
    whom = f" for {event.principal}" if event.principal else ""
    return f"{event.agent} {event.version}".strip() + whom + (f": {seen.words(event.goal)}" if event.goal else "")


def _replied(seen: _Seen) -> str:
    event: ModelReplied = seen.event
    number = sum(1 for _ in calls_of(event.content))
    calls = f" [{number} call{'' if number == 1 else 's'}]" if number else ""
    words = text_of(event.content)
    told = seen.matching.of("reply", words)
    return ((seen.words(words) if told is None else told) + calls).strip() or "(nothing)"


def _decided(seen: _Seen) -> str:
    event: DecisionMade = seen.event
    what = "unable" if event.unable else event.kind
    calls = ", ".join(f"call#{one.call} {one.tool}" for one in event.calls)
    dropped = f" (dropped: {seen.words(', '.join(event.dropped))})" if event.dropped else ""
    return (calls if event.kind == "call" else f"{what} {calls}".strip()) + dropped


def _verdict(seen: _Seen) -> str:
    event: VerdictGiven = seen.event
    call = seen.state.calls.get(event.call)
    judged = "" if event.verdict == "allow" or call is None else f" {seen.called(call.tool, call.proposed)}"
    because = f" ({seen.words(event.reason)})" if event.reason else ""
    edited = f", as {seen.called(call.tool, event.arguments)}" if event.verdict == "edit" and call else ""
    return f"{event.verdict}{judged} by “{event.rule}”{because}{edited}"


def _called(seen: _Seen) -> str:
    event: ToolCalled = seen.event
    undoing = f", to undo call#{event.compensates}" if event.compensates else ""
    return seen.called(event.tool, event.arguments) + undoing


def _observed(seen: _Seen) -> str:
    event: ObservationReceived = seen.event
    call = seen.state.calls.get(event.call)
    words = text_of(event.content)
    told = seen.matching.of(f"result:{call.tool}", words) if call else None
    cut = f" ({event.cut:,} of {event.size_bytes:,} bytes left out)" if event.cut else ""
    return f"{event.status} {seen.words(words) if told is None else told}".rstrip() + cut


def _fact(seen: _Seen) -> str:
    event: FactCommitted = seen.event
    told = seen.matching.of(f"fact:{event.key}", event.value)
    before = f", in place of {seen.names.at(event.supersedes)}" if event.supersedes else ""
    return (seen.value(event.value) if told is None else told) + f" from {seen.at(event.evidence) or 'nothing'}{before}"


def _intercepted(seen: _Seen) -> str:
    event: CallIntercepted = seen.event
    call = seen.state.calls.get(event.call)
    what = seen.called(call.tool, call.arguments) if call else f"call#{event.call}"
    return f"{what} by “{event.guard.replace('_', ' ')}”" + (f" after {seen.at(event.window)}" if event.window else "")


def _approval_asked(seen: _Seen) -> str:
    event: ApprovalAsked = seen.event
    call = seen.state.calls.get(event.call)
    what = seen.called(call.tool, call.arguments) if call else f"call#{event.call}"
    return f"{what}, a {event.effect}" + (f" ({seen.words(event.reason)})" if event.reason else "")


def _person(seen: _Seen) -> str:
    event: PersonAsked = seen.event
    return f"{event.actor}, for {event.why}" + (f": {seen.words(event.reason)}" if event.reason else "")


def _recovery(seen: _Seen) -> str:
    event: RecoveryChosen = seen.event
    return f"{event.rung.replace('_', ' ')} after {event.failure}: {seen.at(event.window)}"


def _lesson(seen: _Seen) -> str:
    event: ReflectionNoted = seen.event
    return f"{seen.words(event.lesson)} (from {seen.at(event.window)})"


def _stopped(seen: _Seen) -> str:
    event: StopDecided = seen.event
    return f"{event.status}: {seen.words(event.reason)}" + (f" after {seen.at(event.window)}" if event.window else "")


def _ended(seen: _Seen) -> str:
    event: RunEnded = seen.event
    words = event.reason if event.answer is None else event.answer
    told = seen.matching.of("answer", words)
    partial = f"; so far: {seen.words(event.partial)}" if event.partial else ""
    return f"{event.status}: {seen.words(words) if told is None else told}{partial}"


# Whatever is not here reads as in `redrive show`: it speaks of no position.
_TOLD: Final[Mapping[type, Callable[[_Seen], str]]] = {
    RunStarted: _started,
    ModelReplied: _replied,
    DecisionMade: _decided,
    VerdictGiven: _verdict,
    ToolCalled: _called,
    ObservationReceived: _observed,
    FactCommitted: _fact,
    CallIntercepted: _intercepted,
    ApprovalAsked: _approval_asked,
    PersonAsked: _person,
    RecoveryChosen: _recovery,
    ReflectionNoted: _lesson,
    StopDecided: _stopped,
    RunEnded: _ended,
    EffectConfirmed: lambda seen: call.tool if (call := seen.state.calls.get(seen.event.call)) else "",
}
_CALL_LINE: Final = re.compile(r"^\s*call#[\d.]+  (.*)$", re.MULTILINE)


def calls_in(text: str) -> list[str]:
    """The calls that a snapshot in lines tells of, in their order."""
    return _CALL_LINE.findall(text)
