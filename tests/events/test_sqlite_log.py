"""What is SQLite's own: one file, many processes, crashes, and files that are no log."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from redrive_events import (
    BadInput,
    Batch,
    BrokenChain,
    Damage,
    LogUnusable,
    MessageReceived,
    NewerFormat,
    Quarantined,
    RedriveError,
    SqliteLog,
    checked,
    damage_of,
    encode,
)
from redrive_events.stores.packing import LINES_MAX
from tests.records import append, record

ROOT = Path(__file__).parents[2]
PRELUDE = """
import os, sys
sys.path.insert(0, {root!r})
from tests.records import append
from redrive_events import *
log = SqliteLog(sys.argv[1])
"""


def started(code: str, path: Path, *arguments: str) -> subprocess.Popen[str]:
    """Another process with ``path`` open as ``log``."""
    command = [sys.executable, "-c", PRELUDE.format(root=str(ROOT)) + code, str(path), *arguments]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def said(process: subprocess.Popen[str]) -> str:
    """What the process printed, when it has ended well."""
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the log is, under a name that an address would have to escape."""
    return tmp_path / "a log?%23.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    """A log with one run of two appends."""
    with closing(SqliteLog(path)) as log:
        log.append("run", append("run", 1, 3), expected=0)
        log.append("run", append("run", 4, 2), expected=3)
        yield log


def tampered(path: Path, *statements: str) -> None:
    """Somebody who knows SQLite takes the triggers away, then does as they please."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)


# Many processes


def test_two_processes_append_at_once_and_the_stale_one_is_told(path: Path) -> None:
    """Each fights for every position; every position is won by one of them."""
    code = """
won = 0
for position in range(1, 101):
    try:
        log.append("run", append("run", position, after_s=position + int(sys.argv[2]) / 10), expected=position - 1)
        won += 1
    except StaleAppend:
        pass
    while log.head("run").position < position:
        pass
print(won)
"""
    SqliteLog(path).close()
    wins = [int(said(process)) for process in [started(code, path, str(worker)) for worker in range(2)]]
    with closing(SqliteLog(path)) as log:
        assert sum(wins) == len(list(checked("run", log.lines("run"), head=log.head("run")))) == 100


def test_processes_that_make_the_log_at_once_make_one_log(path: Path) -> None:
    """Nobody has to make it beforehand."""
    code = "log.append(sys.argv[2], append(sys.argv[2], 1), expected=0)"
    for process in [started(code, path, f"run-{worker}") for worker in range(4)]:
        said(process)
    with closing(SqliteLog(path, must_exist=True)) as log:
        assert {head.run_id for head in log.runs()} == {f"run-{worker}" for worker in range(4)}
        assert len(list(log.read_all())) == 4


