"""What went wrong, what was used, and runs told in order or as they were at an event."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive_events import (
    CallIntercepted,
    Limits,
    MemoryLog,
    ModelFailed,
    PlanTerms,
    Record,
    RunEnded,
    RunStarted,
    Terms,
    VerdictGiven,
)
from redrive_projections import fold
from redrive_projections.history import ask
from tests.history.story import NOON, asked, begun, decided, put, refund, remark, replied, run_of, told
from tests.random_runs import driven_programs, random_run, tapes


def logged(*records: list[Record]) -> MemoryLog:
    """A log of these runs."""
    log = MemoryLog()
    for some in records:
        put(log, some)
    return log


def rows(log: MemoryLog, query: str) -> list[tuple[Any, ...]]:
    """What a query finds."""
    return ask(log, query).rows


@pytest.mark.parametrize(
    ("message", "normal"),
    [
        pytest.param("order 7 is gone", "order <number> is gone", id="a number"),
        pytest.param("at 12:30 it was 3.5, on 2026-10-02", "at <number> it was <number>, on <number>", id="numbers"),
        pytest.param("no order ord_5512", "no order <id>", id="an id"),
        pytest.param("6f9619ff-8b86-d011-b42d-00c04fc964ff?", "<id>?", id="a uuid"),
        pytest.param("订单ord_1001不存在，共3页", "订单<id>不存在，共<number>页", id="Chinese"),
        pytest.param('no file "a b.txt"', "no file <value>", id="quoted"),
        pytest.param(r'said "a \" b" twice', "said <value> twice", id="an escaped quote"),
        pytest.param("no “x”, 「y」, «z», `w` or 'v'", "no <value>, <value>, <value>, <value> or <value>", id="quotes"),
        pytest.param("it isn't there, don't ask", "it isn't there, don't ask", id="apostrophes"),
        pytest.param(" a\n\tb  c ", "a b c", id="white space"),
        pytest.param("word " * 100, ("word " * 40).strip(), id="long"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_messages_that_differ_in_values_alone_are_the_same(message: str, normal: str) -> None:
    """Numbers, ids and what stands in quotes is replaced, in any language."""
    assert ask(MemoryLog(), "SELECT normalised($message)", parameters={"message": message}).rows == [(normal,)]


def test_everything_that_went_wrong_is_there() -> None:
    """With tool and rule, of which class it is, and in which words."""
    turns = ["find", "lost", "denied", "refused", "unfinished"]
    limited = ModelFailed(kind="rate_limited", status=429)
    guarded = CallIntercepted(call=9, guard="repeated", window=(), text="")
    held = told(
        "held",
        [(begun("held")[0].event, 0)],
        [(asked(0, 1), 0)],
        [(limited, 0), (asked(0), 0)],
        [(replied("Look.", "find", "{}"), 0), (decided(9, "find", "look"), 0)],
        [(VerdictGiven(call=9, verdict="allow", rule="free"), 0), (guarded, 0)],
        [(RunEnded(status="exhausted", reason="steps", state="s"), 0)],
    )
    log = logged(run_of(turns), held)
    log._streams["held"][1] = log._streams["held"][1]._replace(line=b"{}")
    assert rows(log, "SELECT run_id, tool, class, rule, message FROM failures ORDER BY run, position, class") == [
        ("a", "find", "timeout", "looking is free", ""),
        ("a", "find", "refused", "right", "another sum"),
        ("a", "find", "denied", "none", "Not allowed."),
        ("a", None, "unreadable", None, "no decision"),
        ("a", None, "not done", None, "paid, sent"),
        ("held", None, "quarantined", None, "the bytes are not those that were written"),
        ("held", None, "model rate_limited", None, "HTTP 429"),
        ("held", "find", "intercepted", "repeated", ""),
    ]


def test_how_a_run_ended_badly_is_a_failure() -> None:
    """At its last record."""
    ended = told("a", [(begun("a")[0].event, 0)], [(RunEnded(status="blocked", reason="call 1 of pay", state="s"), 0)])
    found = rows(logged(ended, refund()), "SELECT run_id, position, class, message FROM failures WHERE call IS NULL")
    assert found == [("a", 2, "blocked", "call 1 of pay")]


def test_equal_failures_are_one_cluster() -> None:
    """How many, in how many runs, since when, and the first of them."""
    log = logged(refund("b"), refund("a"), run_of(["denied"], "c"))
    assert rows(log, "FROM failure_clusters") == [
        ("find", "looking is free", "error", "gone", 2, 2, NOON, NOON, "b", 20),
        ("pay", "small sums", "denied", "too much", 2, 2, NOON, NOON, "b", 14),
        ("find", "none", "denied", "Not allowed.", 1, 1, NOON, NOON, "c", 5),
    ]


def under(run_id: str, terms: Terms) -> list[Record]:
    """A run under these terms, which was only asked for."""
    return told(run_id, [(RunStarted(goal="go", agent="desk", nonce="n", contract=terms, rules=1), 0)])


def test_a_budget_is_an_account() -> None:
    """What the middle one, 95 of a hundred and the most of them used, and what they might have."""
    log = logged(
        under("a", Terms(budget=Limits(steps=6, tokens=1000, cost_micros=90))),
        under("b", Terms(budget=Limits(steps=8))),
        run_of(["find", "denied"], "b/1"),
        under("c", Terms(arm="plan", budget=Limits(steps=3), plan=PlanTerms(steps=2, step_budget=4, revisions=1))),
    )
    answer = ask(log, "FROM budget_account")
    loop, plan = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    assert loop == {
        **{"task": "go", "arm": "loop", "runs": 2, "currency": "USD"},
        **{"steps_p50": 0, "steps_p95": 2, "steps_max": 2, "steps_ceiling": 8},
        **{"tokens_p50": 0, "tokens_p95": 200, "tokens_max": 200, "tokens_ceiling": 1000},
        **{"cost_p50_micros": 14, "cost_p95_micros": 14, "cost_max_micros": 14, "cost_ceiling_micros": 90},
    }
    assert (plan["arm"], plan["steps_ceiling"]) == ("plan", 3 + 2 * 4 * 2)


def test_a_run_is_told_in_order() -> None:
    """What happened, about which call and tool, how it came out, and in which words."""
    log = logged(refund())
    told = rows(log, "SELECT position, step, kind, call, tool, outcome, words FROM trajectory('refund')")
    assert [row[0] for row in told] == list(range(1, 26))
    assert told[0][2:] == ("run_started", None, None, None, "Refund 7")
    assert told[6:9] == [
        (7, 1, "tool_called", 1, "find", None, '{"id":"7"}'),
        (8, 1, "observation_received", 1, "find", "ok", '{"iban":"DE"}'),
        (9, 1, "observation_verified", 1, "find", None, None),
    ]
    assert told[13] == (14, 2, "verdict_given", 2, "pay", "deny", "too much")
    assert told[24][2:] == ("run_ended", None, None, "finished", "No refund.")
    assert rows(log, "FROM trajectory('no such run')") == []


@pytest.mark.parametrize("position", [0, -1])
def test_before_its_first_record_a_run_is_nothing(position: int) -> None:
    """Nor is a run that is not there."""
    assert rows(logged(refund()), f"FROM as_of('refund', {position})") == []
    assert rows(logged(refund()), "FROM as_of('other', 9)") == []


def test_a_run_as_it_was_at_an_event() -> None:
    """What was known and done by then; behind its end it stays as it ended."""
    log = logged(refund())
    columns = "position, happened_at, kind, status, steps, tool_calls, denials, cost_micros, facts, open_calls"
    assert rows(log, f"SELECT {columns} FROM as_of('refund', 7)") == [
        (7, NOON + timedelta(seconds=2), "tool_called", "unfinished", 1, 1, 0, 7, None, ["find"])
    ]
    assert rows(log, f"SELECT {columns} FROM as_of('refund', 99)") == [
        (25, NOON + timedelta(seconds=7), "run_ended", "finished", 4, 2, 1, 28, {"iban": '"DE"'}, None)
    ]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=8)
@given(tapes, driven_programs, st.data())
def test_as_of_is_the_state_that_the_loop_had(tape: bytes, program: Any, data: st.DataObject) -> None:
    """At any event of any run."""
    records = random_run(tape, program)
    log = logged(records)
    for position in data.draw(st.lists(st.integers(1, len(records)), min_size=1, max_size=5)):
        state = fold(records[:position])
        ((steps, calls, cost, facts),) = rows(
            log, f"SELECT steps, tool_calls, cost_micros, facts FROM as_of('run', {position})"
        )
        known = {key: json.loads(value) for key, value in (facts or {}).items()}
        assert known == {key: fact.value for key, fact in state.facts.items()}
        assert (steps, calls, cost or 0) == (state.steps, state.tool_calls, state.cost_micros)


def test_an_imported_task_is_known_by_its_label() -> None:
    """Its goal is what somebody happened to say first."""
    log = MemoryLog()
    for run_id, labels in {
        "a": {"task": "t"},
        "b": {"task_id": "3", "domain": "air"},
        "c": {"task_id": "3"},
        "d": {"sample": "s"},
        "e": {"instance_id": "i"},
        "f": {},
    }.items():
        start = RunStarted(goal="go", agent="desk", nonce="n", contract=Terms(), rules=1, labels=labels)
        put(log, told(run_id, [(start, 0)]))
        put(log, remark(run_id, "reward", 1))
    assert [task for (task,) in rows(log, "SELECT task FROM tallies ORDER BY run_id")] == [
        "t",
        "air/3",
        "3",
        "s",
        "i",
        "go",
    ]
