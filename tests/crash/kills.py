"""Processes that are killed while they write: one forks them, kills them, and looks at what they leave behind."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import apsw

from redrive_events import DURABILITIES, Durability, SqliteLog
from tests.crash.caller import Caller, Clock, PromiseBroken
from tests.crash.count import Count
from tests.crash.journal import kept, spelled
from tests.crash.oracle import examine, verified
from tests.crash.over_apsw import over
from tests.crash.power import FOLDER, LOG

ROUNDS = 6
CREW = ("ada", "bo", "cy", "di")
THREADS = 3
ACTS_MAX = 60
KILL_S, STEPS_MAX = 0.1, 300


def story(seed: str) -> Count:
    """Some rounds on one log, each with several processes at once; what one leaves in doubt, its next life tries again.

    Raises:
        PromiseBroken: after a round the log did not keep its promise.
    """
    chance, count = Random(seed), Count()
    with tempfile.TemporaryDirectory(prefix="killed-", dir=FOLDER) as name:
        folder = Path(name)
        for number in range(ROUNDS):
            crew = chance.sample(CREW, chance.randint(1, len(CREW)))
            count.kills += _round(folder, f"{seed}:{number}", crew, chance)
            copy = folder / str(number)
            copy.mkdir()
            for file in folder.glob(f"{LOG}*"):
                shutil.copy(file, copy)
            examine(copy / LOG, [kept(file) for file in sorted(folder.glob("*.journal"))], Clock(), leases=False)
            verified(copy / LOG)
    return count


def _round(folder: Path, seed: str, crew: list[str], chance: Random) -> int:
    """Let the crew work, and kill each of them somewhere; how many died of it."""
    at_a_moment = []
    processes = []
    for name in crew:
        at_step = chance.randint(1, STEPS_MAX) if chance.random() < 0.5 else 0
        threads = THREADS if chance.random() < 0.3 else 1
        durability = chance.choice(DURABILITIES)
        processes.append(_forked(Worker(folder, name, f"{seed}:{name}", at_step, threads, durability).work))
        if not at_step:
            at_a_moment.append((chance.random() * KILL_S, processes[-1]))
    began = time.monotonic()
    for moment, process in sorted(at_a_moment):
        time.sleep(max(0.0, began + moment - time.monotonic()))
        os.kill(process, signal.SIGKILL)
    ends = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
    if any(end > 0 for end in ends):
        raise PromiseBroken((folder / "trouble").read_text(encoding="utf-8"))
    return ends.count(-signal.SIGKILL)


def _forked(work: Callable[[], None]) -> int:
    """Another process, which is this one up to here and does nothing but ``work``."""
    process = os.fork()
    if process:
        return process
    try:
        work()
    except BaseException:  # noqa: BLE001 - it ends here, whatever it is
        Path("trouble").write_text(traceback.format_exc(), encoding="utf-8")
        os._exit(1)
    os._exit(0)


@dataclass(frozen=True)
class Worker:
    """A process that works until it is killed: from outside, or by itself when SQLite takes a step on the disk."""

    folder: Path
    name: str
    seed: str
    at_step: int
    threads: int
    durability: Durability

    def work(self) -> None:
        """Take up what the process of this name left, and go on."""
        os.chdir(self.folder)
        if not self.at_step:
            self._together()
            return
        mortal = MortalVfs("mortal", self.at_step)  # there as long as somebody holds it
        with over("mortal"):
            self._together()
        mortal.unregister()

    def _together(self) -> None:
        if self.threads == 1:
            self._alone(self.name, None)
            return
        log = self._opened(self.folder / LOG)
        crew = [
            threading.Thread(target=self._alone, args=(f"{self.name}{number}", log)) for number in range(self.threads)
        ]
        for one in crew:
            one.start()
        for one in crew:
            one.join()

    def _alone(self, name: str, log: SqliteLog | None) -> None:
        journal = self.folder / f"{name}.journal"
        before = kept(journal)
        file = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.ftruncate(file, sum(len(spelled(entry)) for entry in before))
        caller = Caller(
            name,
            Random(f"{self.seed}:{name}"),
            self.folder / LOG,
            lambda entry: _write(file, spelled(entry)),
            shared="all",
            store=self._opened,
            common=log,
        )
        with caller.clock.set():
            caller.goes_on(before)
            caller.work(ACTS_MAX)

    def _opened(self, path: Path) -> SqliteLog:
        """Whatever it promises of a loss of power: what is acknowledged outlives the process."""
        return SqliteLog(path, durability=self.durability)


def _write(file: int, line: bytes) -> None:
    assert os.write(file, line) == len(line)


class MortalVfs(apsw.VFS):
    """SQLite's door to the disk, which ends the process at a step, with half of it done where it is a write."""

    def __init__(self, name: str, steps: int) -> None:
        super().__init__(name, "unix")
        self.steps = steps

    def step(self) -> bool:
        """Count a step; whether it is the last."""
        self.steps -= 1
        return self.steps == 0

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> MortalFile:  # noqa: N802
        """Open or make a file."""
        return MortalFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        """Take a file's name away."""
        last = self.step()
        super().xDelete(filename, syncdir)
        _die(last)


class MortalFile(apsw.VFSFile):
    """A file of a `MortalVfs`."""

    def __init__(self, vfs: MortalVfs, opened: Any, flags: list[int]) -> None:
        super().__init__("unix", opened, flags)
        self._step = vfs.step

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        """Write, or a half and no more."""
        last = self._step()
        super().xWrite(bytes(data)[: len(data) // 2] if last else data, offset)
        _die(last)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        """Let the file end there."""
        last = self._step()
        super().xTruncate(newsize)
        _die(last)

    def xSync(self, flags: int) -> None:  # noqa: N802
        """Nothing: what a process has written outlives it."""
        _die(self._step())

    def xLock(self, level: int) -> None:  # noqa: N802
        """Take a lock, which the dead no longer hold."""
        super().xLock(level)
        _die(self._step())


def _die(last: bool) -> None:
    if last:
        os.kill(os.getpid(), signal.SIGKILL)
