"""What the report of a changed run says of effects: in doubt, of child runs, and of replies that nobody could give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import redrive as rd
from redrive_engine.live.surroundings import StillClock, Surroundings
from tests.cli.conftest import Redrive

AGENT = ["--agent", "refund_desk:agent"]
NO_LOOKING = '[[rule]]\nname = "no looking"\nwhen = { tool = "find_order" }\nthen = "deny"\n'
ALL = '[[rule]]\nname = "all"\nwhen = {}\nthen = "allow"\n'

PLANNED = '''
"""A plan whose child runs write."""

import redrive as rd


@rd.tool(effect="write", object="place", timeout=None)
def put(place: str) -> str:
    """Put something there."""
    return "ok"


@rd.tool(effect="write", object="place", timeout=None)
def send(place: str) -> str:
    """Send something there."""
    raise RuntimeError("lost")


def script(turn, request):
    words, last = str([one.content for one in request.messages]), request.messages[-1]
    if "Do only this step" not in words:
        return '{"steps": ["put a", "put b"]}' if "Draw a plan" in str(last.content) else "All done."
    place = "a" if "Do only this step: put a" in words else "b"
    return rd.reply("", rd.use("put", place=place)) if last.role == "user" else "done"


plan = rd.Plan(steps=5, step_budget=3, revisions=1)
planner = rd.Agent(
    "planner", "1", rd.Contract(tools={"put": {}}, arm="plan", plan=plan), tools=[put], model=rd.ScriptedModel(script)
)
SENT = [rd.reply("", rd.use("send", place="a")), "Perhaps."]
sender = rd.Agent(
    "sender", "1", rd.Contract(tools={"send": {}}, on_doubt="tell"), tools=[send], model=rd.ScriptedModel(SENT)
)
'''


@pytest.fixture
def agents(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The module with the two agents, each of which has run once."""
    (folder / "agents_of_effects.py").write_text(PLANNED, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    module = pytest.importorskip("agents_of_effects")
    at = Surroundings.fixed(StillClock())
    for name in ("planner", "sender"):
        agent: rd.Agent = getattr(module, name)
        agent.run("Fill it", log="redrive.db", run_id=name, surroundings=at)
    return "agents_of_effects"


@pytest.mark.parametrize("given", [pytest.param("1=words", id="as landed"), pytest.param("1=error:words", id="failed")])
def test_a_write_in_doubt_is_explained(
    redrive: Redrive, agents: str, folder: Path, snapshot: SnapshotAssertion, given: str
) -> None:
    """It stands where it is given as landed, and is prevented where it is given as failed."""
    (folder / "words").write_text("It is there.", encoding="utf-8")
    assert redrive("whatif", "sender", "--agent", f"{agents}:sender", "--set-observation", given) == snapshot


def test_what_child_runs_did_is_listed(
    redrive: Redrive, agents: str, folder: Path, snapshot: SnapshotAssertion
) -> None:
    """Each with its run, as `redrive fork` lists it."""
    (folder / "words").write_text("It broke.", encoding="utf-8")
    asked = ("--agent", f"{agents}:planner", "--set-observation", "1=error:words")
    said = redrive("whatif", "planner", *asked)
    assert said == snapshot
    listed = json.loads(redrive("whatif", "planner", *asked, "--json").out)["effects"]
    assert [(one["run_id"], one["position"]) for one in listed["open"]] == [("planner/1", 7), ("planner/2", 7)]


def test_an_ungrounded_reply_is_named_beyond_the_edge(
    redrive: Redrive, refund: str, folder: Path, snapshot: SnapshotAssertion
) -> None:
    """What it wrote does not stand, since nobody could have asked for it."""
    (folder / "other.toml").write_text(NO_LOOKING + ALL, encoding="utf-8")
    said = redrive("whatif", refund, *AGENT, "--policy", "other.toml", "--beyond", "recorded")
    assert said == snapshot


def test_events_are_told_with_their_labels_as_json(redrive: Redrive, refund: str, folder: Path) -> None:
    """And the recorded request beside the one that the model would have had."""
    (folder / "gone.txt").write_text("No such order.", encoding="utf-8")
    given = ("--set-observation", "1=error:gone.txt")
    data = json.loads(redrive("whatif", refund, *AGENT, *given, "--beyond", "recorded", "--json").out)
    labels = {(one["event"], one["label"], tuple(one["assumptions"])) for one in data["events"]}
    assert ("observation_received", "given", ()) in labels
    assert ("model_replied", "recorded", ()) in labels
    assert ("model_replied", "assumed", (1,)) in labels
    assert [one["position"] for one in data["events"]] == [*range(1, len(data["events"]) + 1)]
    stopped = json.loads(redrive("whatif", refund, *AGENT, *given, "--json").out)
    assert stopped["asked"][:-1] == stopped["would_ask"][:-1]
    assert stopped["asked"][-1] != stopped["would_ask"][-1]