def test_a_process_that_is_killed_leaves_whole_appends_only(path: Path) -> None:
    """What it was told is written is there; what it was not told is there whole or not at all."""
    code = """
for number in range(1_000_000):
    log.append("run", append("run", 3 * number + 1, 3), expected=3 * number)
    print(3 * number + 3, flush=True)
"""
    for round_number in range(3):
        place = path.with_suffix(f".{round_number}")
        process = started(code, place)
        assert process.stdout is not None
        for _ in range(20 + 7 * round_number):
            process.stdout.readline()
        process.kill()
        told = [int(line) for line in process.communicate()[0].splitlines()]
        with closing(SqliteLog(place, must_exist=True)) as log:
            head = log.head("run")
            assert head.position >= max(told, default=3 * (20 + 7 * round_number))
            assert [one.left for one in log.read("run")] == [2, 1, 0] * (head.position // 3)
            assert len(list(checked("run", log.lines("run"), head=head))) == len(list(log.read_all())) == head.position


def test_a_log_that_others_keep_locked_is_said_to_be_so(path: Path, log: SqliteLog) -> None:
    """Reading goes on; who cannot write hears why, in our words."""
    with (
        closing(SqliteLog(path, busy_s=0)) as impatient,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogUnusable, match="others keep it locked"):
            impatient.append("run", append("run", 6), expected=5)
        assert impatient.head("run").position == 5
        other.execute("ROLLBACK")
        impatient.append("run", append("run", 6), expected=5)
    assert log.head("run").position == 6


@pytest.mark.usefixtures("log")
def test_a_log_is_not_carried_over_a_fork(path: Path) -> None:
    """SQLite's locks do not survive it, and what follows is a damaged file; so it is refused."""
    code = """
child = os.fork()
if not child:
    try:
        log.head("run")
    except LogUnusable as problem:
        print(problem, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(log.head("run").position)
"""
    problem = f"log {path}: it was opened before a fork; each process opens it anew"
    assert said(started(code, path)).splitlines() == [problem, "5"]


def test_an_append_inside_an_append_is_a_programmers_mistake(log: SqliteLog) -> None:
    """It would wait for itself."""

    def batches() -> Iterator[Batch]:
        log.append("other", append("other", 1), expected=0)
        yield Batch("run", append("run", 6), 5)

    with pytest.raises(RuntimeError, match="an append inside an append"):
        log.append_all(batches())
    assert [head.position for head in log.runs()] == [5]


def test_a_full_disk_is_said_to_be_one_and_nothing_half_stays(path: Path) -> None:
    """The next append, with room again, goes on where the last whole one ended."""
    code = """
import resource
log.append("run", append("run", 1), expected=0)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    log.append("run", append("run", 2, 2_000), expected=1)
except LogUnusable as problem:
    print(problem)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.append("run", append("run", 2), expected=1)
print(log.head("run").position)
"""
    assert said(started(code, path)) == f"log {path}: the disk failed to read or write it\n2\n"


# Append-only


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET lines = x'00'",
        "UPDATE events SET id = id + 100 WHERE position = 5",
        "DELETE FROM events WHERE position = 5",
        "UPDATE appends SET last_id = 1",
        "DELETE FROM appends",
        "DELETE FROM runs",
        "UPDATE runs SET position = position - 1",
        "UPDATE runs SET run_id = 'other'",
    ],
)
def test_sqlite_itself_refuses_to_change_what_was_written(path: Path, log: SqliteLog, statement: str) -> None:
    """A slip of somebody's hand in a database tool changes nothing."""
    with closing(sqlite3.connect(path)) as db, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.execute(statement)
    assert len(list(checked("run", log.lines("run"), head=log.head("run")))) == 5


def test_people_can_read_the_tables(path: Path, log: SqliteLog) -> None:
    """A row's run and last position are columns, and what was written alone is JSON."""
    log.append("alone", append("alone", 1), expected=0)
    query = "SELECT run_id, events.position, lines ->> '$.event.event' FROM events JOIN runs USING (run) ORDER BY id"
    with closing(sqlite3.connect(path)) as db:
        assert db.execute(query + " DESC LIMIT 1").fetchall() == [("alone", 1, "message_received")]


@pytest.mark.usefixtures("log")
def test_the_tables_are_those_of_the_format_document(path: Path) -> None:
    """Whoever writes another reader has nothing else to go by."""
    text = (ROOT / "events" / "FORMAT.md").read_text(encoding="utf-8")
    told = text.partition("```sql\n")[2].partition("```")[0]

    def columns(db: sqlite3.Connection) -> list[tuple[object, ...]]:
        query = (
            "SELECT t.name, c.name, c.type, c.pk, c.hidden FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c"
        )
        return sorted(db.execute(query + " WHERE t.name NOT LIKE 'sqlite%'").fetchall())

    with closing(sqlite3.connect(path)) as made, closing(sqlite3.connect(":memory:")) as documented:
        documented.executescript(told)
        assert columns(made) == columns(documented)
        assert len(columns(made)) == 19


