"""Rounds of workers that are killed, frozen and thawed while they pay, and what must hold when all of them are gone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from redrive_events import NOTES, AnnotationMade, RunStarted, SqliteLog
from redrive_projections import effects, fold
from redrive_replays import replay_records
from tests.authority.worker import ENDED, HELD, Act, Life, Point, Round, live
from tests.crash.caller import PromiseBroken
from tests.crash.power import FOLDER
from tests.processes import ROOT, surroundings

POINTS: Final[tuple[Point, ...]] = ("requested", "begun", "sent", "answered")
LIVES_MAX, LIFE_S = 6, 60.0
# Whoever is frozen in the midst of a commit holds the file of the log: after this time without a word it is killed.
STUCK_S: Final = 5.0
# How the authority failed, in the words of the tally.
FAULTS: Final = {
    "before": "time-outs before the commit",
    "after": "time-outs behind the commit",
    "slow": "late commits",
    "twice": "requests brought twice",
    "refuses": "refusals",
}


@dataclass
class Tally:
    """What was really done: rounds, lives that were killed or frozen, payments that started and landed."""

    counts: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))


@contextmanager
def authority(folder: Path) -> Iterator[str]:
    """An authority in a process of its own, behind the socket that is given."""
    path = str(folder / "authority")
    command = [sys.executable, "-m", "tests.authority.server", path]
    with subprocess.Popen(command, cwd=ROOT, env=surroundings(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield path
        finally:
            process.kill()


def story(seed: str, rounds: int) -> Tally:
    """Some rounds at one authority.

    Raises:
        PromiseBroken: a payment landed twice, or started twice, or is not what the ledger says.
    """
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="authority-", dir=FOLDER) as name, authority(Path(name)) as path:
        for number in range(rounds):
            folder = Path(name) / str(number)
            folder.mkdir()
            chance = Random(f"{seed}:{number}")
            honours: Any = chance.choice(("key", "epoch"))
            is_async = honours == "key" and chance.random() < 0.5
            one = Round(f"{seed}:{number}", folder, path, honours, is_async, chance.choice((1, 1, 2)))
            try:
                tally.counts.update(_round(one, chance))
            except PromiseBroken as broken:
                raise PromiseBroken(f"round {number}, which honours the {honours}: {broken}") from broken
    return tally


def told(seed: str, rounds: int) -> tuple[Tally, str]:
    """One story, and its trouble, which is empty if it ended well."""
    try:
        return story(seed, rounds), ""
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        return Tally(), f"{type(error).__name__}: {error}"


def _round(one: Round, chance: Random) -> Counter[str]:
    done: Counter[str] = Counter(rounds=1)
    frozen: dict[int, Life] = {}
    for number in range(LIVES_MAX):
        life = _life(chance) if number < LIVES_MAX - 1 else Life()
        process = _forked(one, life)
        status, let_go = _waited(process, frozen)
        done["killed with the log in hand"] += let_go
        if os.WIFSTOPPED(status):
            frozen[process] = life
            done["frozen " + life.point] += 1
        elif os.WIFSIGNALED(status):
            done["killed " + life.point] += 1
        elif _lived(one, status) == ENDED:
            break
    _thawed(one, frozen)
    stands_still = any(life.point == "begun" or one.payments > 1 for life in frozen.values())
    return done + _held(one, keeps_time=not stands_still)


def _lived(one: Round, status: int) -> int:
    """How a worker that was not killed has ended: by the end of the run, or since another has it."""
    if (code := os.WEXITSTATUS(status)) not in {ENDED, HELD}:
        trouble = one.folder / "trouble"
        words = trouble.read_text(encoding="utf-8") if trouble.exists() else "and said nothing"
        raise PromiseBroken(f"a worker ended with {code} ({status}): {words}")
    return code


def _thawed(one: Round, frozen: dict[int, Life]) -> None:
    """Wake all who stand still: they end, and start nothing more.

    But for a payment that was about to start when another one froze them: that is what keys and fences are for.
    """
    before = len(_journal(one))
    for process in frozen:
        os.kill(process, signal.SIGCONT)
    for process in frozen:
        _lived(one, _waited(process, {})[0])
    for line in _journal(one)[before:]:
        if line.what == "starts" and one.payments == 1:
            raise PromiseBroken(f"a worker that was frozen ({frozen[line.process].point}) woke up and started {line}")


def _life(chance: Random) -> Life:
    act: Act = chance.choice(("kill", "stop"))
    return Life(chance.choice(("", *POINTS, *POINTS)), act)


def _forked(one: Round, life: Life) -> int:
    """Another process, which is this one up to here and does nothing but live."""
    process = os.fork()
    if process:
        return process
    try:
        os._exit(live(one, life))
    except BaseException:  # noqa: BLE001 - it ends here, whatever it is
        (one.folder / "trouble").write_text(traceback.format_exc(), encoding="utf-8")
    os._exit(1)


def _waited(process: int, frozen: dict[int, Life]) -> tuple[int, int]:
    """How it has ended, or that it stands still, and how many who were frozen had to be killed for that.

    Raises:
        PromiseBroken: it does neither, and nobody is in its way.
    """
    began, killed = time.monotonic(), 0
    while (waited_s := time.monotonic() - began) < LIFE_S:
        found, status = os.waitpid(process, os.WUNTRACED | os.WNOHANG)
        if found:
            return status, killed
        while frozen and waited_s > STUCK_S:
            stuck, _ = frozen.popitem()
            os.kill(stuck, signal.SIGKILL)
            os.waitpid(stuck, 0)
            killed += 1
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    raise PromiseBroken(f"a worker did not end within {LIFE_S:.0f} s")


@dataclass(frozen=True)
class Line:
    """A line of the journal."""

    what: str
    key: str
    epoch: int
    attempt: int
    process: int
    at: float


def _journal(one: Round) -> list[Line]:
    file = one.folder / "journal"
    lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return [
        Line(what, key, int(epoch), int(attempt), int(process), float(at))
        for what, key, epoch, attempt, process, at in lines
    ]


def _held(one: Round, *, keeps_time: bool) -> Counter[str]:
    """What must hold once nobody runs any more; a payment that was frozen unsent did not land in the time it said."""
    log = SqliteLog(one.folder / "runs.db")
    records = list(log.read("run"))
    remarks = [record.event for record in log.read("run" + NOTES) if isinstance(record.event, AnnotationMade)]
    log.close()
    state = fold(records)
    if state.end is None or not isinstance(records[0].event, RunStarted):
        raise PromiseBroken("the run has not ended")
    lines = _journal(one)
    starts = Counter((line.key, line.attempt) for line in lines if line.what == "starts")
    twice = [start for start, count in starts.items() if count > 1]
    if twice:
        raise PromiseBroken(f"started more than once: {twice}")
    check_overlaps(lines)
    told = _told(one, records[0].event.nonce)
    for effect in effects(records, remarks):
        account = told.get(effect.key, {"landed": 0, "arrived": 0, "duplicates": 0, "refused": 0})
        if account["landed"] > 1:
            raise PromiseBroken(f"landed {account['landed']} times: {effect}")
        known = {"landed": 1, "not_landed": 0}.get(effect.outcome)
        if known is not None and known != account["landed"] and (keeps_time or one.honours == "epoch"):
            raise PromiseBroken(f"it landed {account['landed']} times, and the ledger says {effect}")
    report = replay_records("run", records, one.agent(Life()).program)
    if not report.same:
        raise PromiseBroken(f"replayed it is not the same: {report}")
    done: Counter[str] = Counter({"payments started": sum(starts.values()), "payments": one.payments})
    done["payments landed"] = sum(account["landed"] for account in told.values())
    done["requests arrived"] = sum(account["arrived"] for account in told.values())
    done["duplicates not landed"] = sum(account["duplicates"] for account in told.values())
    done["refused by the fence"] = sum(account["refused"] for account in told.values())
    for account in told.values():
        done.update({FAULTS[fault]: count for fault, count in account["faults"].items() if fault})
    done["left in doubt"] = sum(effect.stage == "in doubt" for effect in effects(records, remarks))
    return done


def check_overlaps(lines: list[Line]) -> None:
    """Of one key, nothing starts in an epoch as long as something of it runs in that epoch.

    Raises:
        PromiseBroken: something does.
    """
    running: set[tuple[str, int]] = set()
    for line in sorted(lines, key=lambda line: line.at):
        attempt = (line.key, line.epoch)
        if line.what == "starts" and attempt in running:
            raise PromiseBroken(f"started while an attempt still ran: {line}")
        (running.add if line.what == "starts" else running.discard)(attempt)


def _told(one: Round, nonce: str) -> dict[str, dict[str, Any]]:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(one.socket)
        line.sendall(json.dumps({"op": "told", "nonce": nonce}).encode() + b"\n")
        found: dict[str, dict[str, Any]] = json.loads(line.makefile().readline())
        return found
