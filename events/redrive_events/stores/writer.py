"""The one connection of a process that writes to a log: its turn among processes, and what a commit has survived."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from redrive_events.stores.durability import Durability, Syncing
from redrive_events.stores.layout import PAGE_BYTES, number
from redrive_events.stores.troubles import TROUBLES, code_of, told

T = TypeVar("T")

# The first in line looks for its turn after an eighth of the time it has waited, but never sooner or later than this.
LOOK_S_MIN, LOOK_S_MAX = 0.0001, 0.005
# How far the WAL grows before its pages are brought over. Whoever writes more than a few times gives it that length
# at once: a file that does not grow is synced in less time.
WAL_PAGES = 512
WAL_BYTES = 32 + WAL_PAGES * (24 + PAGE_BYTES)
LENGTHEN_AT = 4


class Writer:
    """Transactions on the log at ``path``, by one thread at a time; ``opened`` makes the connection when it is needed.

    Raises:
        LogUnusable: it cannot be written, or others keep it locked for ``busy_s``.
    """

    def __init__(
        self, path: Path, wal: Path, opened: Callable[[], sqlite3.Connection], *, busy_s: float, durability: Durability
    ) -> None:
        self._path, self._wal, self._opened = path, wal, opened
        self._busy_s, self._durability = busy_s, durability
        self._syncing = Syncing(wal)
        self._using = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._line: int | None = None
        self._writes = 0
        self._closed = False

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do ``work`` in a transaction in which nobody else writes: kept at its end, undone by an exception."""
        if self._durability == "batched":
            self._syncing.check(self._path)
        try:
            with self._using:
                db = self._db or self._open()
                try:
                    self._begin(db)
                    if self._writes == LENGTHEN_AT:
                        self._lengthen_wal()
                    result = work(db)
                    db.execute("COMMIT")
                except BaseException:
                    self._undo(db)
                    raise
                self._writes += 1
                if self._durability == "batched":
                    self._syncing.soon()
        except TROUBLES as error:
            raise told(error, self._path) from error
        finally:
            if self._closed:
                self.close()
        return result

    def close(self) -> None:
        """Let go of the file; a thread that is writing does so when it has finished."""
        self._closed = True
        if self._using.acquire(blocking=False):
            try:
                self._syncing.now()
                self._let_go()
            finally:
                self._using.release()

    def _open(self) -> sqlite3.Connection:
        db = self._db = self._opened()
        db.execute(f"PRAGMA synchronous = {'FULL' if self._durability == 'always' else 'NORMAL'}")
        db.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        db.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        number(db, "schema_version")  # which makes the WAL, if there is none
        with suppress(FileNotFoundError):
            self._line = os.open(self._wal, os.O_RDONLY)
        return db

    def _let_go(self) -> None:
        if self._line is not None:
            os.close(self._line)
            self._line = None
        if self._db is not None:
            self._db.close()
            self._db = None

    def _undo(self, db: sqlite3.Connection) -> None:
        if db.in_transaction:
            try:
                db.execute("ROLLBACK")
            except sqlite3.Error:
                self._let_go()

    def _begin(self, db: sqlite3.Connection) -> None:
        """Wait one's turn, and begin.

        Processes line up on a file that SQLite puts no lock on, and are woken in the order in which they came: SQLite
        itself lets the unlucky one sleep on. The first in line asks SQLite, whose lock is the one that counts.
        """
        if self._line is not None:
            fcntl.flock(self._line, fcntl.LOCK_EX)
        try:
            insist(db, "BEGIN IMMEDIATE", busy_s=self._busy_s)
        finally:
            if self._line is not None:
                fcntl.flock(self._line, fcntl.LOCK_UN)

    def _lengthen_wal(self) -> None:
        """Give the WAL its length; only in a transaction, since nobody else writes to it then."""
        with suppress(OSError), self._wal.open("r+b", buffering=0) as file:  # the append goes without it, and is slower
            length = file.seek(0, os.SEEK_END)
            missing = bytes(max(0, WAL_BYTES - length))
            with suppress(OSError):
                if file.write(missing) == len(missing):
                    return
            file.truncate(length)  # the disk is almost full: the room is for what is to be said


def insist(db: sqlite3.Connection, statement: str, *, busy_s: float) -> None:
    """Do what SQLite refuses while another process writes, as soon as it lets us, or raise what it says after that."""
    began = 0.0
    while True:
        try:
            db.execute(statement)
        except sqlite3.OperationalError as error:
            now = time.monotonic()
            began = began or now
            if code_of(error) != sqlite3.SQLITE_BUSY or now - began > busy_s:
                raise
            time.sleep(min(max(LOOK_S_MIN, (now - began) / 8), LOOK_S_MAX))
        else:
            return
