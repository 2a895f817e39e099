"""Whatever is changed in a log behind its back is found, byte by byte; what is taken away, against its heads."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from redrive_events import (
    START,
    Damage,
    EventLog,
    Heads,
    MemoryLog,
    MessageReceived,
    Record,
    RedriveError,
    RunForked,
    SqliteLog,
    StoredLine,
    against,
    damage_of,
    encode,
    heads_of,
    link,
)
from tests.records import append, record

SEED = 20_260_101
KEYS = {"id", "last_offset", "run", "blob"}
SHORTER = "Words of which a line is packed, and that stand in it. " * 20
LONG = "A sentence that stands in more than one run, and is long enough to be kept once. " * 60

# What of a row is an event, its digest, its place, the order, or the end of a run.
COLUMNS = [
    ("events", "id"),
    ("events", "digests"),
    ("events", "lines"),
    ("appends", "last_offset"),
    ("appends", "last_id"),
    ("appends", "count"),
    ("runs", "run"),
    ("runs", "run_id"),
    ("runs", "position"),
    ("runs", "digest"),
    ("runs", "at"),
    ("blobs", "blob"),
    ("blobs", "digest"),
    ("blobs", "data"),
]


class Tampered:
    """A log, and somebody who knows SQLite: the triggers are gone, and what is changed is put back."""

    def __init__(self, path: Path) -> None:
        self.log = SqliteLog(path, must_exist=True)
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA synchronous = OFF")
        for (name,) in self.db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            self.db.execute(f"DROP TRIGGER {name}")
        self.known = set(self.damages())
        self.whole = content(self.log)

    def close(self) -> None:
        """Let go of the file."""
        self.db.close()
        self.log.close()

    def damages(self) -> list[Damage]:
        """All that is found."""
        found = [damage_of(self.log, head) for head in self.log.runs()]
        return [*(one for one in found if one), *self.log.flaws()]

    def is_found(self) -> bool:
        """Whether the change is; where it is not, it must have changed nothing that anybody reads."""
        if set(self.damages()) - self.known:
            return True
        assert content(self.log) == self.whole
        return False

    def sweep(self, table: str, column: str, values: Callable[[Any], Iterator[object]]) -> list[bool]:
        """For each other value of each row whether it is found; one that SQLite itself refuses is no change."""
        found = []
        for row, value in self.db.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
            for other in values(value):
                now = other if column in KEYS and isinstance(other, int) else row
                update = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
                try:
                    self.db.execute(update, (other, row))
                except (sqlite3.IntegrityError, OverflowError):
                    continue
                found.append(self.is_found())
                self.db.execute(update, (value, now))
        return found


def content(log: SqliteLog) -> object:
    """All that anybody reads: every stream, how far it goes, and the order over all."""
    return [(head, list(log.lines(head.run_id))) for head in log.runs()], list(log.read_all())


def written(path: Path, *, runs: int = 2, appends: int = 2, forks: bool = True) -> Path:
    """A log with runs that take turns, words that are kept once for all, remarks, and a fork."""
    with closing(SqliteLog(path)) as log:
        for number in range(appends):
            for name in [f"run-{run}" for run in range(runs)]:
                said = [record(name, 2 * number + 1, left=1), record(name, 2 * number + 2)]
                long = MessageReceived(actor="user", content=f"{LONG if number else SHORTER}")
                said[1] = record(name, 2 * number + 2, event=long)
                log.append(name, said, expected=2 * number)
        log.append("run-0@notes", append("run-0@notes", 1), expected=0)
        if forks:
            log.append("fork", [forked(log)], expected=2)
    return path


def forked(log: EventLog) -> Record:
    """How a run begins that goes on from the second event of another."""
    joint = list(log.lines("run-1"))[1]
    event = RunForked(parent="run-1", position=2, digest=joint.digest.hex(), nonce="n", rules=0)
    return record("fork", 3, event=event)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Tampered]:
    """A small log."""
    tampered = Tampered(written(tmp_path / "small.db"))
    yield tampered
    tampered.close()


def others(value: Any, chance: random.Random) -> Iterator[object]:
    """The value with each of its bytes changed, or with each bit of a number."""
    match value:
        case int():
            yield from (value ^ 1 << bit for bit in range(63))
            yield -1 - value
        case bytes():
            for place in range(len(value)):
                yield value[:place] + bytes([value[place] ^ chance.randrange(1, 256)]) + value[place + 1 :]
            yield value[:-1]
            yield value + b"\0"
        case _:
            for place in range(len(value)):
                yield value[:place] + chr(ord(value[place]) ^ chance.choice([1, 2, 4, 8])) + value[place + 1 :]


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_every_byte_of_a_row_that_is_changed_is_found(small: Tampered, table: str, column: str) -> None:
    """Each byte once, by chance in one of 255 ways; each number in each bit."""
    chance = random.Random(f"{SEED} {table} {column}")
    found = small.sweep(table, column, lambda value: others(value, chance))
    assert len(found) >= 20
    # A frame of zstd has bits that say nothing of what is in it.
    assert found.count(False) <= (4 if column in {"lines", "data"} else 0)
    assert not small.is_found()


@pytest.mark.parametrize("bit", range(8))
def test_every_bit_of_an_event_that_is_changed_is_found(small: Tampered, bit: int) -> None:
    """In the words, the place, the time and the digest alike."""
    for column in ("lines", "digests"):
        found = small.sweep(
            "events",
            column,
            lambda value: (
                value[:place] + bytes([value[place] ^ 1 << bit]) + value[place + 1 :]
                for place in range(0, len(value), 5)
            ),
        )
        assert found.count(False) <= 1


@pytest.mark.parametrize("table", ["events", "appends", "runs", "blobs"])
def test_every_row_that_is_taken_out_is_found(small: Tampered, table: str) -> None:
    """Also where nothing is left that speaks of it."""
    for (row,) in small.db.execute(f"SELECT rowid FROM {table}").fetchall():
        names = [name for _, name, *_ in small.db.execute(f"PRAGMA table_info({table})")]
        values = small.db.execute(f"SELECT {', '.join(names)} FROM {table} WHERE rowid = ?", (row,)).fetchone()
        small.db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
        assert small.is_found()
        marks = ", ".join("?" * len(names))
        small.db.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", values)
    assert not small.is_found()


def test_any_two_events_that_change_places_are_found(small: Tampered) -> None:
    """With their digests, and without."""
    ids = [one for (one,) in small.db.execute("SELECT id FROM events").fetchall()]
    for columns in ("lines", "lines, digests"):
        for first, second in combinations(ids, 2):
            query = f"SELECT id, {columns} FROM events WHERE id IN (?, ?)"
            rows = {row: values for row, *values in small.db.execute(query, (first, second))}
            if rows[first] == rows[second]:  # words that were said twice
                continue
            names = columns.split(", ")
            update = f"UPDATE events SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?"
            small.db.executemany(update, [(*rows[first], second), (*rows[second], first)])
            assert small.is_found()
            small.db.executemany(update, [(*rows[first], first), (*rows[second], second)])
    assert not small.is_found()


def test_any_run_or_tail_that_is_taken_away_is_found_against_heads(tmp_path: Path) -> None:
    """However well it was done: what is left is a sound log."""
    path = written(tmp_path / "log.db", runs=3, forks=False)
    with closing(SqliteLog(path)) as log:
        (tmp_path / "heads").write_bytes(b"".join(heads_of(log)))
        runs = [(head.run_id, list(log.read(head.run_id))) for head in log.runs()]
    heads = Heads(tmp_path / "heads")
    for run_id, records in runs:
        ends = [0, *(one.position for one in records if not one.left)]
        for kept in ends[:-1]:
            with closing(SqliteLog(tmp_path / f"{run_id}-{kept}.db")) as log:
                for other, all_of_it in runs:
                    left = all_of_it[: kept if other == run_id else None]
                    if left:
                        log.append(other, left, expected=0)
                assert not list(log.flaws())
                found = [(one.run_id, one.kind, one.position) for one in against(log, heads)]
                assert found == [(run_id, "cut off", kept + 1) if kept else (run_id, "removed", 0)]


REPLACED = "run run-1 is another up to position 2 than the one it was forked from"


@pytest.mark.parametrize(
    ("left", "damage"),
    [
        pytest.param(
            "changed", ("changed", 2, "in run run-1, which it was forked from, the bytes are not"), id="changed"
        ),
        pytest.param("resealed", ("replaced", 3, REPLACED), id="another run, and sound"),
        pytest.param("cut off", ("missing", 2, "missing, position 3 stands here"), id="cut off"),
        pytest.param("removed", ("missing", 1, "missing, position 3 stands here"), id="removed"),
    ],
)
def test_what_a_fork_inherits_is_found_where_it_is_not_as_it_was(left: str, damage: tuple[str, int, str]) -> None:
    """The fork names the place, and whose line it is; the run it is from may be a sound one."""
    whole, log = MemoryLog(), MemoryLog()
    whole.append("run-1", append("run-1", 1, 2), expected=0)
    whole.append("fork", [forked(whole)], expected=2)
    first, second = whole.lines("run-1")
    other = encode(record("run-1", 2, event=MessageReceived(actor="user", content="no")))
    begun = link(START, first.line)
    kept = {
        "changed": [first, second._replace(line=other)],
        "resealed": [first, StoredLine(2, link(begun, other), other)],
        "cut off": [first],
        "removed": [],
    }[left]
    if kept:
        log.keep("run-1", kept)
    log.keep("fork", list(whole.lines("fork", after=2)))
    found = damage_of(log, whole.head("fork"))
    assert found is not None
    assert (found.run_id, found.kind, found.position) == ("fork", *damage[:2])
    assert found.problem.startswith(damage[2])


def test_a_sample_of_a_large_log_is_found(tmp_path: Path) -> None:
    """What is found in a small one is found among many."""
    large = Tampered(written(tmp_path / "large.db", runs=20, appends=40))
    chance = random.Random(SEED)
    for table, column in COLUMNS:
        rows = large.db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        row, value = chance.choice(rows)
        other = chance.choice(list(others(value, chance)))
        update = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
        try:
            large.db.execute(update, (other, row))
        except (sqlite3.IntegrityError, OverflowError):
            continue
        assert large.is_found(), (table, column, row, value, other)
        large.db.execute(update, (value, other if column in KEYS else row))
    large.close()


def test_a_byte_of_the_file_is_found_or_is_nothing_that_anybody_reads(tmp_path: Path) -> None:
    """Below the tables too: in one clear line, or as damage, or in a place that says nothing."""
    path, changed = written(tmp_path / "log.db"), tmp_path / "changed.db"
    with closing(SqliteLog(path, must_exist=True)) as log:
        whole = content(log)
    data, chance, found, silent = path.read_bytes(), random.Random(SEED), 0, 0
    for _ in range(300):
        place = chance.randrange(len(data))
        changed.write_bytes(data[:place] + bytes([data[place] ^ chance.randrange(1, 256)]) + data[place + 1 :])
        try:
            with closing(SqliteLog(changed, must_exist=True, busy_s=1)) as log:
                damages = [one for head in log.runs() if (one := damage_of(log, head))] + list(log.flaws())
                found += bool(damages)
                silent += not damages and content(log) == whole
        except RedriveError as error:
            found += "\n" not in str(error)
        for beside in tmp_path.glob("changed.db-*"):
            beside.unlink()
    assert found + silent == 300
    assert found > 20
