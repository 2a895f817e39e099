"""As much of `sqlite3` as the log asks for, over apsw, which lets Python stand between SQLite and the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

import apsw

_KINDS: dict[type[apsw.Error], type[sqlite3.Error]] = {
    apsw.ConstraintError: sqlite3.IntegrityError,
    apsw.CorruptError: sqlite3.DatabaseError,
    apsw.NotADBError: sqlite3.DatabaseError,
}


class Cursor:
    """What a statement gave: its rows, read to their end."""

    def __init__(self, rows: list[tuple[Any, ...]], lastrowid: int, rowcount: int) -> None:
        self._rows, self.lastrowid, self.rowcount = iter(rows), lastrowid, rowcount

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        return next(self._rows, None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All that are left."""
        return list(self._rows)


class Connection:
    """A connection that speaks to the disk through the VFS of that name."""

    def __init__(self, database: str, vfs: str, timeout: float, misheard: tuple[str, str]) -> None:
        self._misheard = misheard
        with _told():
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
            self._db = apsw.Connection(database, flags=flags, vfs=vfs)
            self._db.set_busy_timeout(int(timeout * 1000))

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Cursor:
        """Run a statement to its end."""
        with _told():
            rows: list[tuple[Any, ...]] = self._db.execute(statement.replace(*self._misheard), values).fetchall()
            return Cursor(rows, self._db.last_insert_rowid(), self._db.changes())

    def executemany(self, statement: str, values: Iterable[Sequence[Any]]) -> Cursor:
        """Run a statement for each of ``values``."""
        with _told():
            self._db.executemany(statement, values)
            return Cursor([], self._db.last_insert_rowid(), self._db.changes())

    @property
    def in_transaction(self) -> bool:
        """Whether something is begun."""
        return self._db.in_transaction

    def close(self) -> None:
        """Let go of the file; a last checkpoint that fails is nobody's trouble, and only apsw tells of it."""
        with suppress(apsw.Error):
            self._db.close(True)


@contextmanager
def over(vfs: str, *, misheard: tuple[str, str] = ("", "")) -> Iterator[None]:
    """Every log that is opened meanwhile is on the disk behind that VFS; a text in a statement may be ``misheard``."""

    def connect(database: str, *, timeout: float, **_: object) -> Connection:
        return Connection(database, vfs, timeout, misheard)

    with mock.patch("redrive_events.stores.connections.connect", connect):
        yield


@contextmanager
def _told() -> Iterator[None]:
    """Apsw's troubles as sqlite3 would tell them."""
    try:
        yield
    except apsw.Error as error:
        kind = _KINDS.get(type(error), sqlite3.OperationalError)
        told = kind(str(error) or type(error).__name__)
        told.sqlite_errorcode = getattr(error, "extendedresult", apsw.SQLITE_ERROR)
        raise told from error
