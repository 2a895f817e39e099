"""`redrive faults`: the table, what was broken and kept of it, and what is asked for before a tool is called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Redrive
from tests.replays.careless import GOAL

AGENT = ["--agent", "refund_desk:agent"]


DESK = ["refund_desk:agent", "--goal", "Refund ord_123", "--call-writes"]
WEAK = ["tests.replays.careless:weak", "--goal", GOAL, "--slice", "contradicting-observations,stale_data"]


def test_a_table_says_what_was_broken_and_where(redrive: Redrive) -> None:
    """Slice by promise, then each breach; exit code 1."""
    said = redrive("faults", *WEAK, "--call-writes")
    lines = said.out.splitlines()
    assert (said.code, lines[0], said.err) == (1, "seed 0, 3 rounds a slice", "")
    cells = {line[:26].rstrip(): line[26:].split() for line in lines[3:6]}
    assert cells["no fault"] == ["held"] * 8 + ["succeeded"]
    assert cells["stale data"][1:9] == ["held"] * 8
    assert cells["contradicting observations"][1:3] == ["BROKEN", "held"]
    assert lines[7].startswith("contradicting-observations-")
    assert "evidence broken at " in lines[7]
    assert lines[8].startswith("  spoilt: pay at ")


def test_a_broken_promise_is_kept_as_a_recording(redrive: Redrive, folder: Path) -> None:
    """With which replay, freeze and shrink go on."""
    said = redrive("faults", *WEAK, "--call-writes", "--keep", "kept", "--json")
    data = json.loads(said.out)
    broken = [one["run_id"] for row in data["slices"] for one in row["runs"] if one["broken"]]
    assert broken
    assert data["kept"] == {run_id: f"kept/{run_id}.jsonl" for run_id in broken}
    file, agent = data["kept"][broken[0]], ["--agent", WEAK[0]]
    assert redrive("replay", file, *agent).code == 0
    assert redrive("freeze", file, *agent, "--name", "receipt", "--yes").code == 0
    small = redrive("shrink", file, *agent, "--while", "status = 'succeeded'", "-o", "small.jsonl")
    assert small.code == 0, small.err
    assert (folder / "small.jsonl").exists()


def test_the_same_seed_gives_the_same_bytes_in_every_process(redrive: Redrive, folder: Path) -> None:
    """Whatever the seed of Python's hashes is, and what time it is."""
    command = [sys.executable, "-m", "redrive", "faults", *WEAK, "--call-writes", "--json"]
    around = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'examples'}"}
    said = [
        subprocess.run(command, env={**around, "PYTHONHASHSEED": seed}, capture_output=True, check=False)
        for seed in ("1", "2")
    ]
    assert [one.returncode for one in said] == [1, 1], said[0].stderr
    assert said[0].stdout == said[1].stdout == redrive("faults", *WEAK, "--call-writes", "--json").out.encode()


def test_a_recorded_run_is_faulted_without_its_tools(redrive: Redrive, refund: str) -> None:
    """As far as its answers go; what was assumed is told."""
    said = redrive("faults", refund, *AGENT, "--slice", "timeout-after-commit,injection", "--rounds", "1")
    assert said.code == 0, said.err
    *_, lost, injected, _, assumed = said.out.splitlines()
    assert lost.split()[3:] == ["1", *["held"] * 8, "succeeded"]
    assert "open" in injected
    assert " of 3 (model asked)" in injected
    assert assumed == "timeout-after-commit-1  assumed: turn 3: the word on call 2 (refund) is that it landed"


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["refund_desk:agent"], 2, "refund_desk:agent: an agent needs a goal: give --goal"),
        (
            ["refund_desk:agent", "--goal", "x"],
            2,
            "agent refund-desk: it would really be called: refund; give --call-writes, or --stand-in for it",
        ),
        (["refund_desk:agent", "--goal", "x", "--beyond", "recorded"], 2, "--beyond is for a recorded run"),
        (["refund_desk:agent", "--goal", "x", *AGENT], 2, "--agent is for a recorded run"),
        (
            ["refund_desk:agent", "--goal", "x", "--stand-in", "refund_desk:agent"],
            2,
            "refund_desk has no tools 'agent'",
        ),
        (["refund_desk:agent", "--goal", "x", "--stand-in", "nowhere:pay"], 2, "no module 'nowhere'"),
        (["refund_desk:agent", "--goal", "x", "--stand-in", "pay"], 2, "'pay': a tool is named MODULE:ATTR"),
        (["nowhere:agent", "--goal", "x"], 2, "no module 'nowhere'"),
        (["refund-1", *AGENT, "--slice", "flood"], 2, "--slice: no slice 'flood'; there are all, stale-data, empty-"),
        (["refund-1", *AGENT, "--goal", "x"], 2, "refund-1: --goal is for an agent"),
        (["refund-1", *AGENT, "--call-writes"], 2, "refund-1: --call-writes is for an agent"),
        (["refund-1", *AGENT, "--model", "loopback"], 2, "refund-1: --model is for an agent"),
        (["refund-1", *AGENT, "--base-url", "http://a"], 2, "refund-1: --base-url is for an agent"),
        ([*DESK, "--stream"], 2, "--stream: needs --model, which it is about"),
        ([*DESK, "--model", "openai:gpt-5"], 2, "there is no price for 'openai:gpt-5'"),
        (["refund-1", *AGENT, "--rounds", "0"], 2, "--rounds"),
        (["refund_desk:agent", "--goal", "x\udcff", "--call-writes"], 2, "--goal: not UTF-8"),
        ([*DESK, "--principal", "x\udcff"], 2, "--principal: not UTF-8"),
        ([*DESK, "--tenant", "x\udcff"], 2, "--tenant: not UTF-8"),
        ([*DESK, "--model", "openai:x\udcff"], 2, "--model: not UTF-8"),
        (["refund-2", *AGENT], 2, "no run has this id"),
        (["refund-1"], 3, "no program for agent 'refund-desk'; give --agent"),
    ],
)
def test_a_bad_request_is_told_in_one_line(
    redrive: Redrive, refund: str, folder: Path, arguments: list[str], code: int, problem: str
) -> None:
    """And nothing is called, driven or kept."""
    said = redrive("faults", *arguments, "--keep", "kept")
    assert (said.code, said.out) == (code, "")
    assert problem in said.err
    assert len(said.err.splitlines()) == 1
    assert not (folder / "kept").exists()


