"""What every run keeps of its people: what they are handed, how long they are waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from redrive_engine.program import Program
from redrive_events import (
    CallIntercepted,
    DecisionMade,
    EffectReconciled,
    Event,
    FactCommitted,
    FinishRefused,
    Handover,
    Json,
    ObservationReceived,
    ObservationRefused,
    OutcomeStated,
    PersonAsked,
    Predicate,
    Record,
    RunStarted,
    StopDecided,
    ToolCalled,
    VerdictGiven,
)
from tests.audit_effects import Doubts


class People:
    """Whoever takes over is handed what the log says so far, and is waited for as long as the contract says."""

    def __init__(self, program: Program) -> None:
        self.terms = program.terms
        self.goal = ""
        self.facts: dict[str, Json] = {}
        self.calls: dict[int, tuple[str, str]] = {}
        self.doubts = Doubts()

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        for record in append:
            event = record.event
            if isinstance(event, PersonAsked):
                self._asked(record, event)
            if isinstance(event, StopDecided):
                assert (event.status == "escalated") == (event.handover is not None), "an escalation hands over"
            if isinstance(event, PersonAsked | StopDecided) and event.handover is not None:
                self._handed_over(event.handover)
            counts = self.doubts.take(record)
            if counts or not isinstance(event, OutcomeStated):
                self._seen(event)

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """Of what was in doubt it is open again what became of it."""
        for call in not_run:
            self.calls[call] = (self.calls[call][0], "open")
        self.doubts.forked()

    def _asked(self, record: Record, event: PersonAsked) -> None:
        waits_ms = self.terms.person_ms
        assert event.expires == (None if waits_ms is None else record.at + timedelta(milliseconds=waits_ms))
        assert (event.why != "reply") == (event.handover is not None) == (event.actor == "operator")
        assert event.why != "escalation" or self.terms.escalation == "wait"
        assert event.why != "doubt" or self.terms.on_doubt == "wait"
        assert event.why != "reply" or self.terms.dialogue

    def _handed_over(self, handover: Handover) -> None:
        assert handover.asked == self.goal
        assert handover.known == self.facts
        assert handover.open == tuple(key for key, wanted in self.terms.done.items() if not self._holds(key, wanted))
        for one in handover.tried:
            assert self.calls[one.call] == (one.tool, one.outcome)
        begun = [call for call, (_, outcome) in self.calls.items() if outcome]
        assert [one.call for one in handover.tried] == begun[-50:], "in order, the latest fifty"

    def _holds(self, key: str, wanted: Predicate) -> bool:
        return key in self.facts and self.facts[key] == wanted.get("is", self.facts[key])

    def _seen(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.goal = event.goal
            case FactCommitted():
                self.facts[event.key] = event.value
            case DecisionMade():
                self.calls |= {one.call: (one.tool, "") for one in event.calls}
            case ToolCalled():
                self.calls[event.call] = (event.tool, "open")
            case _:
                self._became(getattr(event, "call", None), _WORDS.get(type(event), lambda _: "")(event))

    def _became(self, call: int | None, outcome: str) -> None:
        if call is not None and outcome:
            self.calls[call] = (self.calls[call][0], outcome)


# What became of a call, in one word, as each kind of event says; nothing where it says nothing of it.
_WORDS: dict[type, Callable[[Any], str]] = {
    VerdictGiven: lambda event: "denied" if event.verdict == "deny" else "",
    CallIntercepted: lambda _: "intercepted",
    ObservationReceived: lambda event: event.status,
    EffectReconciled: lambda event: "ok" if event.outcome == "landed" else event.outcome,
    OutcomeStated: lambda event: "ok" if event.outcome == "landed" else event.outcome,
    ObservationRefused: lambda _: "refused",
    FinishRefused: lambda _: "refused",
    PersonAsked: lambda _: "asked",
}
