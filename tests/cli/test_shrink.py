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
from tests.cli.conftest import ROOT, STORY, Redrive

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


def test_another_failure_is_not_the_one_that_is_kept(redrive: Redrive, folder: Path) -> None:
    """What is left of a run may fail the test by an index that is none."""
    ran("long", LOOK, TOO_MUCH, PAY)
    (folder / "test_it.py").write_text(
        "import os\n\ndef test_it():\n    lines = open(os.environ['REDRIVE_RECORDING']).readlines()\n"
        "    assert '9900' not in lines[8] + ''.join(lines[9:])\n",
        encoding="utf-8",
    )
    said = redrive("shrink", "long", "--while", "test_it.py::test_it", *AGENT, "-o", "small.jsonl", "--json")
    assert said.code == 0, said.err
    kept = (folder / "small.jsonl").read_text(encoding="utf-8").splitlines()
    assert any("9900" in line for line in kept[8:])


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("def test_it(nothing): ...", "the test could not be run: failed on setup with"),
        ("import nothing\ndef test_it(): ...", "the test could not be run: "),
        ("def test_it():\n    import pytest\n    pytest.skip('not today')", "the test could not be run: 1 skipped"),
        ("def test_it(): ...", "it does not show that, driven again"),
        (
            "from pathlib import Path\ndef test_it():\n    once = Path('once').exists()\n    Path('once').touch()\n"
            "    assert once",
            "the same run shows it at one time and not at another",
        ),
    ],
    ids=["errs", "cannot be loaded", "is skipped", "passes", "fails once"],
)
def test_a_test_that_says_nothing_is_refused(redrive: Redrive, refund: str, written: str, problem: str) -> None:
    """In one line, and nothing is written."""
    Path("test_it.py").write_text(written + "\n", encoding="utf-8")
    said = redrive("shrink", refund, "--while", "test_it.py::test_it", *AGENT, "-o", "small.jsonl")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert problem in said.err
    assert not Path("small.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--while", "status = 'cancelled'"], "it does not show that, driven again"),
        (["--while", "nonsense("], "redrive: --while: Parser Error: "),
        (["--while", "goal"], "redrive: --while: Conversion Error: "),
        (["--while", ""], "redrive: --while: Conversion Error: "),
        (["--while", "goal = '\udcff'"], "redrive: --while: not UTF-8"),
        (["--while", "true", "--emit-test", "elsewhere/test_it.py"], "elsewhere/test_it.py: the test stands beside"),
        (
            ["--while", "true", "--emit-test", "it.txt"],
            "it.txt: a test that pytest finds is called test_….py or …_test",
        ),
        (["--while", "test_none.py::test_none"], "test_none.py::test_none: the test could not be run"),
    ],
)
def test_what_cannot_be_shrunk(redrive: Redrive, refund: str, arguments: list[str], problem: str) -> None:
    """One line, exit code 2, and nothing written."""
    said = redrive("shrink", refund, *arguments, *AGENT, "-o", "small.jsonl")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
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


def test_two_imports_that_end_alike(redrive: Redrive, folder: Path) -> None:
    """What is bad has to be said; then the reply that turns it is named."""
    trace = json.loads((STORY / "incident.json").read_text(encoding="utf-8"))
    (folder / "bad.json").write_text(json.dumps(trace), encoding="utf-8")
    calls = [one for one in trace if one.get("tool_calls")]
    calls[1]["tool_calls"][0]["function"]["name"] = "find_order"
    (folder / "good.json").write_text(json.dumps(trace), encoding="utf-8")
    good, bad = (redrive("import", f"{name}.json", "--json") for name in ("good", "bad"))
    (first,), (second,) = (json.loads(one.out)[0]["runs"] for one in (good, bad))
    said = redrive("bisect", first, second)
    assert (said.code, said.out) == (2, "")
    assert "both runs end alike, with the same facts; --bad-if says when one is bad" in said.err
    said = redrive(
        "bisect", first, second, "--bad-if", "'refund' in (select tool from steps where steps.run = runs.run)"
    )
    assert said.code == 0, said.err
    assert ": model replied, found in " in said.out


def test_a_run_against_itself_has_nothing_to_find(redrive: Redrive, refund: str) -> None:
    """One line."""
    said = redrive("bisect", refund, refund, "--bad-if", "true", *AGENT)
    assert (said.code, said.out) == (2, "")
    assert "the two runs have the same inputs, so none of them turns it" in said.err
