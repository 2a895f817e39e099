"""The file beside the log: kept while it serves, made anew when it does not, never the reason for a wrong answer."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

from redrive_events import MemoryLog, SqliteLog
from redrive_projections.history import ask, beside, cache
from redrive_projections.history import sync as syncing
from redrive_projections.history.rows import rendered
from tests.history.story import begin_all, put, refund, remark

COUNT = "SELECT count(*) FROM runs"
LOG_FILES = ("redrive.db", "redrive.db-shm", "redrive.db-wal")
HELD = """
import sys, duckdb
db = duckdb.connect(sys.argv[1], read_only=len(sys.argv) > 2)
print("held", flush=True)
sys.stdin.read()
"""
KILLED = """
import os, signal, sys
from redrive_events import SqliteLog
from redrive_projections.history import ask, rows, sync
def rendered(*given):
    global left
    left -= 1
    return rows.rendered(*given) if left else os.kill(os.getpid(), signal.SIGKILL)
left = int(sys.argv[2])
sync.rendered, sync.RECORDS_MAX, sync.ROWS_MAX = rendered, 50, 10
ask(SqliteLog(sys.argv[1]), "SELECT 1", path=sys.argv[1])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log is, or will be."""
    return tmp_path / "redrive.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    """A log of two runs whose history has been asked for."""
    log = SqliteLog(path)
    begin_all(log, ["a"])
    put(log, refund("b"))
    assert ask(log, COUNT, path=path).rows == [(2,)]
    yield log
    log.close()


def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that were rendered since."""
    runs: list[str] = []

    def watched(run: int, run_id: str, *read: Any) -> Any:
        runs.append(run_id)
        return rendered(run, run_id, *read)

    monkeypatch.setattr(syncing, "rendered", watched)
    return runs


@pytest.mark.usefixtures("log")
def test_it_stands_beside_the_log(path: Path) -> None:
    """Under the log's whole name."""
    assert beside("some/redrive.db") == Path("some/redrive.db.history.duckdb")
    assert beside(path).is_file()


