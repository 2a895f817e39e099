"""`diff`: two runs side by side, and why they part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import redrive as rd
from redrive_engine.live.surroundings import StillClock, Surroundings
from refund_desk import agent, desk
from refund_desk.shop import Bank
from tests.cli.conftest import DESK, Redrive


def another(run_id: str, around: Surroundings | None = None, by: rd.Agent = agent, tenant: str = "") -> None:
    """A further run of the desk in the same log."""
    around = around or Surroundings.fixed(StillClock())
    log = rd.SqliteLog("redrive.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(desk, "bank", Bank())
        by.run("Refund ord_123", principal="ana", tenant=tenant, log=log, run_id=run_id, surroundings=around)
    log.close()


def test_two_runs_of_the_same_are_the_same(redrive: Redrive, refund: str) -> None:
    """Only who asked for them differs here, and that is said."""
    assert redrive("diff", refund, refund) == (0, "refund-1  refund-1  same\n", "")


def test_two_live_runs_of_the_same_are_the_same(redrive: Redrive, folder: Path) -> None:
    """Whatever the clock says, as it does when a tool begins."""
    for name in ("one", "two"):
        another(name, Surroundings())
    assert redrive("diff", "one", "two") == (0, "one  two  same\n", "")


def test_two_runs_are_laid_side_by_side(redrive: Redrive, refund: str, snapshot: SnapshotAssertion) -> None:
    """Each place with its cause, and both events."""
    another("refund-2")
    assert redrive("diff", refund, "refund-2") == snapshot


def test_a_program_reads_it_as_json(redrive: Redrive, refund: str) -> None:
    """With the values that differ under their pointers; a side without one has no key."""
    another("refund-2")
    said = redrive("diff", refund, "refund-2", "--json")
    data = json.loads(said.out)
    assert (said.code, data["same"], data["runs"]) == (1, False, ["refund-1", "refund-2"])
    assert data["partings"][0]["cause"] == "environment"
    assert data["partings"][0]["differences"] == [{"pointer": "/tenant", "first": "velo"}]
    assert data["partings"][0]["chain"] == []


def test_a_pull_request_reads_it_as_markdown(redrive: Redrive, refund: str, snapshot: SnapshotAssertion) -> None:
    """A heading with both runs, the causes, and the places as a terminal shows them."""
    another("refund-2")
    assert redrive("diff", refund, "refund-2", "--markdown") == snapshot
    same = redrive("diff", refund, refund, "--markdown")
    assert same == (0, "### ✅ `refund-1` and `refund-1`: same\n\n", "")


def test_markdown_is_no_json(redrive: Redrive, refund: str) -> None:
    """One document is printed, and not two on the same stdout."""
    said = redrive("diff", refund, refund, "--markdown", "--json")
    assert said == (2, "", "redrive: give --json or --markdown, not both\n")


LOOKING = """
import redrive as rd

VALUES = {}


@rd.tool(effect="read", timeout=None)
def look(at: str) -> str:
    return VALUES[at]


def desk(a, c, words="Done.", **more):
    def agent():
        VALUES.update(a=a, b="2", c=c)
        replies = [rd.reply("", rd.use("look", at=at)) for at in "abc"]
        model = rd.ScriptedModel([*replies, words])
        return rd.Agent("looking", more.pop("version", "1"), rd.Contract(tools={"look": {}}), tools=[look], model=model)

    return agent


