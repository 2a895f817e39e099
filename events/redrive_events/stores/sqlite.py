"""A log in one SQLite file: many threads, many processes, each append durable when it returns."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from redrive_events.codec import decode, decode_page
from redrive_events.log import Batch, Head, Lease, StoredLine
from redrive_events.record import Record
from redrive_events.stores.connections import Connections
from redrive_events.stores.sealing import PAGE, UNBEGUN, Sealed, Tip, granted, sealed, spelled, standing

BUFFER = 2_048
ROWS = 64
POSITION_MAX = 0xFFFF_FFFF

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_HEAD = "SELECT position, digest FROM runs WHERE run_id = ?"
_TIP = "SELECT run, position, digest, at FROM runs WHERE run_id = ?"
_LEASE = "SELECT worker, until_us FROM leases WHERE run_id = ?"
_RUNS = "SELECT run, run_id, position, digest FROM runs WHERE run > ? ORDER BY run LIMIT ?"
_BEHIND = """
    FROM runs CROSS JOIN events ON id > (runs.run << 32) + ? AND id < (runs.run + 1) << 32
    WHERE run_id = ? ORDER BY id LIMIT ?"""
_LINES = "SELECT id & 0xFFFFFFFF, events.digest, CAST(line AS BLOB)" + _BEHIND
_RECORDS = "SELECT line" + _BEHIND
_INSERT = "INSERT INTO events (id, digest, line) VALUES (?, ?, ?)"
_INSERT_ROWS = _INSERT + ", (?, ?, ?)" * (ROWS - 1)
_ALL = """
    SELECT last_offset - last_id + id AS offset, run_id, events.position, line
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

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False, busy_s: float = 60) -> None:
        self._connections = Connections(Path(path), must_exist=must_exist, busy_s=busy_s)
        # Threads queue here, since SQLite lets the unlucky one sleep on.
        self._turn = threading.RLock()
        self._writing = False

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Write all of ``records`` or none, see `EventLog.append`."""
        batch = Batch(run_id, records, expected)
        lines = spelled(batch)
        with self._transaction() as db:
            pending = _Pending(db)
            pending.put(batch, lines)
            pending.flush()

    def append_all(self, batches: Iterable[Batch]) -> None:
        """Write all batches or none, see `EventLog.append_all`."""
        with self._transaction() as db:
            pending = _Pending(db)
            for batch in batches:
                pending.put(batch, spelled(batch))
            pending.flush()

    def head(self, run_id: str) -> Head:
        """How far the run is, see `EventLog.head`."""
        rows = self._rows(_HEAD, run_id)
        position, digest = rows[0] if rows else UNBEGUN[:2]
        return Head(run_id, position, digest)

    def read(self, run_id: str, *, after: int = 0) -> Iterator[Record]:
        """Records of the run in order, see `EventLog.read`."""
        after = max(after, 0)
        more = True
        while more:
            lines = [line for (line,) in self._rows(_RECORDS, min(after, POSITION_MAX), run_id, PAGE)]
            for record in decode_page(run_id, lines, after=after):
                yield record
            if more := len(lines) == PAGE:
                after = max(after + PAGE, record.position)  # further only where somebody took a line out

    def lines(self, run_id: str, *, after: int = 0) -> Iterator[StoredLine]:
        """The same records as stored bytes, see `EventLog.lines`."""
        after = max(after, 0)
        while page := self._rows(_LINES, min(after, POSITION_MAX), run_id, PAGE):
            yield from map(StoredLine._make, page)
            after = page[-1][0]

    def read_all(self, *, after: int = 0) -> Iterator[tuple[int, Record]]:
        """All records of all runs, see `EventLog.read_all`."""
        after = max(after, 0)
        while page := self._rows(_ALL, after, after, PAGE):
            for offset, run_id, position, line in page:
                yield offset, decode(line, run_id=run_id, position=position)
            after = page[-1][0]

    def runs(self) -> Iterator[Head]:
        """The heads of all streams, see `EventLog.runs`."""
        after = 0
        while page := self._rows(_RUNS, after, PAGE):
            for _, run_id, position, digest in page:
                yield Head(run_id, position, digest)
            after = page[-1][0]

    def hold(self, run_id: str, worker: str, *, ttl_s: float) -> Lease:
        """Take the lease of a run, or renew it, see `EventLog.hold`."""
        with self._transaction() as db:
            lease = granted(run_id, worker, _lease(run_id, db.execute(_LEASE, (run_id,)).fetchall()), ttl_s=ttl_s)
            until_us = (lease.until - _EPOCH) // timedelta(microseconds=1)
            db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (run_id, worker, until_us))
        return lease

    def holder(self, run_id: str) -> Lease | None:
        """The lease that stands, see `EventLog.holder`."""
        return standing(_lease(run_id, self._rows(_LEASE, run_id)))

    def release(self, run_id: str, worker: str) -> None:
        """Give the lease back, see `EventLog.release`."""
        with self._transaction() as db:
            db.execute("DELETE FROM leases WHERE run_id = ? AND worker = ?", (run_id, worker))

    def close(self) -> None:
        """Let go of the file; a thread that is reading or writing finishes first."""
        self._connections.close()

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """A whole page at once: no cursor stays open while the caller works, and each page is one moment of the log."""
        with self._connections.lent() as db:
            try:
                return db.execute(query, values).fetchall()
            except UnicodeEncodeError:  # a lone surrogate, which no run's name has
                return []

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            if self._writing:
                raise RuntimeError("an append inside an append to the same log")
            self._writing = True
            try:
                with self._connections.lent(writing=True) as db:
                    yield db
            finally:
                self._writing = False


def _lease(run_id: str, rows: list[tuple[Any, ...]]) -> Lease | None:
    return Lease(run_id, rows[0][0], _EPOCH + timedelta(microseconds=rows[0][1])) if rows else None


class _Pending:
    """What one transaction has sealed: rows are gathered, and written in few statements."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._tips: dict[str, tuple[int, Tip]] = {}
        self._grown: set[str] = set()
        self._events: list[tuple[int, bytes, bytes]] = []
        self._appends: list[tuple[int, int, int]] = []
        (self._offset,) = db.execute("SELECT ifnull(max(last_offset), 0) FROM appends").fetchone()

    def put(self, batch: Batch, lines: list[bytes]) -> None:
        """Seal the batch behind all that was put before."""
        run_id = batch.run_id
        run, tip = self._tips.get(run_id) or self._found(run_id)
        new = sealed(batch, lines, tip, self._stored)
        if new.lines:
            self._tips[run_id] = run, new.tip
            self._grown.add(run_id)
            self._gather(run << 32, new)
        if len(self._events) >= BUFFER:
            self._write_events()

    def flush(self) -> None:
        """Write what is left, and the heads of all runs that have grown."""
        self._write_events()
        grown = (self._tips[run_id] for run_id in self._grown)
        self._db.executemany(
            "UPDATE runs SET position = ?, digest = ?, at = ? WHERE run = ?", ((*tip, run) for run, tip in grown)
        )

    def _found(self, run_id: str) -> tuple[int, Tip]:
        row = self._db.execute(_TIP, (run_id,)).fetchone()
        if row is None:
            cursor = self._db.execute(
                "INSERT INTO runs (run_id, position, digest, at) VALUES (?, ?, ?, ?)", (run_id, *UNBEGUN)
            )
            row = (cursor.lastrowid, *UNBEGUN)
        found = self._tips[run_id] = row[0], Tip(*row[1:])
        return found

    def _gather(self, base: int, new: Sealed) -> None:
        last, count = base + new.tip.position, len(new.lines)
        self._events += zip(range(base + new.first, last + 1), new.digests, new.lines, strict=True)
        self._offset += count
        if self._appends and self._appends[-1][1] == last - count:
            count += self._appends.pop()[2]
        self._appends.append((self._offset, last, count))

    def _write_events(self) -> None:
        # Most of the time of a row is the statement's own, so many rows share one.
        odd = len(self._events) % ROWS
        self._db.executemany(_INSERT, self._events[:odd])
        for start in range(odd, len(self._events), ROWS):
            self._db.execute(_INSERT_ROWS, tuple(chain.from_iterable(self._events[start : start + ROWS])))
        self._db.executemany("INSERT INTO appends VALUES (?, ?, ?)", self._appends)
        self._events.clear()
        self._appends.clear()

    def _stored(self, run_id: str, after: int, count: int) -> list[bytes]:
        self._write_events()
        return [line for (line,) in self._db.execute(_RECORDS, (after, run_id, count)).fetchall()]
