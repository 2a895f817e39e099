"""What one transaction has sealed: rows are gathered, and written in few statements."""

from __future__ import annotations

import sqlite3
from typing import TypeAlias

from redrive_events.log import Batch, StoredLine
from redrive_events.stores.contents import Contents
from redrive_events.stores.packing import packed
from redrive_events.stores.reading import ROWS, lines_of
from redrive_events.stores.sealing import UNBEGUN, Sealed, Tip, sealed

# How many rows are gathered before they are written, and how many runs are remembered.
GATHERED_MAX = 64
KNOWN_MAX = 1_024

# The numbers and ends of runs as they were when they were last seen: a guess, which is held against the head of the run
# in the statement that lets it grow.
Known: TypeAlias = dict[str, tuple[int, Tip]]

_TIP = "SELECT run, position, digest, at FROM runs WHERE run_id = ?"
_BEGIN = "INSERT INTO runs (run_id, position, digest, at) VALUES (?, ?, ?, ?)"
_GROW = "UPDATE runs SET position = ?, digest = ?, at = ? WHERE run = ? AND position = ? AND digest = ?"
_EVENTS = "INSERT INTO events (id, digests, lines) VALUES (?, ?, ?)"
_ORDER = """
    INSERT INTO appends (last_offset, last_id, count)
    VALUES (ifnull((SELECT max(last_offset) FROM appends), 0) + ?2, ?1, ?2)"""


class Pending:
    """The batches of one transaction on ``db``; what is ``known`` of runs outlives it.

    A batch that is refused leaves nothing behind, so that those beside it can still be written.
    """

    def __init__(self, db: sqlite3.Connection, known: Known) -> None:
        self.db = db
        self._known = known
        self._rows: list[tuple[int, bytearray, bytearray]] = []
        self._appends: list[tuple[int, int]] = []
        self._contents = Contents(db)

    def put(self, batch: Batch, lines: list[bytes]) -> None:
        """Seal the batch behind all that was put before.

        Raises:
            StaleAppend: the run is not where the batch expects it, or other records stand there.
            BadInput: it is a fork of what is not there, or under the id of another run.
            ValueError: the time falls.
        """
        believed = self._known.get(batch.run_id)
        if believed is None or believed[1].position != batch.expected or not self._put(batch, lines, *believed):
            self._put(batch, lines, *self._found(batch.run_id))

    def flush(self) -> None:
        """Write what is left."""
        self.db.executemany(_EVENTS, self._rows)
        self.db.executemany(_ORDER, self._appends)
        self._rows.clear()
        self._appends.clear()

    def _found(self, run_id: str) -> tuple[int, Tip]:
        """The run's number and end; one that nobody began has none."""
        row = self.db.execute(_TIP, (run_id,)).fetchone()
        return (0, UNBEGUN) if row is None else (row[0], Tip(*row[1:]))

    def _put(self, batch: Batch, lines: list[bytes], run: int, tip: Tip) -> bool:
        """Seal the batch behind ``tip``; False if that is not the run's end any more, and nothing was done."""
        new = sealed(batch, lines, tip, self._stored)
        if not new.lines:
            return True
        position, digest, at = new.tip
        if run:
            grown = (position, bytearray(digest), at, run, tip.position, bytearray(tip.digest))
            if not self.db.execute(_GROW, grown).rowcount:
                return False
        else:
            run = self.db.execute(_BEGIN, (batch.run_id, *new.tip)).lastrowid or 0
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[batch.run_id] = run, new.tip
        self._gather(run << 32, new)
        return True

    def _gather(self, base: int, new: Sealed) -> None:
        """The one place where lines become what is stored of them."""
        last, count, at = base + new.tip.position, len(new.lines), 0
        for many, kept in packed(new.lines, self._contents.keep):
            digests = b"".join(new.digests[at : at + many])
            at += many
            # How bytes are meant Python asks around, which takes as long as writing them; not so for a bytearray.
            self._rows.append((last - count + at, bytearray(digests), bytearray(kept)))
        if self._appends and self._appends[-1][0] == last - count:
            count += self._appends.pop()[1]
        self._appends.append((last, count))
        if len(self._rows) >= GATHERED_MAX:
            self.flush()

    def _stored(self, run_id: str, after: int, count: int) -> list[StoredLine]:
        self.flush()
        rows = self.db.execute(ROWS, (after, run_id, count)).fetchall()
        return [one for row in rows for one in lines_of(row, self._contents.find) if one.position > after][:count]
