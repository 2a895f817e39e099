"""`shrink` and `bisect`: the smallest run that shows it, and the input that turns a good run into a bad one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import redrive as rd
from redrive_engine.live.surroundings import StillClock, Surroundings
from redrive_engine.models import ScriptedModel, reply, use
from refund_desk import agent, desk
from refund_desk.shop import Bank
from tests.cli.conftest import ROOT, Redrive

AGENT = ["--agent", "refund_desk:agent"]


def ran(run_id: str, *replies: rd.ModelReplied) -> None:
    """A run of the desk with these replies."""
    log = rd.SqliteLog("redrive.db")
    around = Surroundings.fixed(StillClock())
    model = ScriptedModel(replies)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(desk, "bank", Bank())
        agent.run("Refund ord_123", principal="ana", log=log, run_id=run_id, model=model, surroundings=around)
    log.close()


LOOK = reply("", use("find_order", order_id="ord_123"))
PAY = reply("", use("refund", order_id="ord_123", iban="DE89 3704 0044 0532 0130 00", cents=4900))
TOO_MUCH = reply("", use("refund", order_id="ord_123", iban="DE89 3704 0044 0532 0130 00", cents=9900))


def test_a_denied_call_is_all_that_is_left(redrive: Redrive, folder: Path) -> None:
    """Of a run with three turns the one stays in which it was denied."""
    ran("long", LOOK, TOO_MUCH, PAY, reply("Done."))
    said = redrive("shrink", "long", "--while", "denials > 0", *AGENT, "-o", "small.jsonl", "--json")
    assert said.code == 0, said.err
    data = json.loads(said.out)
    assert (data["inputs"] < data["of"], data["recording"]) == (True, "small.jsonl")
    assert redrive("replay", "small.jsonl", *AGENT).code == 0
    denied = redrive("show", "small.jsonl").out
    assert denied.count("deny by") == 1


def test_the_test_that_is_written_passes(redrive: Redrive, folder: Path) -> None:
    """With the recording beside it, and the agent imported by its name."""
    ran("long", LOOK, TOO_MUCH, PAY, reply("Done."))
    arguments = ["--while", "denials > 0", *AGENT, "-o", "small.jsonl", "--emit-test", "test_small.py"]
    assert redrive("shrink", "long", *arguments).code == 0
    around = {"PYTHONPATH": str(ROOT / "examples"), "PATH": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_small.py"]
    done = subprocess.run(command, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_test_that_fails_says_what_is_kept(redrive: Redrive, folder: Path) -> None:
    """It is given each candidate in a file."""
    ran("long", LOOK, TOO_MUCH)
    (folder / "test_it.py").write_text(
        "import os\n\ndef test_it():\n    assert '9900' not in open(os.environ['REDRIVE_RECORDING']).read()\n",
        encoding="utf-8",
    )
    said = redrive("shrink", "long", "--while", "test_it.py::test_it", *AGENT, "-o", "small.jsonl")
    assert said.code == 0, said.err
    assert said.out.startswith("long  2 of ")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--while", "status = 'cancelled'"], "it does not show that, driven again"),
        (["--while", "nonsense("], "query"),
        (["--while", "true", "--emit-test", "elsewhere/test_it.py"], "elsewhere/test_it.py: the test stands beside"),
        (["--while", "test_none.py::test_none"], "test_none.py::test_none: the test could not be run"),
    ],
)
def test_what_cannot_be_shrunk(redrive: Redrive, refund: str, arguments: list[str], problem: str) -> None:
    """One line, exit code 2, and nothing written."""
    said = redrive("shrink", refund, *arguments, *AGENT, "-o", "small.jsonl")
    assert (said.code, said.out) == (2, "")
    assert problem in said.err
    assert not Path("small.jsonl").exists()


def test_the_reply_that_turns_it_is_named(redrive: Redrive, folder: Path) -> None:
    """Two replies differ, and the second is the one that matters."""
    ran("good", reply("First I look.", *LOOK.content), PAY, reply("Done."))
    ran("bad", LOOK, TOO_MUCH, reply("Done."), reply("Done."), reply("Done."))
    said = redrive("bisect", "good", "bad", "--bad-if", "denials > 0", *AGENT)
    assert said.code == 0, said.err
    assert said.out.startswith("turn 2: model replied, found in ")
    data = json.loads(redrive("bisect", "good", "bad", "--bad-if", "denials > 0", *AGENT, "--json").out)
    assert (data["turn"], data["kind"]) == (2, "model_replied")
