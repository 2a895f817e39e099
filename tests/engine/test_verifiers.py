"""Verifiers: what becomes fact, and that whatever goes wrong is a refusal."""
# ruff: noqa: ARG001 - a verifier need not look at all that it is given

from __future__ import annotations

import enum
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel

from redrive_engine.tools import Call, tool
from redrive_engine.verifiers import NOT_ACCEPTED, Facts, Refused, Supersedes, Verifier, plain, verifier
from redrive_events import BadInput, Content, Json, Text, Thinking, canonical, parse_json

CALL = Call(number=1, tool="find", arguments={"order_id": "ord_1"})


class Order(BaseModel):
    """What was ordered."""

    id: str
    cents: int
    state: Literal["open", "shipped"] = "open"


@tool(effect="read")
def find(order_id: str) -> Order:
    """One order."""
    return Order(id=order_id, cents=5)


@verifier(find, commits=["order", "cents"])
def right_order(call: Call, seen: Order, facts: Facts) -> Facts | Refused:
    """It is the one that was asked for."""
    if seen.id != call.arguments["order_id"]:
        return Refused("another order")
    return {"order": seen, "cents": seen.cents}


JSON = "application/json"
ORDER = '{"cents":5,"id":"ord_1"}'
SHIPPED = {"id": "ord_1", "cents": 5, "state": "open"}


def gives(found: Any) -> Verifier:
    """A verifier of any text that gives, or raises, the same whatever it sees."""

    def check(call: Call, seen: str, facts: Facts) -> Facts | Refused:
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[no-any-return]

    return verifier("find", commits=["a", "b"])(check)


def test_a_verifier_knows_its_tool_and_itself() -> None:
    """By name, so that it can be declared for a tool that is not there; as a function it is what it was."""
    known = (right_order.name, right_order.tool, right_order.commits, repr(right_order))
    assert known == ("right_order", "find", ("order", "cents"), "<verifier right_order of find>")
    assert verifier("find")(right_order.run).tool == "find"
    assert right_order(CALL, Order(id="x", cents=1), {}) == Refused("another order")


