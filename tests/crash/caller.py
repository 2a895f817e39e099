"""Somebody who writes to a log as the product does, and sometimes as it should not, and keeps a journal of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from random import Random
from typing import TypeVar
from unittest import mock

from redrive_events import (
    Batch,
    EventLog,
    LeaseHeld,
    LogUnusable,
    MemoryLog,
    Portable,
    SqliteLog,
    StaleAppend,
    write_portable,
)
from tests.crash.journal import Append, Done, Entry, Holding, Piece, Refused, Tried, Writing
from tests.records import BEGIN

T = TypeVar("T")

ATTEMPTS = 60
WIDTHS = (0,) * 12 + (600, 3_000, 9_000, 40_000)
STEPS_S = (0.0, 0.001, 0.001, 0.5, 60.0, 3600.0, -0.001, -60.0, -3600.0)


@dataclass
class Clock:
    """The machine's clock, which somebody sets forward and back."""

    seconds: float = 0.0

    @contextmanager
    def set(self) -> Iterator[None]:
        """Whoever asks for the time of a lease is told this one."""
        clock = self

        class Stepping(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Stepping:
                now = BEGIN + timedelta(seconds=clock.seconds)
                return cls.fromtimestamp(now.timestamp(), tz or UTC)

        with mock.patch("redrive_events.stores.sealing.datetime", Stepping):
            yield


def persistent(act: Callable[[], T]) -> T:
    """The same again while the disk fails, as callers do; at some time it must be well again, and so must the log.

    Raises:
        LogUnusable: it is not.
    """
    for _ in range(ATTEMPTS):
        with suppress(LogUnusable):
            return act()
    return act()


class PromiseBroken(AssertionError):
    """A promise that was not kept."""


class Interrupted(Exception):
    """The batches of an import broke off."""


@dataclass
class Caller:
    """One thread of a process: ``note`` keeps its journal.

    ``shared`` is a run that others write to as well, ``common`` a log that other threads have open, too.
    """

    name: str
    chance: Random
    path: Path
    note: Callable[[Entry], None]
    clock: Clock = field(default_factory=Clock)
    shared: str = ""
    store: Callable[[Path], EventLog] = SqliteLog
    common: EventLog | None = None

    def __post_init__(self) -> None:
        self.log = self.common
        self.written: list[Writing] = []
        self._ends: dict[str, tuple[int, float]] = {}
        self._count = 0

    def work(self, acts: int) -> None:
        """So many acts, chosen by chance."""
        usual = [self.one] * 6 + [self.several, self.again, self.overlap]
        rare = [self.stale, self.falls, self.breaks_off, self.imports, self.lease, self.lease, self.reopen, self.bulk]
        with_others = [self.contend] * 4 if self.shared else []
        for _ in range(acts):
            self.clock.seconds = round(self.clock.seconds + self.chance.choice(STEPS_S), 3)
            self.chance.choice(usual * 2 + rare + with_others)()

    def opened(self) -> EventLog:
        """The log; opening it is tried again while the disk fails."""
        if self.log is None:
            self.log = persistent(lambda: self.store(self.path))
        return self.log

    def close(self) -> None:
        """Leave the log as one does at the end of a process."""
        if self.log is not None and self.common is None:
            self.log.close()
            self.log = None

    def one(self) -> None:
        """One append to one run."""
        self.write(Writing((self._piece(self._run()),)))

    def several(self) -> None:
        """Appends to several runs at once."""
        runs = list(dict.fromkeys(self._run() for _ in range(4)))
        self.write(Writing(tuple(self._piece(run_id, self.chance.randint(1, 3)) for run_id in runs)))

    def bulk(self) -> None:
        """More in one transaction than the store gathers before it writes."""
        if self.chance.random() < 0.1:
            run_id = self._run()
            at_s = self._at(run_id)
            appends = tuple(Append(self._token(), 7, 0, at_s) for _ in range(330))
            self.write(Writing((Piece(run_id, self._end(run_id), appends),)))

    def again(self) -> None:
        """The same once more, as somebody who never heard that it was written."""
        if self.written:
            self.write(self.written[-1])

    def overlap(self) -> None:
        """What is there already, and more behind it, in one append."""
        if self.written:
            (*_, last) = self.written[-1].pieces
            if last.end == self._end(last.run_id) and last.run_id != self.shared:
                appends = (*last.appends, self._append(last.run_id))
                self.write(Writing((Piece(last.run_id, last.after, appends),)))

    def stale(self) -> None:
        """Something else at a place that is taken."""
        run_id = self._run()
        if self._end(run_id):
            piece = Piece(run_id, self._end(run_id) - 1, (self._append(run_id),))
            self.mistake(Writing((piece,)).perform, StaleAppend)

    def falls(self) -> None:
        """A caller whose clock went back, and who does not look at the time of before."""
        run_id = self._run()
        end, at_s = self._ends.get(run_id, (0, 0.0))
        if end:
            append = Append(self._token(), 1, 0, at_s - 0.001)
            self.mistake(Writing((Piece(run_id, end, (append,)),)).perform, ValueError)

    def breaks_off(self) -> None:
        """Batches that end with an error: nothing of them is written."""
        piece = self._piece(self._run(), 3)

        def batches() -> Iterator[Batch]:
            yield piece.batch()
            raise Interrupted

        self.mistake(lambda log: log.append_all(batches()), Interrupted)

    def imports(self) -> None:
        """Runs of a portable file, all in one transaction."""
        token = self._token()
        pieces = tuple(
            Piece(f"{token}.{number}", 0, tuple(Append(self._token(), 2, 200, 0.0) for _ in range(3)))
            for number in range(2)
        )
        source, file = MemoryLog(), self.path.with_name(f"{token}.jsonl")
        source.append_all(piece.batch() for piece in pieces)
        with file.open("wb") as out:
            write_portable(source, [piece.run_id for piece in pieces], out)
        self.write(Writing(pieces), lambda log: log.append_all(Portable(file).batches()))

    def lease(self) -> None:
        """Take a run's lease for one of two workers, or give it back."""
        ttl_s = self.chance.choice([60.0, 60.0, 7200.0, None])
        worker = self.name + self.chance.choice("ab")
        act = Holding(self._run(), worker, ttl_s, self.clock.seconds)
        self.note(Tried(act))
        try:
            persistent(lambda: act.perform(self.opened()))
        except LeaseHeld:
            self.note(Refused(act))
        else:
            self.note(Done(act))

    def reopen(self) -> None:
        """Close the log and open it again."""
        self.close()
        self.opened()

    def contend(self) -> None:
        """Write behind what others wrote, if they do not come first."""
        end = persistent(lambda: self.opened().head(self.shared)).position
        append = Append(self._token(), self.chance.randint(1, 3), 0, 0.0)
        self.write(Writing((Piece(self.shared, end, (append,)),)))

    def write(self, writing: Writing, perform: Callable[[EventLog], None] | None = None) -> None:
        """Until the log says yes, or that others came first; after an error it is in doubt, and tried again."""
        self.note(Tried(writing))
        try:
            persistent(lambda: (perform or writing.perform)(self.opened()))
        except StaleAppend:
            if [piece.run_id for piece in writing.pieces] != [self.shared]:
                raise PromiseBroken("refused as stale, and nobody else writes to these runs") from None
            self.note(Refused(writing))
        else:
            self.note(Done(writing))
            self._wrote(writing)

    def mistake(self, perform: Callable[[EventLog], None], reason: type[Exception]) -> None:
        """What the log must not take: the journal knows nothing of it."""
        with suppress(reason):
            persistent(lambda: perform(self.opened()))
            raise PromiseBroken(f"taken without {reason.__name__}")

    def goes_on(self, journal: list[Entry]) -> None:
        """Take up the work of somebody whose journal this is, beginning with what is in doubt."""
        for entry in journal:
            if isinstance(entry, Done) and isinstance(entry.act, Writing):
                self._wrote(entry.act)
        self._count = sum(isinstance(entry, Tried) for entry in journal) * 1_000
        if journal and isinstance(journal[-1], Tried):
            act = journal[-1].act
            if isinstance(act, Writing):
                self.write(act)

    def _wrote(self, writing: Writing) -> None:
        for piece in writing.pieces:
            if piece.end >= self._end(piece.run_id):
                self._ends[piece.run_id] = piece.end, piece.appends[-1].at_s
        self.written.append(writing)

    def _run(self) -> str:
        return f"{self.name}-{self.chance.randint(1, 4)}"

    def _end(self, run_id: str) -> int:
        return self._ends.get(run_id, (0, 0.0))[0]

    def _at(self, run_id: str) -> float:
        """The time, but never before the run's last: as the engine does it."""
        return max(self.clock.seconds, self._ends.get(run_id, (0, self.clock.seconds))[1])

    def _token(self) -> str:
        self._count += 1
        return f"{self.name}.{self._count}"

    def _append(self, run_id: str) -> Append:
        return Append(self._token(), self.chance.randint(1, 5), self.chance.choice(WIDTHS), self._at(run_id))

    def _piece(self, run_id: str, appends: int = 1) -> Piece:
        return Piece(run_id, self._end(run_id), tuple(self._append(run_id) for _ in range(appends)))
