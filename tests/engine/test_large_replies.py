"""Replies made to hold a reader up: each takes about as long as it is long, and these would take hours otherwise."""

from __future__ import annotations

import pytest

import redrive as rd
from redrive_engine.dialects import DIALECTS, Decision, Unreadable
from redrive_engine.loop.planning import read_plan
from redrive_engine.occurrence import occurs

MUCH = 300_000


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        pytest.param("json", "```json" + " " * MUCH + "x", id="a fence around blanks, left open"),
        pytest.param("json", "```" + " " * MUCH + "{" * MUCH, id="a fence around brackets"),
        pytest.param("json", "`" * MUCH, id="nothing but fences"),
        pytest.param("react", "`" * MUCH, id="nothing but markdown"),
        pytest.param("react", "Action" + " " * MUCH, id="blanks where a colon should be"),
        pytest.param("react", "Action: " + "x" + " " * MUCH + "x", id="blanks where an input should be"),
        pytest.param("react", "Action: x\nAction Input: " + "[" * MUCH, id="brackets as input"),
    ],
)
def test_a_dialect_reads_it_to_its_end(dialect: str, text: str) -> None:
    """Nothing is looked at twice for each of its characters."""
    assert isinstance(DIALECTS[dialect].read(text), Decision | Unreadable)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        pytest.param("\n" * MUCH, None, id="empty lines"),
        pytest.param("```" + "\n" * MUCH, None, id="a fence left open"),
        pytest.param("{" * MUCH, None, id="brackets"),
        pytest.param("1. look" + " " * MUCH + "up", ["look up"], id="blanks in a step"),
        pytest.param('```json\n\n["look"]\n```', ["look"], id="an empty line in a fence"),
        pytest.param("1.\n look \n\n- up", ["look", "up"], id="a step below its number"),
    ],
)
def test_a_plan_is_found_or_is_not(text: str, steps: list[str] | None) -> None:
    """What stands in it is found as in any other plan."""
    found = read_plan(text, most=5)
    assert (None if isinstance(found, Unreadable) else [one.words for one in found]) == steps


@pytest.mark.parametrize(
    "answer",
    ["1 " * MUCH, "1" * MUCH, "2026-10-" * (MUCH // 8), "1-" * MUCH, "a1-" * MUCH, "1." * MUCH],
    ids=["numbers", "one number", "dates", "dashes", "a code", "versions"],
)
def test_what_an_answer_claims_is_looked_for(answer: str) -> None:
    """A number longer than any that people write in groups is a text like others."""
    contract = rd.Contract(tools={}, claims="supported")
    agent = rd.Agent("talker", "1", contract, model=rd.ScriptedModel([answer, "Nothing."]))
    assert agent.run("Say something.", log=rd.MemoryLog()).status == "finished"


def test_a_number_is_looked_for_in_many() -> None:
    """In a long observation each number costs what it is long, not what stands before it."""
    words = "-7 " * MUCH
    assert occurs(-7, words)
    assert not occurs(8, words)
    assert not occurs("7 7 8", words)
