"""The files in which a history is kept beside its log: each is written once, and from then on only read."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from redrive_events import EventLog, canonical
from redrive_projections.history.deadline import NEVER, Deadline
from redrive_projections.history.filling import Growth, Place, Stream, create, streams_of
from redrive_projections.history.tables import ROWS, schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Raised when the same columns are filled otherwise.
ROWS_VERSION = 7
SUFFIX = ".history"

# A segment is joined with those behind it when it holds less than so many times their records.
RATIO = 4
# Who has not for ever looks so often whether the lock is free.
BETWEEN_TRIES_S = 0.02

# A full transaction is more than that: it goes into the file at once, not into memory and a log of DuckDB's own.
CHECKPOINT: Final = "64MB"
# What DuckDB would keep beyond that while it writes goes to a file.
MEMORY_MAX: Final = "600MB"

_NAME = re.compile(r"([0-9]{20})-([0-9]{20})\.duckdb")
_WORKING = "working.duckdb"
_LOCK = "lock"


class Unfit(Exception):
    """What is kept of a history cannot serve: damaged, of another version, or of another log."""


def damaged(error: Exception) -> bool:
    """Whether this is a file's fault rather than the query's; a wrong checksum comes as a bare `duckdb.Error`."""
    import duckdb

    at_fault = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.SerializationException)
    return type(error) is duckdb.Error or isinstance(error, at_fault)


class Segment(NamedTuple):
    """A file that holds the rows of all runs that grew between two offsets of the log, as they were at the second."""

    file: Path
    begun: int
    watermark: int


def beside(path: str | os.PathLike[str]) -> Path:
    """The folder in which the history of the log at ``path`` is kept."""
    log = Path(path)
    return log.with_name(log.name + SUFFIX)


@cache
def shape() -> str:
    """What tells these tables from those of another version."""
    return hashlib.sha256(canonical([ROWS_VERSION, schema()])).hexdigest()


def segments(folder: Path) -> list[Segment]:
    """The segments that follow each other from the beginning of the log, each the longest there is."""
    found: dict[int, Segment] = {}
    for file in folder.iterdir() if folder.is_dir() else ():
        if named := _NAME.fullmatch(file.name):
            one = Segment(file, int(named[1]), int(named[2]))
            if one.watermark > max(one.begun, found[one.begun].watermark if one.begun in found else 0):
                found[one.begun] = one
    chain, offset = list[Segment](), 0
    while offset in found:
        chain.append(found[offset])
        offset = found[offset].watermark
    return chain


def attach(db: DuckDBPyConnection, chain: Sequence[Segment]) -> None:
    """Open the segments for reading, as s1, s2 and so on.

    Raises:
        Unfit: one is damaged, of another version, or is not what its name says.
        FileNotFoundError: one is there no more, since another process has joined it with others.
    """
    import duckdb

    for number, segment in enumerate(chain, start=1):
        segment.file.stat()
        try:
            db.execute(f"ATTACH '{_quoted(segment.file)}' AS s{number} (READ_ONLY)")
            told = db.execute(f"SELECT shape, begun, watermark FROM s{number}.inside.progress").fetchall()
        except duckdb.Error as error:
            segment.file.stat()  # it may be gone by now
            raise Unfit(str(error)) from error
        if told != [(shape(), segment.begun, segment.watermark)]:
            raise Unfit("another version made it")


def all_streams(count: int) -> str:
    """The streams of so many attached segments as they are in the last that has them, as a query in brackets."""
    each = (f"SELECT *, {number} AS segment FROM s{number}.inside.streams" for number in range(1, count + 1))
    union = " UNION ALL ".join(each)
    if count == 1:
        return f"({union})"
    return f"(FROM ({union}) QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY segment DESC) = 1)"


@contextmanager
def locked(folder: Path, within: Deadline = NEVER) -> Iterator[None]:
    """While no other process writes there; whoever does is waited for.

    Raises:
        OSError: nothing can be written there.
        TimeOver: it did not come to that in time.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    held = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        _lock(held, within)
        yield
    finally:
        os.close(held)


def _lock(held: int, within: Deadline) -> None:
    if within.left_s() is None:
        fcntl.flock(held, fcntl.LOCK_EX)
        return
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        within.check()
        time.sleep(BETWEEN_TRIES_S)


def discard(folder: Path) -> None:
    """Throw away all that is kept; only while it is `locked`."""
    for file in folder.iterdir():
        if file.name != _LOCK:
            shutil.rmtree(file) if file.is_dir() else file.unlink()


