"""What every run keeps of verdicts and approvals: who decides about a call, in which order, and what may then start."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from redrive_engine.program import Program
from redrive_events import (
    STRANGERS,
    ApprovalAsked,
    ApprovalGiven,
    CallIntercepted,
    DecisionMade,
    EffectReconciled,
    Event,
    Json,
    ModelReplied,
    ObservationReceived,
    Record,
    StopDecided,
    ToolCalled,
    VerdictGiven,
    arguments_of,
    canonical,
)

BY_PERSON: Final = "approval"
# Verdicts of the engine on calls of its own, which no reply proposes.
OWN_CALLS: Final = {"compensation"}


class Approvals:
    """Several verdicts per call, the last decides; what was asked about starts by an approval that counts, or never.

    It counts if it is of what was shown, in time, and the first; an edited call is judged again; a stop closes all.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.waits_ms = program.terms.approval_ms
        self.content: Any = ""
        self.calls: dict[int, tuple[str, Json]] = {}
        self.open: dict[int, ApprovalAsked] = {}
        self.counted: list[ApprovalGiven] = []
        self.last: dict[int, VerdictGiven] = {}
        self.asked: set[int] = set()
        self.allowed_by_person: set[int] = set()
        self.stopped = False
        # Of the append at hand: the answers that are heard, the questions that are over, and what a reply proposes.
        self.heard: dict[int, ApprovalGiven] = {}
        self.late: set[int] = set()
        self.decided: list[int] = []
        # Calls that wait for a response, and those of them that a fork judges anew.
        self.unanswered: set[int] = set()
        self.again: set[int] = set()

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """What people were asked, or had allowed, is judged anew; so is a read that was under way."""
        self.again = self.unanswered - not_run
        for call in self.again:
            self.last.pop(call)
        self.asked -= self.again
        self.open, self.counted = {}, []

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        first = append[0]
        if isinstance(first.event, ApprovalGiven):
            self._given(first.event, first.at)
        if isinstance(first.event, ModelReplied):
            self.content = first.event.content
        if type(first.event) in STRANGERS:
            return
        self.heard, self.counted = {one.call: one for one in self.counted}, []
        self.late = {call for call, asked in self.open.items() if self._over(asked, first.at)}
        self.decided = []
        for record in append:
            self._answered(record.event)
            if (check := self._CHECKS.get(type(record.event))) is not None:
                check(self, record.event, record.at)
        if not self.stopped:
            self._all_answered([one.event for one in append])
        self.again = set()

    def _answered(self, event: Any) -> None:
        match event:
            case ApprovalAsked() | ToolCalled():
                self.unanswered.add(event.call)
            case VerdictGiven(verdict="deny") | ObservationReceived() | EffectReconciled() | CallIntercepted():
                self.unanswered.discard(event.call)
            case _:
                pass

    def _given(self, event: ApprovalGiven, at: datetime) -> None:
        asked = self.open.get(event.call)
        if asked is not None and asked.digest == event.digest and not self._over(asked, at):
            del self.open[event.call]
            self.counted.append(event)

    def _over(self, asked: ApprovalAsked, at: datetime) -> bool:
        return asked.expires is not None and at >= asked.expires

    def _proposed(self, event: DecisionMade, at: datetime) -> None:
        self.decided += [one.call for one in event.calls] if event.kind == "call" else []
        for one in event.calls:
            arguments = one.arguments if one.block is None else arguments_of(self.content[one.block].arguments)
            self.calls[one.call] = (one.tool, arguments)

    def _judged(self, event: VerdictGiven, at: datetime) -> None:
        if event.rule in OWN_CALLS:
            return
        assert event.call in {*self.decided, *self.heard, *self.late, *self.again}, "nothing is judged without a cause"
        answer, late = self.heard.get(event.call), event.call in self.late
        before = self.last.get(event.call)
        fresh = before is None or before.verdict == "edit"
        assert fresh or before is None or before.verdict == "ask", "what is allowed or denied stays so"
        self.last[event.call] = event
        if late:
            assert (event.verdict, event.rule) == ("deny", "approval expired")
            del self.open[event.call]
        elif not fresh:
            assert answer is not None, "who asks waits for the answer"
            by_answer = {"refuse": ("deny", "not approved"), "edit": ("edit", BY_PERSON)}
            if answer.answer in by_answer:
                assert (event.verdict, event.rule) == by_answer[answer.answer]
                assert answer.answer == "refuse" or event.arguments == answer.arguments
        if event.verdict == "edit":
            self.calls[event.call] = (self.calls[event.call][0], event.arguments)
        if event.rule == BY_PERSON:
            assert answer is not None
        if answer is not None and answer.answer != "refuse":  # a rule may allow by itself what a person has allowed
            self.allowed_by_person.add(event.call)

    def _asked(self, event: ApprovalAsked, at: datetime) -> None:
        assert self.last[event.call].verdict == "ask", "nobody is asked about what is allowed or denied"
        assert event.call not in self.open, "one question about a call at a time"
        assert event.digest == self._shown(event), "bound to what was shown"
        assert event.expires == (None if self.waits_ms is None else at + timedelta(milliseconds=self.waits_ms))
        self.open[event.call] = event
        self.asked.add(event.call)
        self.allowed_by_person.discard(event.call)

    def _shown(self, event: ApprovalAsked) -> str:
        tool, arguments = self.calls[event.call]
        declared = (self.program.tools or {}).get(tool)
        named = {"object": declared.object, "destination": declared.destination} if declared else {}
        given = arguments if isinstance(arguments, dict) else {}
        said = {word: given.get(name) if name else None for word, name in named.items()}
        assert (event.object, event.destination) == (said.get("object"), said.get("destination"))
        shown = {"tool": tool, "arguments": arguments, "object": event.object, "destination": event.destination}
        return hashlib.sha256(canonical(shown)).hexdigest()

    def _called(self, event: ToolCalled, at: datetime) -> None:
        if event.attempt > 1 or event.compensates is not None:
            return
        assert self.last[event.call].verdict == "allow", "the last verdict decides"
        assert event.call not in self.open, "nothing starts that a person is asked about"
        assert event.call not in self.asked or event.call in self.allowed_by_person, "asked about, and never allowed"
        assert (event.tool, event.arguments) == self.calls[event.call], "as it was allowed"

    def _stopped(self, event: StopDecided, at: datetime) -> None:
        self.stopped, self.open = True, {}

    def _all_answered(self, events: list[Event]) -> None:
        """Whatever was judged in this append starts, is asked about, held back or denied; nothing is left between."""
        asked = {one.call for one in events if isinstance(one, ApprovalAsked)}
        started = {one.call for one in events if isinstance(one, ToolCalled | CallIntercepted)}
        for call in [*self.decided, *self.heard, *self.late, *self.again]:
            match self.last[call].verdict:
                case "allow":
                    assert call in started, call
                case "ask":
                    assert call in asked or call in started, call
                case verdict:
                    assert verdict == "deny", "an edit is judged again"

    _CHECKS: ClassVar[dict[type, Callable[[Approvals, Any, datetime], None]]] = {
        DecisionMade: _proposed,
        VerdictGiven: _judged,
        ApprovalAsked: _asked,
        ToolCalled: _called,
        StopDecided: _stopped,
    }