CHANGES = {
    "another byte": (
        "UPDATE events SET lines = cast(replace(lines, 'run 5', 'run 6') AS BLOB) WHERE position = 5",
        5,
        "bytes",
    ),
    "text for bytes": ("UPDATE events SET lines = replace(lines, 'run 4', 'run 6') WHERE position = 5", 4, "bytes"),
    "another digest": (
        "UPDATE events SET digests = substr(digests, 1, 32) || zeroblob(32) || substr(digests, 65) WHERE position = 3",
        2,
        "bytes",
    ),
    "a digest less": (
        "UPDATE events SET digests = substr(digests, 1, 64) WHERE position = 3",
        1,
        "missing, position 2 stands here",
    ),
    "more than a digest": ("UPDATE events SET digests = digests || x'00' WHERE position = 5", 5, "bytes"),
    "no digests": ("UPDATE events SET digests = x'' WHERE position = 3", 1, "missing, position 3 stands here"),
    "two changed places": (
        "UPDATE events SET lines = (SELECT lines FROM events WHERE position = 3)",
        4,
        "out of place, run run position 1 stands here",
    ),
    "a row taken out": ("DELETE FROM events WHERE position = 3", 1, "missing, position 4 stands here"),
    "the tail cut off": ("DELETE FROM events WHERE position > 3", 4, "cut off, 5 records were written"),
    "all taken out": ("DELETE FROM events", 1, "cut off, 5 records were written"),
    "another head": ("UPDATE runs SET digest = zeroblob(32)", 5, "bytes"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_found_with_its_run_and_position(path: Path, log: SqliteLog, change: str) -> None:
    """The chain is for those whom a trigger does not stop."""
    statement, position, problem = CHANGES[change]
    tampered(path, statement)
    with pytest.raises(BrokenChain, match=problem) as caught:
        list(checked("run", log.lines("run"), head=log.head("run")))
    assert (caught.value.run_id, caught.value.position) == ("run", position)


def test_a_line_that_is_no_event_is_quarantined_at_its_place(path: Path, log: SqliteLog) -> None:
    """Those around it are read; its bytes are still there to be looked at."""
    before = list(log.read("run"))
    tampered(path, """UPDATE events SET lines = replace(lines, '"run 2"', '2') WHERE position = 3""")
    first, second, *others = log.read("run")
    assert [first, *others] == [before[0], *before[2:]]
    assert (second.run_id, second.position) == ("run", 2)
    assert isinstance(second.event, Quarantined)
    assert second.event.line == next(log.lines("run", after=1)).line == encode(before[1]).replace(b'"run 2"', b"2")
    assert [one for _, one in log.read_all()] == [first, second, *others]


@pytest.mark.parametrize("sizes", [(130, 1, 3), (1,) * 9, (64, 65, 63)])
def test_a_row_is_read_from_any_of_its_records_on(path: Path, log: SqliteLog, sizes: tuple[int, ...]) -> None:
    """How the records of appends share rows is nothing that a reader sees, wherever it begins."""
    position = 0
    for size in sizes:
        for run_id in ("a", "b"):
            log.append(run_id, append(run_id, position + 1, size), expected=position)
        position += size
    every = list(log.read_all())
    assert [offset for offset, _ in every] == list(range(1, len(every) + 1))
    for after in range(len(every) + 1):
        assert list(log.read_all(after=after)) == every[after:]
    records, lines = list(log.read("a")), list(log.lines("a"))
    assert [one.position for one in records] == [stored.position for stored in lines] == list(range(1, position + 1))
    assert [encode(one) for one in records] == [stored.line for stored in lines]
    assert list(checked("a", lines, head=log.head("a"))) == lines
    for after in range(position + 2):
        assert list(log.read("a", after=after)) == records[after:]
        assert list(log.lines("a", after=after)) == lines[after:]
    with closing(sqlite3.connect(path)) as db:
        (most,) = db.execute("SELECT max(length(digests)) / 32 FROM events WHERE run > 1").fetchone()
    assert most == min(max(sizes), LINES_MAX)


def test_a_row_that_is_damaged_takes_its_records_and_no_others(path: Path, log: SqliteLog) -> None:
    """Many stand in one frame; of all of them the place is known, and what is behind them is read."""
    log.append("run", append("run", 6, 40), expected=5)
    log.append("run", append("run", 46, 2), expected=45)
    before = list(log.read("run"))
    tampered(
        path,
        "UPDATE events SET lines = CAST(substr(lines, 1, 90) || x'00' || substr(lines, 92) AS BLOB) "
        "WHERE position = 45",
    )
    after = list(log.read("run"))
    assert [one.position for one in after] == [one.position for one in before]
    assert [*after[:5], *after[45:]] == [*before[:5], *before[45:]]
    assert {type(one.event) for one in after[5:45]} == {Quarantined}
    assert damage_of(log, log.head("run")) == Damage("run", 6, "changed", "the bytes are not those that were written")


# Long content

LONG = "退款 🤖 \\n" * 1_000
KEPT_ONCE = "SELECT count(*), max(length(data)) < 500 FROM blobs"


def told(log: SqliteLog, *run_ids: str) -> None:
    """Two runs or more in which the same is said, and little else."""
    event = MessageReceived(actor="user", content=LONG)
    for run_id in run_ids:
        log.append(run_id, [record(run_id, 1), record(run_id, 2, event=event)], expected=0)


def test_long_content_is_kept_once(path: Path, log: SqliteLog) -> None:
    """A thousand runs with one prompt are a thousand references; what is read is what was written."""
    told(log, "a", "b", "c")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute(KEPT_ONCE).fetchall() == [(1, 1)]
    for run_id in ("a", "b", "c"):
        _, second = log.read(run_id)
        assert second == record(run_id, 2, event=MessageReceived(actor="user", content=LONG))
        assert [stored.line for stored in log.lines(run_id)][1] == encode(second)
        list(checked(run_id, log.lines(run_id), head=log.head(run_id)))


@pytest.mark.parametrize("statement", ["UPDATE blobs SET data = x'00'", "DELETE FROM blobs"])
def test_sqlite_itself_refuses_to_change_content(path: Path, log: SqliteLog, statement: str) -> None:
    """It is as much of the log as a line."""
    told(log, "a")
    with closing(sqlite3.connect(path)) as db, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.execute(statement)
    list(checked("a", log.lines("a"), head=log.head("a")))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM blobs",
        "UPDATE blobs SET data = x'00'",
        "UPDATE blobs SET data = substr(data, 1, 20)",
        "UPDATE blobs SET data = 'text'",
        "UPDATE blobs SET blob = blob + 1",
    ],
)
def test_content_that_is_lost_is_found_where_it_is_missed(path: Path, log: SqliteLog, statement: str) -> None:
    """At the position of each run that refers to it; everything else is read."""
    told(log, "a", "b")
    tampered(path, statement)
    for run_id in ("a", "b"):
        assert [type(one.event) for one in log.read(run_id)] == [MessageReceived, Quarantined]
        with pytest.raises(BrokenChain, match="the bytes are not those that were written") as caught:
            list(checked(run_id, log.lines(run_id), head=log.head(run_id)))
        assert (caught.value.run_id, caught.value.position) == (run_id, 2)
    list(checked("run", log.lines("run"), head=log.head("run")))


