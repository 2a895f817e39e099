"""What a SQLite log must be beside its chains: made as it is made here, with one order over all that misses nothing."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import islice

from redrive_events.log import Damage
from redrive_events.stores.contents import CONTENT, content_of
from redrive_events.stores.inheriting import forked_by
from redrive_events.stores.layout import SCHEMA
from redrive_events.stores.packing import inflated
from redrive_events.stores.reading import COLUMNS, lines_of

_OBJECTS = "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
# From run to run, without a look at what lies between.
_STRAYS = """
    WITH RECURSIVE streams (id) AS (
        SELECT min(id) FROM events
        UNION ALL
        SELECT (SELECT min(id) FROM events WHERE id >= (streams.id >> 32) + 1 << 32) FROM streams WHERE id IS NOT NULL
    )
    SELECT id, run_id FROM streams LEFT JOIN runs ON run = id >> 32
    WHERE id IS NOT NULL AND (run_id IS NULL OR id & 0xFFFFFFFF = 0)"""
_OFFSETS = "SELECT last_offset, count FROM appends ORDER BY last_offset"
# The spans of each run side by side: where they are many, SQLite sorts them in a file.
_SPANS = """
    SELECT last_id, count, last_offset, run_id, position
    FROM appends LEFT JOIN runs ON run = last_id >> 32 ORDER BY last_id, last_offset"""
_FIRST = f"SELECT {COLUMNS} FROM events WHERE id > ? ORDER BY id LIMIT 1"
_UNORDERED = "SELECT run_id FROM runs WHERE run NOT IN (SELECT last_id >> 32 FROM appends) LIMIT 1"


def flaws(db: sqlite3.Connection) -> list[Damage]:
    """The first of each kind that is found, all of it in one moment of the log."""
    db.execute("BEGIN")
    try:
        return [found for look in _LOOKS for found in islice(look(db), 1)]
    finally:
        db.execute("ROLLBACK")


def _file(db: sqlite3.Connection) -> Iterator[Damage]:
    for (said,) in db.execute("PRAGMA integrity_check(1)"):
        if said != "ok":
            yield Damage("", 0, "store", f"SQLite finds the file damaged: {said}")


def _tables(db: sqlite3.Connection) -> Iterator[Damage]:
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in SCHEMA:
            made.execute(statement)
        wanted = dict(made.execute(_OBJECTS).fetchall())
    there = dict(db.execute(_OBJECTS).fetchall())
    for name in [*wanted, *there]:
        if wanted.get(name) != there.get(name):
            how = "is missing" if name not in there else "is not as it is made" if name in wanted else "is extra"
            yield Damage("", 0, "store", f"its {name} {how}")


def _blobs(db: sqlite3.Connection) -> Iterator[Damage]:
    for number, digest, data in db.execute("SELECT blob, digest, CAST(data AS BLOB) FROM blobs"):
        with suppress(ValueError):
            if hashlib.sha256(inflated(data)).digest() == digest:
                continue
        yield Damage("", 0, "changed", f"the content with the number {number} is not the one that was kept")


def _strays(db: sqlite3.Connection) -> Iterator[Damage]:
    for where, run_id in db.execute(_STRAYS):
        problem = "extra, a run has no position 0" if run_id else f"extra, no run has the number {where >> 32}"
        yield Damage(run_id or "", where & 0xFFFFFFFF, "extra", problem)


def _offsets(db: sqlite3.Connection) -> Iterator[Damage]:
    """Offsets count the records: none is left out, none given twice."""
    reached = 0
    for offset, count in db.execute(_OFFSETS):
        if type(count) is not int or count < 1 or offset - count != reached:
            yield Damage("", 0, "order", f"in the order over all runs, offset {reached + 1} is missing or there twice")
        reached = offset


def _spans(db: sqlite3.Connection) -> Iterator[Damage]:
    """Each record of each run has a place in the order, one alone, and behind the records before it."""
    run, run_id, reached, end, before = 0, "", 0, 0, 0
    for last, count, offset, named, written in db.execute(_SPANS):
        if type(last) is not int or named is None:
            yield Damage("", 0, "order", f"in the order over all runs, offset {offset} is of no run that was begun")
            return
        if last >> 32 != run:
            if reached != end:
                yield _unordered(run_id, reached + 1)
            run, run_id, end, before = last >> 32, named, written, 0
            reached = 0 if last & 0xFFFFFFFF == count else _behind(db, run)
        if (last & 0xFFFFFFFF) - count != reached or offset <= before:
            yield _unordered(run_id, reached + 1)
        reached, before = last & 0xFFFFFFFF, offset
    if reached != end:
        yield _unordered(run_id, reached + 1)
    for (missing,) in db.execute(_UNORDERED):
        yield _unordered(missing, 1)


def _behind(db: sqlite3.Connection, run: int) -> int:
    """Behind which position the own records of a run begin: not the first only where it was forked from another."""
    row = db.execute(_FIRST, (run << 32,)).fetchone()
    first = next(lines_of(row, lambda blob: content_of(db.execute(CONTENT, (blob,)).fetchall()))) if row else None
    return first.position - 1 if first is not None and forked_by(first.line) else 0


def _unordered(run_id: str, position: int) -> Damage:
    return Damage(run_id, position, "order", "its place in the order over all runs is wrong")


_LOOKS: tuple[Callable[[sqlite3.Connection], Iterator[Damage]], ...] = (
    _file,
    _tables,
    _blobs,
    _strays,
    _offsets,
    _spans,
)
