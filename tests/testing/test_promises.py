"""Promises: each is kept by a run, broken by another, and says in words how."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import redrive as rd
from redrive.testing import (
    EVERY,
    Promise,
    Trajectory,
    approx,
    at_most,
    called,
    called_before,
    calls,
    cost_at_most,
    fact,
    never_after,
    never_called,
    replay_is_same,
    status_is,
    steps_at_most,
    the_budget_is_kept,
)
from redrive_events import BadInput, ModelReplied, RunStarted, Usage
from tests.testing.courses import LOOK, course, paying

TABLE: list[tuple[Promise, str]] = [
    (called("refund"), ""),
    (called("refund", cents=4_900), ""),
    (called("refund", cents=approx(5_000, rel=0.1), iban=str), ""),
    (called("deploy"), "deploy is called: it was not"),
    (
        called("find_order", order_id="ord_9"),
        "find_order(order_id='ord_9') is called: it was not, but call#1 find_order(order_id='ord_123')",
    ),
    (called("refund", cents=4_900.0), "refund(cents=4900.0) is called: it was not, but call#2 refund("),
    (never_called("deploy"), ""),
    (
        never_called("find_order"),
        "find_order is called never: there are 1: call#1 find_order(order_id='ord_123')",
    ),
    (at_most(1, "refund"), ""),
    (at_most(0, calls("refund", cents=int)), "refund(cents=<int>) is called never: there are 1: call#2 refund("),
    (called_before("find_order", "refund"), ""),
    (called_before("refund", "find_order"), "refund is called before find_order: call#1 find_order("),
    (called_before("deploy", "rollback"), ""),
    (never_after("find_order", "refund"), ""),
    (never_after("refund", "find_order"), "refund is never called after find_order: call#2 refund("),
    (fact("refunded", 4_900), ""),
    (fact("refunded", 4_800), "fact refunded is 4800: it is 4900"),
    (fact("paid", int), "fact paid is <int>: nothing is known of it; there are iban, refunded"),
    (status_is("succeeded", "finished"), ""),
    (status_is("failed"), "status is failed: it is succeeded"),
    (steps_at_most(3), ""),
    (steps_at_most(2), "at most 2 steps: it took 3"),
    (cost_at_most("0.10 USD"), ""),
    (replay_is_same, "the replay is the same: it was not driven again"),
    (called("refund") & status_is("succeeded"), ""),
    (
        called("deploy") & status_is("failed"),
        "(deploy is called and status is failed): deploy is called: it was not",
    ),
    (called("deploy") | status_is("succeeded"), ""),
    (called("deploy") | status_is("failed"), "(deploy is called or status is failed): deploy is called: it was not"),
    (~called("deploy"), ""),
    (~called("refund"), "not (refund is called): refund is called is kept"),
]


@pytest.mark.parametrize(
    ("promise", "words"), [pytest.param(*row, id=f"{row[0].told}-{bool(row[1])}") for row in TABLE]
)
def test_a_promise_is_kept_or_says_how_it_is_broken(promise: Promise, words: str) -> None:
    """By the plain run, which looks an order up and pays it back."""
    if not words:
        course().check(promise)
        return
    with pytest.raises(AssertionError) as broken:
        course().check(promise)
    assert str(broken.value).splitlines()[1].startswith(words)


def test_all_that_is_broken_is_told_at_once() -> None:
    """In the order in which it was asked."""
    with pytest.raises(AssertionError) as broken:
        course().check(called("a"), called("refund"), called("b"))
    assert [line[:11] for line in str(broken.value).splitlines()[1:]] == ["a is called", "b is called"]


@pytest.mark.parametrize("given", [[called("refund")], called, "refund is called"])
def test_what_is_no_promise_is_refused(given: Any) -> None:
    """A list of them, too."""
    with pytest.raises(BadInput, match=r"is no promise, as called\(…\) or \*EVERY are"):
        course().check(given)


def test_costs_are_those_of_the_replies() -> None:
    """In money, and a text that is none is refused."""
    told = course(ModelReplied(content="Hm.", usage=Usage(input=1), cost_micros=20_000))
    with pytest.raises(AssertionError, match=r"cost at most 0.01 USD: it cost 0.020000 USD"):
        told.check(cost_at_most("0.01 USD"))
    with pytest.raises(BadInput):
        cost_at_most("cheap")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (rd.Budget(steps=3), ""),
        (rd.Budget(steps=2), "the budget is kept: the model is asked at 20, with no steps left"),
        (rd.Budget(tool_calls=2), ""),
        (rd.Budget(tool_calls=1), "the budget is kept: what is called at 15 is beyond the calls of the budget, 1"),
    ],
)
def test_a_budget_is_kept_while_nothing_is_asked_for_beyond_it(limits: rd.Budget, words: str) -> None:
    """The same run, as if it had been begun under another contract."""
    told = course()
    first = told.records[0]
    assert isinstance(first.event, RunStarted)
    terms = replace(first.event.contract, budget=limits.limits())
    begun = replace(first, event=replace(first.event, contract=terms))
    under = Trajectory((begun, *told.records[1:]))
    if not words:
        under.check(the_budget_is_kept)
        return
    with pytest.raises(AssertionError, match=words):
        under.check(the_budget_is_kept)


def test_every_run_answers_for_what_all_must() -> None:
    """Also one that is denied, and one that never ends; a log in which somebody cheats does not."""
    for told in (course(), course(rd.reply("", LOOK), paying(9_999), "ok")):
        told.check(*EVERY)
    honest = course()
    cheating = Trajectory(tuple(one for one in honest.records if one.position != 14))  # the verdict on the refund
    with pytest.raises(AssertionError, match="nothing forbidden was called: call 2 of refund"):
        cheating.check(*EVERY)
