"""`whatif`: how far a changed run would surely have come, and what that does to the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import DESK, Redrive

EVERY = "every request to the model would be another one"
AGENT = ["--agent", "refund_desk:agent"]


def test_nothing_changed_is_the_same(redrive: Redrive, refund: str) -> None:
    """Exit code 0, and the recorded effects stand."""
    said = redrive("whatif", refund, *AGENT)
    assert (said.code, said.out.splitlines()[0]) == (0, "refund-1  same")


def test_a_stricter_policy_is_explained(redrive: Redrive, refund: str, snapshot: SnapshotAssertion) -> None:
    """The first flip, the effect that is prevented, what the model would have read, and how to go on."""
    assert redrive("whatif", refund, *AGENT, "--policy", DESK / "stricter.toml") == snapshot


def test_beyond_the_edge_each_assumption_is_numbered(
    redrive: Redrive, refund: str, snapshot: SnapshotAssertion
) -> None:
    """With the reply that the model gave to something else."""
    assert redrive("whatif", refund, *AGENT, "--policy", DESK / "stricter.toml", "--beyond", "recorded") == snapshot


def test_an_import_is_driven_without_its_program(redrive: Redrive, incident: str) -> None:
    """By what grants everything, under the new rules."""
    said = redrive("whatif", incident, "--policy", "stricter.toml", "--json")
    data = json.loads(said.out)
    assert (said.code, data["sureness"]) == (1, "exact to turn")
    assert data["edge"]["request"]["event"] == "model_asked"


def test_what_is_given_is_read_from_files(redrive: Redrive, refund: str, folder: Path) -> None:
    """A tool that fails is given as such."""
    (folder / "gone.txt").write_text("这个订单不存在。", encoding="utf-8")
    said = redrive("whatif", refund, *AGENT, "--set-observation", "1=error:gone.txt")
    assert said.code == 1
    assert "{+这个订单不存在。+}" in said.out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ["--prompt", "p.txt"],
            f"{EVERY}: it needs --beyond recorded or --live model",
        ),
        (["--set-reply", "x"], "--set-reply: is written NUMBER=FILE, not 'x'"),
        (["--set-reply", "1=nowhere.txt"], "nowhere.txt: no such file or directory"),
        (["--set-observation", "1=p.txt", "--set-observation", "1=p.txt"], "--set-observation: 1 comes twice"),
        (["--set-reply", "1=latin.txt"], "latin.txt: no UTF-8 at byte 1"),
        (["--drop-tool", "ghost", "--beyond", "recorded"], "no tool 'ghost' to drop; there are find_order, refund"),
    ],
)
def test_what_cannot_be_changed(
    redrive: Redrive, refund: str, folder: Path, arguments: list[str], problem: str
) -> None:
    """One line, and exit code 2."""
    (folder / "p.txt").write_text("Be brief.", encoding="utf-8")
    (folder / "latin.txt").write_bytes(b"a\xe9")
    assert redrive("whatif", refund, *AGENT, *arguments) == (2, "", f"redrive: {problem}\n")


def test_a_run_without_a_program_cannot_be_driven(redrive: Redrive, refund: str) -> None:
    """Never from a name in the log."""
    said = redrive("whatif", refund)
    assert said == (3, "", "redrive: no program for agent 'refund-desk'; give --agent\n")
