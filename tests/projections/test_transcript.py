"""What the model is given: views, their digests, and how a request is recorded as a difference."""

from __future__ import annotations

import copy
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_events import (
    FactCommitted,
    Json,
    MessageReceived,
    ModelReplied,
    OwnWords,
    Part,
    ReplyRefused,
    RunStarted,
    Text,
    Usage,
    canonical,
)
from redrive_projections import (
    VIEWS,
    Message,
    RunState,
    kept_of,
    opening,
    references,
    request_digest,
    sealed,
    state_view,
)
from tests.projections.story import ASKED, LEASE, REPLY, STARTED, TURN, TWO_CALLS, Line, called, folded, saw

PROMPT = Part(digest="", data=[{"role": "system", "content": "Serve."}, {"role": "user", "content": "Hello."}])
A, B, C = Message("user", "a", 1), Message("assistant", "b", 2), Message("user", "c", 0)
STEPS = st.lists(st.tuples(st.integers(0, 5), st.lists(st.sampled_from("abc"), max_size=3), st.integers(0, 5)))
FACT = FactCommitted(key="price", value=5, verifier="v", evidence=(2,))


@pytest.mark.parametrize(
    ("goal", "parts", "then"),
    [
        pytest.param("Buy tea", {}, [("user", "Buy tea")], id="the goal alone"),
        pytest.param("", {}, [], id="nothing at all"),
        pytest.param(
            "Buy tea",
            {"prompt": PROMPT},
            [("system", "Serve."), ("user", "Hello."), ("user", "Buy tea")],
            id="a prompt",
        ),
        pytest.param("", {"prompt": PROMPT}, [("system", "Serve."), ("user", "Hello.")], id="an import's"),
    ],
)
def test_every_request_begins_with_prompt_and_goal(
    goal: str, parts: dict[str, Part], then: list[tuple[str, Json]]
) -> None:
    """All of them come from the first event."""
    started = RunStarted(goal=goal, agent="a", nonce="", contract=STARTED.contract, rules=0, parts=parts)
    assert [(one.role, one.content) for one in opening(started)] == then
    assert {one.of for one in opening(started)} <= {1}


@pytest.mark.parametrize(
    ("last", "now", "kept"),
    [
        pytest.param([], [A], 0, id="the first request"),
        pytest.param([A], [A, B], 1, id="something came"),
        pytest.param([A, B], [A, B], 2, id="nothing came"),
        pytest.param([A, C], [A, B, C], 1, id="something came between"),
        pytest.param([A, B, C], [A], 1, id="something went"),
        pytest.param([A], [Message("user", "a", 3)], 0, id="the same words of another event"),
    ],
)
def test_how_much_of_a_request_stays(last: list[Message], now: list[Message], kept: int) -> None:
    """A request is recorded as a difference, so that a log grows with what is new."""
    assert kept_of(last, now) == kept


@pytest.mark.parametrize(
    ("messages", "then"),
    [
        pytest.param([], (), id="none"),
        pytest.param([A, B], (1, 2), id="by the position of their events"),
        pytest.param([A, A, B], (1, 2), id="an event of several messages once"),
        pytest.param([A, C, A], (1, OwnWords(role="user", text="c"), 1), id="the engine's own words in full"),
    ],
)
def test_how_messages_are_recorded(messages: list[Message], then: tuple[int | OwnWords, ...]) -> None:
    """No text stands in a log twice."""
    assert references(messages) == then


def test_a_request_is_digested_as_the_format_says() -> None:
    """By hand, so that whoever reads the format can do it too."""
    one = hashlib.sha256(b'{"content":"a","role":"user"}').digest()
    two = hashlib.sha256(b'{"call_id":"x","content":[{"text":"b","type":"text"}],"role":"tool"}').digest()
    rest = canonical({"model": "m", "parameters": {}, "tools": {}})
    messages = [A, Message("tool", (Text(text="b"),), 7, call_id="x")]
    assert request_digest(messages, rest) == hashlib.sha256(one + two + rest).hexdigest()


@given(STEPS)
def test_a_request_that_goes_on_has_the_digest_of_the_whole(steps: list[tuple[int, list[str], int]]) -> None:
    """However much of it stays, and however far it was hashed before; copied, it goes on from where it was."""
    asked = RunState().asked
    for kept, new, before in steps:
        asked.go_on(kept, [Message("user", text, 1) for text in new])
        for one in (asked, copy.deepcopy(asked)):
            assert request_digest(one[before:], b"rest", after=one.hashed(before)) == request_digest(one, b"rest")


def test_the_facts_view_is_the_opening_and_the_state_of_this_moment() -> None:
    """No word of the conversation, and not the state itself: it goes on changing."""
    state = folded(*TURN, saw(1), saw(2), FACT, ReplyRefused(reason="r", text="t"))
    name, view = VIEWS["facts"]
    words = '{"consecutive_parse_errors":1,"facts":{"price":5},"step":2}'
    assert name == "facts.1"
    assert view(state) == [Message("user", "Buy tea", 1), Message("user", words, 0)]
    assert state_view(state) == {"step": 2, "consecutive_parse_errors": 1, "facts": {"price": 5}}


def test_the_chat_view_is_all_that_was_said() -> None:
    """It grows, and nothing in it changes: that is why most of a request stays."""
    name, view = VIEWS["chat"]
    before = view(folded(*TURN))
    after = view(folded(*TURN, saw(1), MessageReceived(actor="user", content="And milk.")))
    assert name == "chat.1"
    assert after[: len(before)] == before
    assert [one.role for one in after] == ["user", "assistant", "tool", "user"]


BASE: tuple[Line, ...] = (STARTED, LEASE, ASKED, (REPLY, 3, 1), TWO_CALLS)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([FACT], id="a fact"),
        pytest.param([saw(1), FACT], id="its place"),
        pytest.param([ModelReplied(content="")], id="a step"),
        pytest.param([ModelReplied(content="", usage=Usage(output=1))], id="tokens"),
        pytest.param([ModelReplied(content="", cost_micros=1)], id="cost"),
        pytest.param([called(1)], id="a call"),
        pytest.param([ASKED, (REPLY, 6, 9)], id="time"),
        pytest.param([ReplyRefused(reason="", text="")], id="an unreadable reply"),
    ],
)
def test_the_seal_tells_each_part_of_the_state(more: list[Line]) -> None:
    """A run that stands otherwise is sealed otherwise, so a replay sees it at the next request."""
    assert sealed(folded(*BASE, *more)) != sealed(folded(*BASE))


def test_the_seal_is_of_nothing_else() -> None:
    """What was said is sealed by the request."""
    words = MessageReceived(actor="user", content="And milk.")
    assert sealed(folded(*BASE, words)) == sealed(folded(*BASE))
    expected = {"facts": {}, "steps": 1, "tokens": 0, "tool_calls": 0, "cost_micros": 0, "wall_us": 1_000_000}
    expected |= {"unreadable": 0, "model_failed": 0}
    assert sealed(folded(*BASE)) == hashlib.sha256(canonical(expected)).hexdigest()
