"""No command that drives a run again writes anything but its output, or speaks to anybody: an audit hook listens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Redrive
from tests.ear import EAR

AGENT = ("--agent", "refund_desk:agent")
# Commands on the recorded run of the desk, with what they write in the current folder.
COMMANDS: dict[str, tuple[str, ...]] = {
    "replay": ("replay", "refund-1", *AGENT),
    "replay --all --keep": ("replay", "--all", "--keep", *AGENT),
    "diff": ("diff", "refund-1", "refund-1"),
    "whatif": ("whatif", "refund-1", "--drop-tool", "refund", "--beyond", "recorded", *AGENT),
    "backtest": ("backtest", "--policy", "none.toml", "--keep", *AGENT),
    "shrink": ("shrink", "refund-1", "--while", "tool_calls > 0", "--emit-test", "test_it.py", *AGENT),
    "bisect": ("bisect", "refund-1", "refund-1", "--bad-if", "true", *AGENT),
    "freeze": ("freeze", "refund-1", "--name", "it", "--mask", "helmet", "--yes", *AGENT),
    "faults": ("faults", "refund-1", "--rounds", "1", *AGENT),
    "fork": ("fork", "refund-1", "--at", "11", *AGENT),
    "policy explain": ("policy", "explain", "refund-1", "2", "--policy", "none.toml"),
    "show": ("show", "refund-1"),
}
NONE = '[[rule]]\nname = "none"\nwhen = {}\nthen = "deny"\n'
COLD = """
import sys
from pathlib import Path
from tests.ear import EAR
from redrive.command import main
with EAR.silence(inside=Path.cwd()):
    code = main(sys.argv[1:])
sys.exit(10 + code)
"""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("refund")
def test_a_command_writes_nothing_outside_its_folder(redrive: Redrive, folder: Path, command: str) -> None:
    """Its output, the log, and what is kept beside it."""
    (folder / "none.toml").write_text(NONE, encoding="utf-8")
    redrive(*COMMANDS[command])  # what is loaded when it is first needed
    shutil.rmtree(folder / "tests", ignore_errors=True)  # where a frozen run is kept once
    with EAR.silence(inside=folder):
        said = redrive(*COMMANDS[command])
    assert said.code < 2 or "the two runs have the same inputs" in said.err, said.err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("refund")
def test_nor_does_it_where_nothing_is_loaded_yet(folder: Path, command: str) -> None:
    """In a process of its own, which loads all that the command needs while it is listened to."""
    (folder / "none.toml").write_text(NONE, encoding="utf-8")
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "PYTHONDONTWRITEBYTECODE": "1"}
    around["TMPDIR"] = str(folder)  # where DuckDB puts what it has no room for
    ran = [sys.executable, "-c", COLD, *COMMANDS[command]]
    done = subprocess.run(ran, cwd=folder, env=around, capture_output=True, check=False, text=True)
    same = "the two runs have the same inputs" in done.stderr
    assert done.returncode in ({12} if same else {10, 11}), done.stderr


@pytest.mark.parametrize(
    "does",
    [
        lambda folder: (folder / "a.txt").write_text("x", encoding="utf-8"),
        lambda folder: (folder / "a.txt").touch(),
        lambda folder: (folder / "a").mkdir(),
        lambda _: os.system("true"),
    ],
    ids=["writes", "touches", "makes a folder", "begins a process"],
)
def test_the_ear_hears(does: Callable[[Path], object], tmp_path: Path) -> None:
    """Else the silence proves nothing."""
    with pytest.raises(AssertionError), EAR.silence(inside=tmp_path / "elsewhere"):
        does(tmp_path)
