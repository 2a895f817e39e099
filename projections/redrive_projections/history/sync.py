"""From the log to the tables: what is new since the watermark, in transactions that move it along."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from redrive_events import NOTES, EventLog, Head, StoredLine
from redrive_projections.history.rows import rendered
from redrive_projections.history.tables import ROWS, schema
from redrive_projections.history.views import definitions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

RECORDS_MAX = 200_000
ROWS_MAX = 4_096

_WATERMARK = "SELECT watermark FROM inside.progress"
_STREAMS = "SELECT run_id, run, position, digest FROM inside.streams"


class _Stream(NamedTuple):
    """A stream of the log, the number of its run, and how far its rows have come."""

    run_id: str
    run: int
    position: int
    digest: bytes


def create(db: DuckDBPyConnection, shape: str) -> None:
    """Empty tables and views, and what is remembered beside them; ``shape`` tells another version apart."""
    db.execute("BEGIN")
    for table in schema():
        columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
        db.execute(f"CREATE TABLE {table.name} ({columns})")
    for definition in definitions():
        db.execute(definition)
    db.execute("CREATE SCHEMA inside")
    db.execute("CREATE TABLE inside.streams (run_id VARCHAR, run BIGINT, position BIGINT, digest BLOB)")
    db.execute("CREATE TABLE inside.progress (shape VARCHAR, watermark BIGINT)")
    db.execute("INSERT INTO inside.progress VALUES (?, 0)", [shape])
    db.execute("COMMIT")


def sync(db: DuckDBPyConnection, log: EventLog, *, before_writing: Callable[[], None] = lambda: None) -> None:
    """Bring the tables up to the log; rows and watermark are committed together, then the next ones.

    A run that grew is rendered anew, so that the tables are those that a build from nothing would make.
    """
    while True:
        (watermark,) = db.execute(_WATERMARK).fetchall()[0]
        offset, count, grown = _grown(log, watermark)
        if not count:
            return
        before_writing()
        db.execute("BEGIN")
        try:
            _put(db, log, grown)
            db.execute("UPDATE inside.progress SET watermark = ?", [offset])
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        if count < RECORDS_MAX:
            return


def _grown(log: EventLog, watermark: int) -> tuple[int, int, dict[str, int]]:
    """The new watermark, how many records lie before it, and how far the runs that grew have come there."""
    reached, count, grown = watermark, 0, dict[str, int]()
    for span in log.order(after=watermark):
        reached, count = span.offset, count + span.records
        grown[span.run_id] = span.position
        if count >= RECORDS_MAX:
            break
    return reached, count, grown


def foreign(db: DuckDBPyConnection, log: EventLog, heads: Iterable[Head]) -> bool:
    """Whether the tables hold what is not in a log with these heads."""
    held = {head.run_id: head for head in heads}
    for stream in map(_Stream._make, db.execute(_STREAMS).fetchall()):
        head = held.get(stream.run_id)
        if head is None or head.position < stream.position:
            return True
        digest = head.digest
        if head.position > stream.position:
            digest = next((line.digest for line in log.lines(stream.run_id, after=stream.position - 1)), b"")
        if digest != stream.digest:
            return True
    return False


def behind(db: DuckDBPyConnection, heads: Iterable[Head]) -> bool:
    """Whether the tables hold less than a log with these heads."""
    reached = {stream.run_id: stream.position for stream in map(_Stream._make, db.execute(_STREAMS).fetchall())}
    return any(reached.get(head.run_id, 0) < head.position for head in heads)


def _put(db: DuckDBPyConnection, log: EventLog, grown: dict[str, int]) -> None:
    """Replace the rows of all runs that grew, each read up to the position that is given."""
    runs = list(dict.fromkeys(run_id.removesuffix(NOTES) for run_id in grown))
    known = _known(db, runs)
    reach = {run_id: stream.position for run_id, stream in known.items()} | grown
    numbers = {run_id.removesuffix(NOTES): stream.run for run_id, stream in known.items()}
    (number,) = db.execute("SELECT coalesce(max(run), 0) FROM inside.streams").fetchall()[0]
    if numbers:
        for table in ROWS:
            db.execute(f"DELETE FROM {table} WHERE run IN (SELECT unnest(?))", [list(numbers.values())])
        db.execute("DELETE FROM inside.streams WHERE run IN (SELECT unnest(?))", [list(numbers.values())])
    writer = _Writer(db)
    for run_id in runs:
        if run_id not in numbers:
            number += 1
            numbers[run_id] = number
        run, ends = numbers[run_id], {run_id: b"", run_id + NOTES: b""}
        read = (_until(log, stream, reach.get(stream, 0), ends) for stream in ends)
        for table, rows in rendered(run, run_id, *read).items():
            writer.put(table, map(msgspec.structs.astuple, rows))
        writer.put("streams", [(stream, run, reach[stream], end) for stream, end in ends.items() if end])
    writer.flush()


def _known(db: DuckDBPyConnection, runs: list[str]) -> dict[str, _Stream]:
    streams = [run_id + suffix for run_id in runs for suffix in ("", NOTES)]
    found = db.execute(f"{_STREAMS} WHERE run_id IN (SELECT unnest(?))", [streams]).fetchall()
    return {stream.run_id: stream for stream in map(_Stream._make, found)}


def _until(log: EventLog, stream: str, last: int, ends: dict[str, bytes]) -> Iterator[StoredLine]:
    """The lines of a stream up to a position; the digest of the last one is left in ``ends``."""
    for line in islice(log.lines(stream), last):
        ends[stream] = line.digest
        yield line


class _Writer:
    """Rows are gathered, and written in few appends."""

    def __init__(self, db: DuckDBPyConnection) -> None:
        self._db = db
        self._rows: dict[str, list[tuple[Any, ...]]] = {}

    def put(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows for a table, in the order of its columns."""
        waiting = self._rows.setdefault(table, [])
        waiting.extend(rows)
        if len(waiting) >= ROWS_MAX:
            self._write(table)

    def flush(self) -> None:
        """Write what is left."""
        for table in self._rows:
            self._write(table)

    def _write(self, table: str) -> None:
        rows, self._rows[table] = self._rows[table], []
        if rows:
            with self._db.appender(f"inside.{table}" if table == "streams" else table) as appender:
                appender.append_rows(rows)
