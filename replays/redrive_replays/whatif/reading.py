"""How a recording is read: as what each answer was asked, how long it took, and where no worker was in time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal

from redrive_engine import Declaration, waiting_of
from redrive_engine.live import given_up
from redrive_events import (
    ANSWERS,
    DRIVERS,
    STRANGERS,
    DeadlinePassed,
    EffectReconciled,
    Event,
    Input,
    LeaseGranted,
    Limits,
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
from redrive_projections import RunState, evolve, expired, start_of
from redrive_replays.replayer import appends
from redrive_replays.whatif.changes import Changes
from redrive_replays.whatif.course import Course, Key, Open
from redrive_replays.whatif.envelopes import Envelopes
from redrive_replays.whatif.recorded import Answered, Lapse, Recorded, Unasked

# Within this a worker that is there notices that a limit of time has passed.
PROMPT: Final = timedelta(seconds=1)


def recorded_in(records: Sequence[Record], changes: Changes, tools: Mapping[str, Declaration]) -> Recorded:
    """What the records of a run can answer, some of it replaced by what was given; of a fork, what is its own.

    What is given comes in as what the ``tools`` return.
    """
    begun = start_of(records)
    assert begun is not None
    reading = _Reading(records[0], changes, Envelopes(tools, records), begun.contract.budget)
    for append in appends(records):
        if isinstance(append[0].event, RunForked):
            reading.forked(append)
        else:
            reading.take(append)
    reading.left()
    return reading.found


class _Reading:
    """A recording as far as it was read, and how far its turn is."""

    def __init__(self, start: Record, changes: Changes, envelopes: Envelopes, budget: Limits) -> None:
        self.found, self.changes, self.budget = Recorded(envelopes=envelopes), changes, budget
        self.state, self.course = RunState(), Course()
        self.turn, self.behind, self.last = 0, 0, start.at
        self.stopped: datetime | None = None
        self.passed = False
        self.overdue: Literal["", "late", "ending"] = ""
        self.unheard: list[int] = []
        self.lost: dict[int, tuple[int, Open, Key, timedelta]] = {}
        self.gaps: dict[int, timedelta] = defaultdict(timedelta)

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        first, state = append[0], self.state
        before = dict(state.requests)
        self._lapsed(first)
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
            self.behind += bool(over or timed_out) and type(first.event) in DRIVERS
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
        self.found.behind[first.position] = self.behind
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
        self.found.lapses.clear()
        self.unheard, self.lost = [], {}
        self.gaps.clear()
        for record in append:
            evolve(self.state, record)
        self.course.take(self.state, append)
        self.turn, self.behind, self.last = self.state.steps, 0, append[0].at

    def _lapsed(self, first: Record) -> None:
        """Whether a worker had been lost, or came late to a limit of time; one who did not hear is late at once."""
        state, kind = self.state, type(first.event)
        if kind in STRANGERS or self.found.untaken:
            return
        deadline = waiting_of(state, self.budget).deadline
        late = deadline is not None and first.at >= deadline + (timedelta() if state.unheard else PROMPT)
        if late or kind is LeaseGranted:
            self.found.lapses.append(
                Lapse(self.turn, self.behind, "lost" if kind is LeaseGranted else "late", first.position)
            )

    def _taken_up(self, first: Record) -> None:
        """A worker is lost: what it had begun nobody saw the end of, and what it had asked is asked by the next one."""
        for position, asked in self.course.open.items():
            self.gaps[position] += first.at - self.last
            request = asked.request
            if position not in self.state.requests and isinstance(request, ToolCalled):
                self.lost[request.call] = position, asked, self.course.key(position), self.last - asked.at

    def _found_out(self, record: Record) -> None:
        """What became of a call of a lost worker is what one that was not lost would have seen, no sooner than that."""
        event = record.event
        if isinstance(event, EffectReconciled) and event.outcome == "landed":
            content, kind = event.content, event.media_type
            seen = ObservationReceived(call=event.call, status="ok", content=content, media_type=kind)
        elif isinstance(event, ObservationReceived):  # of the next attempt, since the lost one had not landed
            seen = event
        else:
            return
        if event.call in self.lost:
            position, asked, key, took = self.lost.pop(event.call)
            self._add(position, asked, key, record, seen, took)

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


def happened(record: Record) -> Input:
    """What came from outside with the first record of an append."""
    return record.event  # type: ignore[return-value]
