"""Connections to one SQLite file that is a Redrive log: made, opened and recognised, its troubles told in one line."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import connect
from typing import TypeVar

from redrive_events.errors import BadInput, LogUnusable, NewerFormat
from redrive_events.stores.durability import Durability
from redrive_events.stores.layout import APPLICATION, FORMAT_VERSION, PAGE_BYTES, SCHEMA, blank, number
from redrive_events.stores.troubles import TROUBLES, told
from redrive_events.stores.writer import Writer, insist

T = TypeVar("T")

CACHE_KIB = 32_768

EFFECTIVE = os.access in os.supports_effective_ids

# A file that is opened and closed beside SQLite loses the locks which SQLite holds on it in this process. So nothing
# here opens the log's file but SQLite, except to make it, and then no connection may be opened meanwhile.
_making = threading.Lock()


class Connections:
    """The connections to one log: one that writes, in ``writer``, and others that are lent to a thread each.

    Raises:
        BadInput: the file is not there but must be, or is not a Redrive log.
        NewerFormat: a later version of this program made it.
        LogUnusable: it cannot be opened, read or written.
    """

    def __init__(self, path: Path, *, must_exist: bool, busy_s: float, durability: Durability) -> None:
        self._path, self._busy_s = path, busy_s
        self._wal = Path(os.path.realpath(path) + "-wal")
        self._process = os.getpid()
        self._idle: deque[sqlite3.Connection] = deque()
        self.writer = Writer(path, self._wal, lambda: self._open(busy_s=0), busy_s=busy_s, durability=durability)
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
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for the time being; SQLite's own troubles come out as one of ours."""
        self.check()
        db = None
        try:
            try:
                db = self._idle.pop()
            except IndexError:
                db = self._open(busy_s=self._busy_s)
            yield db
        except TROUBLES as error:
            raise told(error, self._path) from error
        finally:
            if db is not None:
                self._idle.append(db)
                if self._closed:
                    self.close()

    def check(self) -> None:
        """Go on only if this may still be used.

        Raises:
            LogUnusable: it was closed, or is another process'.
        """
        if self._closed:
            raise LogUnusable(str(self._path), "it was closed")
        if os.getpid() != self._process:
            raise LogUnusable(str(self._path), "it was opened before a fork; each process opens it anew")

    def close(self) -> None:
        """Close all connections; one that is in use is closed when it comes back."""
        self._closed = True
        if os.getpid() == self._process:
            self.writer.close()
            with suppress(IndexError):
                while True:
                    self._idle.pop().close()

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

    def _open(self, *, busy_s: float) -> sqlite3.Connection:
        # SQLite must write beside a file that it reads; where nobody can, and nobody does, the file stands still.
        still = not os.access(self._wal.parent, os.W_OK, effective_ids=EFFECTIVE) and not self._wal.exists()
        # By a name of this module, in whose place a test puts a disk that fails.
        db = connect(
            f"{self._path.absolute().as_uri()}?{'immutable=1' if still else 'mode=rw'}",
            uri=True,
            timeout=busy_s,
            isolation_level=None,
            check_same_thread=False,
        )
        db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        return db

    def _lay_out(self) -> None:
        with self.reading() as db:
            if not blank(db):
                return
            db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            # It stands in the file's header: it cannot be set inside a transaction, and SQLite does not wait its turn.
            insist(db, "PRAGMA journal_mode = WAL", busy_s=self._busy_s)
        self.writer.write(_make_tables)

    def _recognise(self) -> None:
        with self.reading() as db:
            application, version = number(db, "application_id"), number(db, "user_version")
        if application != APPLICATION:
            raise BadInput("not a Redrive log", place=str(self._path))
        if version > FORMAT_VERSION:
            problem = f"format version {version}, and this program reads up to {FORMAT_VERSION}"
            raise NewerFormat(problem, place=str(self._path))
        if version < FORMAT_VERSION:
            problem = f"format version {version}, from before 0.1.0, and this program reads {FORMAT_VERSION} alone"
            raise BadInput(f"{problem}; the program that wrote it can export it", place=str(self._path))


def _make_tables(db: sqlite3.Connection) -> None:
    for statement in SCHEMA if blank(db) else ():
        db.execute(statement)
