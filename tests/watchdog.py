"""What the auditor keeps of guards, quotas and warnings: judged from the records alone, by rules of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from redrive_engine.program import Program
from redrive_events import (
    BudgetWarned,
    CallIntercepted,
    DecisionMade,
    EffectConfirmed,
    EffectReconciled,
    Event,
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
    Record,
    RecoveryChosen,
    ReplyRefused,
    RunEnded,
    Rung,
    StopDecided,
    ToolCalled,
    VerdictGiven,
)
from tests.audit_effects import Doubts

SLIPS: Final = {"schema", "unknown tool", "alone"}
UNANSWERED: Final = {"timeout", "unknown", "cancelled"}


def fails(event: Event) -> Failure | None:
    """The kind of failure that an event is, if it is one."""
    if isinstance(event, VerdictGiven):
        return None if event.verdict != "deny" else "arguments" if event.rule in SLIPS else "denied"
    if isinstance(event, ObservationReceived):
        if event.returned is not None:
            return None
        passing = event.status in UNANSWERED or event.error == "unavailable"
        return "infrastructure" if passing else "tool_failed" if event.status == "error" else None
    if isinstance(event, FinishRefused):
        return "finish" if event.missing or event.unsupported else None
    if isinstance(event, ModelFailed):
        return None if event.kind == "cancelled" else "model_failed"
    return _FAILURES.get(type(event))


def mends(event: Event) -> set[Failure]:
    """The kinds of failure of which an event is the opposite."""
    if isinstance(event, VerdictGiven):
        slip = event.verdict == "edit" or event.rule in SLIPS
        return {"arguments", "denied"} if event.verdict == "allow" else set() if slip else {"arguments"}
    status = getattr(event, "status", getattr(event, "outcome", ""))
    if isinstance(event, ObservationReceived | EffectReconciled | OutcomeStated):
        if getattr(event, "returned", None) is not None or getattr(event, "error", "") == "unavailable":
            return set()
        return _ANSWERS.get(status, set())
    return _SUCCESSES.get(type(event), set())


ANSWERED: Final[set[Failure]] = {"tool_failed", "infrastructure"}
_ANSWERS: Final[dict[str, set[Failure]]] = {"ok": ANSWERED, "landed": ANSWERED, "error": {"infrastructure"}}
_FAILURES: Final[dict[type, Failure]] = {
    ReplyRefused: "unreadable",
    ObservationRefused: "refused",
}
_SUCCESSES: Final[dict[type, set[Failure]]] = {
    DecisionMade: {"unreadable"},
    ModelReplied: {"model_failed"},
    FactCommitted: {"finish"},
}


class Quotas:
    """Failures of a kind in a row never go beyond their quota: the next rung is taken, or the run is given up."""

    def __init__(self, program: Program) -> None:
        self.terms = program.terms
        self.rows: dict[str, list[int]] = {}
        self.seen: dict[int, bool] = {}
        self.taken: list[Rung] = []
        self.edited: set[int] = set()
        self.doubts = Doubts()
        self.model = program.terms.model
        self.stopped = False

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        for index, record in enumerate(append):
            event = record.event
            if not self.doubts.take(record) and isinstance(event, OutcomeStated):
                continue  # nobody was asked, so it says nothing
            self._decided(event)
            for kind in {event.failure} if isinstance(event, RecoveryChosen) else mends(event):
                self.rows.pop(kind, None)
            self._looked_at(record)
            if isinstance(event, VerdictGiven) and event.verdict == "edit":
                self.edited.add(event.call)
            if (failed := fails(event)) is not None and not self._of_others(event):
                self.rows.setdefault(failed, []).append(record.position)
                self._within(failed, [one.event for one in append[index:]])

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """What a person has said of an effect, and nobody has heard, is dropped."""
        self.doubts.forked()

    def _decided(self, event: Event) -> None:
        if isinstance(event, RecoveryChosen):
            self._recovered(event)
        if isinstance(event, ModelAsked):
            assert event.model == self.model, "the stronger model is asked from there on"
        if isinstance(event, StopDecided):
            self._given_up(event)
            self.stopped = True

    def _of_others(self, event: Event) -> bool:
        """Whether it is what a rule or a person made of a call that does not fit: no slip of the model's."""
        return isinstance(event, VerdictGiven) and event.rule in SLIPS and event.call in self.edited

    def _looked_at(self, record: Record) -> None:
        """An observation that some verifier judged, and none refused, ends a row of refused ones."""
        event = record.event
        if isinstance(event, ObservationReceived | EffectReconciled | OutcomeStated):
            if any(self.seen.values()):
                self.rows.pop("refused", None)
            self.seen = {}
        elif isinstance(event, ObservationVerified):
            self.seen[event.call] = True
        elif isinstance(event, ObservationRefused):
            self.seen = {}

    def _within(self, kind: Failure, rest: list[Event]) -> None:
        quota = getattr(self.terms.quotas, kind)
        later = {type(one) for one in rest}
        if quota is None or self.stopped or "compensate" in self.taken or len(self.rows[kind]) < quota:
            return
        assert later & {RecoveryChosen, StopDecided} or any(kind in mends(one) for one in rest[1:]), (kind, quota)

    def _recovered(self, event: RecoveryChosen) -> None:
        assert list(event.window) == self.rows[event.failure], "the failures that led to it"
        left = list(self.terms.recovery)
        for rung in self.taken:
            left.remove(rung)
        assert event.rung in left, "each rung as often as the contract has it"
        skipped = left[: left.index(event.rung)]
        assert {one for one in skipped if one != "another_way"} <= {"stronger_model", "compensate"}, "in its order"
        self.taken.append(event.rung)
        if event.rung == "stronger_model":
            models = list(self.terms.models)
            before = models.index(self.model) if self.model in models else -1
            assert event.model == models[before + 1]
        else:
            assert event.model == ""
        self.model = event.model or self.model

    def _given_up(self, event: StopDecided) -> None:
        if event.window and not event.read:
            assert list(event.window) in self.rows.values()
            assert "escalate" not in (set(self.terms.recovery) - set(self.taken)), "a person is asked before that"


