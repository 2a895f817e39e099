"""A folder to work in, the command as a function, and logs that are the same every time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

import redrive as rd
from redrive.command import main
from redrive_engine.live.surroundings import StillClock, Surroundings
from refund_desk import agent, desk
from refund_desk.shop import Bank

ROOT = Path(__file__).parents[2]
STORY = ROOT / "cli" / "redrive" / "demo"
DESK = ROOT / "examples" / "refund_desk"


class Said(NamedTuple):
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str


Redrive: TypeAlias = Callable[..., Said]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, with no log named by the surroundings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REDRIVE_LOG", raising=False)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def redrive(folder: Path, capsys: pytest.CaptureFixture[str]) -> Redrive:
    """The command, run in this process."""

    def run(*arguments: str | Path) -> Said:
        code = main([str(argument) for argument in arguments])
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture
def incident(redrive: Redrive, folder: Path) -> str:
    """The demo's incident, imported; the id of its run."""
    for name in ("incident.json", "stricter.toml"):
        shutil.copyfile(STORY / name, folder / name)
    (report,) = json.loads(redrive("import", "incident.json", "--json").out)
    return str(report["runs"][0])


@pytest.fixture
def refund(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A live run of the refund desk, the same every time; its id."""
    monkeypatch.setattr(desk, "bank", Bank())
    log = rd.SqliteLog("redrive.db")
    around = Surroundings.fixed(StillClock())
    run = agent.run("Refund ord_123", principal="ana", tenant="velo", log=log, run_id="refund-1", surroundings=around)
    log.close()
    return run.run_id
