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
        pytest.param(
            '\ufeffThought: Look it up.\nAction: forecast Action Input: {"city": "深圳", "days": 3}', id="on one line"
        ),
        pytest.param(
            '```\nThought: Look it up.\nAction: forecast\nI am curious.\nInput: {"city": "深圳", "days": 3}\n```',
            id="all of it fenced, a short label, prose behind the name",
        ),
        pytest.param(
            '### 思考：Look it up.\n- **动作**：`forecast`\n- **动作输入**：```json\n{"city": "深圳", "days": 3}```',
            id="a list with headings",
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
            "Thought: hm\nObservation: sunny\nAction: a\nAction Input: {}\nObservation: rain",
            Decision("call", "hm", (Proposal("a", arguments={}),), dropped=("observation",)),
            id="an own observation is dropped in front of the action too",
        ),
        pytest.param(
            "Final Answer: done\nAction: a\nAction Input: {}",
            Decision("finish", "", answer="done", dropped=("action", "input")),
            id="an answer in front of an action counts",
        ),
        pytest.param("Action: a", Decision("call", "", (Proposal("a", arguments={}),)), id="no input is none"),
        pytest.param(
            'Action: a\nAction Input: {"q": "```Action: b```"}',
            Decision("call", "", (Proposal("a", arguments={"q": "```Action: b```"}),)),
            id="a fence and a label inside the input",
        ),
        pytest.param(
            "最终答案：输入：三篇\n输入：无",
            Decision("finish", "", answer="输入：三篇\n输入：无"),
            id="an input that is behind no action is a word like others",
        ),
        pytest.param(
            "**Final Answer:** **Take** a coat.", Decision("finish", "", answer="**Take** a coat."), id="stars stay"
        ),
        pytest.param("**Final Answer: a coat**", Decision("finish", "", answer="a coat"), id="a pair around it goes"),
        pytest.param(
            "Thought: hm\nUnable: no such city\nFinal Answer: none",
            Decision("unable", "hm", answer="no such city", dropped=("answer",)),
            id="a word that it cannot be done",
        ),
        pytest.param(
            "思考：不会\n转人工：哪个城市？",
            Decision("escalate", "不会", answer="哪个城市？"),
            id="a call for a person",
        ),
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
        ("转人工：", "an answer without words"),
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


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ('{"type":"final"}', Decision("finish")),
        ('```json\n{"type":"final","answer":"5"}\n```', Decision("finish", answer="5")),
        ('```{"type":"unable","answer":"no"}```', Decision("unable", answer="no")),
        ('{"type":"escalate","reason":"help","summary":"hm"}', Decision("escalate", "hm", answer="help")),
    ],
)
def test_json_messages(text: str, decision: Decision) -> None:
    """One object and nothing else, but for a fence."""
    assert DIALECTS["json"].read(text) == decision


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('So: {"type":"final"}', "not JSON"),
        ('{"type":"final"} Done.', "not JSON"),
        ('{"type":"unable"}', "unable needs words in answer"),
        ('{"type":"escalate","reason":" "}', "escalate needs words in reason"),
        ('{"type":"escalate","answer":"help"}', "keys that escalate does not have"),
        ('{"type":"escalate","reason":7}', "a text is expected in summary, answer, reason and tool"),
    ],
)
def test_json_that_is_no_message(text: str, reason: str) -> None:
    """What else it may be is said."""
    found = DIALECTS["json"].read(text)
    assert isinstance(found, Unreadable)
    assert found.reason == reason


WRITTEN = [
    'Thought: So.\nAction: forecast\nAction Input: ```json\n{"city": "深圳", "days": [{"a": 1}]}\n```\nObservation: 2',
    "思考：够了。\n**最终答案**：带伞，谢谢 🙂\nAction: x",
    '```json\n{"type":"action","tool":"a","input":{"b":"\\u6df1"},"summary":"so"}\n```',
    '{"type":"escalate","reason":"哪个？"}',
]


@given(written=st.sampled_from(WRITTEN), cut=st.integers(0, 120), name=st.sampled_from(sorted(DIALECTS)))
def test_a_reply_may_be_cut_anywhere(written: str, cut: int, name: str) -> None:
    """A stream that broke off is a decision or none, and never half an argument."""
    found = DIALECTS[name].read(written[:cut])
    assert isinstance(found, Decision | Unreadable)
    if isinstance(found, Decision) and name != "native" and cut < len(written):
        whole = DIALECTS[name].read(written)
        assert not isinstance(whole, Decision) or found.calls in ((), whole.calls) or not found.calls[0].arguments


@given(
    content=st.text(alphabet='AcFinalswer ThougtObv：:*`#\n{}"1.-行动输入最终答案思考'),
    name=st.sampled_from(sorted(DIALECTS)),
)
def test_any_text_is_a_decision_or_is_none(content: str, name: str) -> None:
    """Whatever a model writes, no dialect raises."""
    assert isinstance(DIALECTS[name].read(content), Decision | Unreadable)
