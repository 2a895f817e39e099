"""SQLite's troubles, as one of ours and in one line."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from redrive_events.errors import BadInput, LogUnusable, RedriveError

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


# What comes out of SQLite; the words for damage may quote it, and then Python cannot read them.
TROUBLES = (sqlite3.Error, UnicodeDecodeError)


def code_of(error: sqlite3.Error) -> int:
    """What kind of trouble it is."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def told(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> RedriveError:
    """What to say of it."""
    if isinstance(error, UnicodeDecodeError):
        return LogUnusable(str(path), REASONS[sqlite3.SQLITE_CORRUPT])
    code = code_of(error)
    if code == sqlite3.SQLITE_NOTADB:
        return BadInput("not a Redrive log", place=str(path))
    return LogUnusable(str(path), REASONS.get(code) or f"it cannot be used ({error})")