def test_it_is_its_owners_alone(log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, and what DuckDB puts beside it while it writes, whatever the process allows others."""
    seen: dict[str, int] = {}

    def watched(*given: Any, **named: Any) -> None:
        syncing.sync(*given, **named)
        seen.update({file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()})

    monkeypatch.setattr(cache, "sync", watched)
    monkeypatch.setattr(syncing, "RECORDS_MAX", 1)
    before = os.umask(0)
    try:
        for made in ([beside(path)], []):
            for file in made:
                file.unlink()
            begin_all(log, [f"more-{len(made)}", f"most-{len(made)}"])
            ask(log, COUNT, path=path)
            wal = beside(path).name + ".wal"
            assert set(seen) == {*LOG_FILES, beside(path).name, wal}
            assert set(seen.values()) == {0o600}
            seen.clear()
    finally:
        os.umask(before)


def test_only_what_is_new_is_read(log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that did not grow is left as it is."""
    runs = built(monkeypatch)
    ask(log, COUNT, path=path)
    begin_all(log, ["c"])
    put(log, remark("a", "reward", 1))
    ask(log, COUNT, path=path)
    assert runs == ["c", "a"]


def test_an_answer_holds_all_that_was_appended(log: SqliteLog, path: Path) -> None:
    """By the time it was asked for, every time."""
    for number in range(3):
        begin_all(log, [f"more-{number}"])
        assert ask(log, COUNT, path=path).rows == [(3 + number,)]


def _garbage(file: Path) -> None:
    file.write_bytes(b"no database" * 999)


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _bits(file: Path) -> None:
    good = bytearray(file.read_bytes())
    for place in range(12_288, len(good), 1_000):
        good[place] ^= 0xFF
    file.write_bytes(good)


def _version(file: Path) -> None:
    with duckdb.connect(file) as db:
        db.execute("UPDATE inside.progress SET shape = 'other'")
        db.execute("DELETE FROM runs")


def _no_tables(file: Path) -> None:
    file.unlink()
    duckdb.connect(file).close()


def _ahead(file: Path) -> None:
    with duckdb.connect(file) as db:
        db.execute("UPDATE inside.streams SET position = position + 1")


def _behind(file: Path) -> None:
    with duckdb.connect(file) as db:
        db.execute("DELETE FROM inside.streams WHERE run_id = 'a'")
        db.execute("DELETE FROM runs WHERE run_id = 'a'")


def _another(file: Path) -> None:
    other = SqliteLog(file.with_name("other.db"))
    put(other, refund("b")[:7])
    begin_all(other, ["x"])
    ask(other, COUNT, path=file.with_name("other.db"))
    other.close()
    file.with_name("other.db.history.duckdb").replace(file)


def _unreadable_wal(file: Path) -> None:
    file.with_name(file.name + ".wal").write_bytes(b"no log" * 999)


@pytest.mark.parametrize(
    "spoil",
    [
        Path.unlink, _garbage, _empty, _half, _bits, _version, _no_tables, _ahead, _behind, _another,
        _unreadable_wal,
    ],
)  # fmt: skip
def test_a_file_that_cannot_serve_is_made_anew(spoil: Callable[[Path], None], log: SqliteLog, path: Path) -> None:
    """Without a word, and the answer is right; so is the next, from the new file."""
    spoil(beside(path))
    for _ in range(2):
        assert ask(log, "SELECT run_id, records FROM runs ORDER BY run", path=path).rows == [("a", 1), ("b", 25)]
        assert ask(log, "SELECT count(*) FROM verdicts", path=path).rows == [(3,)]
    assert stat.S_IMODE(beside(path).stat().st_mode) == 0o600
    with duckdb.connect(beside(path), read_only=True) as db:
        assert db.execute(COUNT).fetchall() == [(2,)]


def test_damage_that_only_the_query_finds(log: SqliteLog, path: Path) -> None:
    """The file is made anew then, and asked again."""
    for number in range(10):
        put(log, refund(f"run-{number}"))
    query = "SELECT count(*), count(DISTINCT payload) FROM payloads"
    right = ask(log, query, path=path).rows
    assert right == ask(log, query).rows
    good = beside(path).read_bytes()
    found = 0
    for place in range(12_288, len(good), len(good) // 12):
        beside(path).write_bytes(good[:place] + bytes(64) + good[place + 64 :])
        assert ask(log, query, path=path).rows == right
        found += beside(path).read_bytes() != good
    assert found


def test_a_log_that_was_begun_anew(log: SqliteLog, path: Path) -> None:
    """The history beside it is that of the log before, and is not believed."""
    log.close()
    for file in path.parent.glob("redrive.db*"):
        if file != beside(path):
            file.unlink()
    new = SqliteLog(path)
    begin_all(new, ["a", "x"])
    assert ask(new, "SELECT run_id FROM runs ORDER BY run", path=path).rows == [("a",), ("x",)]
    put(new, refund("b"))
    assert ask(new, "SELECT run_id FROM runs ORDER BY run", path=path).rows == [("a",), ("x",), ("b",)]
    new.close()


def test_a_log_that_was_put_together_in_another_order(path: Path, tmp_path: Path) -> None:
    """The same runs, and one that the watermark of before would leave out."""
    first = SqliteLog(path)
    begin_all(first, ["x", "y"])
    assert ask(first, COUNT, path=path).rows == [(2,)]
    first.close()
    second = SqliteLog(tmp_path / "second.db")
    begin_all(second, ["z", "y", "x"])
    shutil.copy(beside(path), beside(tmp_path / "second.db"))
    query = "SELECT run_id FROM runs ORDER BY run"
    assert ask(second, query, path=tmp_path / "second.db").rows == [("z",), ("y",), ("x",)]
    second.close()


def test_where_no_file_can_be_made_it_is_built_in_memory(log: SqliteLog, path: Path) -> None:
    """A folder stands in its place."""
    beside(path).unlink()
    (beside(path) / "full").mkdir(parents=True)
    assert ask(log, COUNT, path=path).rows == [(2,)]


def test_a_log_in_memory_leaves_no_file(path: Path) -> None:
    """Whatever it was loaded from."""
    log = MemoryLog()
    begin_all(log, ["a"])
    assert ask(log, COUNT, path=path).rows == [(1,)]
    assert ask(log, COUNT).rows == [(1,)]
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("how", [[], ["read only"]], ids=["to write", "to read"])
def test_a_file_that_another_process_holds(how: list[str], log: SqliteLog, path: Path) -> None:
    """The question is answered all the same, with what was appended since, and the file is left alone."""
    begin_all(log, ["c"])
    held = subprocess.Popen(
        [sys.executable, "-c", HELD, beside(path), *how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with held:
        assert held.stdout is not None
        assert held.stdout.readline() == b"held\n"
        assert ask(log, COUNT, path=path).rows == [(3,)]
    assert held.returncode == 0
    with duckdb.connect(beside(path), read_only=True) as db:
        assert db.execute(COUNT).fetchall() == [(2,)]
    assert ask(log, COUNT, path=path).rows == [(3,)]


def test_a_file_that_this_process_has_opened_otherwise(log: SqliteLog, path: Path) -> None:
    """As a notebook may."""
    begin_all(log, ["c"])
    with duckdb.connect(beside(path), read_only=True) as db:
        assert ask(log, COUNT, path=path).rows == [(3,)]
        assert db.execute(COUNT).fetchall() == [(2,)]
    assert ask(log, COUNT, path=path).rows == [(3,)]


def test_it_waits_for_another_process_no_longer_than_building_takes(
    log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the file is held it is tried again, if the log is long."""
    monkeypatch.setattr(cache, "RECORDS_PER_S", 1)
    held = subprocess.Popen([sys.executable, "-c", HELD, beside(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with held:
        assert held.stdout is not None
        assert held.stdin is not None
        assert held.stdout.readline() == b"held\n"
        threading.Timer(0.2, held.stdin.close).start()
        begin_all(log, ["c"])
        runs = built(monkeypatch)
        assert ask(log, COUNT, path=path).rows == [(3,)]
    assert runs == ["c"]


@pytest.mark.usefixtures("log")
def test_two_processes_at_once(path: Path) -> None:
    """Each answer is whole, whoever made the file."""
    beside(path).unlink()
    code = (
        "import sys; from redrive_events import SqliteLog; from redrive_projections.history import ask\n"
        "for _ in range(5): print(ask(SqliteLog(sys.argv[1]), sys.argv[2], path=sys.argv[1]).rows)"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, path, COUNT], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    assert [process.communicate() for process in both] == [(b"[(2,)]\n" * 5, b"")] * 2


def test_threads_at_once(log: SqliteLog, path: Path) -> None:
    """While runs begin: nobody is told of fewer than there were."""

    def asked(number: int) -> bool:
        begin_all(log, [f"more-{number}"])
        before = sum(1 for _ in log.runs())
        ((count,),) = ask(log, COUNT, path=path).rows
        return bool(count >= before)

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(asked, range(12)))
    assert ask(log, COUNT, path=path).rows == [(14,)]


@pytest.mark.parametrize("after", [1, 15, 40])
def test_a_process_that_is_killed_while_it_fills(after: int, path: Path) -> None:
    """Whatever is left of its file, the next answer is right."""
    log = SqliteLog(path)
    for number in range(40):
        put(log, refund(f"run-{number}"))
    killed = subprocess.run([sys.executable, "-c", KILLED, path, str(after)], check=False)
    assert killed.returncode == -signal.SIGKILL
    query = "SELECT count(*), sum(records), (SELECT count(*) FROM events) FROM runs"
    assert ask(log, query, path=path).rows == [(40, 40 * 25, 40 * 25)]
    log.close()
