"""From the log to the tables of one place: each run that has grown is read from its beginning, and rendered anew."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from redrive_events import NOTES, EventLog, StoredLine
from redrive_projections.history.reading import Lines
from redrive_projections.history.rows import rendered
from redrive_projections.history.tables import ROWS, schema
from redrive_projections.history.writing import write

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# So many records at least are committed at once; so many rows, or bytes, are given to the database at once.
RECORDS_MAX = 500_000
ROWS_MAX = 16_384
BYTES_MAX = 16_000_000


class Unfit(Exception):
    """What is kept of a history cannot serve: damaged, of another version, or of another log."""


class Stream(NamedTuple):
    """A stream of the log, the number of its run, and how far its rows have come."""

    run_id: str
    run: int
    position: int
    digest: bytes


_STREAMS = [("run_id", "VARCHAR"), ("run", "BIGINT"), ("position", "BIGINT"), ("digest", "BLOB")]

# Of runs and what was said beside them, by their names: the streams that are known already.
Known = Callable[[list[str]], Mapping[str, Stream]]


@dataclass(frozen=True, slots=True)
class Growth:
    """What the log holds behind a watermark: up to which offset, and up to which position of each stream."""

    offset: int
    reach: Mapping[str, int]
    records: int

    def runs(self) -> list[str]:
        """The runs that grew, by themselves or by what was said beside them, in the order in which they first did."""
        return list(dict.fromkeys(run_id.removesuffix(NOTES) for run_id in self.reach))


def growth(log: EventLog, watermark: int) -> Growth:
    """All that stands behind a watermark at this moment."""
    offset, records, reach = watermark, 0, dict[str, int]()
    for span in log.order(after=watermark):
        offset, records = span.offset, records + span.records
        reach[span.run_id] = span.position
    return Growth(offset, reach, records)


def create(db: DuckDBPyConnection, place: str) -> None:
    """Empty tables at ``place``, and what is remembered beside them."""
    for table in schema():
        columns = ", ".join(f"{column.name} {column.stored}" for column in table.columns)
        db.execute(f"CREATE TABLE {place}.{table.name} ({columns})")
    db.execute("CREATE SCHEMA IF NOT EXISTS inside")
    db.execute(f"CREATE TABLE inside.streams ({', '.join(map(' '.join, _STREAMS))})")


def streams_of(db: DuckDBPyConnection, run_ids: list[str], source: str = "inside.streams") -> dict[str, Stream]:
    """Of these runs, and of what was said beside them, the streams that ``source`` has."""
    names = [run_id + suffix for run_id in run_ids for suffix in ("", NOTES)]
    query = f"SELECT run_id, run, position, digest FROM {source} WHERE run_id IN (SELECT unnest(?))"
    found = map(Stream._make, db.execute(query, [names]).fetchall())
    return {stream.run_id: stream for stream in found}


def fill(  # noqa: PLR0913 - all by name
    db: DuckDBPyConnection,
    place: str,
    log: EventLog,
    grown: Growth,
    *,
    earlier: Known,
    last_run: int,
    moved: Callable[[Sequence[int]], object] = len,
) -> None:
    """Put the rows of all runs that have grown into the tables at ``place``, in transactions that hold whole runs.

    ``earlier`` tells what is known of them elsewhere, ``moved`` hears in each transaction the numbers of those from
    there; ``last_run`` is the highest number that a run has there. What is at ``place`` already of an attempt that
    was broken off is gone on with.

    Raises:
        Unfit: what is known of a run is not what the log holds.
    """
    runs = grown.runs()
    here, before = streams_of(db, runs), earlier(runs)
    elsewhere = {stream.run for stream in before.values()} - {stream.run for stream in here.values()}
    (last_here,) = db.execute("SELECT coalesce(max(run), 0) FROM inside.streams").fetchall()[0]
    number, writer = max(last_run, last_here), _Writer(db, place)
    known = {**before, **here}
    numbers = {run_id.removesuffix(NOTES): stream.run for run_id, stream in known.items()}
    left = [run_id for run_id in runs if not _reached(run_id, here, known, grown.reach)]
    with _uncollected():
        while left:
            batch, left = _cut(left, grown.reach)
            with _transaction(db):
                _forget(db, place, {here[run_id].run for run_id in _both(batch) if run_id in here})
                for run_id in batch:
                    if run_id not in numbers:
                        number += 1
                        numbers[run_id] = number
                    writer.render(log, run_id, numbers[run_id], known, grown.reach)
                writer.flush()
                moved([numbers[run_id] for run_id in batch if numbers[run_id] in elsewhere])


@contextmanager
def _transaction(db: DuckDBPyConnection) -> Iterator[None]:
    db.execute("BEGIN")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


@contextmanager
def _uncollected() -> Iterator[None]:
    """Rows are many, hold no circles, and are soon gone: looking for garbage among them takes a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _both(run_ids: Iterable[str]) -> Iterator[str]:
    for run_id in run_ids:
        yield from (run_id, run_id + NOTES)


