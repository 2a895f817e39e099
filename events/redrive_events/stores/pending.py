"""What one transaction has sealed: rows are gathered, and written in few statements."""

from __future__ import annotations

import sqlite3
from typing import Any

from redrive_events.log import Batch
from redrive_events.stores.contents import Contents
from redrive_events.stores.packing import packed, unpacked
from redrive_events.stores.sealing import UNBEGUN, Sealed, Tip, sealed

COLUMNS = 4
# Most of the time of a row is the statement's own, so many rows share one.
ROWS = 64
MANY = ROWS * COLUMNS

BEHIND = """
    FROM runs CROSS JOIN events ON id > (runs.run << 32) + ? AND id < (runs.run + 1) << 32
    WHERE run_id = ? ORDER BY id LIMIT ?"""
RECORDS = "SELECT id & 0xFFFFFFFF, at_us, CAST(line AS BLOB)" + BEHIND

_LAST = "SELECT (SELECT ifnull(max(last_offset), 0) FROM appends), (SELECT ifnull(max(run), 0) FROM runs)"
_TIP = "SELECT run, position, digest, at FROM runs WHERE run_id = ?"
_INSERT = "INSERT INTO events (id, digest, at_us, line) VALUES (?, ?, ?, ?)"
_INSERT_ROWS = _INSERT + ", (?, ?, ?, ?)" * (ROWS - 1)
_GROW = """
    INSERT INTO runs (run, run_id, position, digest, at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (run) DO UPDATE SET position = excluded.position, digest = excluded.digest, at = excluded.at"""


class Pending:
    """The batches of one transaction on ``db``.

    A batch that is refused leaves nothing behind, so that those beside it can still be written.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._tips: dict[str, tuple[int, Tip]] = {}
        self._grown: set[str] = set()
        self._values: list[int | bytearray | None] = []
        self._appends: list[tuple[int, int, int]] = []
        self._contents = Contents(db)
        self._offset, self._runs = db.execute(_LAST).fetchone()

    def put(self, batch: Batch, lines: list[bytes]) -> None:
        """Seal the batch behind all that was put before.

        Raises:
            StaleAppend: the run is not where the batch expects it, or other records stand there.
            ValueError: the time falls.
        """
        run_id = batch.run_id
        run, tip = self._tips.get(run_id) or self._found(run_id)
        new = sealed(batch, lines, tip, self._stored)
        if not new.lines:
            return
        self._runs = max(self._runs, run)
        self._tips[run_id] = run, new.tip
        self._grown.add(run_id)
        self._gather(run << 32, run_id.encode(), new)
        self._write_events()

    def flush(self) -> None:
        """Write what is left, and the heads of all runs that have grown."""
        self._write_events()
        values = self._values
        self.db.executemany(_INSERT, [values[row : row + COLUMNS] for row in range(0, len(values), COLUMNS)])
        values.clear()
        self._write_appends()
        self.db.executemany(_GROW, [(self._tips[run_id][0], run_id, *self._tips[run_id][1]) for run_id in self._grown])
        self._grown.clear()

    def _found(self, run_id: str) -> tuple[int, Tip]:
        """The run's number and end; one that nobody began gets its number when it has something to keep."""
        row: tuple[Any, ...] | None = self.db.execute(_TIP, (run_id,)).fetchone()
        return (self._runs + 1, UNBEGUN) if row is None else (row[0], Tip(*row[1:]))

    def _gather(self, base: int, run_id: bytes, new: Sealed) -> None:
        """The one place where lines become what is stored of them."""
        last, count = base + new.tip.position, len(new.lines)
        rows = zip(new.digests, packed(run_id, new.first, new.lines, self._contents.keep), strict=True)
        for id_, (digest, (at_us, kept)) in enumerate(rows, start=base + new.first):
            # How bytes are meant Python asks around, which takes as long as writing them; not so for a bytearray.
            self._values += (id_, bytearray(digest), at_us, bytearray(kept))
        self._offset += count
        if self._appends and self._appends[-1][1] == last - count:
            count += self._appends.pop()[2]
        self._appends.append((self._offset, last, count))

    def _write_events(self) -> None:
        """The rows that fill a statement; the others wait for more."""
        values, whole = self._values, len(self._values) // MANY * MANY
        for first in range(0, whole, MANY):
            self.db.execute(_INSERT_ROWS, values[first : first + MANY])
        del values[:whole]
        if len(self._appends) >= ROWS:
            self._write_appends()

    def _write_appends(self) -> None:
        self.db.executemany("INSERT INTO appends VALUES (?, ?, ?)", self._appends)
        self._appends.clear()

    def _stored(self, run_id: str, after: int, count: int) -> list[bytes]:
        self.flush()
        rows = self.db.execute(RECORDS, (after, run_id, count)).fetchall()
        return list(unpacked(run_id, rows, self._contents.find))