@pytest.mark.parametrize(
    ("content", "media_type", "facts", "found"),
    [
        pytest.param(ORDER, JSON, {}, {"order": SHIPPED, "cents": 5}, id="facts, in the order given"),
        pytest.param(ORDER, "application/vnd.shop+json; charset=utf-8", {"cents": 5}, {"order": SHIPPED}, id="known"),
        pytest.param(ORDER, JSON, {"cents": 5.0, "order": SHIPPED}, {}, id="all known"),
        pytest.param((Thinking(text="hm"), Text(text=ORDER)), JSON, {"cents": 5}, {"order": SHIPPED}, id="blocks"),
        pytest.param(ORDER, JSON, {"cents": 6}, Refused("contradicts fact 'cents'"), id="contradicts"),
        pytest.param(ORDER, JSON, {"cents": True}, Refused("contradicts fact 'cents'"), id="true is not 1"),
        pytest.param('{"cents":5,"id":"ord_2"}', JSON, {}, Refused("another order"), id="refused"),
        pytest.param("{", JSON, {}, Refused("shape: observation: not JSON"), id="no JSON"),
        pytest.param(None, JSON, {}, Refused("shape: observation: not JSON"), id="nothing"),
        pytest.param("[]", JSON, {}, Refused("shape: observation: an object is expected"), id="no object"),
        pytest.param(ORDER, "text/plain", {}, Refused("shape: observation: an object is expected"), id="text"),
        pytest.param(
            '{"cents":"5","id":"ord_1"}', JSON, {}, Refused("shape: cents: an integer is expected"), id="type"
        ),
        pytest.param('{"id":"ord_1"}', JSON, {}, Refused("shape: cents: missing"), id="missing"),
        pytest.param(
            '{"cents":5,"id":"ord_1","state":"lost"}',
            JSON,
            {},
            Refused("shape: state: one of these is expected: open, shipped"),
            id="choice",
        ),
    ],
)
def test_an_observation_becomes_facts_or_is_refused(
    content: Content | None, media_type: str, facts: Facts, found: Refused | dict[str, Json]
) -> None:
    """Origin, shape, and what is known already."""
    assert right_order.check(CALL, content, media_type, facts) == found
    if isinstance(found, dict):
        assert list(right_order.check(CALL, content, media_type, facts)) == list(found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given_back", "facts", "found"),
    [
        pytest.param({"b": 1, "a": 2}, {}, {"b": 1, "a": 2}, id="in the order given"),
        pytest.param({"a": None}, {}, {"a": None}, id="null is a value"),
        pytest.param({"a": Supersedes(2)}, {"a": 1}, {"a": Supersedes(2)}, id="supersedes"),
        pytest.param({"a": Supersedes(1)}, {"a": 1}, {}, id="supersedes itself"),
        pytest.param({"a": Supersedes((1,))}, {}, {"a": [1]}, id="supersedes nothing"),
        pytest.param({"c": 1}, {}, Refused("commits 'c' without declaring it"), id="undeclared"),
        pytest.param({3: 1}, {}, Refused("commits 3 without declaring it"), id="no name"),
        pytest.param({"a": float("nan")}, {}, Refused("fact 'a' is not plain JSON"), id="NaN"),
        pytest.param({"a": {"b": [float("inf")]}}, {}, Refused("fact 'a' is not plain JSON"), id="infinity inside"),
        pytest.param({"a": "\ud800"}, {}, Refused("fact 'a' is not plain JSON"), id="lone surrogate"),
        pytest.param({"a": object()}, {}, Refused("fact 'a' is not plain JSON"), id="an object"),
        pytest.param({"a": Supersedes(threading)}, {}, Refused("fact 'a' is not plain JSON"), id="a module"),
        pytest.param(None, {}, Refused("verifier gave no facts but NoneType"), id="nothing"),
        pytest.param(True, {}, Refused("verifier gave no facts but bool"), id="a truth value"),
        pytest.param(Refused("so", "Try 7."), {}, Refused("so", "Try 7."), id="its own words"),
        pytest.param(ValueError("/home/ana"), {}, Refused("verifier raised ValueError"), id="raises"),
        pytest.param(KeyError("x"), {}, Refused("verifier raised KeyError"), id="raises something else"),
    ],
)
def test_whatever_a_verifier_gives_is_judged(given_back: object, facts: Facts, found: object) -> None:
    """A verifier is a user's code in the middle of a replay: it can neither break it nor smuggle anything in."""
    assert gives(given_back).check(CALL, "", "text/plain", facts) == found


def test_a_validation_of_its_own_is_no_misfit() -> None:
    """What a verifier reads by itself has nothing to do with the shape of the observation."""

    @verifier("find")
    def check(call: Call, seen: str, facts: Facts) -> Facts | Refused:
        return {"order": Order.model_validate({})}

    assert check.check(CALL, "", "text/plain", {}) == Refused("verifier raised ValidationError")


def test_a_type_without_a_schema_is_judged_all_the_same() -> None:
    """The schema only helps to word a refusal."""

    @verifier("find")
    def check(call: Call, seen: Callable[[], int], facts: Facts) -> Facts | Refused:
        return {}

    assert check.check(CALL, "x", "text/plain", {}) == Refused("shape: observation: not allowed (callable_type)")


def test_facts_cannot_be_changed_by_who_reads_them() -> None:
    """The fold owns its state."""

    @verifier("find")
    def check(call: Call, seen: Any, facts: Any) -> Facts | Refused:
        facts["a"] = 2
        return {}

    facts = {"a": 1}
    assert check.check(CALL, "[1]", JSON, facts) == Refused("verifier raised TypeError")
    assert facts == {"a": 1}