usual, words = desk("1", "3"), desk("1", "3", "Bye.")
results, both, later = desk("9", "8"), desk("9", "8", "Bye."), desk("1", "3", version="2")
"""


def looked(redrive: Redrive, folder: Path, other: str, goal: str = "Look") -> list[tuple[str, bool, str, str]]:
    """Where the usual run and another one part: cause, whether it stands for itself, and the event on each side."""
    (folder / "looking_desk.py").write_text(LOOKING, encoding="utf-8")
    for name, what in (("usual", "Look"), (other, goal)):
        assert redrive("run", f"looking_desk:{name}", "--goal", what, "--run-id", f"{name}-{what}").code == 0
    found = json.loads(redrive("diff", "usual-Look", f"{other}-{goal}", "--json").out)["partings"]
    kinds = [[one[side]["event"]["event"] for side in ("first", "second")] for one in found]
    return [(one["cause"], one["independent"], *kind) for one, kind in zip(found, kinds, strict=True)]


def test_what_follows_from_a_parting_has_its_cause(redrive: Redrive, folder: Path) -> None:
    """The engine's rules are the same in both, so that nothing is the code's doing."""
    told = looked(redrive, folder, "words")
    assert told[0] == ("model", True, "model_replied", "model_replied")
    assert {(cause, independent) for cause, independent, *_ in told[1:]} <= {("model", False)}
    told = looked(redrive, folder, "usual", "See")
    assert told[0] == ("environment", True, "run_started", "run_started")
    assert len(told) > 1
    assert {(cause, independent) for cause, independent, *_ in told[1:]} == {("environment", False)}


def test_an_answer_to_the_same_question_stands_for_itself(redrive: Redrive, folder: Path) -> None:
    """Both were asked alike, although the runs had parted before the second."""
    told = looked(redrive, folder, "results")
    assert [one for one in told if one[1]] == [
        ("tool result", True, "observation_received", "observation_received")
    ] * 2


def test_a_reply_to_another_request_is_told_as_one_that_may_follow(redrive: Redrive, folder: Path) -> None:
    """Somebody else spoke, or the same model because of what it had read: that is not known, but seen."""
    told = looked(redrive, folder, "both")
    assert told[-2:] == [("model", False, "model_replied", "model_replied"), ("model", False, "run_ended", "run_ended")]


def test_where_only_versions_differ_there_is_one_line(redrive: Redrive, folder: Path) -> None:
    """Nothing that the runs did is another thing."""
    assert looked(redrive, folder, "later") == [("environment", True, "run_started", "run_started")]
    said = redrive("diff", "usual-Look", "later-Look").out.splitlines()
    assert said[1:] == ["only digests differ, in 1 place, first at 1: /version; cause: environment"]


def test_a_run_that_is_not_there(redrive: Redrive, refund: str) -> None:
    """One line, and exit code 2."""
    said = redrive("diff", refund, "nobody")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("redrive: run 'nobody'")


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        pytest.param((), "environment", id="as it was"),
        pytest.param(("--policy", DESK / "stricter.toml"), "policy", id="with another policy"),
    ],
)
def test_a_fork_parts_from_its_run_where_it_begins(
    redrive: Redrive, refund: str, more: tuple[str | Path, ...], cause: str
) -> None:
    """And not at the request before, which it inherits and asks again."""
    agent = ["--agent", "refund_desk:agent"]
    assert redrive("fork", refund, "--at", "11", "--run-id", "second", *agent, *more).code == 0
    assert redrive("run", "refund_desk:agent", "--run-id", "second").code in {0, 1}
    begun = f"second  12  forked    from run refund-1 at 11, by refund-desk 1{', with another policy' if more else ''}"
    lines = redrive("diff", refund, "second").out.splitlines()
    at = lines.index(f"{cause}: here the fork begins")
    assert lines[at + 1 : at + 3] == ["first   nothing", begun]
    lines = redrive("diff", "second", refund).out.splitlines()
    at = lines.index(f"{cause}: here the fork begins")
    assert lines[at + 1 : at + 3] == [begun.replace("second", "first ", 1), "second  nothing"]


def test_another_model_is_the_cause_and_not_the_contract(redrive: Redrive, refund: str) -> None:
    """Although its name stands in there."""
    other = rd.Agent(
        "refund-desk",
        "1",
        agent.contract.model_copy(update={"model": "other"}),
        tools=list(agent.tools.values()),
        verifiers=agent.verifiers,
        policy=DESK / "policy.toml",
        model=agent.model,
        prices=rd.Prices.from_toml('currency = "USD"\n[models.other]\ninput = 0\noutput = 0\n'),
    )
    another("refund-2", by=other, tenant="velo")
    changed, headline, _, cause, *_ = redrive("diff", refund, "refund-2").out.splitlines()
    assert (changed, cause) == ("changed parts  model", "model")
    assert headline.startswith("refund-1  refund-2  part")


def test_a_long_value_is_told_by_the_names_of_the_two(redrive: Redrive, refund: str) -> None:
    """None of them is a replay of the other."""
    at = ["--at", "11", "--agent", "refund_desk:agent"]
    redrive("fork", refund, *at, "--run-id", "usual")
    redrive("fork", refund, *at, "--run-id", "strict", "--policy", DESK / "stricter.toml")
    *_, first, second = redrive("diff", "usual", "strict").out.splitlines()
    assert first == "/policy  first  (absent)"
    assert second.startswith('         second {"data":')
