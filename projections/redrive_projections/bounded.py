"""The bounded event contract: one row a step and call, of a fixed form and size, for those who watch from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from redrive_events import (
    Content,
    DecisionMade,
    EffectReconciled,
    ModelReplied,
    ObservationReceived,
    OutcomeStated,
    Record,
    ReflectionNoted,
    ReplyRefused,
    ToolCalled,
    Verdict,
    VerdictGiven,
    digest,
    text_of,
)
from redrive_projections.budget import left
from redrive_projections.folding import evolve
from redrive_projections.state import RunState
from redrive_projections.timeline import one_line

SUMMARY_CHARS_MAX: Final = 200

# The words of this contract for what a step decided; `none` is a reply that nobody acted on, since the run was stopped.
Decided: TypeAlias = Literal[
    "tool_call", "finish", "escalate", "ask", "plan", "reflect", "compensate", "refused", "none"
]
PolicyDecision: TypeAlias = Literal["allowed", "denied", "needs_approval"]

_DECIDED: Final[dict[str, Decided]] = {
    "call": "tool_call",
    "finish": "finish",
    "escalate": "escalate",
    "ask": "ask",
    "plan": "plan",
}
# An edit decides nothing: the verdict on what it made of the call follows.
_POLICY: Final[dict[Verdict, PolicyDecision]] = {"allow": "allowed", "deny": "denied", "ask": "needs_approval"}


class Bounded(msgspec.Struct, rename="camel", gc=False):
    """Data of this contract, spelled as those outside expect it."""


class BoundedObservation(Bounded, kw_only=True):
    """What came of a call: how it went, where it is from, and how large it was, but nothing of what it says."""

    status: str
    source: str
    bytes: int


class RemainingBudget(Bounded, kw_only=True):
    """What was left of the budget behind this row; None is no limit."""

    steps: int | None
    wall_time_ms: int | None
    tokens: int | None
    tool_calls: int | None
    cost_micros: int | None


class StepRow(Bounded, kw_only=True):
    """One step, or one call of it, as it stands now."""

    step: int
    decision: Decided
    decision_summary: str
    tool: str | None = None
    argument_digest: str | None = None
    policy_decision: PolicyDecision | None = None
    observation: BoundedObservation | None = None
    remaining_budget: RemainingBudget


def bounded(records: Iterable[Record]) -> list[StepRow]:
    """The rows of a run, in the order in which they were decided."""
    rows = _Rows()
    for record in records:
        rows.take(record)
    return rows.rows


def _size_bytes(content: Content | None) -> int:
    return 0 if content is None else len(text_of(content).encode())


class _Rows:
    """The rows so far, those of calls by their number, and the one of a reply that is not read yet."""

    def __init__(self) -> None:
        self.rows: list[StepRow] = []
        self._state = RunState()
        self._of_call: dict[int, StepRow] = {}
        self._unread: StepRow | None = None

    def take(self, record: Record) -> None:
        """One record further."""
        evolve(self._state, record)
        if (step := self._STEPS.get(type(record.event))) is not None:
            step(self, record.event)

    def _replied(self, event: ModelReplied) -> None:  # noqa: ARG002 - that there is one is all
        self._unread = self._new("none", "")

    def _refused(self, event: ReplyRefused) -> None:
        self._read("refused", event.reason)

    def _reflected(self, event: ReflectionNoted) -> None:
        if self._unread is not None:  # a lesson by a rule is no step
            self._read("reflect", event.lesson)

    def _called(self, event: ToolCalled) -> None:
        self._touched(event.call)

    def _decided(self, event: DecisionMade) -> None:
        decided = _DECIDED[event.kind]
        first = self._read(decided, event.summary)
        if event.kind != "call":
            return
        for number, one in enumerate(event.calls):
            row = first if number == 0 else self._new(decided, event.summary)
            row.tool = one.tool
            self._of_call[one.call] = row
            self._touched(one.call)

    def _read(self, decided: Decided, summary: str) -> StepRow:
        """What a reply turned out to be; a workflow decides without one, and so does what is noted by a rule."""
        row, self._unread = self._unread, None
        if row is None:
            return self._new(decided, summary)
        row.decision, row.decision_summary = decided, one_line(summary, SUMMARY_CHARS_MAX)
        row.remaining_budget = self._left()
        return row

    def _judged(self, event: VerdictGiven) -> None:
        if event.call not in self._of_call:  # no reply proposed it: the engine undoes what an earlier one did
            self._of_call[event.call] = self._new("compensate", event.reason)
        row = self._of_call[event.call]
        row.policy_decision = _POLICY.get(event.verdict, row.policy_decision)
        self._touched(event.call)

    def _touched(self, call: int) -> None:
        """What is known of a call by now: an edit may have changed its arguments."""
        row, known = self._of_call.get(call), self._state.calls.get(call)
        if row is not None:
            row.remaining_budget = self._left()
            if known is not None:
                row.tool, row.argument_digest = known.tool, f"sha256:{digest(known.arguments)}"

    def _observed(self, event: ObservationReceived) -> None:
        size = event.size_bytes or _size_bytes(event.content)
        self._came(event.call, BoundedObservation(status=event.status, source=event.source, bytes=size))

    def _settled(self, event: EffectReconciled | OutcomeStated) -> None:
        status = "ok" if event.outcome == "landed" else event.outcome
        self._came(event.call, BoundedObservation(status=status, source="", bytes=_size_bytes(event.content)))

    def _came(self, number: int, seen: BoundedObservation) -> None:
        row, call = self._of_call.get(number), self._state.calls.get(number)
        if row is None or call is None or call.observed != self._state.position:  # a word that nobody asked for
            return
        seen.source = seen.source or (row.observation.source if row.observation else "")
        row.observation, row.remaining_budget = seen, self._left()

    def _new(self, decided: Decided, summary: str) -> StepRow:
        row = StepRow(
            step=self._state.steps,
            decision=decided,
            decision_summary=one_line(summary, SUMMARY_CHARS_MAX),
            remaining_budget=self._left(),
        )
        self.rows.append(row)
        return row

    def _left(self) -> RemainingBudget:
        remaining = left(self._state.terms.budget, self._state)
        return RemainingBudget(
            steps=remaining["steps"],
            wall_time_ms=remaining["wall_time"],
            tokens=remaining["tokens"],
            tool_calls=remaining["tool_calls"],
            cost_micros=remaining["cost"],
        )

    _STEPS: ClassVar[dict[type, Callable[[_Rows, Any], None]]] = {
        ModelReplied: _replied,
        DecisionMade: _decided,
        ReplyRefused: _refused,
        ReflectionNoted: _reflected,
        VerdictGiven: _judged,
        ToolCalled: _called,
        ObservationReceived: _observed,
        EffectReconciled: _settled,
        OutcomeStated: _settled,
    }
