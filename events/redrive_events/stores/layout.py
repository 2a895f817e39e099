"""What a SQLite file that is a Redrive log consists of; the format document says what it means."""

from __future__ import annotations

import sqlite3

APPLICATION = 0x52647276  # "Rdrv"
FORMAT_VERSION = 1
# An append changes three pages, whatever their size: smaller ones are written and synced sooner, larger ones read a
# little faster. No part of the format.
PAGE_BYTES = 2_048

# A row of `events` holds records of one append that follow each other. Its id is their run and the last one's position
# in one number: a run's rows lie side by side, and are unique by that. `lines` is what `packing` keeps of them.
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
        digests BLOB NOT NULL,
        lines BLOB NOT NULL,
        run INTEGER AS (id >> 32) VIRTUAL,
        position INTEGER AS (id & 0xFFFFFFFF) VIRTUAL
    )""",
    """CREATE TABLE appends (
        last_offset INTEGER PRIMARY KEY,
        last_id INTEGER NOT NULL,
        count INTEGER NOT NULL
    )""",
    """CREATE TABLE blobs (
        blob INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE,
        data BLOB NOT NULL
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
            ("blobs", "update"),
            ("blobs", "delete"),
            ("runs", "delete"),
        ]
    ),
    """CREATE TRIGGER runs_only_grow BEFORE UPDATE ON runs
        WHEN new.position < old.position OR new.run_id <> old.run_id OR new.run <> old.run
        BEGIN SELECT raise(ABORT, 'the log is append-only'); END""",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
)


def blank(db: sqlite3.Connection) -> bool:
    """Whether nobody has put anything into the file yet."""
    return number(db, "application_id") == 0 and number(db, "schema_version") == 0


def number(db: sqlite3.Connection, pragma: str) -> int:
    """What SQLite keeps under that name."""
    (value,) = db.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)