def test_the_model_is_told_the_same_whatever_the_reason() -> None:
    """A reason could teach it how to get past."""
    assert Refused("another order").text == Refused("another tenant").text == NOT_ACCEPTED


def not_async(call: Call, seen: str) -> Facts:
    """Too few parameters."""
    return {}


async def awaits(call: Call, seen: str, facts: Facts) -> Facts:
    """Evidence from elsewhere."""
    return {}


def unreadable(call: Call, seen: threading.Thread, facts: Facts) -> Facts:
    """No JSON."""
    return {}


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (not_async, "verifier not_async: a plain function of call, seen and facts is expected"),
        (awaits, "verifier awaits: a plain function of call, seen and facts is expected"),
        (unreadable, "verifier unreadable: seen has a type that has no JSON"),
    ],
)
def test_a_function_that_cannot_verify_is_refused(function: Callable[..., Any], problem: str) -> None:
    """When it is decorated, not in the middle of a run."""
    with pytest.raises(TypeError) as caught:
        verifier("find")(function)
    assert str(caught.value) == problem


def test_the_digest_is_of_the_source() -> None:
    """What decides has changed when its source has; without a source its name must do."""
    assert gives(1).digest == gives(2).digest != right_order.digest

    def made(body: str) -> str:
        names: dict[str, Any] = {"__name__": "shop"}
        exec(f"def check(call, seen, facts): {body}", names)
        return verifier("find")(names["check"]).digest

    assert made("return {}") == made("return {'a': 1}") != right_order.digest


class Colour(enum.Enum):
    """For a value."""

    RED = "red"


@dataclass
class Point:
    """For a value."""

    x: int
    seen: frozenset[str] = frozenset()


class Tagged(BaseModel):
    """A set inside a model has no order either."""

    tags: set[str]
    day: date


class Names(RootModel[set[str]]):
    """A model that is a set."""


@pytest.mark.parametrize(
    ("value", "as_json"),
    [
        pytest.param({"a": (1, 2.0, True, None)}, {"a": [1, 2.0, True, None]}, id="tuples are lists"),
        pytest.param({1: {Colour.RED: 1}}, {"1": {"red": 1}}, id="names are texts"),
        pytest.param({"b", "c", "a"}, ["a", "b", "c"], id="sets are sorted"),
        pytest.param(
            [Tagged(tags={"b", "a"}, day=date(2026, 1, 31))], [{"tags": ["a", "b"], "day": "2026-01-31"}], id="a model"
        ),
        pytest.param(Names({"b", "a"}), ["a", "b"], id="a root model"),
        pytest.param(Point(1, frozenset("ba")), {"x": 1, "seen": ["a", "b"]}, id="a dataclass"),
        pytest.param(date(2026, 1, 31), "2026-01-31", id="a date"),
        pytest.param(2**70, 2**70, id="a large number"),
    ],
)
def test_a_fact_is_as_the_log_gives_it_back(value: object, as_json: Json) -> None:
    """What is known live and what is known after reading the log are the same."""
    assert plain(value) == as_json
    assert type(plain(value)) is type(as_json)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(json_values)
def test_plain_data_is_left_alone(value: Json) -> None:
    """Made plain twice is made plain once, and it survives the trip to bytes."""
    try:
        once = plain(value)
    except BadInput:
        with pytest.raises(BadInput):
            canonical(value)
        return
    assert parse_json(canonical(once)) == plain(once) == once


def test_facts_are_the_same_under_every_hash_seed() -> None:
    """A replay in another process finds the same bytes."""
    program = """if True:
        from redrive_engine.verifiers import plain
        from redrive_events import canonical
        print(canonical(plain({"a": {"x", "y", "z"}, "b": frozenset("qrst")})))
    """
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, timeout=30, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in "12"
    }
    assert outputs == {b'b\'{"a":["x","y","z"],"b":["q","r","s","t"]}\'\n'}
