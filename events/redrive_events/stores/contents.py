"""Long content, kept once in a file however many lines refer to it: found by its digest, packed where that pays."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from redrive_events.stores.packing import deflated, inflated

CONTENT = "SELECT CAST(data AS BLOB) FROM blobs WHERE blob = ?"
# How many contents are known without another look: prompts and tools are few, and come again and again.
SEEN_MAX = 256
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
        self._seen: dict[bytes, int | None] = {}

    def keep(self, content: bytes) -> int | None:
        """The number under which ``content`` is kept; None if what is there in its place is damaged.

        It is looked at in each transaction: a line that relied on it unseen would be lost.
        """
        digest = hashlib.sha256(content).digest()
        if digest not in self._seen:
            if len(self._seen) >= SEEN_MAX:
                self._seen.clear()
            self._seen[digest] = self._number(digest, content)
        return self._seen[digest]

    def _number(self, digest: bytes, content: bytes) -> int | None:
        for number, data in self._db.execute(_KNOWN, (digest,)).fetchall():
            try:
                return int(number) if inflated(data) == content else None
            except ValueError:
                return None
        return self._db.execute("INSERT INTO blobs (digest, data) VALUES (?, ?)", (digest, deflated(content))).lastrowid

    def find(self, number: int) -> bytes:
        """The content with this number. Raises as `content_of` does."""
        return content_of(self._db.execute(CONTENT, (number,)).fetchall())
