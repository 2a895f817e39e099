"""`replay --guarded`: what other processes find, and which part of the program it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import redrive as rd
from tests.cli.conftest import ROOT, Redrive
from tests.scenarios import Scenario, examples

DESK = ["--agent", "refund_desk:agent"]
GUARDED = """
import functools
import random
import time
from datetime import date, datetime

import redrive as rd
from pydantic import BaseModel, Field
from tests.replays.reaching import INNOCENT


class Stamped(BaseModel):
    at: float = Field(default_factory=time.time)
    read: datetime = Field(default_factory=datetime.now)
    day: date = Field(default_factory=date.today)
    hour: str = Field(default_factory=functools.partial(time.strftime, "%H"))
    lot: float = Field(default_factory=random.random)


@rd.tool(effect="read", timeout=None)
def look(key: str) -> str:
    "Look."
    return "b a c d e"


@rd.verifier(look, commits=["key"])
def clocked(call, seen: str, facts):
    time.time()
    return {"key": seen}


@rd.verifier(look, commits=["key"])
def hashed(call, seen: str, facts):
    return {"key": min(seen.split(), key=hash)}


@rd.verifier(look, commits=["key"])
def handed(call, seen: str, facts):
    Stamped()
    return {"key": seen}


@rd.verifier(look, commits=["key"])
def innocent(call, seen: str, facts):
    for does in INNOCENT.values():
        does()
    return {"key": seen}


@rd.policy
def ordered(question):
    return rd.allow(" ".join({"any", "order", "is", "right"}))


def desk(verifier, **parts):
    script = [rd.reply("I look.", rd.use("look", key="a")), "Done."]
    contract = rd.Contract(tools={"look": {}})
    return rd.Agent("desk", "1", contract, tools=[look], verifiers=[verifier], model=rd.ScriptedModel(script), **parts)


clock, hashes, factories, pure = desk(clocked), desk(hashed), desk(handed), desk(innocent)
judged = desk(innocent, policy=ordered)
mixed = desk(innocent, prompt=" ".join({"be", "brief", "and", "kind", "to", "all"}))
"""


@pytest.fixture
def desks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents with verifiers that ask something, in a module here."""
    (folder / "guarded_desk.py").write_text(GUARDED, encoding="utf-8")
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.syspath_prepend(str(folder))


def reaches(redrive: Redrive, agent: str) -> set[tuple[str, str, str, str, int]]:
    """What is found in a run of this agent: part, tool, kind, function and place."""
    assert redrive("run", f"guarded_desk:{agent}", "--goal", "g", "--run-id", agent).code == 0
    said = redrive("replay", agent, "--agent", f"guarded_desk:{agent}", "--guarded", "--json")
    (report,) = json.loads(said.out)["reports"]
    assert said.code == bool(report["reaches"] or report["divergences"])
    fields = ("part", "tool", "outside", "function", "position")
    return {tuple(one[field] for field in fields) for one in report["reaches"]}


@pytest.mark.usefixtures("desks")
@pytest.mark.parametrize(
    ("agent", "part", "position"),
    [("hashes", "verifier hashed", 8), ("judged", "policy", 4)],
)
def test_what_hangs_on_hashes_is_told_by_its_part(redrive: Redrive, agent: str, part: str, position: int) -> None:
    """And by the call that it was asked about, at the input behind which it was asked."""
    assert reaches(redrive, agent) == {(part, "look", "chance", "the order of hashes", position)}


@pytest.mark.usefixtures("desks")
def test_what_no_part_answered_otherwise_is_the_programs(redrive: Redrive) -> None:
    """Here the prompt is put together from a set while the program is loaded; it surfaces in the first request."""
    assert reaches(redrive, "mixed") == {("program", "", "chance", "the order of hashes", 3)}


@pytest.mark.usefixtures("desks")
def test_a_function_that_was_handed_on_while_the_program_was_loaded_is_found(redrive: Redrive) -> None:
    """It is called from C, by pydantic, so only a process in which it had a door from the beginning sees it."""
    found = {(part, outside, function) for part, _, outside, function, _ in reaches(redrive, "factories")}
    clock = ("time.time", "datetime.datetime.now", "datetime.date.today", "time.strftime")
    part = "verifier handed"
    zone = (part, "environment", "datetime.date.fromtimestamp")  # by which `today` finds out which day it is
    assert found == {*((part, "clock", one) for one in clock), (part, "chance", "random.Random.random"), zone}


@pytest.mark.usefixtures("desks")
def test_what_is_innocent_is_so_where_nothing_is_loaded_yet(redrive: Redrive) -> None:
    """Other processes load modules, compile patterns and build validators for the first time."""
    assert reaches(redrive, "pure") == set()


@pytest.mark.usefixtures("desks")
def test_findings_are_told_of_each_run(redrive: Redrive) -> None:
    """In text as in JSON."""
    for run in ("first", "second"):
        redrive("run", "guarded_desk:clock", "--goal", "g", "--run-id", run)
    said = redrive("replay", "first", "second", "--agent", "guarded_desk:clock", "--guarded")
    assert said.code == 1
    assert [" ".join(line.split()) for line in said.out.splitlines()] == [
        "first same · 15 events",
        "at part asked about asks for by",
        "8 verifier clocked look clock time.time",
        "second same · 15 events",
        "at part asked about asks for by",
        "8 verifier clocked look clock time.time",
        "",
        "2 runs: 2 same",
    ]


def test_a_fork_is_driven_with_its_lineage(redrive: Redrive, refund: str) -> None:
    """By itself, with all others, from a file, and if it is a fork of a fork."""
    redrive("fork", refund, "--at", "11", "--run-id", "f", *DESK)
    assert redrive("run", "refund_desk:agent", "--run-id", "f").code == 0
    redrive("fork", "f", "--at", "14", "--run-id", "g", *DESK)
    assert redrive("run", "refund_desk:agent", "--run-id", "g").code == 0
    assert redrive("replay", "g", *DESK, "--guarded").out.startswith("g  same · ")
    said = redrive("replay", "--all", *DESK, "--guarded")
    assert (said.code, said.out.splitlines()[-1]) == (0, "3 runs: 3 same")
    redrive("export", "g", "--output", "g.jsonl")
    assert redrive("replay", "g.jsonl", *DESK, "--guarded").code == 0


@pytest.mark.parametrize("scenario", examples(), ids=lambda one: one.module)
def test_no_example_reaches_outside_in_any_process(redrive: Redrive, folder: Path, scenario: Scenario) -> None:
    """Nor hangs on the order of hashes."""
    log = rd.SqliteLog(folder / "redrive.db")
    scenario.agent.run(scenario.goal, principal="ana", log=log, run_id="run")
    log.close()
    said = redrive("replay", "run", "--agent", f"{scenario.module}:agent", "--guarded")
    assert (said.code, len(said.out.splitlines())) == (0, 1), said
