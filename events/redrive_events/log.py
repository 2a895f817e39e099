"""The port to the log: append-only, ordered in each run, one order over all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from redrive_events.record import Record, check_run_id
from redrive_events.vocabulary import RunForked


class StoredLine(NamedTuple):
    """A line as it is stored: nothing of it is decoded.

    ``owner`` is the run whose own line it is, where that is not the one that is read but one that it was forked from.
    """

    position: int
    digest: bytes
    line: bytes
    owner: str = ""


class Head(NamedTuple):
    """How far a run has come, and the digest that seals all of it."""

    run_id: str
    position: int
    digest: bytes


class Lease(NamedTuple):
    """A worker's right to drive a run, until a moment unless it is renewed."""

    run_id: str
    worker: str
    until: datetime


class Span(NamedTuple):
    """So many records of a run that follow each other in the one order over all; offset and position are the last's."""

    offset: int
    run_id: str
    position: int
    records: int


class Damage(NamedTuple):
    """A place at which a log is not what was written, and in which way.

    ``kind`` says it in a word or two: changed, missing, out of place, cut off, extra, torn, unreadable, order, store;
    against a list of heads also removed and replaced. What is about no single run has no ``run_id``.
    """

    run_id: str
    position: int
    kind: str
    problem: str


class Batch(NamedTuple):
    """One or more whole appends to one run, behind position ``expected``.

    ``lines`` are those of the records where they are spelled already: what was stored once is never spelled anew.
    """

    run_id: str
    records: Sequence[Record]
    expected: int
    lines: Sequence[bytes] = ()


class EventLog(Protocol):
    """Append-only. A position counts from 1; 0 means before the first. Every store keeps the same contract suite.

    A run that begins with `RunForked` holds only what it does not inherit: `read` and `lines` put in front what it was
    forked from, as it is stored there; all else tells of its own records.
    """

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Write all of ``records`` or none, durably: one or more whole appends.

        Appends that are there already, byte for byte, are no second append and no error; those behind them are written.
        A fork is begun at the position it goes on from.

        Raises:
            StaleAppend: the run is not at ``expected``, or other records stand there.
            ValueError: the records do not follow each other or the run (positions, times, ``left``).
            BadInput: a record holds what has no canonical spelling, or the run to be forked has no such append.
        """
        ...

    def append_all(self, batches: Iterable[Batch]) -> None:
        """Write all batches or none, in one transaction; each as by `append`.

        ``batches`` may be of any length, and may read this log, which still looks as before. If it raises, nothing is
        written.
        """
        ...

    def head(self, run_id: str) -> Head:
        """How far the run is; position 0 and 32 zero bytes for a run that nobody began."""
        ...

    def read(self, run_id: str, *, after: int = 0) -> Iterator[Record]:
        """Records of the run in order, beginning behind ``after``.

        Raises:
            UnknownEvent: a stored line is not a record of this vocabulary.
        """
        ...

    def lines(self, run_id: str, *, after: int = 0) -> Iterator[StoredLine]:
        """The same records as stored bytes, with their digests; nothing is decoded or checked."""
        ...

    def read_all(self, *, after: int = 0) -> Iterator[tuple[int, Record]]:
        """All records of all runs in one order that never changes, each with its offset: opaque and increasing."""
        ...

    def order(self, *, after: int = 0) -> Iterator[Span]:
        """The same order without the records: which run's stand behind offset ``after``, and how many."""
        ...

    def runs(self) -> Iterator[Head]:
        """The heads of all streams, in the order of their beginning; `RUN@notes` are streams too."""
        ...

    def flaws(self) -> Iterator[Damage]:
        """What is wrong with all that the streams do not hold themselves: heads, order, and the store as a whole."""
        ...

    def hold(self, run_id: str, worker: str, *, ttl_s: float) -> Lease:
        """Take the lease of a run, or renew it: an own, lapsed or free one is granted.

        Raises:
            LeaseHeld: another worker's lease stands; its attribute ``until`` says how long.
        """
        ...

    def holder(self, run_id: str) -> Lease | None:
        """The lease that stands on a run at this moment, if there is one."""
        ...

    def release(self, run_id: str, worker: str) -> None:
        """Give the lease back; one that is not held is no error."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def check_batch(run_id: str, records: Sequence[Record], *, expected: int) -> None:
    """What every store checks before it writes: whole appends of one run, without gaps, times never falling.

    Raises:
        ValueError: the caller's mistake.
    """
    check_run_id(run_id)
    if not records:
        raise ValueError("an append has at least one record")
    _check_forks(records, expected)
    still, last = 0, records[0].at
    for number, record in enumerate(records, start=expected + 1):
        if record.position != number or record.run_id != run_id:
            raise ValueError(f"expected {run_id} position {number}, got {record.run_id} position {record.position}")
        if record.at.tzinfo is not UTC and record.at.utcoffset() != timedelta(0):
            raise ValueError(f"position {number}: the time is not UTC")
        if still and record.left != still - 1:
            raise ValueError(f"position {number}: {still - 1} records of the append are left, not {record.left}")
        if record.at < last:
            raise ValueError(f"position {number}: the time falls")
        still, last = record.left, record.at
    if still:
        raise ValueError(f"{still} records of the append are missing")


def _check_forks(records: Sequence[Record], expected: int) -> None:
    for place, record in enumerate(records):
        if type(record.event) is RunForked and (place or record.left or record.event.position != expected):
            raise ValueError("a fork is the first record of a run, alone in its append, behind the one it goes on from")
