"""What a recording can answer: each answer under what it answered, served once, and the signals nobody asked for."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec

from redrive_engine import Declaration
from redrive_engine.live import given_up
from redrive_events import (
    ANSWERS,
    STRANGERS,
    DeadlinePassed,
    EffectReconciled,
    Event,
    Input,
    LeaseGranted,
    ModelReplied,
    ObservationReceived,
    Record,
    Request,
    RunForked,
    RunStarted,
    SignalsHeard,
    StopDecided,
    ToolCalled,
)
from redrive_projections import RunState, evolve, expired
from redrive_replays.replayer import appends
from redrive_replays.whatif.changes import Changes
from redrive_replays.whatif.course import Beside, Course, Key, Open, Written
from redrive_replays.whatif.envelopes import Envelopes


@dataclass(frozen=True, slots=True)
class Answered:
    """A recorded answer: to which request, asked in which turn, how long it took, and where it stands.

    It is None where a person was asked, and said nothing in time, and where it was ``open`` when the recording ended:
    then it would have taken longer. Meanwhile these writes were ``settled``. Where it says only that the run was
    ending, it came so long ``stopped``. One that was ``overdue`` was let in all the same: it came ``late``, when nobody
    had noticed yet that a time was over, or while the run was ``ending``.
    Its ``number`` tells it from another that stands in the same place, such as the silence of a person until then. The
    request was ``asked`` at this position.
    """

    request: Request
    answer: Input | None
    key: Key
    turn: int
    took: timedelta
    position: int
    given: bool = False
    settled: tuple[Written, ...] = ()
    stopped: timedelta | None = None
    overdue: Literal["", "late", "ending"] = ""
    number: int = -1
    open: bool = False
    asked: int = 0

    def awaits(self, asked: Open, key: Key, at: datetime) -> bool:
        """Whether it answers a call that was asked like this one, and came behind ``at``, as writes that began by then.

        Up to ``at`` the two are the same, so that no answer to the one comes sooner than to the other.
        """
        if not isinstance(asked.request, ToolCalled) or self.key[:-1] != key[:-1] or later(asked.at, self.took) < at:
            return False
        here, there = Counter(asked.beside), Counter[Beside](self.key[-1])  # type: ignore[call-overload]
        begun = Counter(one for one in there.elements() if one.begun < at - asked.at)
        return here <= there and begun <= here


class Unasked(NamedTuple):
    """A signal that answered nothing: in which turn it came, behind how many answers of it, and how long after what."""

    turn: int
    behind: int
    event: Input
    since: timedelta
    position: int


@dataclass(slots=True)
class Recorded:
    """A recorded run as a source of answers; ``heard`` says at which position the signal at a position was heard.

    ``unheard`` are the positions of the last signals, of which nobody took note, and ``untaken`` says that nobody took
    up the run, or its own part. ``envelopes`` are those in which comes what is given.
    """

    answers: list[Answered] = field(default_factory=list)
    unasked: deque[Unasked] = field(default_factory=deque)
    served: set[int] = field(default_factory=set)
    by_key: dict[Key, list[Answered]] = field(default_factory=lambda: defaultdict(list))
    heard: dict[int, int] = field(default_factory=dict)
    unheard: frozenset[int] = frozenset()
    untaken: bool = True
    envelopes: Envelopes = field(default_factory=lambda: Envelopes({}, ()))

    def peek(self, key: Key, asked: Open) -> Answered | None:
        """The next answer to what was ``asked`` as ``key``; None if there is none, or none that is sure.

        What was answered in another turn is the answer here only if all answers to it were the same. Of equal calls
        that are open side by side each has its own answer, whichever came first.
        """
        known = self.by_key.get(key, ())
        left = [one for one in known if one.number not in self.served]
        found = next((one for one in left if one.turn == asked.turn and _same_call(one.request, asked.request)), None)
        found = found or next(iter(left), None)
        if found is None or (found.turn != asked.turn and not _alike(known)):
            return None
        return found

    def mark(self, found: Answered) -> Answered:
        """``found``, which is served by now."""
        self.served.add(found.number)
        return found

    def awaits(self, course: Course, position: int, at: datetime, behind: int) -> bool:
        """Whether what is open there has an answer that comes behind ``at``, beside writes that begin only then."""
        asked, key = course.open[position], course.key(position)
        return any(one.awaits(asked, key, at) for one in self.waiting() if one.position > behind)

    def waiting(self) -> Iterator[Answered]:
        """The answers that nobody asked for yet, in their order."""
        return (one for one in self.answers if one.number not in self.served)


def recorded_in(records: Sequence[Record], changes: Changes, tools: Mapping[str, Declaration]) -> Recorded:
    """What the records of a run can answer, some of it replaced by what was given; of a fork, what is its own.

    What is given comes in as what the ``tools`` return.
    """
    reading = _Reading(records[0], changes, Envelopes(tools, records))
    for append in appends(records):
        if isinstance(append[0].event, RunForked):
            reading.forked(append)
        else:
            reading.take(append)
    reading.left()
    return reading.found


class _Reading:
    """A recording as far as it was read, and how far its turn is."""

    def __init__(self, start: Record, changes: Changes, envelopes: Envelopes) -> None:
        self.found, self.changes = Recorded(envelopes=envelopes), changes
        self.state, self.course = RunState(), Course()
        self.turn, self.behind, self.last = 0, 0, start.at
        self.stopped: datetime | None = None
        self.passed = False
        self.overdue: Literal["", "late", "ending"] = ""
        self.unheard: list[int] = []
        self.lost: dict[int, tuple[int, Open, Key]] = {}
        self.gaps: dict[int, timedelta] = defaultdict(timedelta)

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        first, state = append[0], self.state
        before = dict(state.requests)
        evolve(state, first)
        timed_out = any(isinstance(one.event, StopDecided) and one.event.dimension == "wall_time" for one in append)
        over = [one for one in before if one in state.requests and expired(state.requests[one], state.now)]
        self.overdue = "ending" if self.stopped is not None else "late" if timed_out or over else ""
        if state.steps != self.turn:
            self.turn, self.behind = state.steps, 0
        if type(first.event) in STRANGERS:
            self.unheard.append(first.position)
        else:
            self.found.untaken = isinstance(first.event, RunStarted)
            for position in over:
                self._answered(position, first, None)
            self.found.heard |= dict.fromkeys(self.unheard, first.position)
            self.unheard = []
        answered = next((position for position in before if position not in state.requests), 0)
        if answered and type(first.event) in ANSWERS | STRANGERS:
            self.behind += 1
            self._answered(answered, first, happened(first))
        else:
            self._signalled(first)
        for record in append[1:]:
            evolve(state, record)
        if isinstance(first.event, LeaseGranted):
            self._taken_up(first)
        self.course.take(state, append)
        self.last, self.passed = first.at, isinstance(first.event, DeadlinePassed)
        if self.stopped is None and state.stop is not None:
            self.stopped = first.at

    def left(self) -> None:
        """What is left where the recording ends: signals that nobody heard, and requests without an answer by then."""
        found, state = self.found, self.state
        found.unheard = frozenset(self.unheard)
        found.heard |= dict.fromkeys(self.unheard, self.unheard[-1] if self.unheard else 0)
        # A limit of time that passed in this very instant did so before any answer.
        end = self.last + timedelta(microseconds=self.passed)
        for number, (position, asked) in enumerate(self.course.open.items(), start=len(found.answers)):
            key, settled = self.course.key(position), self.course.settled(asked)
            took = end - asked.at - self.gaps.pop(position, timedelta())
            stopped = None if self.stopped is None else end - self.stopped
            one = Answered(
                asked.request, None, key, asked.turn, took, state.position + 1, settled=settled, number=number
            )
            found.by_key[key].append(replace(one, open=True, stopped=stopped))

    def forked(self, append: Sequence[Record]) -> None:
        """What was answered in front of this is inherited; no more of it happens, and nothing is open."""
        self.found.served = {one.number for one in self.found.answers}
        self.found.untaken = True
        self.found.unasked.clear()
        self.unheard, self.lost = [], {}
        self.gaps.clear()
        for record in append:
            evolve(self.state, record)
        self.course.take(self.state, append)
        self.turn, self.behind, self.last = self.state.steps, 0, append[0].at

    def _taken_up(self, first: Record) -> None:
        """A worker is lost: what it had begun nobody saw the end of, and what it had asked is asked by the next one."""
        for position, asked in self.course.open.items():
            self.gaps[position] += first.at - self.last
            request = asked.request
            if position not in self.state.requests and isinstance(request, ToolCalled):
                self.lost[request.call] = position, asked, self.course.key(position)

    def _found_out(self, record: Record) -> None:
        """What became of a call of a lost worker is what a worker that was not lost would have seen."""
        event = record.event
        if isinstance(event, EffectReconciled) and event.outcome == "landed":
            content, kind = event.content, event.media_type
            seen = ObservationReceived(call=event.call, status="ok", content=content, media_type=kind)
        elif isinstance(event, ObservationReceived):  # of the next attempt, since the lost one had not landed
            seen = event
        else:
            return
        if event.call in self.lost:
            position, asked, key = self.lost.pop(event.call)
            self._add(position, asked, key, record, seen, timedelta())

    def _signalled(self, first: Record) -> None:
        if type(first.event) in STRANGERS | {SignalsHeard} and not isinstance(first.event, RunStarted):
            since = first.at - self.last
            self.found.unasked.append(Unasked(self.turn, self.behind, happened(first), since, first.position))

    def _answered(self, position: int, record: Record, said: Input | None) -> None:
        asked = self.course.open[position]
        took = record.at - asked.at - self.gaps.pop(position, timedelta())
        self._add(position, asked, self.course.key(position), record, said, took)
        self._found_out(record)

    def _add(self, position: int, asked: Open, key: Key, record: Record, said: Input | None, took: timedelta) -> None:
        answer, given = self._given(said, asked.request, asked.turn + 1)
        settled = self.course.settled(asked)
        one = Answered(
            asked.request,
            answer,
            key,
            asked.turn,
            took,
            record.position,
            given,
            settled,
            self._since_stop(record, asked.request),
            self.overdue,
            len(self.found.answers),
            asked=position,
        )
        self.found.answers.append(one)
        if not given:  # that answers by its number, to whatever it is given
            self.found.by_key[key].append(one)

    def _given(self, answer: Input | None, request: Request, step: int) -> tuple[Input | None, bool]:
        """The answer, or what was given in its place."""
        if isinstance(answer, ObservationReceived) and isinstance(request, ToolCalled):
            if (said := self.changes.observations.get(request.call)) is not None:
                return self.found.envelopes.observed(said, request, answer), True
        elif isinstance(answer, ModelReplied) and (words := self.changes.replies.get(step)) is not None:
            return ModelReplied(content=words, model=answer.model), True
        return answer, False

    def _since_stop(self, record: Record, request: Request) -> timedelta | None:
        """How long the run had been ending when this was said, if it says nothing else."""
        if self.stopped is None:
            return None
        given: list[Event] = [given_up(request, stopping=True, begun=begun) for begun in (True, False)]
        return record.at - self.stopped if record.event in given else None


def _same_call(one: Request, other: Request) -> bool:
    return isinstance(one, ToolCalled) and isinstance(other, ToolCalled) and one.call == other.call


def _alike(answers: Sequence[Answered]) -> bool:
    """Whether all answers are one, but for the number of the call."""
    return len({msgspec.json.encode(one.answer and as_of_call(one.answer, 0)) for one in answers}) == 1


def as_of_call(answer: Input, call: int) -> Input:
    """The answer as one to the call of this number."""
    return msgspec.structs.replace(answer, call=call) if hasattr(answer, "call") else answer


def happened(record: Record) -> Input:
    """What came from outside with the first record of an append."""
    return record.event  # type: ignore[return-value]


def later(start: datetime, took: timedelta) -> datetime:
    """When what was asked at ``start`` is answered; no clock goes backwards."""
    return start + max(took, timedelta())
