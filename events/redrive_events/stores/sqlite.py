"""A log in one SQLite file: many threads, many processes, each append durable when it returns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, cast

from redrive_events.codec import time_of
from redrive_events.errors import LogUnusable
from redrive_events.log import Batch, Damage, Head, Lease, Span, StoredLine
from redrive_events.record import Record
from redrive_events.stores.committing import Committer
from redrive_events.stores.connections import Connections
from redrive_events.stores.contents import CONTENT, content_of
from redrive_events.stores.durability import Durability
from redrive_events.stores.inheriting import inherited
from redrive_events.stores.pending import Pending
from redrive_events.stores.reading import COLUMNS, ROWS, ROWS_MAX, Row, beginning, lines_of, records_of
from redrive_events.stores.sealing import PAGE, UNBEGUN, granted, spelled, standing
from redrive_events.stores.sizes import Sizes, sizes
from redrive_events.stores.soundness import flaws

POSITION_MAX = 0xFFFF_FFFF

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_HEAD = "SELECT position, digest FROM runs WHERE run_id = ?"
_LEASE = "SELECT worker, until_us FROM leases WHERE run_id = ?"
_RUNS = "SELECT run, run_id, position, digest FROM runs WHERE run > ? ORDER BY run LIMIT ?"
_ENDS = "SELECT run, run_id, position, at FROM runs WHERE run > ? ORDER BY run LIMIT ?"
_ORDER = """
    SELECT last_offset, run_id, last_id & 0xFFFFFFFF, min(count, last_offset - ?)
    FROM appends CROSS JOIN runs ON run = last_id >> 32
    WHERE last_offset > ? ORDER BY last_offset LIMIT ?"""
_ALL = f"""
    SELECT last_offset - last_id + id AS offset, run_id, {COLUMNS}
    FROM appends CROSS JOIN events ON id > last_id - min(count, last_offset - ?) AND id <= last_id
    CROSS JOIN runs ON runs.run = id >> 32
    WHERE last_offset > ? ORDER BY last_offset, id LIMIT ?"""


class SqliteLog:
    """An `EventLog` in the file ``path``, which is made unless it ``must_exist``; its folder is never made.

    Raises:
        BadInput: the file is not there but must be, or is not a Redrive log.
        NewerFormat: a later version of this program made it.
        LogUnusable: it cannot be opened, read or written, or others keep it locked for ``busy_s``; so does each method.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        must_exist: bool = False,
        busy_s: float = 60,
        durability: Durability = "always",
    ) -> None:
        self._connections = Connections(Path(path), must_exist=must_exist, busy_s=busy_s, durability=durability)
        self._committer = Committer(self._connections)

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Write all of ``records`` or none, see `EventLog.append`."""
        batch = Batch(run_id, records, expected)
        lines = spelled(batch)
        self._committer.do(lambda pending: pending.put(batch, lines))

    def append_all(self, batches: Iterable[Batch]) -> None:
        """Write all batches or none, see `EventLog.append_all`."""

        def put_all(pending: Pending) -> None:
            for batch in batches:
                pending.put(batch, spelled(batch))

        self._committer.do_alone(put_all)

    def head(self, run_id: str) -> Head:
        """How far the run is, see `EventLog.head`."""
        rows = self._rows(_HEAD, run_id)
        position, digest = rows[0] if rows else UNBEGUN[:2]
        return Head(run_id, position, digest)

    def read(self, run_id: str, *, after: int = 0) -> Iterator[Record]:
        """Records of the run in order, see `EventLog.read`."""
        for owner, end, row in self._kept(run_id, after):
            records = records_of(owner, row, self._content)
            before = row[0] - len(records)
            yield from records[max(after - before, 0) : max(end - before, 0)]

    def lines(self, run_id: str, *, after: int = 0) -> Iterator[StoredLine]:
        """The same records as stored bytes, see `EventLog.lines`."""
        for owner, end, row in self._kept(run_id, after):
            for stored in lines_of(row, self._content):
                if after < stored.position <= end:
                    yield stored if owner == run_id else stored._replace(owner=owner)

    def read_all(self, *, after: int = 0) -> Iterator[tuple[int, Record]]:
        """All records of all runs, see `EventLog.read_all`."""
        after = max(after, 0)
        while page := self._rows(_ALL, after, after, ROWS_MAX):
            for last, run_id, *row in page:
                records = records_of(run_id, cast("Row", row), self._content)
                for offset, record in enumerate(records, start=last - len(records) + 1):
                    if offset > after:
                        yield offset, record
                after = max(after, last)

    def order(self, *, after: int = 0) -> Iterator[Span]:
        """The order without the records, see `EventLog.order`."""
        after = max(after, 0)
        while page := self._rows(_ORDER, after, after, PAGE):
            yield from map(Span._make, page)
            after = page[-1][0]

    def runs(self) -> Iterator[Head]:
        """The heads of all streams, see `EventLog.runs`."""
        after = 0
        while page := self._rows(_RUNS, after, PAGE):
            for _, run_id, position, digest in page:
                yield Head(run_id, position, digest)
            after = page[-1][0]

    def flaws(self) -> Iterator[Damage]:
        """What is wrong with heads, order and file, see `EventLog.flaws`."""
        try:
            with self._connections.reading() as db:
                found = flaws(db)
            yield from found
            yield from self._untimely()
        except LogUnusable as error:
            yield Damage("", 0, "store", error.problem)

    def _untimely(self) -> Iterator[Damage]:
        """Heads with another time than their record."""
        after = 0
        while page := self._rows(_ENDS, after, PAGE):
            for _, run_id, position, at in page:
                for stored in islice(self.lines(run_id, after=position - 1), 1):
                    if time_of(stored.line) != at:
                        yield Damage(run_id, position, "changed", "the head has another time than its record")
            after = page[-1][0]

    def hold(self, run_id: str, worker: str, *, ttl_s: float) -> Lease:
        """Take the lease of a run, or renew it, see `EventLog.hold`."""

        def take(pending: Pending) -> Lease:
            held = _lease(run_id, pending.db.execute(_LEASE, (run_id,)).fetchall())
            lease = granted(run_id, worker, held, ttl_s=ttl_s)
            until_us = (lease.until - _EPOCH) // timedelta(microseconds=1)
            pending.db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (run_id, worker, until_us))
            return lease

        return self._committer.do(take)

    def holder(self, run_id: str) -> Lease | None:
        """The lease that stands, see `EventLog.holder`."""
        return standing(_lease(run_id, self._rows(_LEASE, run_id)))

    def release(self, run_id: str, worker: str) -> None:
        """Give the lease back, see `EventLog.release`."""
        query = "DELETE FROM leases WHERE run_id = ? AND worker = ?"
        self._committer.do(lambda pending: pending.db.execute(query, (run_id, worker)))

    def sizes(self) -> Sizes:
        """Where the bytes of the file go; read from end to end, in one moment of the log."""
        with self._connections.reading() as db:
            return sizes(db)

    def close(self) -> None:
        """Let go of the file; a thread that is reading or writing finishes first."""
        self._connections.close()

    def _kept(self, run_id: str, after: int) -> Iterator[tuple[str, int, Row]]:
        """The rows that hold what stands behind ``after``, in front of its own those that it inherits.

        Each with the run whose own it is, and up to which position it is read.
        """
        own = self._own(run_id, after)
        for row in islice(own, 1):
            gap = beginning(row) > after + 1
            for stretch in inherited(next(lines_of(row, self._content)), self._first) if gap else ():
                for one in self._own(stretch.run_id, after):
                    yield *stretch, one
                    if one[0] >= stretch.end:
                        break
            yield run_id, POSITION_MAX, row
        for row in own:
            yield run_id, POSITION_MAX, row

    def _first(self, run_id: str) -> StoredLine | None:
        rows = cast("list[Row]", self._rows(ROWS, 0, run_id, 1))
        return next(lines_of(rows[0], self._content)) if rows else None

    def _own(self, run_id: str, after: int) -> Iterator[Row]:
        """Its own rows from the one that holds what stands behind ``after``, a page at a time."""
        after = min(max(after, 0), POSITION_MAX)
        while page := cast("list[Row]", self._rows(ROWS, after, run_id, ROWS_MAX)):
            yield from page
            if len(page) < ROWS_MAX:
                return
            after = page[-1][0]

    def _content(self, number: int) -> bytes:
        return content_of(self._rows(CONTENT, number))

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """A whole page at once: no cursor stays open while the caller works, and each page is one moment of the log."""
        with self._connections.reading() as db:
            try:
                return db.execute(query, values).fetchall()
            except UnicodeEncodeError:  # a lone surrogate, which no run's name has
                return []


def _lease(run_id: str, rows: list[tuple[Any, ...]]) -> Lease | None:
    return Lease(run_id, rows[0][0], _EPOCH + timedelta(microseconds=rows[0][1])) if rows else None