def test_content_that_is_damaged_is_not_relied_on(path: Path, log: SqliteLog) -> None:
    """A run that comes later with the same words keeps them itself."""
    told(log, "a")
    tampered(path, "UPDATE blobs SET data = substr(data, 1, 20)")
    told(log, "b")
    assert [type(one.event) for one in log.read("a")] == [MessageReceived, Quarantined]
    list(checked("b", log.lines("b"), head=log.head("b")))


# The file


def test_the_file_is_its_owners_alone(path: Path) -> None:
    """Also what SQLite puts beside it, and whatever the process' mask says."""
    mask = os.umask(0)
    try:
        log = SqliteLog(path)
        log.append("run", append("run", 1), expected=0)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        log.close()
    finally:
        os.umask(mask)
    assert modes == {path.name + suffix: 0o600 for suffix in ("", "-wal", "-shm")}


def test_a_closed_log_is_one_file_that_can_be_copied(path: Path, log: SqliteLog) -> None:
    """An incident is sent as one file."""
    log.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    shutil.copy(path, path.parent / "copy.db")
    with closing(SqliteLog(path.parent / "copy.db", must_exist=True)) as copy:
        assert copy.head("run").position == 5


def test_a_closed_log_says_so(log: SqliteLog) -> None:
    """And not that SQLite cannot operate on a closed database."""
    reading = log.read("run")
    log.close()
    with pytest.raises(LogUnusable, match="it was closed"):
        next(reading)