def seal(folder: Path, log: EventLog, grown: Growth, within: Deadline = NEVER) -> None:
    """Write what has grown behind the last segment as a new one, and join segments that are small; while `locked`.

    Whatever was written when a process was killed, the disk was full, or the time was over, is gone on with.

    Raises:
        Unfit: what is kept is not what it should be.
        duckdb.Error: the file cannot be written.
        TimeOver: it is not written in time.
    """
    chain = segments(folder)
    begun = chain[-1].watermark if chain else 0
    with _working(folder, begun) as db:
        attach(db, chain)
        db.execute("SET threads = 1")  # one core makes the rows, and more than one other would wait for them
        source, last_run = all_streams(len(chain)), 0
        if chain:
            ((last_run,),) = db.execute(f"SELECT max(run) FROM {source}").fetchall()

        def earlier(run_ids: list[str]) -> dict[str, Stream]:
            return streams_of(db, run_ids, source) if chain else {}

        Place(db, "main", earlier=earlier, last_run=last_run).fill(log, grown, within)
        within.check()
        _finish(db, folder, begun, grown.offset, grown.records)
    _join(folder, within)


def _join(folder: Path, within: Deadline) -> None:
    """Make one of the segments at the end that are small beside what follows them, and tidy up."""
    chain = segments(folder)
    with _connected(":memory:") as db:
        attach(db, chain)
        sizes = [_records(db, number) for number in range(1, len(chain) + 1)]
    first = next((n for n in range(len(chain) - 1) if sizes[n] < RATIO * sum(sizes[n + 1 :])), None)
    if first is not None:
        joined = chain[first:]
        (folder / _WORKING).unlink(missing_ok=True)
        with _working(folder, joined[0].begun) as db:
            attach(db, joined)
            _copy(db, len(joined), within)
            _finish(db, folder, joined[0].begun, joined[-1].watermark, sum(sizes[first:]))
    kept = {segment.file.name for segment in segments(folder)}
    for file in folder.iterdir():
        if file.name not in kept and file.name != _LOCK:
            shutil.rmtree(file) if file.is_dir() else file.unlink()


def _copy(db: DuckDBPyConnection, count: int, within: Deadline) -> None:
    """All rows of so many segments; those of a run stand in the last segment that has it."""
    db.execute("BEGIN")
    for number in range(1, count + 1):
        later = [f"SELECT run FROM s{n}.inside.streams" for n in range(number + 1, count + 1)]
        without = f" WHERE run NOT IN ({' UNION '.join(later)})" if later else ""
        for table in ROWS:
            within.check()
            db.execute(f"INSERT INTO main.{table} FROM s{number}.main.{table}{without}")
        db.execute(f"INSERT INTO inside.streams FROM s{number}.inside.streams{without}")
    db.execute("COMMIT")


def _records(db: DuckDBPyConnection, number: int) -> int:
    ((records,),) = db.execute(f"SELECT records FROM s{number}.inside.progress").fetchall()
    return int(records)


@contextmanager
def _working(folder: Path, begun: int) -> Iterator[DuckDBPyConnection]:
    """The file that is being written, with what is there already if it is of use."""
    file = folder / _WORKING
    db = _gone_on_with(file, begun)
    if db is None:
        for old in (file, file.with_name(file.name + ".wal")):
            old.unlink(missing_ok=True)
        db = _connected(file)
        db.execute("BEGIN")
        create(db, "main")
        db.execute("CREATE TABLE inside.progress (shape VARCHAR, begun BIGINT, watermark BIGINT, records BIGINT)")
        db.execute("INSERT INTO inside.progress VALUES (?, ?, 0, 0)", [shape(), begun])
        db.execute("COMMIT")
    with db:
        yield db


def _gone_on_with(file: Path, begun: int) -> DuckDBPyConnection | None:
    """What a process that was killed, or found no more room, has left of the same segment."""
    import duckdb

    if not file.exists():
        return None
    try:
        db = _connected(file)
    except duckdb.Error:
        return None
    try:
        if db.execute("SELECT shape, begun, watermark FROM inside.progress").fetchall() == [(shape(), begun, 0)]:
            return db
    except duckdb.Error:
        pass
    db.close()
    return None


def _finish(db: DuckDBPyConnection, folder: Path, begun: int, watermark: int, records: int) -> None:
    """From here on the file is only read."""
    db.execute("UPDATE inside.progress SET watermark = ?, records = ?", [watermark, records])
    db.execute("CHECKPOINT")
    db.close()
    (folder / _WORKING).rename(folder / f"{begun:020}-{watermark:020}.duckdb")


def _connected(file: Path | str) -> DuckDBPyConnection:
    import duckdb

    return duckdb.connect(
        # With something before a colon, a name alone would be an address.
        file if file == ":memory:" else Path(file).absolute(),
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "checkpoint_threshold": CHECKPOINT,
            # Rows that stand are not moved together again at each checkpoint: it would take longer with each of them.
            "max_vacuum_tasks": "0",
            "memory_limit": MEMORY_MAX,
        },
    )


def _quoted(file: Path) -> str:
    return str(file.absolute()).replace("'", "''")
