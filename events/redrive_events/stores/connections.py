"""Connections to one SQLite file that is a Redrive log: made, opened and recognised, its troubles told in one line."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import connect

from redrive_events.errors import BadInput, LogUnusable, NewerFormat, RedriveError

APPLICATION = 0x52647276  # "Rdrv"
FORMAT_VERSION = 0
CACHE_KIB = 32_768
TURN_S = 0.005

# An event's id is its run and its position in one number: a run's events lie side by side, and are unique by that.
# `appends` is the one order over all runs: an offset counts events, and a row is the offset and the id of the last
# of `count` events of one run that were written together.
SCHEMA = (
    """CREATE TABLE runs (
        run INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        position INTEGER NOT NULL,
        digest BLOB NOT NULL,
        at TEXT NOT NULL
    )""",
    """CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        digest BLOB NOT NULL,
        line BLOB NOT NULL,
        run INTEGER NOT NULL AS (id >> 32) VIRTUAL,
        position INTEGER NOT NULL AS (id & 0xFFFFFFFF) VIRTUAL
    )""",
    """CREATE TABLE appends (
        last_offset INTEGER PRIMARY KEY,
        last_id INTEGER NOT NULL,
        count INTEGER NOT NULL
    )""",
    """CREATE TABLE leases (
        run_id TEXT PRIMARY KEY,
        worker TEXT NOT NULL,
        until_us INTEGER NOT NULL
    )""",
    *(
        f"""CREATE TRIGGER {table}_refuse_{verb} BEFORE {verb.upper()} ON {table}
        BEGIN SELECT raise(ABORT, 'the log is append-only'); END"""
        for table, verb in [
            ("events", "update"),
            ("events", "delete"),
            ("appends", "update"),
            ("appends", "delete"),
            ("runs", "delete"),
        ]
    ),
    """CREATE TRIGGER runs_only_grow BEFORE UPDATE ON runs
        WHEN new.position < old.position OR new.run_id <> old.run_id OR new.run <> old.run
        BEGIN SELECT raise(ABORT, 'the log is append-only'); END""",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
)

REASONS = {
    sqlite3.SQLITE_BUSY: "others keep it locked; try again later",
    sqlite3.SQLITE_LOCKED: "others keep it locked; try again later",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may not be written",
    sqlite3.SQLITE_PERM: "it may not be opened",
    sqlite3.SQLITE_CANTOPEN: "it may not be opened",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write it",
}

EFFECTIVE = os.access in os.supports_effective_ids

# A file that is opened and closed beside SQLite loses the locks which SQLite holds on it in this process. So nothing
# here opens the log's file but SQLite, except to make it, and then no connection may be opened meanwhile.
_making = threading.Lock()


class Connections:
    """The connections to one log, each lent to one thread at a time.

    Raises:
        BadInput: the file is not there but must be, or is not a Redrive log.
        NewerFormat: a later version of this program made it.
        LogUnusable: it cannot be opened, read or written.
    """

    def __init__(self, path: Path, *, must_exist: bool, busy_s: float) -> None:
        self._path, self._busy_s = path, busy_s
        self._process = os.getpid()
        self._idle: deque[sqlite3.Connection] = deque()
        self._closed = False
        with _making:
            if not must_exist:
                self._make_file()
            self._look()
            try:
                if not must_exist:
                    self._lay_out()
                self._recognise()
            except BaseException:
                self.close()
                raise

    @contextmanager
    def lent(self, *, writing: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection for the time being; SQLite's own troubles come out as one of ours.

        With ``writing`` it is in a transaction in which nobody else writes: durable at the end, undone by an exception.
        """
        if self._closed:
            raise LogUnusable(str(self._path), "it was closed")
        if os.getpid() != self._process:
            raise LogUnusable(str(self._path), "it was opened before a fork; each process opens it anew")
        db = None
        try:
            db = self._taken()
            if writing:
                db.execute("BEGIN IMMEDIATE")
            yield db
            if writing:
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._told(error) from error
        finally:
            if db is not None:
                self._given_back(db)

    def close(self) -> None:
        """Close all connections; one that is lent is closed when it comes back."""
        self._closed = True
        if os.getpid() == self._process:
            with suppress(IndexError):
                while True:
                    self._idle.pop().close()

    def _taken(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()

    def _given_back(self, db: sqlite3.Connection) -> None:
        if db.in_transaction:
            try:
                db.execute("ROLLBACK")
            except sqlite3.Error:
                db.close()
                return
        self._idle.append(db)
        if self._closed:
            self.close()

    def _told(self, error: sqlite3.Error) -> RedriveError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            return BadInput("not a Redrive log", place=str(self._path))
        return LogUnusable(str(self._path), REASONS.get(code) or f"it cannot be used ({error})")

    def _make_file(self) -> None:
        """Made before SQLite sees it, so that it, and what SQLite puts beside it, is its owner's alone."""
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
        try:
            os.close(os.open(self._path, flags, 0o600))
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except FileExistsError:
            return
        except (FileNotFoundError, NotADirectoryError) as error:
            raise BadInput("its folder does not exist", place=str(self._path)) from error
        except OSError as error:
            raise LogUnusable(str(self._path), (error.strerror or "it cannot be made").lower()) from error

    def _look(self) -> None:
        try:
            if self._path.is_dir():
                raise BadInput("a directory, not a Redrive log", place=str(self._path))
            self._path.stat()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise BadInput("no such log", place=str(self._path)) from error
        except OSError as error:
            raise LogUnusable(str(self._path), (error.strerror or "it cannot be opened").lower()) from error

    def _open(self) -> sqlite3.Connection:
        # SQLite must write beside a file that it reads; where nobody can, and nobody does, the file stands still.
        folder, beside = self._path.absolute().parent, self._path.with_name(self._path.name + "-wal")
        still = not os.access(folder, os.W_OK, effective_ids=EFFECTIVE) and not beside.exists()
        # By a name of this module, in whose place a test puts a disk that fails.
        db = connect(
            f"{self._path.absolute().as_uri()}?{'immutable=1' if still else 'mode=rw'}",
            uri=True,
            timeout=self._busy_s,
            isolation_level=None,
            check_same_thread=False,
        )
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        return db

    def _lay_out(self) -> None:
        with self.lent() as db:
            if not _blank(db):
                return
            self._to_wal(db)
        with self.lent(writing=True) as db:
            for statement in SCHEMA if _blank(db) else ():
                db.execute(statement)

    def _to_wal(self, db: sqlite3.Connection) -> None:
        """WAL stands in the file's header: it cannot be set inside a transaction, and SQLite does not wait its turn."""
        until = time.monotonic() + self._busy_s
        while True:
            try:
                db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(TURN_S)
            else:
                return

    def _recognise(self) -> None:
        with self.lent() as db:
            application, version = _number(db, "application_id"), _number(db, "user_version")
        if application != APPLICATION:
            raise BadInput("not a Redrive log", place=str(self._path))
        if version > FORMAT_VERSION:
            problem = f"format version {version}, and this program reads up to {FORMAT_VERSION}"
            raise NewerFormat(problem, place=str(self._path))


def _blank(db: sqlite3.Connection) -> bool:
    """Whether nobody has put anything into the file yet."""
    return _number(db, "application_id") == 0 and _number(db, "schema_version") == 0


def _number(db: sqlite3.Connection, pragma: str) -> int:
    (value,) = db.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)
