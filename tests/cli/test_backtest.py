"""`backtest`: what another policy would have done to the runs of a log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import DESK, Redrive

AGENT = ["--agent", "refund_desk:agent"]


def test_what_flips_is_told(redrive: Redrive, refund: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    """From which verdict to which, by which rule, and how sure it is what would have come of the run."""
    shutil.copy(DESK / "stricter.toml", folder)
    assert redrive("backtest", "--policy", "stricter.toml", *AGENT) == snapshot


def test_the_same_policy_flips_nothing(redrive: Redrive, refund: str) -> None:
    """Exit code 0."""
    said = redrive("backtest", "--policy", DESK / "policy.toml", *AGENT, "--json")
    (found,) = json.loads(said.out).values()
    assert (said.code, found["runs"], found["verdicts"], found["flips"]) == (0, 1, 2, [])


def test_several_policies_side_by_side(redrive: Redrive, refund: str) -> None:
    """Each with its own findings; kept as remarks, SQL has them."""
    both = ["--policy", DESK / "policy.toml", "--policy", DESK / "stricter.toml"]
    said = redrive("backtest", *both, *AGENT, "--keep", "--json")
    assert said.code == 1
    assert [len(one["flips"]) for one in json.loads(said.out).values()] == [0, 1]
    query = "select run_id, parse_filename(rules) as rules, sureness, turn, turns, call, tool, before, after, prevented"
    rows = redrive("sql", f"{query} from backtests order by rules", "--json")
    nothing = dict.fromkeys(("turn", "turns", "call", "tool", "before", "after", "prevented"))
    flip = {"turn": 2, "turns": 3, "call": 2, "tool": "refund", "before": "allow", "after": "deny", "prevented": [2]}
    assert json.loads(rows.out) == [
        {"run_id": refund, "rules": "policy.toml", "sureness": "same", **nothing},
        {"run_id": refund, "rules": "stricter.toml", "sureness": "exact to turn", **flip},
    ]


def test_only_some_runs(redrive: Redrive, refund: str) -> None:
    """Chosen by an expression over the columns of runs."""
    policy = ["--policy", DESK / "stricter.toml"]
    assert redrive("backtest", *policy, *AGENT, "--where", "status = 'failed'").code == 0


@pytest.mark.parametrize("where", ["status =", "", "goal", "'x'", "ghost", "goal = '\udcff'"])
def test_what_chooses_no_runs_is_told_in_one_line(redrive: Redrive, refund: str, where: str) -> None:
    """Also what fails only as the runs are looked at, since a goal is neither true nor false."""
    said = redrive("backtest", "--policy", DESK / "stricter.toml", *AGENT, "--where", where)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("redrive: --where: ")
    assert said.err.count("\n") == 1


def test_runs_without_a_program_are_counted(redrive: Redrive, refund: str) -> None:
    """Never from a name in the log."""
    said = redrive("backtest", "--policy", DESK / "stricter.toml")
    assert said.code == 0
    assert "1 run, 0 verdicts: 1 not judged\n1 run not judged: no program for agent 'refund-desk'; give" in said.out


def test_all_is_told_of_each_run(redrive: Redrive, refund: str) -> None:
    """In one of five words, with why one is not judged."""
    policy = ["--policy", DESK / "stricter.toml"]
    beyond = json.loads(redrive("backtest", *policy, *AGENT, "--beyond", "recorded", "--json").out)
    (found,) = beyond.values()
    assert (found["sureness"], found["flips"][0]["sureness"]) == ({"under assumptions": 1}, "under assumptions")
    (found,) = json.loads(redrive("backtest", *policy, "--json").out).values()
    assert found["not_judged"] == [{"run_id": refund, "why": "no program for agent 'refund-desk'; give --agent"}]


def test_a_large_log_is_judged_by_several_processes(
    redrive: Redrive, refund: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They find the same."""
    policy = ["--policy", DESK / "stricter.toml", *AGENT, "--json"]
    alone = redrive("backtest", *policy)
    monkeypatch.setattr("redrive.verbs.backtest.ALONE_MAX", 0)
    assert redrive("backtest", *policy) == alone


def test_a_run_that_flips_and_cannot_be_driven_is_told_with_why(redrive: Redrive, refund: str, folder: Path) -> None:
    """It stands in the table all the same; the reason is told below, once for all such runs."""
    (folder / "hasty.py").write_text(
        "import redrive as rd\nfrom refund_desk import agent as usual\n\n"
        "agent = rd.Agent('refund-desk', '2', rd.Contract(budget=rd.Budget(steps=1)), model=usual.model,\n"
        "                 tools=list(usual.tools.values()))\n",
        encoding="utf-8",
    )
    said = redrive("backtest", "--policy", DESK / "stricter.toml", "--agent", "hasty:agent")
    assert said.code == 1, said.err
    *_, row, why = said.out.splitlines()
    assert row.split("  ") == ["refund-1", "call 2 refund: allow → deny", "not judged"]
    assert why.startswith("1 run not driven again: its agent is another by now, so that it parts before its first flip")


def test_why_the_totals_of_two_policies_differ_is_told(
    redrive: Redrive, refund: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands behind a first flip counts nowhere, and how much that is hangs on the policy."""
    (folder / "nothing.toml").write_text("", encoding="utf-8")
    policies = ["--policy", "nothing.toml", "--policy", DESK / "stricter.toml", *AGENT]
    lines = redrive("backtest", *policies).out.splitlines()
    assert lines[:2] == [
        "nothing.toml  1 run, 1 verdict: 1 exact to turn",
        "1 verdict behind first flips not counted: they may not have come to be",
    ]
    assert sum("behind first flips" in line for line in lines) == 1
    monkeypatch.setattr("redrive.verbs.backtest.ALONE_MAX", 0)
    data = json.loads(redrive("backtest", *policies, "--json").out)
    counted = {Path(name).name: (one["verdicts"], one["behind_flips"]) for name, one in data.items()}
    assert counted == {"nothing.toml": (1, 1), "stricter.toml": (2, 0)}