@pytest.mark.parametrize(("keep", "problem"), [("taken", "a folder is wanted"), ("taken/below", "not a directory")])
def test_what_cannot_be_kept_is_told_in_one_line(redrive: Redrive, folder: Path, keep: str, problem: str) -> None:
    """Where a file stands no folder is made."""
    (folder / "taken").write_text("", encoding="utf-8")
    said = redrive("faults", *WEAK, "--call-writes", "--keep", keep)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"redrive: --keep {keep}: {problem}")
    assert len(said.err.splitlines()) == 1


def test_what_was_found_is_told_where_it_cannot_be_kept(redrive: Redrive, folder: Path) -> None:
    """The runs are over, and their models paid."""
    (folder / "kept" / "contradicting-observations-3.jsonl").mkdir(parents=True)
    said = redrive("faults", *WEAK, "--call-writes", "--keep", "kept")
    assert (said.code, said.out.splitlines()[0]) == (2, "seed 0, 3 rounds a slice")
    assert "BROKEN" in said.out
    assert said.err == "redrive: kept/contradicting-observations-3.jsonl: is a directory\n"


def test_a_place_that_may_not_be_written_to_is_refused_before_anything_is_called(
    redrive: Redrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the folder would have to be made."""
    monkeypatch.setattr("os.access", lambda *_: False)
    said = redrive("faults", *WEAK, "--call-writes", "--keep", "new/kept")
    assert said == (2, "", "redrive: --keep new/kept: permission denied\n")


def test_a_stand_in_is_called_in_place_of_a_tool(redrive: Redrive, folder: Path) -> None:
    """Then nothing of the agent's own may act, and no flag is needed; what it prints is no part of the table."""
    (folder / "doubles.py").write_text(
        "import redrive as rd\n\n"
        "@rd.tool(effect='write')\ndef refund(order_id: str, iban: str, cents: int) -> dict[str, object]:\n"
        "    'Pay nobody.'\n    print('nobody was paid')\n"
        "    return {'payment': 'none', 'iban': iban, 'cents': cents}\n",
        encoding="utf-8",
    )
    asked = ["--goal", "Refund ord_123", "--slice", "rate-limit", "--rounds", "1", "--json"]
    said = redrive("faults", "refund_desk:agent", *asked, "--stand-in", "doubles:refund")
    assert (said.code, json.loads(said.out)["slices"][0]["runs"][0]["ended"]) == (0, "succeeded")
    assert "nobody was paid" in said.err


def test_another_model_is_asked_than_the_agents_own(redrive: Redrive) -> None:
    """As `redrive run` does it: the scripted one over HTTP does as well, and where nobody listens, no run succeeds."""
    asked = ["faults", *DESK, "--slice", "rate-limit,broken-reply", "--rounds", "1", "--json"]
    own, over_http = redrive(*asked), redrive(*asked, "--model", "loopback", "--stream")
    assert (own.code, over_http.code) == (0, 0), over_http.err
    ended = [
        [run["ended"] for row in json.loads(said.out)["slices"] for run in row["runs"]] for said in (own, over_http)
    ]
    assert ended == [["succeeded", "succeeded", "failed"]] * 2
    nobody = ["--model", "openai-chat:any", "--base-url", "http://127.0.0.1:9", "--prices", "free.toml"]
    Path("free.toml").write_text('[models."*"]\ninput = 0\noutput = 0\n', encoding="utf-8")
    said = redrive(*asked, *nobody)
    (sound,) = json.loads(said.out)["slices"][0]["runs"]
    assert sound["ended"] == "failed"
