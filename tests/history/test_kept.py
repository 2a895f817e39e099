"""The folder beside the log: kept while it serves, made anew when it does not, never the reason for a wrong answer."""

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
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

from redrive_events import BadInput, MemoryLog, SqliteLog
from redrive_projections.history import (
    History,
    Questions,
    ask,
    beside,
    filling,
    history,
    opened,
    rebuild,
    write_answer,
    write_tables,
)
from redrive_projections.history import segments as kept_in
from redrive_projections.history.rows import Rendering
from redrive_projections.history.segments import locked, segments
from tests.history.story import begin_all, put, refund, remark

COUNT = "SELECT count(*) FROM runs"
TELL_ALL = "SELECT count(*), sum(records), (SELECT count(*) FROM events), (SELECT count(*) FROM payloads) FROM runs"
# Each is run with the log's path; what is written is written in small pieces.
SMALL = """
import os, signal, sys
from redrive_events import SqliteLog
from redrive_projections.history import History, ask, filling, opened, segments
filling.RECORDS_MAX, filling.ROWS_MAX, opened.TAIL_RECORDS_MAX = 50, 10, 3
log = SqliteLog(sys.argv[1])
"""
KILLED = f"""{SMALL}
where, left = sys.argv[2], int(sys.argv[3])
module = filling if where in {{"Rendering", "write"}} else segments
real = getattr(module, where)
def killing(*given, **named):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **named)
setattr(module, where, killing)
ask(log, "SELECT 1", path=sys.argv[1])
"""
KILLED_BEHIND = f"""{SMALL}
real = segments._finish
def finished(*given):
    real(*given)
    os.kill(os.getpid(), signal.SIGKILL)
segments._finish = finished
ask(log, "SELECT 1", path=sys.argv[1])
"""
FULL = f"""{SMALL}
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
print(ask(log, sys.argv[3], path=sys.argv[1]).rows)
"""
HELD = f"""{SMALL}
with History(log, sys.argv[1]) as history:
    for query in sys.stdin:
        history.refresh()
        print(history.db.execute(query).fetchall(), flush=True)
"""
ASKING = f"""{SMALL}
for _ in range(5):
    print(ask(log, sys.argv[2], path=sys.argv[1]).rows)
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a log is, or will be; more than three records are worth writing."""
    monkeypatch.setattr(opened, "TAIL_RECORDS_MAX", 3)
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


def kept(path: Path) -> Path:
    """The one segment of a log's history."""
    (file,) = beside(path).glob("*.duckdb")
    return file


def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that were rendered since."""
    runs: list[str] = []

    def watched(number: int, run_id: str) -> Rendering:
        runs.append(run_id)
        return Rendering(number, run_id)

    monkeypatch.setattr(filling, "Rendering", watched)
    return runs


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], check=False, capture_output=True, text=True
    )


@pytest.mark.usefixtures("log")
def test_it_stands_beside_the_log(path: Path) -> None:
    """Under the log's whole name: a segment, and the lock of whoever writes."""
    assert beside("some/redrive.db") == Path("some/redrive.db.history")
    assert sorted(file.name for file in beside(path).iterdir()) == [f"{0:020}-{26:020}.duckdb", "lock"]


def test_a_short_log_needs_none(tmp_path: Path) -> None:
    """It is read as fast as such a file would be."""
    log = SqliteLog(tmp_path / "redrive.db")
    put(log, refund())
    assert ask(log, COUNT, path=tmp_path / "redrive.db").rows == [(1,)]
    assert not beside(tmp_path / "redrive.db").exists()
    log.close()


