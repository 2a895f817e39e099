"""Parquet, for any engine: one answer as a file, or all tables in folders by the day on which their runs began."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from redrive_events import BadInput, EventLog, canonical
from redrive_projections.history.deadline import NEVER, Deadline, TimeOver
from redrive_projections.history.opened import History, Reach
from redrive_projections.history.question import Parameters, in_time, only_reads, told, too_late, unread
from redrive_projections.history.segments import ROWS_VERSION, damaged
from redrive_projections.history.tables import schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Written = TypeVar("Written")

# Under these keys a file's metadata says what wrote it, and which columns of which version there are.
FORMAT_KEY: Final = "redrive_format"
SCHEMA_KEY: Final = "redrive_schema"
TABLE_KEY: Final = "redrive_table"
FORMAT_VERSION: Final = 1

# The file is there already, with the rights it is to have.
ONE_FILE: Final = "USE_TMP_FILE false"
# Where the day is not known: not NULL, of which some readers cannot tell a type.
NO_DAY: Final = "unknown"


def schema_version() -> str:
    """The version of the tables: another one whenever a column is added, renamed, or filled otherwise."""
    columns = [[table.name, [[column.name, column.type] for column in table.columns]] for table in schema()]
    return hashlib.sha256(canonical([ROWS_VERSION, columns])).hexdigest()[:12]


def write_answer(
    log: EventLog,
    query: str,
    file: Path,
    *,
    path: str | os.PathLike[str] | None = None,
    parameters: Parameters = (),
    timeout_s: float | None = None,
) -> int:
    """Write the answer to one question into ``file``, which is there and takes it; the number of its rows.

    Raises:
        BadInput: it is no question, or DuckDB refuses it, or it is not done in time.
        LogUnusable: there is no room for the history.
    """
    import duckdb

    file, within = file.resolve(), Deadline(timeout_s)

    def write(history: History) -> int:
        statement = only_reads(history.db, query)
        history.define(query)
        answer = statement.query.rstrip("; \n")
        return in_time(history.db, within.left_s(), lambda: _copied(history.db, answer, file, ONE_FILE, parameters, {}))

    try:
        return _written(log, path, Reach(files=(file,)), write, within)
    except TimeOver as error:
        raise unread(timeout_s) from error
    except duckdb.InterruptException as error:
        raise too_late(timeout_s) from error
    except duckdb.Error as error:
        raise BadInput(told(error), place="query") from error


def write_tables(
    log: EventLog, folder: Path, *, path: str | os.PathLike[str] | None = None, run_ids: Sequence[str] | None = None
) -> dict[str, int]:
    """Write all tables into an empty ``folder``: of all runs, or of these; the number of rows of each.

    Each table is a folder, with a folder in it for each day on which runs began (``day=2026-01-01``), so that a reader
    looks only at the days it asks for; without a day that is known it is ``day=unknown``.

    Raises:
        BadInput: it cannot be written.
        LogUnusable: there is no room for the history.
    """
    import duckdb

    folder = folder.resolve()

    def write(history: History) -> dict[str, int]:
        for begun in folder.iterdir():  # before damage was found
            shutil.rmtree(begun)
        return {table.name: _table(history.db, table.name, folder / table.name, run_ids) for table in schema()}

    try:
        return _written(log, path, Reach(folders=(folder,)), write)
    except duckdb.Error as error:
        raise BadInput(told(error), place=str(folder)) from error


def _written(
    log: EventLog,
    path: str | os.PathLike[str] | None,
    reach: Reach,
    write: Callable[[History], Written],
    within: Deadline = NEVER,
) -> Written:
    """What ``write`` makes of the history; if that finds damage in what is kept, it is made anew, and written again."""
    import duckdb

    try:
        with History(log, path, reach=reach, within=within) as history:
            return write(history)
    except duckdb.Error as error:
        if not damaged(error):
            raise
    with History(log, path, anew=True, reach=reach, within=within) as history:
        return write(history)


def _table(db: DuckDBPyConnection, name: str, place: Path, run_ids: Sequence[str] | None) -> int:
    chosen = "" if run_ids is None else "WHERE run_id IN (SELECT unnest($run_ids))"
    parameters = {} if run_ids is None else {"run_ids": list(run_ids)}
    days = "SELECT run, strftime(started_at AT TIME ZONE 'UTC', '%Y-%m-%d') AS began FROM runs"
    columns = f"{name}.*, coalesce(began, '{NO_DAY}') AS day"
    query = f"SELECT {columns} FROM {name} LEFT JOIN ({days}) AS days USING (run) {chosen} ORDER BY day, run"
    rows = _copied(db, query, place, "PARTITION_BY (day)", parameters, {TABLE_KEY: name})
    if not rows:  # an empty table has its columns all the same
        (place / f"day={NO_DAY}").mkdir(parents=True, exist_ok=True)
        file = place / f"day={NO_DAY}" / "data_0.parquet"
        _copied(db, f"SELECT * FROM {name} LIMIT 0", file, ONE_FILE, {}, {TABLE_KEY: name})
    return rows


def _copied(
    db: DuckDBPyConnection,
    query: str,
    place: Path,
    options: str,
    parameters: Parameters,
    metadata: dict[str, str],
) -> int:
    told = {FORMAT_KEY: str(FORMAT_VERSION), SCHEMA_KEY: schema_version(), **metadata}
    pairs = ", ".join(f"{key}: '{value}'" for key, value in told.items())
    where = str(place).replace("'", "''")
    form = f"(FORMAT parquet, COMPRESSION zstd, {options}, KV_METADATA {{{pairs}}})"
    db.execute("BEGIN TRANSACTION READ ONLY")
    try:
        ((rows,),) = db.execute(f"COPY ({query}\n) TO '{where}' {form}", parameters).fetchall()
    finally:
        db.execute("ROLLBACK")
    return int(rows)
