"""Questions in SQL: read-only, about all that the log held when they were asked, trouble told in one line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from redrive_events import BadInput, EventLog, LogUnusable
from redrive_projections.history.deadline import Deadline, TimeOver
from redrive_projections.history.opened import History, Reach, first_line, rebuilt
from redrive_projections.history.segments import Unfit, beside, damaged

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement

# DuckDB gives a cell as None, bool, int, float, str, bytes, datetime, Decimal, UUID, or lists and dicts of these.
Cell: TypeAlias = Any
Parameters: TypeAlias = Sequence[object] | Mapping[str, object]
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query found: the names of its columns, their types in SQL, and its rows."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


class Questions:
    """Questions about ``log``, one after the other; each knows all that the log held when it was asked.

    ``path`` is the file of the log, see `History`; what is kept beside it is made anew whenever it is not what it
    should be. ``unsafe`` lets SQL reach files and the network, and do more than read, as DuckDB does by itself; it
    cannot write to the log even so.

    Raises:
        LogUnusable: there is no room to build the history in memory.
    """

    def __init__(self, log: EventLog, path: str | os.PathLike[str] | None = None, *, unsafe: bool = False) -> None:
        self._log, self._path = log, path
        self._reach = Reach(everything=unsafe)
        self._history: History | None = None

    def __enter__(self) -> Questions:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and memory."""
        if self._history is not None:
            self._history.close()
            self._history = None

    def ask(self, query: str, parameters: Parameters = (), *, timeout_s: float | None = None) -> Answer:
        """The answer to one SQL query over tables, views and macros.

        ``parameters`` stand for ``?`` or ``$1``, or by their names for ``$name``; ``timeout_s`` is for all of it: also
        for reading what is new in the log.

        Raises:
            BadInput: the query is no query, or not a single one that only reads, or DuckDB refuses it, or it is not
                done in time.
        """
        import duckdb

        within = Deadline(timeout_s)
        for anew in (False, True):
            try:
                history = self._opened(within, anew=anew)
                answered = partial(_answered, history, query, parameters, unsafe=self._reach.everything, trusted=anew)
                return in_time(history.db, within.left_s(), answered)
            except Unfit:
                continue
            except TimeOver as error:
                raise unread(timeout_s) from error
            except duckdb.InterruptException as error:
                raise too_late(timeout_s) from error
        raise AssertionError("what is made anew is trusted")

    def _opened(self, within: Deadline, *, anew: bool) -> History:
        if anew:
            self.close()
        if self._history is None:
            self._history = History(self._log, self._path, anew=anew, reach=self._reach, within=within)
        else:
            self._history.refresh(within)
        return self._history


def ask(
    log: EventLog,
    query: str,
    *,
    path: str | os.PathLike[str] | None = None,
    parameters: Parameters = (),
) -> Answer:
    """The answer to one question, see `Questions`.

    Raises:
        BadInput: the query is no query, or not a single one that only reads, or DuckDB refuses it.
        LogUnusable: there is no room to build the history in memory.
    """
    with Questions(log, path) as questions:
        return questions.ask(query, parameters)


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


def _answered(history: History, query: str, parameters: Parameters, *, unsafe: bool, trusted: bool) -> Answer:
    import duckdb

    db = history.db
    try:
        statement = query if unsafe else only_reads(db, query)
        try:
            history.define(query)
            return _found(db, statement, parameters, read_only=not unsafe)
        except duckdb.CatalogException:  # a name that is put together, or a slip: then all names help
            history.define()
            return _found(db, statement, parameters, read_only=not unsafe)
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        if not trusted and damaged(error):
            raise Unfit(str(error)) from error
        raise BadInput(told(error), place="query") from error


def _found(db: DuckDBPyConnection, statement: Statement | str, parameters: Parameters, *, read_only: bool) -> Answer:
    if not read_only:
        db.execute(statement, parameters)
        return _fetched(db)
    db.execute("BEGIN TRANSACTION READ ONLY")
    try:
        db.execute(statement, parameters)
        return _fetched(db)
    finally:
        db.execute("ROLLBACK")


def _fetched(db: DuckDBPyConnection) -> Answer:
    described = [(str(name), str(kind)) for name, kind, *_ in db.description or ()]
    rows = db.fetchall() if described else []
    return Answer(tuple(name for name, _ in described), tuple(kind for _, kind in described), rows)


def too_late(timeout_s: float | None) -> BadInput:
    """What is said of a question that was interrupted."""
    return BadInput("it was interrupted" if timeout_s is None else f"not done within {timeout_s:g} s", place="query")


def unread(timeout_s: float | None) -> BadInput:
    """What is said where all of the time went by before the question could be asked."""
    said = f"the log was not read within {timeout_s:g} s; what was read is kept, and the next question goes on with it"
    return BadInput(said, place="query")


def in_time(db: DuckDBPyConnection, timeout_s: float | None, work: Callable[[], Found]) -> Found:
    """What ``work`` finds; the database is interrupted when the time is over, or somebody presses Ctrl-C.

    It works in a thread of its own, since nobody hears a signal while DuckDB has the word.

    Raises:
        duckdb.InterruptException: the time was over.
    """
    import duckdb

    came: list[Found | BaseException] = []

    def working() -> None:
        try:
            came.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            came.append(error)

    aside = Thread(target=working, name="redrive question", daemon=True)
    try:
        aside.start()
        aside.join(timeout_s)
    finally:
        interrupted = False
        while aside.ident is not None and not came:  # what has not begun yet cannot be interrupted
            db.interrupt()
            interrupted = True
            aside.join(0.01)
        if interrupted:  # the end of its transaction may have been interrupted as well
            with suppress(duckdb.Error):
                db.execute("ROLLBACK")
    (found,) = came
    if isinstance(found, BaseException):
        raise found
    return found


def only_reads(db: DuckDBPyConnection, query: str) -> Statement:
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


def told(error: Exception) -> str:
    """DuckDB's words in one line: the first, and what it believes was meant."""
    text = first_line(error)
    hint = next((line for line in str(error).splitlines()[1:] if line.startswith(("Did you mean", "Candidate"))), "")
    return f"{text} {hint}".strip()
