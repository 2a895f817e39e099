"""Questions in SQL: read-only, about all that the log held when they were asked, trouble told in one line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from redrive_events import BadInput, EventLog, LogUnusable
from redrive_projections.history.filling import Unfit
from redrive_projections.history.opened import History, first_line, rebuilt
from redrive_projections.history.segments import beside

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement

# DuckDB gives a cell as None, bool, int, float, str, bytes, datetime, Decimal, UUID, or lists and dicts of these.
Cell: TypeAlias = Any
Parameters: TypeAlias = Sequence[object] | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query found: the names of its columns, their types in SQL, and its rows."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


def ask(
    log: EventLog, query: str, *, path: str | os.PathLike[str] | None = None, parameters: Parameters = ()
) -> Answer:
    """The answer to one SQL query over the tables of `schema`, which hold all that ``log`` held when this was called.

    ``path`` is the file of the log, see `History`; what is kept beside it is made anew whenever it is not what it
    should be.
    ``parameters`` stand for ``?`` or ``$1``, or by their names for ``$name``.

    Raises:
        BadInput: the query is no query, or not a single one that only reads, or DuckDB refuses it.
        LogUnusable: there is no room to build the history in memory.
    """
    for anew in (False, True):
        with History(log, path, anew=anew) as history:
            try:
                return _answered(history.db, query, parameters, trusted=anew)
            except Unfit:
                continue
    raise AssertionError("what is made anew is trusted")


def rebuild(log: EventLog, path: str | os.PathLike[str]) -> Path:
    """Make the history beside the log at ``path`` anew, whatever is there; the folder it is in.

    Raises:
        LogUnusable: nothing can be written there.
    """
    import duckdb

    folder = beside(path)
    try:
        rebuilt(folder, log)
    except OSError as error:
        raise LogUnusable(str(folder), f"it cannot be made ({error.strerror})") from error
    except duckdb.Error as error:
        raise LogUnusable(str(folder), f"it cannot be made ({first_line(error)})") from error
    return folder


def _answered(db: DuckDBPyConnection, query: str, parameters: Parameters, *, trusted: bool) -> Answer:
    import duckdb

    try:
        statement = _only(db, query)
        db.execute("BEGIN TRANSACTION READ ONLY")
        db.execute(statement, parameters)
        described = [(str(name), str(kind)) for name, kind, *_ in db.description or ()]
        rows = db.fetchall()
    except duckdb.Error as error:
        if not trusted and _damaged(error):
            raise Unfit(str(error)) from error
        raise BadInput(_told(error), place="query") from error
    return Answer(tuple(name for name, _ in described), tuple(kind for _, kind in described), rows)


def _only(db: DuckDBPyConnection, query: str) -> Statement:
    """The one statement of a query; what it may do is held by the transaction, whatever its kind."""
    import duckdb

    kinds = duckdb.StatementType
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise BadInput("not UTF-8", place="query") from error
    statements = db.extract_statements(query)
    if len(statements) != 1:
        raise BadInput("one statement at a time" if statements else "there is none", place="query")
    # A PIVOT is several statements in one.
    if statements[0].type not in {kinds.SELECT, kinds.EXPLAIN, kinds.MULTI}:
        raise BadInput("only what reads is allowed here: SELECT, FROM, DESCRIBE, SUMMARIZE, EXPLAIN", place="query")
    return statements[0]


def _damaged(error: Exception) -> bool:
    """Whether this is the file's fault rather than the query's; a wrong checksum comes as a bare `duckdb.Error`."""
    import duckdb

    at_fault = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.SerializationException)
    return type(error) is duckdb.Error or isinstance(error, at_fault)


def _told(error: Exception) -> str:
    """DuckDB's words in one line: the first, and what it believes was meant."""
    text = first_line(error)
    hint = next((line for line in str(error).splitlines()[1:] if line.startswith(("Did you mean", "Candidate"))), "")
    return f"{text} {hint}".strip()
