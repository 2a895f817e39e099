"""From the log to the tables of one place: each run that has grown is read from its beginning, and rendered anew."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from redrive_events import NOTES, EventLog, StoredLine
from redrive_projections.history.deadline import NEVER, Deadline, TimeOver
from redrive_projections.history.reading import Lines, OutOfOrder
from redrive_projections.history.rows import SETTLED, Rendering
from redrive_projections.history.tables import ROWS, schema
from redrive_projections.history.writing import write

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# So many records at least are committed at once; so many rows, or bytes, are given to the database at once.
RECORDS_MAX = 250_000
ROWS_MAX = 16_384
BYTES_MAX = 16_000_000
# After so many lines of one stream it is looked at the clock.
LINES_UNWATCHED = 256


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


def growth(log: EventLog, watermark: int, within: Deadline = NEVER) -> Growth:
    """All that stands behind a watermark at this moment."""
    offset, records, reach = watermark, 0, dict[str, int]()
    for span in log.order(after=watermark):
        within.check()
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


class Place:
    """Tables in a database, and how rows of runs come there.

    ``db`` and ``name`` say where; ``earlier`` tells what is known of runs elsewhere, and ``last_run`` the highest
    number that a run has there; ``moved`` hears in each transaction the numbers of those that it now has from there.
    Of runs that go on it remembers up to ``live_max``, so that only what was appended is read.
    """

    def __init__(
        self,
        db: DuckDBPyConnection,
        name: str,
        *,
        earlier: Known,
        last_run: int,
        moved: Callable[[Sequence[int]], object] = len,
        live_max: int = 0,
    ) -> None:
        self._db, self._name = db, name
        self._earlier, self._last_run, self._moved = earlier, last_run, moved
        self._live: dict[str, Rendering] = {}
        self._live_max = live_max

    def close(self) -> None:
        """Let go of the database."""
        self._db.close()

    def fill(self, log: EventLog, grown: Growth, within: Deadline = NEVER) -> None:
        """Put in the rows of all runs that have grown, in transactions that hold whole runs.

        What is there already of an attempt that was broken off is gone on with.

        Raises:
            TimeOver: they are not all there in time.
        """
        runs = grown.runs()
        here, before = streams_of(self._db, runs), self._earlier(runs)
        known = {**before, **here}
        numbers = self._numbered(runs, known)
        held = {stream.run for stream in here.values()}
        moving = {stream.run for stream in before.values()} - held
        left = [run_id for run_id in runs if not _reached(run_id, here, known, grown.reach)]
        with _uncollected():
            while left:
                batch, left = _cut(left, grown.reach)
                work = _Work(log, known, grown.reach, held, within)
                try:
                    self._put({run_id: numbers[run_id] for run_id in batch}, work, moving)
                except OutOfOrder:  # something that was in order is no longer
                    self._live.clear()
                    self._put({run_id: numbers[run_id] for run_id in batch}, work, moving)

    def _put(self, runs: Mapping[str, int], work: _Work, moving: set[int]) -> None:
        """One transaction."""
        live = {run_id: self._live.pop(run_id) for run_id in self._live.keys() & runs.keys()}
        writer, lasting = _Writer(self._db, self._name), dict[str, Rendering]()
        done: list[int] = []
        try:
            with _transaction(self._db):
                self._forget([runs[run_id] for run_id in live], ROWS.keys() - SETTLED)
                self._forget([run for run_id, run in runs.items() if run in work.held and run_id not in live], ROWS)
                replaced = not work.held.isdisjoint(runs.values())
                for run_id, run in runs.items():
                    if done and not replaced and work.within.is_over():
                        break  # what is complete is kept
                    rendering = live.pop(run_id, None) or Rendering(run, run_id)
                    work.render(run_id, rendering, writer)
                    if self._live_max and rendering.lasts:
                        lasting[run_id] = rendering
                        if len(lasting) > self._live_max:
                            del lasting[next(iter(lasting))]
                    done.append(run)
                writer.flush()
                self._moved([run for run in done if run in moving])
        except BaseException:
            self._live.clear()
            raise
        self._live |= lasting
        for run_id in list(self._live)[: -self._live_max or None]:
            del self._live[run_id]
        if len(done) < len(runs):
            raise TimeOver

    def _numbered(self, runs: Sequence[str], known: Mapping[str, Stream]) -> dict[str, int]:
        """The number of each run: its own, or the next one."""
        numbers = {run_id.removesuffix(NOTES): stream.run for run_id, stream in known.items()}
        (last_here,) = self._db.execute("SELECT coalesce(max(run), 0) FROM inside.streams").fetchall()[0]
        following = count(max(self._last_run, last_here) + 1)
        return {run_id: numbers.get(run_id) or next(following) for run_id in runs}

    def _forget(self, runs: Sequence[int], tables: Iterable[str]) -> None:
        if runs:
            numbers = ", ".join(map(str, runs))
            for table in (*(f"{self._name}.{name}" for name in tables), "inside.streams"):
                self._db.execute(f"DELETE FROM {table} WHERE run IN ({numbers})")


class _Work(NamedTuple):
    """A log, what is known of its streams, how far they are to be read, the runs that have rows here, until when."""

    log: EventLog
    known: Mapping[str, Stream]
    reach: Mapping[str, int]
    held: set[int]
    within: Deadline

    def render(self, run_id: str, rendering: Rendering, writer: _Writer) -> None:
        """The rows of a run, as far as its streams are to be read; what is settled already is there."""
        ends = dict[str, tuple[int, bytes]]()
        if rendering.begun:
            ends = {one: self.known[one][2:] for one in _both([run_id]) if one in self.known}

        def lines(stream: str) -> Lines:
            return lambda after: self._until(stream, after, ends)

        for table, rows in rendering.further(lines(run_id), lines(run_id + NOTES)):
            writer.put(table, rows)
        writer.put("streams", [(stream, rendering.run, *end) for stream, end in ends.items()])

    def _until(self, stream: str, after: int, ends: dict[str, tuple[int, bytes]]) -> Iterator[StoredLine]:
        """The lines of a stream behind a position; where the last one stands, and its digest, are left in ``ends``."""
        last = self.reach.get(stream, self.known[stream].position if stream in self.known else 0)
        lines = takewhile(
            lambda line: line.position <= last, self.log.lines(stream, after=after) if last > after else ()
        )
        while some := list(islice(lines, LINES_UNWATCHED)):
            ends[stream] = some[-1][:2]
            yield from some
            if len(some) == LINES_UNWATCHED:
                self.within.check()


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
    for place, run_id in enumerate(run_ids, start=1):
        records += sum(reach.get(stream, 0) for stream in _both([run_id]))
        if records >= RECORDS_MAX:
            return run_ids[:place], run_ids[place:]
    return run_ids, []


class _Writer:
    """Rows are gathered, and written in few appends."""

    def __init__(self, db: DuckDBPyConnection, place: str) -> None:
        self._db = db
        self._names = {table: f"{place}.{table}" for table in ROWS} | {"streams": "inside.streams"}
        self._types = {table.name: [(column.name, column.type) for column in table.columns] for table in schema()}
        self._types["streams"] = _STREAMS
        self._bytes = 0
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in self._names}

    def flush(self) -> None:
        """Write what is left."""
        for table in self._names:
            self._write(table)

    def put(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows for a table, in the order of its columns."""
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
