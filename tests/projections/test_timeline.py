"""The timeline: every event in one line that nothing in a log can break out of."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_events import (
    EVENTS,
    INPUTS,
    DecisionMade,
    Event,
    ModelReplied,
    ProposedCall,
    Quarantined,
    Record,
    RunStarted,
    Terms,
    Text,
    Thinking,
    ToolUse,
    VerdictGiven,
)
from redrive_projections import Moment, called_as, one_line, timeline
from redrive_projections.timeline import _WORDS, TEXT_CHARS_MAX
from tests import strategies
from tests.records import BEGIN, record

# The longest line: a reply's thoughts and words, each cut, with what stands around them; calls in a reply are joined.
LINE_CHARS_MAX = 8_000


def test_every_kind_of_event_has_its_words() -> None:
    """A new kind is told on the day it joins the vocabulary."""
    assert set(_WORDS) == {*EVENTS, Quarantined}


@given(strategies.runs(), st.booleans())
def test_whatever_a_log_holds_is_told_in_one_line_each(run: list[Record], thoughts: bool) -> None:
    """Even what cannot happen: a damaged run is looked at, too."""
    moments = list(timeline(run, thoughts=thoughts))
    assert [moment.position for moment in moments] == [one.position for one in run]
    assert [moment.level for moment in moments] == [0 if type(one.event) in INPUTS else 1 for one in run]
    for moment in moments:
        assert not [sign for sign in moment.text if unicodedata.category(sign) in {"Cc", "Zl", "Zp"}]
        assert len(moment.text) < LINE_CHARS_MAX


@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_line(text: str, chars_max: int) -> None:
    """Never longer than asked for, never with a sign that moves a cursor, and the same when it is made again."""
    line = one_line(text, chars_max)
    assert len(line) <= chars_max
    assert line == one_line(line, chars_max)
    assert not [sign for sign in line if unicodedata.category(sign) == "Cc"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  two\n lines\t ", "two lines"),
        ("\x1b[2J", "\ufffd[2J"),
        ("a\u202eb", "a\ufffdb"),
        ("王芳", "王芳"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        ("x" * 500, "x" * (TEXT_CHARS_MAX - 1) + "…"),
    ],
)
def test_one_line_of(text: str, line: str) -> None:
    """What joins an emoji stays; what commands a terminal does not."""
    assert one_line(text) == line


def test_a_call_is_told_as_code_is_written() -> None:
    """Values as JSON, long ones cut; arguments that could not be read stand as they are."""
    assert called_as("refund", {"cents": 5, "to": "Ä", "deep": {"a": [1]}}) == 'refund(cents=5, to="Ä", deep={"a":[1]})'
    assert called_as("refund", '{"cents": ') == 'refund("{\\"cents\\": ")'
    assert len(called_as("read", {"text": "x" * 500})) < 80


def test_calls_and_verdicts_are_told_with_their_tool() -> None:
    """Which call a verdict is about is known from the decision before it."""
    reply = ModelReplied(content=(Thinking(text="hm"), Text(text="Yes."), ToolUse(name="pay", arguments='{"cents":5}')))
    events: list[Event] = [
        RunStarted(goal="Pay", agent="payer", version="2", principal="ana", nonce="n", contract=Terms(), rules=0),
        reply,
        DecisionMade(kind="call", calls=(ProposedCall(call=1, tool="pay", block=2),)),
        VerdictGiven(call=1, verdict="deny", rule="small sums", reason="too much"),
    ]
    run = [record("run-1", position, event=event) for position, event in enumerate(events, start=1)]
    told = [
        Moment(1, BEGIN, "run_started", "started", "payer 2 for ana: Pay", 0),
        Moment(2, BEGIN, "model_replied", "model", "Yes. [1 call]", 0),
        Moment(3, BEGIN, "decision_made", "decided", "1 pay(cents=5)", 1),
        Moment(4, BEGIN, "verdict_given", "verdict", "1 pay: deny by rule “small sums” (too much)", 1),
    ]
    assert list(timeline(run)) == told
    assert next(one.text for one in timeline(run, thoughts=True) if one.position == 2) == "(thinks: hm) Yes. [1 call]"
