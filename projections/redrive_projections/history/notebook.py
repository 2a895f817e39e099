"""A history that stays open, for a notebook: relations of DuckDB's own, each as of the moment it was asked for."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from redrive_events import BadInput, EventLog, SqliteLog
from redrive_projections.history.opened import History
from redrive_projections.history.question import Parameters, only_reads, told
from redrive_projections.history.relation import Relation
from redrive_projections.history.segments import Unfit, damaged

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


class Notebook:
    """The tables, views and macros over the runs of a log, to be asked again and again.

    It holds no lock: recording goes on, and others ask at the same time. Use as a context manager, or close it.
    """

    def __init__(self, log: EventLog, path: Path | None = None) -> None:
        self._log, self._path, self._history = log, path, History(log, path)
        self._history.define()
        self._spoilt: list[History] = []

    def __enter__(self) -> Notebook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def sql(self, query: str, parameters: Parameters | None = None) -> DuckDBPyRelation:
        """What a query finds in all that the log holds now: a relation, with DuckDB's own `.df()`, `.pl()`, `.arrow()`.

        It stays as it is, whatever is recorded later; where what is kept turns out to be damaged, all is made anew, and
        asked again. ``parameters`` stand for ``?`` or ``$1``, or by their names for ``$name``.

        Raises:
            BadInput: the query is no query, or not a single one that only reads, or DuckDB refuses it.
        """
        again = partial(self._again, query, parameters, self._history)
        try:
            found = self._found(query, parameters)
        except Unfit:
            found = again()
        # It has all that a relation has.
        return cast("DuckDBPyRelation", Relation(found, again))

    def rows(self, query: str, parameters: Parameters | None = None) -> list[tuple[Any, ...]]:
        """All that a query finds, read at once, so that what fails only then is told likewise. Raises as `sql` does."""
        import duckdb

        try:
            return self.sql(query, parameters).fetchall()
        except duckdb.Error as error:
            raise BadInput(told(error), place="query") from error

    def connection(self) -> DuckDBPyConnection:
        """A connection of its own to all that the log holds now, for libraries that want one.

        It reaches no file and no network either. What it writes, it writes in the memory of this history alone, where
        later questions see it: neither the log nor what is kept beside it can be changed. Damage is told by
        DuckDB itself here; `sql` has it made anew.
        """
        try:
            self._history.refresh()
        except Unfit:
            self._open_anew()
        return self._history.db.cursor()

    def _found(self, query: str, parameters: Parameters | None) -> DuckDBPyRelation:
        import duckdb

        db = self.connection()
        try:
            only_reads(db, query)
            db.execute("BEGIN TRANSACTION READ ONLY")
            found: DuckDBPyRelation | None = db.sql(query, params=parameters)
        except duckdb.Error as error:
            if damaged(error):
                raise Unfit(str(error)) from error
            raise BadInput(told(error), place="query") from error
        if found is None:
            raise BadInput("it gives no rows", place="query")
        return found

    def _again(self, query: str, parameters: Parameters | None, spoilt: History) -> DuckDBPyRelation:
        """The same of a history that is made anew, once for all relations of the one that is damaged."""
        if self._history is spoilt:
            self._open_anew()
        return self._found(query, parameters)

    def _open_anew(self) -> None:
        self._spoilt.append(self._history)  # until the end, for relations that are held: they may find damage, too
        self._history = History(self._log, self._path, anew=True)
        self._history.define()

    def close(self) -> None:
        """Let go of files and memory."""
        for history in (*self._spoilt, self._history):
            history.close()
        if isinstance(self._log, SqliteLog):
            self._log.close()


def history(log: str | os.PathLike[str] | EventLog = "redrive.db") -> Notebook:
    """The history of the log at a path, or of one that is open: ``redrive.history().sql("FROM runs").df()``.

    Only what reads is allowed, and nothing but the tables can be read: no file, no network.

    Raises:
        BadInput: there is no such log.
        LogUnusable: there is no room for its history.
    """
    if isinstance(log, str | os.PathLike):
        return Notebook(SqliteLog(log, must_exist=True), Path(log))
    return Notebook(log)
