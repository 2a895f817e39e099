"""Long content, kept once in a file however many lines refer to it: found by its digest, packed where that pays."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from redrive_events.stores.packing import deflated, inflated

CONTENT = "SELECT CAST(data AS BLOB) FROM blobs WHERE blob = ?"
_KNOWN = "SELECT blob, CAST(data AS BLOB) FROM blobs WHERE digest = ?"


def content_of(rows: Sequence[tuple[bytes]]) -> bytes:
    """The content that was found.

    Raises:
        LookupError: it is not there.
        ValueError: it is damaged.
    """
    return inflated(rows[0][0])


class Contents:
    """What the transaction on ``db`` sees of the table, and adds to it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def keep(self, content: bytes) -> int | None:
        """The number under which ``content`` is kept; None if what is there in its place is damaged.

        It is looked at each time: a line that relied on it unseen would be lost.
        """
        digest = hashlib.sha256(content).digest()
        for number, data in self._db.execute(_KNOWN, (digest,)).fetchall():
            try:
                return int(number) if inflated(data) == content else None
            except ValueError:
                return None
        return self._db.execute("INSERT INTO blobs (digest, data) VALUES (?, ?)", (digest, deflated(content))).lastrowid

    def find(self, number: int) -> bytes:
        """The content with this number. Raises as `content_of` does."""
        return content_of(self._db.execute(CONTENT, (number,)).fetchall())
