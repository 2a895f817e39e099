"""What every run keeps of its effects: doubt that a person ends, what is undone and in which order, leases revoked."""

from __future__ import annotations

from collections.abc import Sequence

from redrive_engine.program import Program
from redrive_events import (
    STRANGERS,
    DecisionMade,
    EffectCompensated,
    EffectConfirmed,
    EffectReconciled,
    Event,
    LeaseGranted,
    LeaseRevoked,
    MessageReceived,
    ModelAsked,
    OutcomeStated,
    PersonAsked,
    Record,
    RecoveryChosen,
    StopDecided,
    ToolCalled,
    VerdictGiven,
)


class Doubts:
    """Which effects a person is asked about, and so whose word on them counts."""

    def __init__(self) -> None:
        self.open: dict[int, PersonAsked] = {}
        self.stated: list[Record] = []

    def take(self, record: Record) -> bool:
        """One record further; whether it is a word that counts. ``stated`` are those that nobody has heard yet."""
        event = record.event
        if isinstance(event, PersonAsked) and event.effect is not None:
            self.open[event.effect] = event
        elif isinstance(event, StopDecided) or (isinstance(event, MessageReceived) and event.last):
            kept = {call: one for call, one in self.open.items() if not in_time(one, record)}
            self.open = {} if isinstance(event, StopDecided) else kept
        elif isinstance(event, OutcomeStated) and event.call in self.open and in_time(self.open[event.call], record):
            del self.open[event.call]
            self.stated.append(record)
            return True
        return False

    def forked(self) -> None:
        """Nobody is asked any more, and what was said and not heard is dropped."""
        self.open, self.stated = {}, []

    def heard(self, append: Sequence[Record]) -> list[Record]:
        """Those that this append hears, if it is not itself a stranger's."""
        if type(append[0].event) in STRANGERS:
            return []
        heard, self.stated = self.stated, []
        return heard


def in_time(asked: PersonAsked, record: Record) -> bool:
    """Whether a person was still waited for when this happened."""
    return asked.expires is None or record.at < asked.expires


class Effects:
    """A person is asked only of what nobody knows; what landed is undone once, the last first, and told at the end."""

    def __init__(self, program: Program) -> None:
        self.terms = program.terms
        self.compensable = {name for name, one in (program.tools or {}).items() if one.compensable}
        self.confirmed: dict[int, str] = {}
        self.undoing: dict[int, int] = {}
        self.undone: set[int] = set()
        self.attempts: dict[int, int] = {}
        self.tools: dict[int, str] = {}
        self.doubts = Doubts()
        self.given_up, self.stopped = "", False

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        events = [one.event for one in append]
        self.stopped |= any(isinstance(one, StopDecided) for one in events)
        for record in self.doubts.heard(append):
            assert isinstance(record.event, OutcomeStated)
            self._came_out(record.event, events)
        for index, record in enumerate(append):
            self._event(record.event, events[:index], events)
            self.doubts.take(record)

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """What was done before is the other run's to undo."""
        self.confirmed, self.undone = {}, set()
        self.doubts.forked()

    def _event(self, event: Event, before: list[Event], events: list[Event]) -> None:
        match event:
            case PersonAsked() | EffectReconciled():
                self._doubted(event, before, events)
            case RecoveryChosen(rung="compensate"):
                assert self.confirmed, "there is something to undo"
                self.given_up = event.reason
            case ToolCalled():
                self._called(event, before)
            case EffectConfirmed() if event.call not in self.undoing:
                self.confirmed[event.call] = self.tools[event.call]
            case EffectCompensated():
                assert self.undoing[event.by] == event.call, "by the call that was to undo it"
                assert EffectConfirmed(call=event.by) in before
                self.undone.add(event.call)
            case ModelAsked() | DecisionMade():
                assert not self.given_up, "whoever gives up begins nothing more"
            case StopDecided(status="failed") if self.given_up and event.reason.startswith(self.given_up):
                self._ended(event)
            case _:
                pass

    def _doubted(self, event: PersonAsked | EffectReconciled, before: list[Event], events: list[Event]) -> None:
        if isinstance(event, PersonAsked) and event.why == "doubt":
            last = next(one for one in reversed(before) if getattr(one, "call", None) == event.effect)
            assert (self.terms.on_doubt, getattr(last, "outcome", "")) == ("wait", "unknown")
        if isinstance(event, EffectReconciled) and (event.outcome, self.terms.on_doubt) == ("unknown", "wait"):
            asked = [one for one in events if isinstance(one, PersonAsked) and one.effect == event.call]
            assert asked or self.stopped, "a doubt that is to wait for a person does"

    def _called(self, event: ToolCalled, before: list[Event]) -> None:
        self.tools[event.call], self.attempts[event.call] = event.tool, event.attempt
        if event.compensates is None:
            assert not self.given_up or event.attempt > 1, "whoever gives up begins nothing more"
        elif event.attempt == 1:
            assert self.given_up
            reason = f"undoes call {event.compensates}, since the run is given up: {self.given_up}"
            assert VerdictGiven(call=event.call, verdict="allow", rule="compensation", reason=reason) in before
            left = [call for call in self.confirmed if call not in self.undoing.values() and self._can(call)]
            assert event.compensates == left[-1], "each once, the last first"
            self.undoing[event.call] = event.compensates
        else:
            assert self.undoing[event.call] == event.compensates

    def _can(self, call: int) -> bool:
        return self.confirmed[call] in self.compensable

    def _came_out(self, stated: OutcomeStated, events: list[Event]) -> None:
        """A person's word is followed by what an authority's would be."""
        assert (EffectConfirmed(call=stated.call) in events) == (stated.outcome == "landed")
        again = [one for one in events if isinstance(one, ToolCalled) and one.call == stated.call]
        wanted = stated.outcome == "not_landed" and self.attempts[stated.call] < self.terms.attempts
        assert bool(again) == wanted or (wanted and self.stopped)

    def _ended(self, event: StopDecided) -> None:
        standing = sorted(set(self.confirmed) - self.undone)
        named = f"; not undone: {', '.join(f'call {call}' for call in standing)}" if standing else ""
        assert event.reason == self.given_up + named, "what stands is told"


class Leases:
    """Once a lease is revoked its worker appends nothing more; another may take the run up."""

    def __init__(self) -> None:
        self.epoch, self.revoked = 0, False

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """Nobody has taken it up yet."""
        self.revoked = True

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        first = append[0].event
        if isinstance(first, LeaseGranted):
            assert first.epoch == self.epoch + 1
            self.epoch, self.revoked = first.epoch, False
        elif isinstance(first, LeaseRevoked):
            self.revoked |= first.epoch == self.epoch
        else:
            assert type(first) in STRANGERS or not self.revoked, "a worker whose lease was revoked writes nothing"
