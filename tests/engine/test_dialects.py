"""How replies are read: each dialect on what models really write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_engine.dialects import DIALECTS, Decision, Proposal, ReActText, Unreadable
from redrive_events import Content, Text, Thinking, ToolUse

REACT = ReActText()
HINT = 'Reply with "Thought:", then either "Action:" and "Action Input:" with a JSON object, or "Final Answer:".'
SUNNY = Decision("call", "Look it up.", (Proposal("forecast", arguments={"city": "深圳", "days": 3}),))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            'Thought: Look it up.\nAction: forecast\nAction Input: {"city": "深圳", "days": 3}', id="as it should be"
        ),
        pytest.param(
            '**Thought 1:** Look it up.\n**Action:** `forecast`\n**Action Input:** {"city": "深圳", "days": 3}',
            id="markdown",
        ),
        pytest.param(
            '思考：Look it up.\n行动：forecast\n行动输入：{"city": "深圳", "days": 3}',
            id="Chinese labels, wide colons",
        ),
        pytest.param(
            'Thought: Look it up.\nAction: forecast\nAction Input:\n```\n{"city": "深圳",\n "days": 3}\n```\nSo.',
            id="fenced, with prose behind",
        ),
        pytest.param(
            'Thought: Look it up.\nAction 1: forecast\naction input 1: {"city": "深圳", "days": 3} and then we see',
            id="numbers, small letters, prose on the line",
        ),
    ],
)
def test_one_action_in_many_spellings(text: str) -> None:
    """Models strew numbers, markdown and fences over the labels; what they mean is the same."""
    assert REACT.read(text) == SUNNY


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        pytest.param(
            "Thought: Known.\nFinal Answer: Take a coat.\nIt rains.",
            Decision("finish", "Known.", answer="Take a coat.\nIt rains."),
            id="an answer of two lines",
        ),
        pytest.param(
            "思考：够了。\n最终答案：带伞。",
            Decision("finish", "够了。", answer="带伞。"),
            id="an answer in Chinese",
        ),
        pytest.param(
            "Action: a\nAction Input: {}\nObservation: sunny\nAction: b\nFinal Answer: done",
            Decision("call", "", (Proposal("a", arguments={}),), dropped=("observation", "action", "answer")),
            id="the first action counts, an own observation is dropped",
        ),
        pytest.param(
            "Final Answer: done\nAction: a\nAction Input: {}",
            Decision("finish", "", answer="done", dropped=("action", "input")),
            id="an answer in front of an action counts",
        ),
        pytest.param("Action: a", Decision("call", "", (Proposal("a", arguments={}),)), id="no input is none"),
    ],
)
def test_the_first_word_counts(text: str, decision: Decision) -> None:
    """Of several only the first; what is dropped is said."""
    assert REACT.read(text) == decision


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "neither an action nor a final answer"),
        ("I would call a tool.", "neither an action nor a final answer"),
        ("Thought: hm\nObservation: rain", "neither an action nor a final answer"),
        ("Action:\nAction Input: {}", "an action without a name"),
        ("Action: a\nAction Input: city=Paris", "not a JSON object"),
        ("Action: a\nAction Input: [1]", "not a JSON object"),
        ('Action: a\nAction Input: {"a": NaN}', "not a JSON object"),
        ("Final Answer:  ", "an answer without words"),
    ],
)
def test_no_decision_is_told_with_a_hint(text: str, reason: str) -> None:
    """The reason is for the record; the text says what to write instead."""
    found = REACT.read(text)
    assert isinstance(found, Unreadable)
    assert found.reason == reason
    assert found.text.endswith(HINT)


@pytest.mark.parametrize(
    ("content", "decision"),
    [
        pytest.param("Hello.", Decision("finish", "Hello."), id="words are an answer"),
        pytest.param(
            (Thinking(text="hm"), Text(text="I look."), ToolUse(name="a"), ToolUse(name="b", id="x")),
            Decision("call", "I look.", (Proposal("a", block=2), Proposal("b", block=3))),
            id="calls by their blocks",
        ),
        pytest.param(
            "  ", Unreadable("empty reply", "The reply was empty. Call a tool, or answer in words."), id="nothing"
        ),
    ],
)
def test_native_calls(content: Content, decision: Decision | Unreadable) -> None:
    """The provider's blocks are the decision."""
    assert DIALECTS["native"].read(content) == decision


@given(content=st.text(), name=st.sampled_from(sorted(DIALECTS)))
def test_any_text_is_a_decision_or_is_none(content: str, name: str) -> None:
    """Whatever a model writes, no dialect raises."""
    assert isinstance(DIALECTS[name].read(content), Decision | Unreadable)