def test_it_is_its_owners_alone(path: Path) -> None:
    """Whatever the process allows others."""
    log = SqliteLog(path)
    put(log, refund("b"))
    before = os.umask(0)
    try:
        ask(log, COUNT, path=path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(beside(path).stat().st_mode) == 0o700
    log.close()


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
    for number in range(9):
        begin_all(log, [f"more-{number}"])
        assert ask(log, COUNT, path=path).rows == [(3 + number,)]


def test_segments_stay_few(log: SqliteLog, path: Path) -> None:
    """Small ones are joined, so that each holds some times what the next one holds."""
    for number in range(16):
        put(log, refund(f"more-{number}"))
        assert ask(log, COUNT, path=path).rows == [(3 + number,)]
    chain = segments(beside(path))
    sizes = [one.watermark - one.begun for one in chain]
    assert sum(sizes) == 26 + 16 * 25
    assert all(size >= 4 * sum(sizes[place + 1 :]) for place, size in enumerate(sizes[:-1]))
    assert {file.name for file in beside(path).iterdir()} == {"lock", *(one.file.name for one in chain)}


def test_a_history_that_is_open_follows_the_log(log: SqliteLog, path: Path) -> None:
    """Also in a run that stands in a segment already, and while others write and join segments."""
    with History(log, path) as history:
        for number in range(5):
            put(log, remark("b", "reward", number, note=number + 1))
            put(log, refund(f"more-{number}"))
            history.refresh()
            assert history.db.execute(TELL_ALL).fetchall() == ask(log, TELL_ALL, path=path).rows
            assert history.db.execute("SELECT count(*) FROM annotations WHERE run_id = 'b'").fetchall() == [
                (number + 1,)
            ]


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


def _renamed(file: Path) -> None:
    file.rename(file.with_name(f"{0:020}-{99:020}.duckdb"))


def _another(file: Path) -> None:
    path = file.parent.with_name("other.db")
    other = SqliteLog(path)
    put(other, refund("b")[:7])
    begin_all(other, [f"x{number}" for number in range(19)])
    ask(other, COUNT, path=path)
    other.close()
    kept(path).replace(file)


def _all_of_it(file: Path) -> None:
    shutil.rmtree(file.parent)


def _a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "full").touch()


def _half_written(file: Path) -> None:
    _garbage(file.with_name("working.duckdb"))
    file.unlink()


@pytest.mark.parametrize(
    "spoil",
    [
        Path.unlink, _garbage, _empty, _half, _bits, _version, _no_tables, _ahead, _behind, _renamed, _another,
        _all_of_it, _a_folder, _half_written,
    ],
)  # fmt: skip
def test_a_file_that_cannot_serve_is_made_anew(spoil: Callable[[Path], None], log: SqliteLog, path: Path) -> None:
    """Without a word, and the answer is right; so is the next, from the new file."""
    spoil(kept(path))
    for _ in range(2):
        assert ask(log, "SELECT run_id, records FROM runs ORDER BY run", path=path).rows == [("a", 1), ("b", 25)]
        assert ask(log, "SELECT count(*) FROM verdicts", path=path).rows == [(3,)]
    with duckdb.connect(kept(path), read_only=True) as db:
        assert db.execute(COUNT).fetchall() == [(2,)]


