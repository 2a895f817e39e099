"""Many who write to one log at once: they share commits in a process, and take turns among processes."""

from __future__ import annotations

import signal
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen

import anyio
import pytest

from redrive_events import BadInput, Batch, LeaseHeld, LogUnusable, SqliteLog, StaleAppend, checked
from tests.processes import surroundings
from tests.records import append

PATIENCE_S = 120
PLACES = {"a": 1, "run": 2, "b": 1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the log is."""
    return tmp_path / "log.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    """A log that is written to; few enough times that its WAL has all of it."""
    with closing(SqliteLog(path)) as log:
        log.append("run", append("run", 1), expected=0)
        yield log


def commits(path: Path) -> int:
    """How many transactions stand in the WAL: the last frame of each says how long the file is after it."""
    wal = path.with_name(path.name + "-wal").read_bytes()
    frame = 24 + int.from_bytes(wal[8:12], "big")
    frames = (wal[start : start + 16] for start in range(32, len(wal), frame))
    return sum(frame[4:8] != bytes(4) and frame[8:16] == wal[16:24] for frame in frames)


@contextmanager
def turn_taken(log: SqliteLog) -> Iterator[None]:
    """Somebody writes for as long as this lasts."""
    began, done = threading.Event(), threading.Event()

    def batches() -> Iterator[Batch]:
        began.set()
        assert done.wait(PATIENCE_S)
        return
        yield

    thread = threading.Thread(target=log.append_all, args=(batches(),))
    thread.start()
    assert began.wait(PATIENCE_S)
    try:
        yield
    finally:
        done.set()
        thread.join()


def appending(log: SqliteLog, run_id: str, position: int, size: int = 1, *, after_s: float = 0) -> Callable[[], object]:
    """An append to be made later."""
    return partial(log.append, run_id, append(run_id, position, size, after_s=after_s), expected=position - 1)


def lined_up(log: SqliteLog, works: Sequence[Callable[[], object]]) -> list[Future[object]]:
    """What came of the works, each asked by a thread of its own while somebody else wrote."""
    with ThreadPoolExecutor(len(works)) as pool, turn_taken(log):
        asked = [pool.submit(work) for work in works]
        waits_until(lambda: waiting_threads() >= len(works))
    return asked


def waits_until(fits: Callable[[], bool]) -> None:
    """Look again and again."""
    until = time.monotonic() + PATIENCE_S
    while not fits():
        assert time.monotonic() < until
        time.sleep(0.001)


def waiting_threads() -> int:
    """How many threads of this process stand in the line of a log."""
    return threads_in("_line_up")


def threads_in(name: str) -> int:
    """How many threads of this process are in a function of that name, or wait there."""
    return sum(
        any(frame.f_code.co_name == name for frame, _ in traceback.walk_stack(top))
        for top in sys._current_frames().values()
    )


# In one process


def test_all_who_wait_share_one_commit(log: SqliteLog, path: Path) -> None:
    """The slower the disk, the more come together; one synchronisation for ten runs costs what it costs for one."""
    before = commits(path)
    works = [appending(log, f"run-{n}", 1, 3) for n in range(10)]
    for asked in lined_up(log, works):
        asked.result()
    assert commits(path) - before == 1
    for n in range(10):
        assert len(list(checked(f"run-{n}", log.lines(f"run-{n}"), head=log.head(f"run-{n}")))) == 3
    assert [offset for offset, _ in log.read_all()] == list(range(1, 32))


def test_each_who_shares_a_commit_hears_of_its_own_mistake(log: SqliteLog, path: Path) -> None:
    """One bad append among good ones is refused as if it were alone, and leaves no trace."""
    log.hold("run", "ana", ttl_s=60)
    before = commits(path)
    good = [appending(log, f"run-{n}", 1) for n in range(10)]
    bad: list[tuple[type[Exception], Callable[[], object]]] = [
        (StaleAppend, appending(log, "run", 5)),
        (StaleAppend, appending(log, "new", 2)),
        (ValueError, appending(log, "run", 2, after_s=-1)),
        (LeaseHeld, partial(log.hold, "run", "ben", ttl_s=60)),
    ]
    asked = lined_up(log, [*good, *(work for _, work in bad)])
    assert [one.exception() for one in asked[:10]] == [None] * 10
    assert [type(one.exception()) for one in asked[10:]] == [kind for kind, _ in bad]
    assert commits(path) - before == 1
    assert sorted(head.run_id for head in log.runs()) == ["run", *(f"run-{n}" for n in range(10))]


def test_appends_to_one_run_that_share_a_commit_follow_each_other(log: SqliteLog) -> None:
    """Of two who want the same place the first in line has it, and the second is told where the run is now."""
    works = [appending(log, "run", 2, after_s=n) for n in range(4)]
    asked = lined_up(log, works)
    refused = [one.exception() for one in asked]
    assert sorted(str(one) for one in refused) == ["None", *["run run: expected position 1, log is at 2"] * 3]
    assert log.head("run").position == 2


def test_a_run_that_cannot_be_written_spoils_it_for_no_other(log: SqliteLog, path: Path) -> None:
    """Where somebody has damaged one run, those who came with it are written without it."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TRIGGER events_refuse_update")
        db.execute("UPDATE events SET id = id + 1")
        db.commit()
    works = [appending(log, name, place) for name, place in PLACES.items()]
    asked = lined_up(log, works)
    assert [type(one.exception()) for one in asked] == [type(None), LogUnusable, type(None)]
    assert {head.run_id: head.position for head in log.runs()} == {"run": 1, "a": 1, "b": 1}


