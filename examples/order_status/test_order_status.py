"""The scenario's promises: whatever goes wrong, nothing is done without leave, nothing twice, and it is known why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

import redrive as rd
from order_status import CARE_GOAL, agent
from order_status.staging import Variant
from order_status.variants import VARIANTS, outcome
from redrive.testing import broken
from redrive_engine import load_agent
from redrive_events import (
    ToolCalled,
)
from redrive_projections import bounded
from redrive_projections.history import ask
from trajectories import found, replays_the_same, told

PLAIN_ANSWER = "Order ord_123 is shipped."
CARE_ANSWER = "Order ord_125 is delayed, and 490 cents are credited."
LOOKUP, CARED = ["find_order"], ["find_order", "credit", "notify"]

# Each variant, and how its run ends: status, reason, steps, the tools that were asked to act, and the answer.
ENDS: dict[str, tuple[str, str, int, list[str], str | None]] = {
    "plain": ("succeeded", "done", 2, LOOKUP, PLAIN_ANSWER),
    "invalid id": ("escalated", "invalid_order_id: the id of an order begins with ord_.", 2, LOOKUP, None),
    "a person knows the id": ("succeeded", "done", 4, LOOKUP * 2, PLAIN_ANSWER),
    "muddled": ("succeeded", "done", 4, LOOKUP, PLAIN_ANSWER),
    "rambling": ("escalated", "3 unreadable replies in a row", 3, [], None),
    "hasty": ("succeeded", "done", 3, LOOKUP, PLAIN_ANSWER),
    "own words": ("succeeded", "done", 3, LOOKUP, PLAIN_ANSWER),
    "overstepping": ("escalated", "2 denied calls in a row", 3, LOOKUP, None),
    "another principal": ("escalated", "2 denied calls in a row", 2, [], None),
    "another shop": ("escalated", "2 denied calls in a row", 2, [], None),
    "another tenant's data": (
        "failed",
        "observation of call 1 refused: it is of tenant 'other', and the run of 'velo'",
        1,
        LOOKUP,
        None,
    ),
    "stale": ("succeeded", "done", 3, LOOKUP * 2, PLAIN_ANSWER),
    "always stale": ("escalated", "2 refused observations in a row", 2, LOOKUP * 2, None),
    "empty": ("escalated", "null", 2, LOOKUP, None),
    "malformed": ("succeeded", "done", 3, LOOKUP * 2, PLAIN_ANSWER),
    "nested too deeply": ("escalated", "2 tool failures in a row", 2, LOOKUP * 2, None),
    "permission refused": ("escalated", "permission_refused: this order is not for this desk.", 2, LOOKUP, None),
    "contradicting": ("escalated", "a refused observation", 2, LOOKUP * 2, None),
    "duplicate result": ("succeeded", "done", 3, LOOKUP * 2, PLAIN_ANSWER),
    "unavailable for a while": ("succeeded", "done", 2, LOOKUP * 3, PLAIN_ANSWER),
    "unavailable": ("escalated", "4 failures of infrastructure in a row", 2, LOOKUP * 4, None),
    "out of steps": ("exhausted", "steps", 3, LOOKUP * 3, None),
    "out of tokens": ("exhausted", "tokens", 3, LOOKUP * 3, None),
    "out of time": ("exhausted", "wall_time", 3, LOOKUP * 3, None),
    "out of calls": ("exhausted", "tool_calls", 4, LOOKUP * 3, None),
    "out of money": ("exhausted", "cost", 3, LOOKUP * 3, None),
    "granted": ("succeeded", "done", 4, CARED, CARE_ANSWER),
    "refused": ("escalated", "A credit needs a person's consent, and there is none. Hand over.", 3, LOOKUP, None),
    "edited": ("succeeded", "done", 4, CARED, CARE_ANSWER.replace("490", "300")),
    "edited to another account": ("escalated", "This call is not allowed.", 3, LOOKUP, None),
    "edited beyond the limit": ("succeeded", "done", 4, CARED, CARE_ANSWER.replace("490", "500")),
    "expired": ("escalated", "A credit needs a person's consent, and there is none. Hand over.", 3, LOOKUP, None),
    "greedy": ("succeeded", "done", 4, CARED, CARE_ANSWER.replace("490", "500")),
    "masked": ("succeeded", "done", 4, CARED, CARE_ANSWER),
    "timeout before commit": ("succeeded", "done", 4, ["find_order", "credit", "credit", "notify"], CARE_ANSWER),
    "timeout after commit": ("succeeded", "done", 4, CARED, CARE_ANSWER),
    "the letter's answer is lost": ("succeeded", "done", 4, CARED, CARE_ANSWER),
    "duplicate request": ("succeeded", "done", 4, CARED, CARE_ANSWER),
    "stated as landed": ("succeeded", "done", 4, CARED, CARE_ANSWER),
    "stated as not landed": ("succeeded", "done", 4, ["find_order", "credit", "credit", "notify"], CARE_ANSWER),
    "wrongly stated": ("succeeded", "done", 4, ["find_order", "credit", "credit", "notify"], CARE_ANSWER),
    "nobody knows": ("escalated", "no word from the operator in time", 2, CARED[:2], None),
    "taken back": ("failed", "2 tool failures in a row", 4, [*CARED, "notify", "credit"], None),
    "cancelled at a lookup": ("cancelled", "the customer rang", 1, LOOKUP, None),
    "cancelled before consent": ("cancelled", "the customer rang", 2, LOOKUP, None),
    "cancelled at a credit": ("cancelled", "the customer rang", 2, CARED[:2], None),
}
EACH = pytest.mark.parametrize("variant", [pytest.param(one, id=name) for name, one in VARIANTS.items()])

# What a row of the bounded event contract has, and no more.
ROW = {"step", "decision", "decisionSummary", "tool", "argumentDigest", "policyDecision", "observation"}
ROW |= {"remainingBudget"}


@pytest.mark.parametrize("name", list(VARIANTS))
def test_the_run_ends(name: str) -> None:
    """Each with its known reason, after these tools; nothing is done but what the bank and the post confirm, once."""
    run, world = outcome(name)
    assert run.state.end is not None
    tools = [called.tool for called in found(run, ToolCalled)]
    assert (run.status, run.state.end.reason, run.state.steps, tools, run.answer) == ENDS[name]
    assert len(world.credits) == (1 if "credit" in tools else 0)
    assert len(world.notices) == (1 if "notify" in tools and name != "taken back" else 0)


@EACH
def test_every_promise_is_kept(variant: Variant) -> None:
    """Whatever goes wrong."""
    assert broken(variant.run().records()) == []


@EACH
def test_a_recorded_run_replays_the_same(variant: Variant, tmp_path: Path) -> None:
    """From the file alone, with an agent made anew, whatever the ending."""
    replays_the_same(lambda _, *, log=None: variant.run(log), variant.agent, tmp_path)


@EACH
def test_the_trajectory(variant: Variant, snapshot: SnapshotAssertion) -> None:
    """As people read it."""
    assert told(logged(variant)) == snapshot


@EACH
def test_the_bounded_event_contract(variant: Variant, snapshot: SnapshotAssertion) -> None:
    """One row for each step, or each call of one, with exactly these fields, as `redrive show --contract` has them."""
    lines = [msgspec.json.encode(row).decode() for row in bounded(variant.run().records())]
    for row in map(json.loads, lines):
        assert set(row) == ROW
        assert row["argumentDigest"] is None or row["argumentDigest"].startswith("sha256:")
        assert row["observation"] is None or set(row["observation"]) == {"status", "source", "bytes"}
        assert {"steps", "wallTimeMs", "tokens", "toolCalls", "costMicros"} == set(row["remainingBudget"])
    assert "\n".join(lines) == snapshot


def logged(variant: Variant) -> rd.MemoryLog:
    """The log of a run of this variant."""
    log = rd.MemoryLog()
    variant.run(log)
    return log


def rows() -> Iterator[str]:
    """The names of some runs that end otherwise."""
    yield from ("plain", "invalid id", "refused", "taken back", "timeout before commit")


def test_every_run_is_rows_in_sql() -> None:
    """What was denied, asked about, tried again and taken back is asked for like anything else."""
    log = rd.MemoryLog()
    for name in rows():
        VARIANTS[name].run(log, run_id=name.replace(" ", "-"))
    asked = "SELECT run_id, status, steps, tool_calls, denials FROM runs ORDER BY run"
    assert ask(log, asked).rows == [
        ("plain", "succeeded", 2, 1, 0),
        ("invalid-id", "escalated", 2, 1, 0),
        ("refused", "escalated", 3, 1, 1),
        ("taken-back", "failed", 4, 5, 0),
        ("timeout-before-commit", "succeeded", 4, 3, 0),
    ]
    rules = "SELECT rule, count(*) FROM verdicts WHERE verdict = 'deny' GROUP BY rule"
    assert ask(log, rules).rows == [("not approved", 1)]
    tries = "SELECT run_id, tool, attempts FROM steps WHERE attempts > 1"
    assert ask(log, tries).rows == [("timeout-before-commit", "credit", 2)]


def test_the_agent_is_found_from_the_folder_of_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `redrive run order_status:agent` finds it."""
    monkeypatch.chdir(Path(__file__).parents[1])
    assert load_agent("order_status:agent") is agent
    assert load_agent("order_status:care").contract.done.keys() == {"status", "credited", "notified"}
    assert "ord_125" in CARE_GOAL
