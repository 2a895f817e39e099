"""The bounded event contract: exactly these fields, a row a step and call, and of the same size whatever was said."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_events import (
    EffectReconciled,
    Input,
    Limits,
    ModelReplied,
    ObservationReceived,
    SignalsHeard,
    Terms,
    Usage,
    digest,
)
from redrive_projections import bounded
from tests.random_runs import driven_programs, programs, random_run, tapes
from tests.renew_recordings import RECIPES, records_of
from tests.shop import Asking, answer_to_pay, recorded, seen, shop

FIELDS = [
    "step",
    "decision",
    "decisionSummary",
    "tool",
    "argumentDigest",
    "policyDecision",
    "observation",
    "remainingBudget",
]
LEFT = ["steps", "wallTimeMs", "tokens", "toolCalls", "costMicros"]
PAY = reply("I pay.", use("pay", item="tea", cents=9))


def rows_of(*inputs: Input, policy: Asking | None = None, **terms: Any) -> list[dict[str, Any]]:
    """The rows as those outside read them."""
    records = recorded(shop(Terms(**terms), policy=policy), *inputs)
    return [json.loads(msgspec.json.encode(row)) for row in bounded(records)]


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_each_recording_has_its_rows(name: str, snapshot: SnapshotAssertion) -> None:
    """What those outside have read once they read for ever."""
    rows = [json.loads(msgspec.json.encode(row)) for row in bounded(records_of(name))]
    assert rows == snapshot(extension_class=JSONSnapshotExtension)


@settings(max_examples=100, deadline=None)
@given(tapes, programs | driven_programs)
def test_whatever_happens_a_row_has_these_fields_and_no_content(tape: bytes, program: Program) -> None:
    """A row for each reply at least, in order; and what was left is never more than before."""
    records = random_run(tape, program)
    rows = [json.loads(msgspec.json.encode(row)) for row in bounded(records)]
    for row in rows:
        assert list(row) == FIELDS
        assert list(row["remainingBudget"]) == LEFT
        assert row["observation"] is None or list(row["observation"]) == ["status", "source", "bytes"]
        assert row["policyDecision"] in {None, "allowed", "denied", "needs_approval"}
        assert row["argumentDigest"] is None or row["argumentDigest"].startswith("sha256:")
        assert len(row["decisionSummary"]) <= 200
    replies = [record for record in records if isinstance(record.event, ModelReplied)]
    steps = [row["step"] for row in rows]
    assert steps == sorted(steps)
    assert set(steps) - {0} == set(range(1, len(replies) + 1))


def test_a_call_is_allowed_denied_or_needs_an_approval() -> None:
    """By the last verdict: what is asked about needs one, and what was approved is allowed."""
    three = reply("All.", use("price_of", item="tea"), use("pay", item="tea", cents=9), use("ghost"))
    rows = rows_of(three, policy=Asking())
    assert [(row["step"], row["tool"], row["policyDecision"]) for row in rows] == [
        (1, "price_of", "allowed"),
        (1, "pay", "needs_approval"),
        (1, "ghost", "denied"),
    ]
    answered = rows_of(
        PAY, answer_to_pay("grant", 9), SignalsHeard(), seen(1, {"item": "tea", "cents": 9}), policy=Asking()
    )
    assert answered[0]["policyDecision"] == "allowed"


def test_the_digest_is_that_of_the_arguments_as_they_were_allowed() -> None:
    """An edit changes it."""
    (row,) = rows_of(PAY, policy=Asking(tools=(), cap=7))
    assert row["argumentDigest"] == f"sha256:{digest({'item': 'tea', 'cents': 7})}"


def test_what_is_left_is_what_was_left_then() -> None:
    """Behind each row, and null where there is no limit."""
    look = reply("I look.", use("price_of", item="tea"), usage=Usage(input=30, output=10), cost_micros=7)
    rows = rows_of(look, seen(1, 5), reply("Done."), budget=Limits(steps=5, tokens=100, cost_micros=10))
    assert [row["remainingBudget"] for row in rows] == [
        {"steps": 4, "wallTimeMs": None, "tokens": 60, "toolCalls": None, "costMicros": 3},
        {"steps": 3, "wallTimeMs": None, "tokens": 60, "toolCalls": None, "costMicros": 3},
    ]


def test_an_observation_is_told_by_its_size_and_where_it_is_from() -> None:
    """Never by what it says; and what an authority says of a write takes its place."""
    told = ObservationReceived(call=1, status="timeout", content="sk-secret", size_bytes=9, source="bank")
    landed = EffectReconciled(call=1, outcome="landed", content='{"item":"茶","cents":9}')
    rows = rows_of(PAY, told)
    assert rows[0]["observation"] == {"status": "timeout", "source": "bank", "bytes": 9}
    rows = rows_of(PAY, told, landed)
    assert rows[0]["observation"] == {"status": "ok", "source": "bank", "bytes": 24}
    assert "sk-secret" not in json.dumps(rows)


def test_a_long_summary_is_cut_and_harms_no_terminal() -> None:
    """A row is bounded, whatever a model says."""
    rows = rows_of(reply("\x1b[2J" + "Ich zahle. " * 100, use("pay", item="tea", cents=5)))
    summary = rows[0]["decisionSummary"]
    assert (len(summary) <= 200, summary[-1], "\x1b" in summary) == (True, "…", False)


def test_what_is_no_decision_is_a_step_all_the_same() -> None:
    """Refused, with the reason; without a tool."""
    rows = rows_of(reply("Hm."), dialect="json")
    assert [(row["decision"], row["tool"], bool(row["decisionSummary"])) for row in rows] == [("refused", None, True)]