@pytest.mark.usefixtures("log")
def test_a_log_from_later_is_not_read(path: Path) -> None:
    """Rather than misread it."""
    tampered(path, "PRAGMA user_version = 2")
    with pytest.raises(NewerFormat, match="format version 2, and this program reads up to 1") as caught:
        SqliteLog(path)
    assert caught.value.place == str(path)


@pytest.mark.usefixtures("log")
def test_a_log_from_before_is_not_read(path: Path) -> None:
    """Its tables are others; who wrote it can take it along as recordings."""
    tampered(path, "PRAGMA user_version = 0")
    with pytest.raises(BadInput, match=r"format version 0, from before .*, and this program reads 1 alone") as caught:
        SqliteLog(path)
    assert caught.value.place == str(path)


def test_an_empty_file_becomes_a_log(path: Path) -> None:
    """As one that a temporary-file maker has reserved; where a log must exist, it is none."""
    path.touch()
    with pytest.raises(BadInput, match="not a Redrive log"):
        SqliteLog(path, must_exist=True)
    with closing(SqliteLog(path)) as log:
        assert list(log.runs()) == []


def other_database(path: Path) -> None:
    """Somebody's database, with nothing in it yet but a table."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE runs (run_id TEXT)")


OTHERS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("no log, but long enough for a header of a hundred bytes. " * 9),
    "a few bytes": lambda path: path.write_bytes(b"{}"),
    "another database": other_database,
    "a damaged header": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 16),
}


@pytest.mark.parametrize("must_exist", [True, False])
@pytest.mark.parametrize("other", OTHERS)
def test_a_file_that_is_no_log_is_left_as_it_is(path: Path, other: str, must_exist: bool) -> None:
    """One line, and not a byte changed."""
    OTHERS[other](path)
    before = path.read_bytes()
    with pytest.raises(RedriveError) as caught:
        SqliteLog(path, must_exist=must_exist)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_place_where_no_log_can_be_is_told(tmp_path: Path) -> None:
    """A folder is never made: a mistyped path would become a new, empty log."""
    (tmp_path / "file").touch()
    cases = [
        (tmp_path, True, "a directory, not a Redrive log"),
        (tmp_path, False, "a directory, not a Redrive log"),
        (tmp_path / "none.db", True, "no such log"),
        (tmp_path / "none" / "log.db", True, "no such log"),
        (tmp_path / "none" / "log.db", False, "its folder does not exist"),
        (tmp_path / "file" / "log.db", True, "no such log"),
        (tmp_path / "file" / "log.db", False, "its folder does not exist"),
    ]
    for place, must_exist, problem in cases:
        with pytest.raises(BadInput) as caught:
            SqliteLog(place, must_exist=must_exist)
        assert (caught.value.problem, caught.value.place) == (problem, str(place))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_file_that_may_not_be_read_or_written_is_told(tmp_path: Path) -> None:
    """As somebody who has no right to it."""
    with closing(SqliteLog(tmp_path / "log.db")) as log:
        log.append("run", append("run", 1), expected=0)
    code = """
import os, sys, warnings
from pathlib import Path
from redrive_events import *
from tests.records import append
folder = Path(sys.argv[1])
os.chdir("/")
os.seteuid(65534)
def attempt(work):
    try:
        print(work())
    except RedriveError as problem:
        print(type(problem).__name__, problem)
attempt(lambda: SqliteLog(folder / "log.db", must_exist=True))
attempt(lambda: SqliteLog(folder / "new.db"))
os.seteuid(0); (folder / "log.db").chmod(0o644); os.seteuid(65534)
attempt(lambda: SqliteLog(folder / "log.db", must_exist=True).head("run").position)
attempt(lambda: SqliteLog(folder / "log.db", must_exist=True).append("run", append("run", 2), expected=1))
"""
    tmp_path.chmod(0o755)
    for folder in list(tmp_path.parents)[:3]:
        folder.chmod(0o755)
    run = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}", str(tmp_path)]
    done = subprocess.run(run, text=True, capture_output=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"LogUnusable log {tmp_path / 'log.db'}: it may not be opened",
        f"LogUnusable log {tmp_path / 'new.db'}: permission denied",
        "1",
        f"LogUnusable log {tmp_path / 'log.db'}: it may not be written",
    ]
