"""What a recording can answer: each answer under what it answered, served once, and the signals nobody asked for."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec

from redrive_events import (
    Input,
    Request,
    ToolCalled,
)
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
    """A signal that answered nothing: in which turn it came, how far ``behind`` in it, and how long after what."""

    turn: int
    behind: int
    event: Input
    since: timedelta
    position: int


class Lapse(NamedTuple):
    """That no worker was there in time: in which turn, how far ``behind`` in it, and by which position that shows."""

    turn: int
    behind: int
    worker: Literal["lost", "late"]
    position: int


@dataclass(slots=True)
class Recorded:
    """A recorded run as a source of answers; ``heard`` says at which position the signal at a position was heard.

    ``behind`` says of the first record of an append how many answers and limits of time of its turn there were by then.
    ``unheard`` are the positions of the last signals, of which nobody took note, and ``untaken`` says that nobody took
    up the run, or its own part. ``envelopes`` are those in which comes what is given.
    """

    answers: list[Answered] = field(default_factory=list)
    unasked: deque[Unasked] = field(default_factory=deque)
    lapses: deque[Lapse] = field(default_factory=deque)
    served: set[int] = field(default_factory=set)
    by_key: dict[Key, list[Answered]] = field(default_factory=lambda: defaultdict(list))
    heard: dict[int, int] = field(default_factory=dict)
    behind: dict[int, int] = field(default_factory=lambda: defaultdict(int))
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


def _same_call(one: Request, other: Request) -> bool:
    return getattr(one, "call", 0) == getattr(other, "call", 0)


def _alike(answers: Sequence[Answered]) -> bool:
    """Whether all answers are one, but for the number of the call."""
    return len({msgspec.json.encode(one.answer and as_of_call(one.answer, 0)) for one in answers}) == 1


def as_of_call(answer: Input, call: int) -> Input:
    """The answer as one to the call of this number."""
    return msgspec.structs.replace(answer, call=call) if hasattr(answer, "call") else answer


def later(start: datetime, took: timedelta) -> datetime:
    """When what was asked at ``start`` is answered; no clock goes backwards."""
    return start + max(took, timedelta())