def _reached(run_id: str, here: Mapping[str, Stream], known: Mapping[str, Stream], reach: Mapping[str, int]) -> bool:
    """Whether the rows here have come as far already."""
    wanted = {stream: reach.get(stream, known[stream].position if stream in known else 0) for stream in _both([run_id])}
    return all(position == (here[stream].position if stream in here else 0) for stream, position in wanted.items())


def _cut(run_ids: list[str], reach: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """The runs of one transaction, and those behind them."""
    records = 0
    for count, run_id in enumerate(run_ids, start=1):
        records += sum(reach.get(stream, 0) for stream in _both([run_id]))
        if records >= RECORDS_MAX:
            return run_ids[:count], run_ids[count:]
    return run_ids, []


def _forget(db: DuckDBPyConnection, place: str, runs: set[int]) -> None:
    if runs:
        numbers = ", ".join(map(str, runs))
        for table in (*(f"{place}.{name}" for name in ROWS), "inside.streams"):
            db.execute(f"DELETE FROM {table} WHERE run IN ({numbers})")


def _until(
    log: EventLog, stream: str, known: Stream | None, last: int | None, ends: dict[str, StoredLine]
) -> Iterator[StoredLine]:
    """The lines of a stream up to a position; the last one is left in ``ends``."""
    seal = known.position if known is not None else 0
    last = seal if last is None else last
    for line in log.lines(stream) if last else ():
        if line.position > last:
            break
        if line.position == seal and known is not None and line.digest != known.digest:
            raise Unfit("it is the history of another log")
        ends[stream] = line
        yield line


class _Writer:
    """Rows are gathered, and written in few appends."""

    def __init__(self, db: DuckDBPyConnection, place: str) -> None:
        self._db = db
        self._names = {table: f"{place}.{table}" for table in ROWS} | {"streams": "inside.streams"}
        self._types = {table.name: [(column.name, column.type) for column in table.columns] for table in schema()}
        self._types["streams"] = _STREAMS
        self._bytes = 0
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in self._names}

    def render(
        self, log: EventLog, run_id: str, run: int, known: Mapping[str, Stream], reach: Mapping[str, int]
    ) -> None:
        """All rows of a run, as far as its streams are to be read."""
        ends: dict[str, StoredLine] = {}

        def lines(stream: str) -> Lines:
            return lambda: _until(log, stream, known.get(stream), reach.get(stream), ends)

        for table, rows in rendered(run, run_id, lines(run_id), lines(run_id + NOTES)):
            self._put(table, rows)
        self._put("streams", [(stream, run, end.position, end.digest) for stream, end in ends.items()])

    def flush(self) -> None:
        """Write what is left."""
        for table in self._names:
            self._write(table)

    def _put(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        waiting = self._rows[table]
        before = len(waiting)
        waiting.extend(rows)
        if table == "payloads":
            self._bytes += sum([len(payload) for *_, payload in waiting[before:]])
        if len(waiting) >= ROWS_MAX or self._bytes >= BYTES_MAX:
            self._write(table)

    def _write(self, table: str) -> None:
        rows, self._rows[table] = self._rows[table], []
        self._bytes = 0 if table == "payloads" else self._bytes
        if rows:
            write(self._db, self._names[table], self._types[table], rows)