def test_who_is_interrupted_in_the_line_keeps_nobody_waiting(log: SqliteLog) -> None:
    """Whoever gives up has no turn any more, and is told at once."""

    class Impatient(Exception):
        pass

    def give_up(*_: object) -> None:
        raise Impatient

    def interrupt() -> None:
        waits_until(lambda: waiting_threads() == 1)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    usual = signal.signal(signal.SIGUSR1, give_up)
    try:
        with ThreadPoolExecutor(2) as pool, turn_taken(log):
            pool.submit(interrupt)
            with pytest.raises(Impatient):
                log.append("never", append("never", 1), expected=0)
            behind = pool.submit(log.append, "other", append("other", 1), expected=0)
            waits_until(lambda: waiting_threads() == 1)
    finally:
        signal.signal(signal.SIGUSR1, usual)
    behind.result()
    assert {head.run_id for head in log.runs()} == {"run", "other"}


def test_who_breaks_off_while_writing_for_others_leaves_them_in_line(log: SqliteLog) -> None:
    """The next in turn writes for them; of the one that broke off there is nothing."""

    class Breaks(str):
        """A name at which somebody presses Ctrl-C while it is written."""

        __slots__ = ()

        def __conform__(self, _: object) -> None:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(3) as pool, turn_taken(log):
        broken = pool.submit(log.append, Breaks("broken"), append("broken", 1), expected=0)
        waits_until(lambda: waiting_threads() == 1)
        others = [pool.submit(appending(log, name, 1)) for name in ("a", "b")]
        waits_until(lambda: waiting_threads() == 3)
    assert isinstance(broken.exception(), KeyboardInterrupt)
    assert [one.result() for one in others] == [None, None]
    assert sorted(head.run_id for head in log.runs()) == ["a", "b", "run"]


def test_those_who_shared_a_commit_share_the_next(log: SqliteLog, path: Path) -> None:
    """The first to come back would write alone, and all others after that; a moment's patience is quicker for all."""

    class Slow(str):
        """A name that takes its time to be written, so that the patience for the next one lasts."""

        __slots__ = ()

        def __conform__(self, _: object) -> str:
            time.sleep(0.3)
            return str(self)

    slow = partial(log.append, Slow("a"), append("a", 1), expected=0)
    for asked in lined_up(log, [slow, appending(log, "b", 1)]):
        asked.result()
    before = commits(path)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(appending(log, "a", 2))
        waits_until(lambda: threads_in("_taken") == 1)
        pool.submit(appending(log, "b", 2))
    assert commits(path) - before == 1
    assert {head.run_id: head.position for head in log.runs()} == {"run": 1, "a": 2, "b": 2}


