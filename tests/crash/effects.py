"""An agent that pays, and whose power fails at every step of the log: it goes on, and has paid once."""
# ruff: noqa: ARG001 - a fake need not look at all that it is given

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

import anyio

from redrive_engine.tools import Call
from redrive_events import SqliteLog
from tests.crash.caller import Clock, PromiseBroken
from tests.crash.count import Count
from tests.crash.disk import Disk, FailingVfs, File, Image
from tests.crash.oracle import read, verified
from tests.crash.over_apsw import over
from tests.crash.power import FOLDER, LOG
from tests.desk import Desk

POINTS = 40
LEASE_OVER_S = 3600.0


@dataclass(frozen=True)
class Moment:
    """The power fails here; the bank, which is elsewhere, has got this much by then."""

    image: Image
    paid: dict[str, int]


def story(seed: str) -> Count:
    """One run to its end, then from each of some moments on to its end again.

    Raises:
        PromiseBroken: something was paid twice or never, or the log is not sound.
    """
    chance = Random(seed)
    with tempfile.TemporaryDirectory(prefix="effects-", dir=FOLDER) as name, Clock().set():
        folder = Path(name)
        moments = _first_life(folder, chance)
        chosen = chance.sample(moments, min(POINTS, len(moments)))
        for number, moment in enumerate(chosen):
            with Clock(LEASE_OVER_S).set():
                _second_life(folder / str(number), moment)
    return Count(effects=len(chosen))


def _first_life(folder: Path, chance: Random) -> list[Moment]:
    desk, moments = Desk(), list[Moment]()

    def watch() -> None:
        moments.append(Moment(disk.image(chance), dict(desk.paid)))

    async def waits(tool: str, call: Call) -> None:
        """So that the answers come in some order, and the power may fail around the payment itself."""
        watch()
        await anyio.sleep(chance.random() / 1000)
        watch()

    desk.before = desk.after = waits
    (folder / LOG).touch()
    disk = Disk(watch=watch, files={LOG: File()})
    kept = FailingVfs("effects", disk)
    with over("effects"), closing(SqliteLog(folder / LOG)) as log:
        if desk.run(log).status != "succeeded":
            raise PromiseBroken("the run did not succeed, and nothing had happened to it")
        disk.dead = True
    kept.unregister()
    return moments


def _second_life(folder: Path, moment: Moment) -> None:
    folder.mkdir()
    for name, content in moment.image.items():
        (folder / name).write_bytes(content)
    desk = Desk()
    desk.paid = dict(moment.paid)
    with closing(SqliteLog(folder / LOG)) as log:
        run = desk.run(log)
        read(log)
    verified(folder / LOG)
    if (run.status, list(desk.paid.values())) != ("succeeded", [5]):
        raise PromiseBroken(f"the run is {run.status}, and what was paid is {desk.paid}")
