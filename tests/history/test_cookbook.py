"""The cookbook: each of its questions is asked of a log of which the answer is known."""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from redrive_events import MemoryLog
from redrive_projections.history import Questions
from tests.history.made import fill

PAGE = Path(__file__).parents[2] / "docs" / "cookbook.md"
RECIPE = re.compile(r"^## (.*)\n(?:(?!```|## ).*\n)*```sql\n((?:(?!```).*\n)*)```$", re.MULTILINE)
PARAMETERS = {"tool": "find"}

ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "How do runs end?": [("succeeded", 4), ("unfinished", 3), ("finished", 2), ("exhausted", 1), ("failed", 1)],
    # The judged ones are five and three; b2 cost more, and took more steps, for the run below it.
    "Is the new version better than the old one?": [("1", 5, 0.6, 4.0, 5 * 28 / 3), ("2", 5, 2 / 3, 14 / 3, 98 / 2)],
    "Which way to drive a run does best on the same task?": [
        ("Refund 7", "loop", 6, 0.5, 26 / 6),
        ("Refund 8", "loop", 1, 1.0, 4.0),
        ("Refund 8", "workflow", 1, 1.0, 4.0),
    ],
    "What did the stricter policy change?": [("lax", 5, 0.6, 0.0, 4.0), ("strict", 3, 2 / 3, 1 / 3, 14 / 3)],
    # Two of four trials succeeded: one of the six pairs of them; one of two: no pair.
    "How reliable is it, tried twice?": [("1", "loop", 1, 4, 0.167), ("2", "loop", 1, 2, 0.0)],
    "What goes wrong most often?": [
        ("error", "find", "looking is free", "gone", 8, 8, "a1"),
        ("denied", "pay", "small sums", "too much", 8, 8, "a1"),
        ("timeout", "find", "looking is free", "", 1, 1, "b2/1"),
        ("denied", "find", "none", "Not allowed.", 1, 1, "c1"),
    ],
    "In which runs did a certain thing go wrong?": [("a1", 20, "gone"), ("a2", 20, "gone"), ("a3", 20, "gone")],
    "Which rules deny most?": [("small sums", "pay", 8), ("none", "find", 1)],
    "What had a rule looked at when it denied?": [
        ("a1", 2, "arguments.cents", "900", "500"),
        ("a2", 2, "arguments.cents", "900", "500"),
    ],
    "Which tools fail, and how often?": [("find", 20, 0.45), ("pay", 1, 0.0)],
    "Which tools are slow?": [("find", 1000, 1000, 1000), ("pay", 1000, 1000, 1000)],
    "Which calls are made over and over?": [("find", '{"id":"7"}', 10, 10), ("pay", '{"cents":900}', 1, 1)],
    "How many steps do runs take?": [(10, 4, 6, 6)],
    "What does a run cost, with all that it began?": [("b2", 2, 6, 42, "EUR"), ("a1", 1, 4, 28, "EUR")],
    "What does each day cost?": [
        (date(2026, 1, 1), "EUR", 3, 84),
        (date(2026, 1, 2), "EUR", 4, 98),
        (date(2026, 1, 3), "EUR", 4, 98),
    ],
    "How many input tokens came from a cache?": [("m-1", 5 * 4 * 90, 0), ("m-2", 20 * 90, 0)],
    "How much of their budget do tasks use?": [
        ("Refund 7", "loop", 6, 4, 6, 8, 600, 1000),
        ("Refund 8", "loop", 1, 4, 4, 8, 400, 1000),
        ("Refund 9", "loop", 2, 2, 4, 8, 400, 1000),
    ],
    "Which runs came close to a limit?": [("b2", "steps", 4, 4)],
    "What happened in this run?": [
        (12, "model_replied", None, None, "Pay."),
        (13, "decision_made", None, None, "pay it"),
        (14, "verdict_given", "pay", "deny", "too much"),
        (15, "model_asked", None, None, None),
    ],
    "What was known when it decided?": [("decision_made", "unfinished", 2, 0, {"iban": '"DE"'}, None)],
    "What bears a fact out?": [
        ("iban", '"DE"', 6, "verdict_given"),
        ("iban", '"DE"', 8, "observation_received"),
    ],
    "Which effects were ever in doubt, and what became of them?": [
        ("b2/1", 2, "find", 2, "timeout", "confirmed", "landed")
    ],
    "What do people have to approve, and how long does it wait?": [("pay", "large sums", 2, 1, 1000)],
    "Where do a judge and the run itself disagree?": [
        ("b1", "succeeded", "unsafe_success", "true", "judge"),
    ],
    "Which runs are not done, and what did they do last?": [
        ("b2/1", datetime(2026, 1, 2, 12, 0, 7), "model_asked"),  # noqa: DTZ001 - the query leaves the zone out
        ("c1", datetime(2026, 1, 3, 12, 0, 6), "model_asked"),  # noqa: DTZ001
        ("d1", datetime(2026, 1, 3, 12, 0, 6), "approval_asked"),  # noqa: DTZ001
    ],
}


@pytest.fixture(scope="module")
def questions() -> Any:
    """The log, open."""
    log = MemoryLog()
    fill(log)
    with Questions(log) as questions:
        yield questions


def recipes() -> dict[str, str]:
    """The page's questions, each in words and in SQL."""
    return dict(RECIPE.findall(PAGE.read_text(encoding="utf-8")))


def test_there_is_an_answer_to_every_question() -> None:
    """And the page says how many there are."""
    page = PAGE.read_text(encoding="utf-8")
    assert list(recipes()) == list(ANSWERS) == re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert page.startswith(f"# Cookbook: {len(ANSWERS)} questions in SQL\n")


@pytest.mark.parametrize("question", ANSWERS)
def test_the_answer_is_known(question: str, questions: Questions) -> None:
    """Row by row."""
    query = recipes()[question]
    given = {name: value for name, value in PARAMETERS.items() if f"${name}" in query}
    rows = questions.ask(query, given).rows
    assert len(rows) == len(ANSWERS[question])
    for found, known in zip(rows, ANSWERS[question], strict=True):
        assert found == tuple(pytest.approx(cell) if isinstance(cell, float) else cell for cell in known)