def test_damage_that_only_the_query_finds(log: SqliteLog, path: Path) -> None:
    """The file is made anew then, and asked again."""
    for number in range(10):
        put(log, refund(f"run-{number}"))
    query = "SELECT count(*), count(DISTINCT payload) FROM payloads"
    right = ask(log, query, path=path).rows
    assert right == ask(log, query).rows
    file = kept(path)
    good, found = file.read_bytes(), 0
    for place in range(12_288, len(good), len(good) // 12):
        file.write_bytes(good[:place] + bytes(64) + good[place + 64 :])
        assert ask(log, query, path=path).rows == right
        found += file.read_bytes() != good[:place] + bytes(64) + good[place + 64 :]
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


def test_a_log_in_which_a_run_went_another_way(path: Path, tmp_path: Path) -> None:
    """It is longer than what is kept of it, and at that place not the same."""
    first, second = SqliteLog(path), SqliteLog(tmp_path / "second.db")
    put(first, refund("b")[:11])
    assert ask(first, COUNT, path=path).rows == [(1,)]
    first.close()
    begin_all(second, ["b"], goal="something else")
    put(second, refund("b")[1:])
    shutil.copytree(beside(path), beside(tmp_path / "second.db"))
    assert ask(second, "SELECT goal, records FROM runs", path=tmp_path / "second.db").rows == [("something else", 25)]
    second.close()


def test_a_log_that_was_put_together_in_another_order(path: Path, tmp_path: Path) -> None:
    """The same runs, and one that the watermark of before would leave out."""
    first = SqliteLog(path)
    begin_all(first, ["v", "w", "x", "y"])
    assert ask(first, COUNT, path=path).rows == [(4,)]
    first.close()
    second = SqliteLog(tmp_path / "second.db")
    begin_all(second, ["z", "y", "x", "w", "v"])
    shutil.copytree(beside(path), beside(tmp_path / "second.db"))
    query = "SELECT run_id FROM runs ORDER BY run"
    assert ask(second, query, path=tmp_path / "second.db").rows == [("z",), ("y",), ("x",), ("w",), ("v",)]
    second.close()


def test_where_nothing_can_be_written_it_is_built_in_memory(log: SqliteLog, path: Path) -> None:
    """A file stands in its place, and is left alone; only who asks for it has it made anew."""
    shutil.rmtree(beside(path))
    beside(path).write_text("mine")
    assert ask(log, COUNT, path=path).rows == [(2,)]
    assert beside(path).read_text() == "mine"
    assert rebuild(log, path) == beside(path)
    assert kept(path).is_file()


def test_damage_where_nothing_can_be_written(log: SqliteLog, path: Path) -> None:
    """What only the query finds, and nobody can mend: the answer comes from memory, and is right."""
    file = kept(path)
    good = file.read_bytes()
    file.write_bytes(good[:12_288] + bytes(len(good) - 12_288))
    (beside(path) / "lock").unlink()
    (beside(path) / "lock").mkdir()
    assert ask(log, TELL_ALL, path=path).rows == [(2, 26, 26, 26)]


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("room", [40_000, 300_000, 2_000_000])
def test_a_disk_that_is_full(room: int, path: Path) -> None:
    """However much of a file still finds room: the answer is right, and nothing is said or left half."""
    log = SqliteLog(path)
    for number in range(40):
        put(log, refund(f"run-{number}"))
    done = run(FULL, path, room, TELL_ALL)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{[(42, 1026, 1026, 1026)]}\n"
    assert ask(log, TELL_ALL, path=path).rows == [(42, 1026, 1026, 1026)]
    log.close()


def test_a_log_in_memory_leaves_no_file(path: Path) -> None:
    """Whatever it was loaded from."""
    log = MemoryLog()
    put(log, refund("a"))
    assert ask(log, COUNT, path=path).rows == [(1,)]
    assert ask(log, COUNT).rows == [(1,)]
    assert list(path.parent.iterdir()) == []


def test_a_process_that_has_it_open_keeps_nobody_out(log: SqliteLog, path: Path) -> None:
    """A notebook, say: both see all that was appended, whoever writes segments or joins them."""
    held = subprocess.Popen(
        [sys.executable, "-c", HELD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with held:
        assert held.stdin is not None
        assert held.stdout is not None
        for number in range(6):
            put(log, refund(f"more-{number}"))
            count = 26 + 25 * (number + 1)
            wanted = [(3 + number, count, count, count)]
            print(TELL_ALL, file=held.stdin, flush=True)
            assert held.stdout.readline() == f"{wanted}\n"
            assert ask(log, TELL_ALL, path=path).rows == wanted
        held.stdin.close()
    assert held.returncode == 0


@pytest.mark.usefixtures("log")
def test_processes_at_once(path: Path) -> None:
    """Each answer is whole, whoever made the files, and one waits for what another has begun."""
    shutil.rmtree(beside(path))
    asking = [
        subprocess.Popen(
            [sys.executable, "-c", ASKING, path, TELL_ALL], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    line = f"{[(2, 26, 26, 26)]}\n"
    assert [process.communicate() for process in asking] == [(line * 5, "")] * 3


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


def test_who_only_reads_does_not_wait_for_who_writes(log: SqliteLog, path: Path) -> None:
    """Nor does anybody who appends."""
    with locked(beside(path)):
        begin_all(log, ["c"])
        assert ask(log, COUNT, path=path).rows == [(3,)]


def test_who_would_write_too_waits(log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read before the lock is free."""
    put(log, refund("c"))
    reading, free, early = threading.Event(), threading.Event(), list[bool]()

    def watched(number: int, run_id: str) -> Rendering:
        early.append(not free.is_set())
        reading.set()
        return Rendering(number, run_id)

    monkeypatch.setattr(filling, "Rendering", watched)
    with ThreadPoolExecutor(1) as threads:
        with locked(beside(path)):
            waiting = threads.submit(ask, log, COUNT, path=path)
            reading.wait(2)
            free.set()
        assert waiting.result().rows == [(3,)]
    assert early == [False]


@pytest.mark.parametrize(
    ("where", "times"),
    [
        pytest.param("Rendering", 1, id="before the first run"),
        pytest.param("Rendering", 15, id="in the middle"),
        pytest.param("Rendering", 40, id="at the last run"),
        pytest.param("write", 9, id="inside a transaction"),
        pytest.param("create", 1, id="before there are tables"),
        pytest.param("_finish", 1, id="when all rows are there"),
        pytest.param("_join", 1, id="before segments are joined"),
    ],
)
def test_a_process_that_is_killed_while_it_writes(where: str, times: int, path: Path) -> None:
    """Whatever is left of its files, the next answer is right, and goes on with what is there."""
    log = SqliteLog(path)
    for number in range(40):
        put(log, refund(f"run-{number}"))
    assert run(KILLED, path, where, times).returncode == -signal.SIGKILL
    assert ask(log, TELL_ALL, path=path).rows == [(40, 1000, 1000, 1000)]
    assert len(segments(beside(path))) == 1
    log.close()


@pytest.mark.parametrize(
    "code", [KILLED_BEHIND, KILLED.replace("sys.argv[2]", "'_copy'").replace("sys.argv[3]", "'1'")]
)
def test_a_process_that_is_killed_while_it_joins(code: str, log: SqliteLog, path: Path) -> None:
    """Between two files, or with a third one half written."""
    put(log, refund("c"))
    assert run(code, path).returncode == -signal.SIGKILL
    assert ask(log, TELL_ALL, path=path).rows == [(3, 51, 51, 51)]
    put(log, refund("d"))
    assert ask(log, TELL_ALL, path=path).rows == [(4, 76, 76, 76)]


def test_what_was_written_before_a_kill_is_not_written_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each transaction stands for itself."""
    log = SqliteLog(path)
    for number in range(40):
        put(log, refund(f"run-{number}"))
    assert run(KILLED, path, "Rendering", 30).returncode == -signal.SIGKILL
    runs = built(monkeypatch)
    assert ask(log, TELL_ALL, path=path).rows == [(40, 1000, 1000, 1000)]
    assert runs == [f"run-{number}" for number in range(28, 40)]
    log.close()


def test_a_query_that_is_wrong_costs_no_history(log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, and what is kept stays."""
    runs = built(monkeypatch)
    with pytest.raises(BadInput):
        ask(log, "SELECT nothing", path=path)
    assert runs == []


def damage_payloads(file: Path) -> None:
    """Of all that could be damaged, only what they hold: whoever opens the file finds nothing."""
    good = file.read_bytes()
    for place in range(12_288, len(good), 262_144):
        file.write_bytes(good[: place + 100] + b"\xa5" * 64 + good[place + 164 :])
        with suppress(duckdb.Error), duckdb.connect(file, read_only=True) as db:
            db.execute("SELECT 1 FROM inside.progress, inside.streams, runs").fetchall()
            try:
                db.execute("FROM payloads").fetchall()
            except duckdb.Error:
                return
    raise AssertionError("payloads stand nowhere")


@pytest.mark.parametrize("what", ["answer", "tables"])
def test_damage_that_only_an_export_finds(what: str, log: SqliteLog, path: Path, tmp_path: Path) -> None:
    """What is kept is made anew then, and all is written as if it had been sound."""
    damage_payloads(kept(path))
    if what == "answer":
        target = tmp_path / "answer.parquet"
        target.touch()
        assert write_answer(log, "SELECT count(*), min(payload) FROM payloads", target, path=path) == 1
    else:
        target = tmp_path / "tables"
        target.mkdir()
        rows = write_tables(log, target, path=path)
        assert (rows["runs"], rows["payloads"]) == (2, 26)


@pytest.mark.parametrize(
    "asking",
    [
        pytest.param(lambda found: found.fetchall(), id="fetched"),
        pytest.param(lambda found: found.project("*").fetchall(), id="a relation that follows from it"),
        pytest.param(lambda found: found.union(found).fetchall()[:1], id="with another"),
        pytest.param(lambda found: [found["n"].fetchall()[0] + found["first"].fetchall()[0]], id="a column"),
    ],
)
def test_a_notebook_over_damage(asking: Callable[[Any], Any], log: SqliteLog, path: Path) -> None:
    """What is found when rows are fetched is mended as for everybody: made anew, and asked again."""
    put(log, refund("another"))
    right = ask(log, "SELECT count(*), min(payload) FROM payloads").rows
    damage_payloads(kept(path))
    with history(path) as notebook:
        found = notebook.sql("SELECT count(*) AS n, min(payload) AS first FROM payloads")
        assert (found.columns, len(found.columns)) == (["n", "first"], 2)
        held = notebook.sql("SELECT count(*) AS n, min(payload) AS first FROM payloads")
        assert asking(found) == right
        assert asking(held) == right
        assert notebook.sql("SELECT count(*) FROM payloads").fetchall() == [right[0][:1]]


def test_a_history_that_is_open_finds_damage_when_it_is_brought_up_to_date(
    log: SqliteLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made anew, and the answer is right, for a question as for a notebook."""
    kept(path)

    def spoilt(*_: object) -> None:
        monkeypatch.undo()
        raise duckdb.IOException("IO Error: it cannot be read")

    with Questions(log, path) as questions, history(path) as notebook:
        askings: list[Callable[[str], Any]] = [questions.ask, notebook.sql]
        for number, asking in enumerate(askings, start=3):
            asking(COUNT)
            put(log, refund(f"run-{number}"))
            monkeypatch.setattr(opened, "streams_of", spoilt)
            asking(COUNT)
            assert questions.ask(COUNT).rows == notebook.sql(COUNT).fetchall() == [(number,)]


def test_what_is_written_takes_no_more_memory_than_it_may(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database that writes has a bound, a full transaction goes into the file, and nothing there is moved again."""
    told: list[tuple[str, ...]] = []
    real = kept_in._finish

    def finishing(db: duckdb.DuckDBPyConnection, *given: Any) -> None:
        settings = ("memory_limit", "checkpoint_threshold", "max_vacuum_tasks")
        query = "SELECT " + ", ".join(f"current_setting('{name}')::VARCHAR" for name in settings)
        told.extend(db.execute(query).fetchall())
        real(db, *given)

    monkeypatch.setattr(kept_in, "_finish", finishing)
    with closing(SqliteLog(path)) as log:
        put(log, refund("a"))
        assert ask(log, COUNT, path=path).rows == [(1,)]
    assert told == [("572.2 MiB", "61.0 MiB", "0")]


def test_names_that_say_something_to_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotes, patterns, and what it would take for an address: a history is kept as anywhere."""
    monkeypatch.setattr(opened, "TAIL_RECORDS_MAX", 3)
    (tmp_path / "md:it's [a]* {b} 漢").mkdir()
    monkeypatch.chdir(tmp_path)
    path = Path("md:it's [a]* {b} 漢") / "log.db"
    log = SqliteLog(path)
    for count in (1, 2):
        put(log, refund(f"run-{count}"))
        assert ask(log, COUNT, path=path).rows == [(count,)]
        assert segments(beside(path))[-1].watermark == 25 * count
    log.close()