class Guards:
    """What a guard holds back or stops it had to, and what it should have held back it did."""

    def __init__(self, program: Program) -> None:
        self.terms = program.terms
        self.made: list[tuple[str, str, int, int]] = []
        self.landed = 0
        self.effects: dict[int, str] = {}
        self.warned: dict[str, int] = {}
        self.barren: list[int] = []
        self.learnt = False
        self.acting = True
        self.doubts = Doubts()
        self.forked_at = 0
        self.used: dict[str, int] = {"steps": 0, "tokens": 0, "cost": 0}
        self.last: dict[str, int] = {}

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        for record in append:
            if not self.doubts.take(record) and isinstance(record.event, OutcomeStated):
                continue
            if (check := self._CHECKS.get(type(record.event))) is not None:
                check(self, record, append)

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """What a person has said of an effect, and nobody has heard, is dropped."""
        self.forked_at = fork.position
        self.doubts.forked()

    def _message(self, record: Record, append: Sequence[Record]) -> None:
        if record.event.content:  # type: ignore[union-attr]
            self.barren = []
            self.learnt = True

    def _replied(self, record: Record, append: Sequence[Record]) -> None:
        event: Any = record.event
        usage = event.usage
        tokens = usage.input + usage.cache_read + usage.cache_write + usage.output if usage else 0
        self.last = {"steps": 1, "tokens": tokens, "cost": event.cost_micros or 0}
        self.used = {name: self.used[name] + self.last[name] for name in self.used}
        if self.acting:
            self.barren.append(record.position)
            self.learnt = False
        if self.terms.guards.last_step and self._over():
            called = [one.event for one in append if isinstance(one.event, ToolCalled)]
            assert [one for one in called if one.compensates is None] == [], "nothing is begun on the last step"

    def _over(self) -> bool:
        budget = self.terms.budget
        limits = {"steps": budget.steps, "tokens": budget.tokens, "cost": budget.cost_micros}
        return any(limit is not None and limit <= self.used[name] for name, limit in limits.items())

    def _called(self, record: Record, append: Sequence[Record]) -> None:
        event: Any = record.event
        self.effects[event.call] = event.effect
        if event.attempt > 1 or event.compensates is not None:
            return
        repeats = self.terms.guards.repeats
        if repeats is not None and event.tool not in repeats.polling and event.effect != "run":
            assert len(self._window(event.digest)) < repeats.times, "no call is made more often than it may be"
        self.made.append((event.digest, event.tool, event.call, record.position))

    def _window(self, digest: str) -> list[int]:
        """Where the same call was made, within the window and since the last write that landed."""
        repeats = self.terms.guards.repeats
        assert repeats is not None
        order = len(self.made)
        since = 0 if repeats.window is None else order - repeats.window
        since = max(since, self.landed - 1) if repeats.write_resets else since
        return [place for index, (same, _, _, place) in enumerate(self.made) if same == digest and index >= since]

    def _intercepted(self, record: Record, append: Sequence[Record]) -> None:
        event: Any = record.event
        assert event.window, "a guard says what it judged"
        assert all(place < record.position for place in event.window)
        if event.guard == "last_step":
            assert self.terms.guards.last_step
            assert append[0].position in event.window
        elif event.guard == "forked":
            assert event.window == (self.forked_at,), "only what was under way where the run was forked"
        else:
            assert self.terms.guards.repeats is not None

    def _observed(self, record: Record, append: Sequence[Record]) -> None:
        event: Any = record.event
        status = getattr(event, "status", "")
        passing = status in UNANSWERED or getattr(event, "error", "") == "unavailable"
        if passing and getattr(event, "returned", None) is None:
            self.barren, self.learnt = [], True
        lost = (passing and self.effects[event.call] == "read") or (getattr(event, "outcome", "") == "not_landed")
        if lost:  # the place of a call that was lost is kept, but it equals none any more
            self.made = [("", *one[1:]) if one[2] == event.call else one for one in self.made]

    def _landed(self, record: Record, append: Sequence[Record]) -> None:
        event: Any = record.event
        order = next((index for index, one in enumerate(self.made, start=1) if one[2] == event.call), 0)
        self.landed = max(self.landed, order)

    def _fact(self, record: Record, append: Sequence[Record]) -> None:
        self.barren, self.learnt = [], True

    def _warned(self, record: Record, append: Sequence[Record]) -> None:
        event: Any = record.event
        assert self.terms.guards.warn
        assert event.dimension not in self.warned, "once"
        assert event.text.startswith("Important: ")
        self.warned[event.dimension] = record.position

    def _asked(self, record: Record, append: Sequence[Record]) -> None:
        guards, budget = self.terms.guards, self.terms.budget
        self.acting = record.event.purpose == "act"  # type: ignore[union-attr]
        if guards.warn and budget.steps is not None and self.used["steps"] == budget.steps - 1:
            assert "steps" in self.warned, "who has one step left is told so"
        if guards.barren_turns is not None:
            assert len(self.barren) <= guards.barren_turns, "turns that bring nothing come to an end"

    def _stopped(self, record: Record, append: Sequence[Record]) -> None:
        event: Any = record.event
        if event.reason != "stagnation":
            return
        (read,) = event.read
        if read.path == "turns.without_new_fact":
            assert list(event.window) == self.barren
            assert read.value == len(self.barren) > read.limit == self.terms.guards.barren_turns
        else:
            assert self.terms.guards.stagnation is not None
            assert len(event.window) == self.terms.guards.stagnation.thoughts
            assert self.terms.guards.stagnation.similarity_percent == read.limit <= read.value <= 100

    def _ended(self, record: Record, append: Sequence[Record]) -> None:
        budget = self.terms.budget
        for name, limit in {"tokens": budget.tokens, "cost": budget.cost_micros}.items():
            over = limit is not None and self.used[name] - self.last.get(name, 0) >= limit
            assert not over, "a budget is overrun by no more than the one reply in flight"

    _CHECKS: Final = {
        MessageReceived: _message,
        ModelReplied: _replied,
        ToolCalled: _called,
        CallIntercepted: _intercepted,
        ObservationReceived: _observed,
        EffectReconciled: _observed,
        OutcomeStated: _observed,
        EffectConfirmed: _landed,
        FactCommitted: _fact,
        BudgetWarned: _warned,
        ModelAsked: _asked,
        StopDecided: _stopped,
        RunEnded: _ended,
    }


class Escalations:
    """A rung that hands over is followed by a person's request or by the end, before anything else is asked."""

    def __init__(self) -> None:
        self.due = False

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        for record in append:
            event = record.event
            if isinstance(event, RecoveryChosen) and event.rung == "escalate":
                self.due = True
            if isinstance(event, PersonAsked | StopDecided):
                self.due = False
            assert not (self.due and isinstance(event, ModelAsked)), "first a person is asked"
