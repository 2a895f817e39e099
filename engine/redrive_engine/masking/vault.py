"""Where masked values are kept: the port, one in memory, and one in a file of its own."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from redrive_events import BadInput

# As long another process may hold the file.
BUSY_S = 30.0


class Vault(Protocol):
    """Keeps sealed values by name; both say nothing without the key. What is put is there once that returns."""

    def put(self, sealed: Mapping[str, bytes]) -> None:
        """Keep values; one that is there already stays as it is."""
        ...

    def get(self, name: str) -> bytes | None:
        """The value, or None if it was never put or is no longer there."""
        ...


class MemoryVault:
    """A vault that lasts as long as its process."""

    def __init__(self) -> None:
        self._sealed: dict[str, bytes] = {}

    def put(self, sealed: Mapping[str, bytes]) -> None:
        """Keep values; one that is there already stays as it is."""
        for name, value in sealed.items():
            self._sealed.setdefault(name, value)

    def get(self, name: str) -> bytes | None:
        """The value, or None."""
        return self._sealed.get(name)


class OverVault(MemoryVault):
    """A vault that lasts as long as its process, over another one that it never changes."""

    def __init__(self, below: Vault) -> None:
        super().__init__()
        self._below = below

    def get(self, name: str) -> bytes | None:
        """The value, or None if neither has it."""
        return super().get(name) or self._below.get(name)


class FileVault:
    """A vault in one SQLite file that only its owner can read; without it no masked value is ever seen again."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)

    def put(self, sealed: Mapping[str, bytes]) -> None:
        """Keep values, all in one step; one that is there already stays as it is."""
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        with self._opened() as file, file:
            file.execute("CREATE TABLE IF NOT EXISTS sealed (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
            file.executemany("INSERT OR IGNORE INTO sealed VALUES (?, ?)", sealed.items())

    def get(self, name: str) -> bytes | None:
        """The value, or None, also where there is no file yet."""
        if not self._path.exists():
            return None
        with self._opened() as file:
            row = file.execute("SELECT value FROM sealed WHERE name = ?", (name,)).fetchone()
        return bytes(row[0]) if row else None

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=BUSY_S)) as file:
                yield file
        except sqlite3.DatabaseError as error:
            raise BadInput(f"this vault cannot be used: {error}", place=str(self._path)) from error
