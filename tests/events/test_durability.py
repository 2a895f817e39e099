"""What an acknowledged append survives, and disks that are full or may not be written."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from redrive_events import DURABILITIES, Durability, LogUnusable, SqliteLog, checked
from tests.processes import surroundings
from tests.records import append

PATIENCE_S = 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the log is."""
    return tmp_path / "log.db"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """The connections that logs open from now on."""
    connections: list[sqlite3.Connection] = []

    def connect(*place: Any, **settings: Any) -> sqlite3.Connection:
        connections.append(sqlite3.connect(*place, **settings))
        return connections[-1]

    monkeypatch.setattr("redrive_events.stores.connections.connect", connect)
    return connections


class Synced:
    """Stands in for `os.fsync`: keeps which files were brought to the disk, or fails."""

    def __init__(self) -> None:
        self.inodes: list[int] = []
        self.happened = threading.Event()
        self.trouble: OSError | None = None

    def __call__(self, file: int) -> None:
        """Bring a file to the disk."""
        self.inodes.append(os.fstat(file).st_ino)
        self.happened.set()
        if self.trouble is not None:
            raise self.trouble


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Synced:
    """What this process, and not SQLite, brings to the disk."""
    synced = Synced()
    monkeypatch.setattr("redrive_events.stores.durability.os.fsync", synced)
    return synced


@pytest.mark.parametrize(("durability", "level"), [("always", 2), ("batched", 1), ("os", 1)])
def test_only_always_lets_sqlite_wait_for_the_disk_at_each_commit(
    path: Path, opened: list[sqlite3.Connection], durability: Durability, level: int
) -> None:
    """No mode goes below the level at which a loss of power could damage the file."""
    with closing(SqliteLog(path, durability=durability)) as log:
        log.append("run", append("run", 1), expected=0)
        levels = [db.execute("PRAGMA synchronous").fetchone()[0] for db in opened]
    assert level in levels
    assert 0 not in levels


def test_always_is_what_a_log_does_unless_it_is_told_otherwise(path: Path, opened: list[sqlite3.Connection]) -> None:
    """Whoever wants less says so."""
    with closing(SqliteLog(path)) as log:
        log.append("run", append("run", 1), expected=0)
        assert opened[-1].execute("PRAGMA synchronous").fetchone() == (2,)


def test_batched_brings_the_wal_to_the_disk_without_being_asked(path: Path, synced: Synced) -> None:
    """Also what was appended last, after which nothing else happens."""
    with closing(SqliteLog(path, durability="batched")) as log:
        for position in (1, 2):
            synced.happened.clear()
            log.append("run", append("run", position), expected=position - 1)
            assert synced.happened.wait(PATIENCE_S)
        assert path.with_name(path.name + "-wal").stat().st_ino in synced.inodes


def test_closing_a_batched_log_waits_for_the_disk(path: Path, synced: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has closed it need not wait any more."""
    monkeypatch.setattr("redrive_events.stores.durability.BATCH_S", 3600)
    log = SqliteLog(path, durability="batched")
    log.append("run", append("run", 1), expected=0)
    wal = path.with_name(path.name + "-wal").stat().st_ino
    assert wal not in synced.inodes
    log.close()
    assert wal in synced.inodes


def test_a_batched_log_whose_disk_failed_takes_nothing_more(path: Path, synced: Synced) -> None:
    """What was acknowledged may be lost, so nobody may build upon it as if it were there."""
    with closing(SqliteLog(path, durability="batched")) as log:
        synced.trouble = OSError("no")
        log.append("run", append("run", 1), expected=0)
        log_refuses = pytest.raises(LogUnusable, match="the disk failed to keep what was written before")
        assert synced.happened.wait(PATIENCE_S)
        with log_refuses:
            for position in range(2, 100_000):
                log.append("run", append("run", position), expected=position - 1)


@pytest.mark.parametrize("durability", ["always", "os"])
def test_other_logs_leave_the_disk_to_sqlite(path: Path, synced: Synced, durability: Durability) -> None:
    """No thread runs beside them."""
    before = threading.active_count()
    with closing(SqliteLog(path, durability=durability)) as log:
        synced.inodes.clear()  # the folder, in which the file is new
        log.append("run", append("run", 1), expected=0)
        assert threading.active_count() == before
    assert synced.inodes == []


@pytest.mark.parametrize("durability", DURABILITIES)
def test_in_every_mode_an_acknowledged_append_survives_the_process(path: Path, durability: Durability) -> None:
    """The machine goes on, so what was handed to it is not lost."""
    code = """
import os, sys
from redrive_events import *
from tests.records import append
log = SqliteLog(sys.argv[1], durability=sys.argv[2])
for position in range(1, 8):
    log.append("run", append("run", position), expected=position - 1)
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code, str(path), durability], env=surroundings(), check=True, timeout=60)
    with closing(SqliteLog(path, must_exist=True)) as log:
        assert log.head("run").position == 7


