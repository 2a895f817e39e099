"""A run as it goes: its writes so far, and as what each open request was asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from redrive_engine.loop import ACTING
from redrive_events import (
    REQUESTS,
    ApprovalAsked,
    EffectReconciled,
    Event,
    ModelAsked,
    ObservationReceived,
    OutcomeStated,
    PersonAsked,
    ReconcileAsked,
    Record,
    Request,
    ToolCalled,
)
from redrive_projections import RunState, evolve, request_digest
from redrive_replays.replayer import appends

Outcome: TypeAlias = Literal["landed", "not landed", "unknown"]
# Which request it is, whenever it is asked: its kind, and all that its answer may hang on.
Key: TypeAlias = tuple[object, ...]

# What may have acted: a child run does so by calls of its own.
_RUN = frozenset({"run"})
_ACTING = ACTING | _RUN

_SETTLED: dict[str, Outcome] = {"landed": "landed", "not_landed": "not landed", "unknown": "unknown"}


class Written(NamedTuple):
    """A write that came to an end, or a child run, of which nobody knows what it did if it failed."""

    tool: str
    digest: str
    outcome: Outcome


class Target(NamedTuple):
    """Which call it is: the tool, and the digest of the call."""

    tool: str
    digest: str


class Beside(NamedTuple):
    """A write that is under way beside another request: how long before or after that it began, and its own limit."""

    target: Target
    begun: timedelta
    limit_ms: int


@dataclass(slots=True)
class Open:
    """A request, when and in which turn it was asked, after which writes, and beside which other ones."""

    request: Request
    at: datetime
    turn: int
    writes: tuple[Written, ...]
    said: str = ""
    beside: list[Beside] = field(default_factory=list)

    def key(self, calls: dict[int, Target]) -> Key:
        """What its answer hangs on, and never a position or a number."""
        match self.request:
            case ModelAsked(request=request):
                return "model", request
            case ToolCalled(tool=tool, digest=digest):
                return "tool", tool, digest, self.writes, tuple(sorted(self.beside))
            case ReconcileAsked(call=call):
                return "reconcile", calls.get(call), self.writes
            case ApprovalAsked(digest=digest):
                return "approval", digest
            case PersonAsked(why=why):
                return "person", why, self.said


class Course:
    """What is to be known of a run beside its state, from its records in order."""

    def __init__(self) -> None:
        self.calls: dict[int, Target] = {}
        self.open: dict[int, Open] = {}
        self._writes: list[Written] = []
        self._closed: dict[int, int] = {}

    def take(self, state: RunState, records: Sequence[Record]) -> None:
        """The records of one append, which the state already holds."""
        for record in records:
            self._settle(record.event)
        for record in records:
            event = record.event
            if isinstance(event, ToolCalled):
                self._called(event, record.at)
            if type(event) in REQUESTS:
                self.open[record.position] = self._asked(state, event, record.at)  # type: ignore[arg-type]
        for position in [position for position in self.open if position not in state.requests]:
            del self.open[position]

    def key(self, position: int) -> Key:
        """As what the open request at ``position`` was asked."""
        return self.open[position].key(self.calls)

    def _asked(self, state: RunState, request: Request, at: datetime) -> Open:
        said = request_digest(state.transcript(), b"") if isinstance(request, PersonAsked) else ""
        beside = self._under_way(getattr(request, "call", 0), at)
        return Open(request, at, state.steps, tuple(self._writes), said, beside)

    def settled(self, asked: Open) -> tuple[Written, ...]:
        """The writes that came to an end since this was asked."""
        return tuple(self._writes[len(asked.writes) :])

    def _called(self, event: ToolCalled, at: datetime) -> None:
        if event.effect not in _ACTING:
            return
        self.calls[event.call] = target = Target(event.tool, event.digest)
        for other in self.open.values():
            other.beside.append(Beside(target, at - other.at, event.timeout_ms or 0))

    def _under_way(self, but: int, at: datetime) -> list[Beside]:
        """The writes that are under way beside this call."""
        return [
            Beside(self.calls[one.request.call], one.at - at, one.request.timeout_ms or 0)
            for one in self.open.values()
            if isinstance(one.request, ToolCalled) and one.request.effect in _ACTING and one.request.call != but
        ]

    def _settle(self, event: Event) -> None:
        match event:
            case ObservationReceived(call=call) if self._acts(call, _RUN):  # which may fail behind what it did
                self._close(call, "landed" if event.status == "ok" else "unknown")
            case ObservationReceived(call=call, status="ok" | "error" as status) if self._acts(call, ACTING):
                self._close(call, "landed" if status == "ok" else "not landed")
            case EffectReconciled(call=call, outcome=outcome) | OutcomeStated(call=call, outcome=outcome):
                self._close(call, _SETTLED[outcome])
            case _:
                pass

    def _acts(self, call: int, effects: Collection[str]) -> bool:
        return any(
            isinstance(one.request, ToolCalled) and one.request.call == call and one.request.effect in effects
            for one in self.open.values()
        )

    def _close(self, call: int, outcome: Outcome) -> None:
        if (target := self.calls.get(call)) is None:
            return
        written = Written(*target, outcome)
        place = self._closed.get(call)
        if place is not None and self._writes[place].outcome == "unknown":  # a person knew more
            self._writes[place] = written
        else:
            self._closed[call] = len(self._writes)
            self._writes.append(written)


def course_of(records: Iterable[Record]) -> Course:
    """What is to be known of a run after all of ``records``."""
    course, state = Course(), RunState()
    for append in appends(records):
        for record in append:
            evolve(state, record)
        course.take(state, append)
    return course