def test_nobody_waits_long_for_one_who_does_not_come_back(log: SqliteLog) -> None:
    """A run that has ended keeps no other waiting."""
    for asked in lined_up(log, [appending(log, "a", 1), appending(log, "b", 1)]):
        asked.result()
    for position in range(2, 5):
        log.append("a", append("a", position), expected=position - 1)
    assert log.head("a").position == 4


def test_tasks_of_an_event_loop_share_commits_from_threads(log: SqliteLog, path: Path) -> None:
    """The loop itself is free while they wait."""
    before = commits(path)

    async def scenario() -> None:
        async with anyio.create_task_group() as group:
            for n in range(10):
                group.start_soon(anyio.to_thread.run_sync, appending(log, f"run-{n}", 1))
            while waiting_threads() < 10:
                await anyio.sleep(0.001)
            done.set()

    done = threading.Event()
    with ThreadPoolExecutor(1) as pool, turn_taken(log):
        running = pool.submit(anyio.run, scenario)
        assert done.wait(PATIENCE_S)
    running.result()
    assert commits(path) - before == 1
    assert len(list(log.runs())) == 11


def test_a_mistake_of_the_caller_is_found_before_the_line(log: SqliteLog) -> None:
    """Whoever waits for its turn has something that can be written."""
    with turn_taken(log):
        with pytest.raises(ValueError, match="position"):
            log.append("run", append("run", 7), expected=1)
        with pytest.raises(BadInput):
            log.append("no run", append("no run", 1), expected=0)


# Among processes

WRITES = """
import sys
from redrive_events import *
from tests.records import append
log = SqliteLog(sys.argv[1])
name, count = sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for position in range(1, count + 1):
    log.append(name, append(name, position), expected=position - 1)
"""


@contextmanager
def writers(path: Path, names: list[str], count: int) -> Iterator[list[Popen[str]]]:
    """Processes that have the log open, and each append to a run of theirs when they are told to."""
    command = [sys.executable, "-c", WRITES, str(path)]
    started = [
        Popen([*command, name, str(count)], env=surroundings(), text=True, stdin=PIPE, stdout=PIPE) for name in names
    ]
    try:
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        yield started
        assert [one.wait(PATIENCE_S) for one in started] == [0] * len(started)
    finally:
        for one in started:
            one.kill()
            one.communicate()


def tell(process: Popen[str]) -> None:
    """Let a writer begin."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def stands_in_line(path: Path, count: int) -> bool:
    """Whether so many processes have their place in the line before the log, as the kernel tells it."""
    inode = path.with_name(path.name + "-wal").stat().st_ino
    locks = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    return sum("FLOCK" in line and f":{inode} " in line for line in locks) == count


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells who waits for a lock")
def test_processes_write_in_the_order_in_which_they_came(log: SqliteLog, path: Path) -> None:
    """So nobody waits for more turns than there were others before it, however busy they are."""
    names = [f"process-{n}" for n in range(5)]
    with writers(path, names, 1) as processes, turn_taken(log):
        for number, process in enumerate(processes, start=1):
            tell(process)
            waits_until(partial(stands_in_line, path, number))
    assert [record.run_id for _, record in log.read_all()] == ["run", *names]


def test_busy_processes_take_turns(log: SqliteLog, path: Path) -> None:
    """Nothing is lost, no offset is left out, and whoever reads meanwhile sees whole appends in one order."""
    names = [f"process-{n}" for n in range(4)]
    seen: list[tuple[int, str]] = []
    with writers(path, names, 50) as processes:
        for process in processes:
            tell(process)
        while len(seen) < 201:
            seen += [(offset, record.run_id) for offset, record in log.read_all(after=len(seen))]
            assert [offset for offset, _ in seen] == list(range(1, len(seen) + 1))
    for name in names:
        assert len(list(checked(name, log.lines(name), head=log.head(name)))) == 50


def test_a_log_whose_journal_somebody_changed_is_written_all_the_same(path: Path) -> None:
    """There is no line then, and SQLite's lock alone says whose turn it is."""
    SqliteLog(path).close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    with closing(SqliteLog(path, must_exist=True)) as log:
        for position in range(1, 9):
            log.append("run", append("run", position), expected=position - 1)
        assert len(list(checked("run", log.lines("run"), head=log.head("run")))) == 8