# Disks


@contextmanager
def filled(connections: list[sqlite3.Connection]) -> Iterator[None]:
    """No page is left for the file to grow."""
    for db in connections:
        db.execute("PRAGMA max_page_count = 1")
    yield
    for db in connections:
        db.execute("PRAGMA max_page_count = 1000000")


def test_a_full_disk_is_told_and_the_log_goes_on_when_there_is_room(
    path: Path, opened: list[sqlite3.Connection]
) -> None:
    """Nothing of what was refused stays, and nothing of what was there is lost."""
    with closing(SqliteLog(path)) as log:
        log.append("run", append("run", 1), expected=0)
        with filled(opened), pytest.raises(LogUnusable) as caught:
            log.append("run", append("run", 2, 3_000), expected=1)
        assert str(caught.value) == f"log {path}: the disk is full"
        assert log.head("run").position == 1
        log.append("run", append("run", 2), expected=1)
        assert len(list(checked("run", log.lines("run"), head=log.head("run")))) == 2


def small_disk(code: str, folder: Path) -> str:
    """What a process says that has a disk of two megabytes to itself, mounted on ``folder``."""
    prelude = (
        "import os, sys\nfrom pathlib import Path\nfrom redrive_events import *\nfrom tests.records import append\n"
    )
    script = 'mount -t tmpfs -o size=2m none "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", str(folder)]
    done = subprocess.run(
        [*command, sys.executable, prelude + code],
        env=surroundings(),
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _mounts() -> bool:
    try:
        command = ["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "none", "/mnt"]
        return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0
    except OSError:
        return False


mounts = pytest.mark.skipif(not _mounts(), reason="this machine lets nobody mount a disk of their own")


@mounts
@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_disk_that_really_fills_up_loses_nothing_that_was_acknowledged(tmp_path: Path, durability: str) -> None:
    """Each append is there or was refused in one line; with room again, the next goes on behind the last."""
    code = f"""
folder = Path(sys.argv[1])
ballast = folder / "ballast"
ballast.write_bytes(bytes(600_000))
log = SqliteLog(folder / "log.db", durability={durability!r})
position, told = 0, None
while told is None:
    try:
        log.append("run", append("run", position + 1, 50), expected=position)
        position += 50
    except LogUnusable as problem:
        told = str(problem)
print(told.replace(str(folder), "DISK"))
print(position > 100, log.head("run").position == position)
ballast.unlink()
log.append("run", append("run", position + 1), expected=position)
log.close()
log = SqliteLog(folder / "log.db", must_exist=True)
print(len(list(checked("run", log.lines("run"), head=log.head("run")))) == position + 1)
"""
    assert small_disk(code, tmp_path).splitlines() == ["log DISK/log.db: the disk is full", "True True", "True"]


@mounts
def test_a_log_is_not_made_on_a_full_disk_and_is_once_there_is_room(tmp_path: Path) -> None:
    """What the attempt left behind is no log, and no obstacle."""
    code = """
folder = Path(sys.argv[1])
try:
    while True:
        with (folder / "ballast").open("ab", buffering=0) as file:
            file.write(bytes(4096))
except OSError:
    pass
try:
    SqliteLog(folder / "log.db")
except LogUnusable as problem:
    print(str(problem).replace(str(folder), "DISK"))
(folder / "ballast").unlink()
log = SqliteLog(folder / "log.db")
log.append("run", append("run", 1), expected=0)
print(log.head("run").position)
"""
    assert small_disk(code, tmp_path).splitlines() == ["log DISK/log.db: the disk is full", "1"]


@mounts
def test_a_log_on_a_disk_that_may_not_be_written_is_read(tmp_path: Path) -> None:
    """An archive can be looked at where it lies."""
    code = """
folder = Path(sys.argv[1])
log = SqliteLog(folder / "log.db")
log.append("run", append("run", 1), expected=0)
log.close()
os.system(f"mount -o remount,ro '{folder}'")
log = SqliteLog(folder / "log.db")
print(len(list(log.read("run"))))
for work in (lambda: log.append("run", append("run", 2), expected=1), lambda: SqliteLog(folder / "new.db")):
    try:
        work()
    except LogUnusable as problem:
        print(str(problem).replace(str(folder), "DISK"))
"""
    assert small_disk(code, tmp_path).splitlines() == [
        "1",
        "log DISK/log.db: it may not be written",
        "log DISK/new.db: read-only file system",
    ]
