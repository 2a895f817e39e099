"""Where the bytes of a SQLite log go: by kind of event, content kept once, tables, indexes and free pages."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from redrive_events.codec import UNREADABLE
from redrive_events.stores.contents import CONTENT, content_of
from redrive_events.stores.layout import number
from redrive_events.stores.packing import inflated
from redrive_events.stores.reading import COLUMNS, lines_of

UNREAD = "(unreadable)"
_EVENTS = f"SELECT {COLUMNS} FROM events"
# Indexes, which SQLite makes by itself, are told with the table that they are for.
_TABLES = """
    SELECT CASE type WHEN 'index' THEN 'index of ' ELSE '' END || ifnull(tbl_name, 'schema') AS what, sum(pgsize)
    FROM dbstat LEFT JOIN sqlite_schema USING (name) GROUP BY what"""


class KindSize(NamedTuple):
    """The events of one kind: what their canonical lines come to, and their share of what is kept in their rows."""

    kind: str
    events: int = 0
    line_bytes: int = 0
    kept_bytes: int = 0


class ContentSize(NamedTuple):
    """Content that is kept once: how many pieces, and what they, and all references to them, come to."""

    pieces: int = 0
    content_bytes: int = 0
    kept_bytes: int = 0
    references: int = 0
    referred_bytes: int = 0


class Sizes(NamedTuple):
    """All of it in one moment of the log; ``file`` says what the file's bytes are for, and comes to its size."""

    streams: int
    kinds: tuple[KindSize, ...]
    contents: ContentSize
    file: dict[str, int]


class _Kind(msgspec.Struct):
    event: str


class _Event(msgspec.Struct):
    event: _Kind


_read_kind = msgspec.json.Decoder(_Event).decode


def sizes(db: sqlite3.Connection) -> Sizes:
    """Read once from end to end, a row at a time."""
    db.execute("BEGIN")
    try:
        (streams,) = db.execute("SELECT count(*) FROM runs").fetchone()
        kinds, contents = _lines(db, _contents(db))
        return Sizes(streams, kinds, contents, _file(db))
    finally:
        db.execute("ROLLBACK")


def _contents(db: sqlite3.Connection) -> ContentSize:
    pieces = content_bytes = kept_bytes = 0
    for (data,) in db.execute("SELECT CAST(data AS BLOB) FROM blobs"):
        pieces, kept_bytes = pieces + 1, kept_bytes + len(data)
        with suppress(ValueError):
            content_bytes += len(inflated(data))
    return ContentSize(pieces, content_bytes, kept_bytes)


def _lines(db: sqlite3.Connection, contents: ContentSize) -> tuple[tuple[KindSize, ...], ContentSize]:
    kinds: dict[str, KindSize] = {}
    references = referred_bytes = 0

    def find(blob: int) -> bytes:
        nonlocal references, referred_bytes
        content = content_of(db.execute(CONTENT, (blob,)).fetchall())
        references, referred_bytes = references + 1, referred_bytes + len(content)
        return content

    for row in db.execute(_EVENTS):
        lines = [stored.line for stored in lines_of(row, find)]
        left, kept = sum(map(len, lines)), len(row[-1])
        for line in lines:
            share = kept * len(line) // max(left, 1)
            left, kept = left - len(line), kept - share
            kind = _kind_of(line)
            _, events, line_bytes, kept_bytes = kinds.get(kind) or KindSize(kind)
            kinds[kind] = KindSize(kind, events + 1, line_bytes + len(line), kept_bytes + share)
    told = tuple(sorted(kinds.values(), key=lambda one: (-one.line_bytes, one.kind)))
    return told, contents._replace(references=references, referred_bytes=referred_bytes)


def _kind_of(line: bytes) -> str:
    try:
        return _read_kind(line).event.event
    except UNREADABLE:
        return UNREAD


def _file(db: sqlite3.Connection) -> dict[str, int]:
    page, pages, free = (number(db, name) for name in ("page_size", "page_count", "freelist_count"))
    try:
        told = dict(db.execute(_TABLES).fetchall())
    except sqlite3.OperationalError:  # a SQLite that was built without it
        told = {"tables and indexes": (pages - free) * page}
    (path,) = (Path(file) for _, name, file in db.execute("PRAGMA database_list") if name == "main")
    beside = path.with_name(path.name + "-wal")
    told |= {"free pages": free * page, "write-ahead log": beside.stat().st_size if beside.exists() else 0}
    return {name: size for name, size in sorted(told.items(), key=lambda one: -one[1]) if size}
