"""A provider's model over a real socket: the same reply whole and in pieces, and what can go wrong on the way."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

import redrive as rd
from redrive_events import Json, ModelReplied, Opaque, Text, Thinking, ToolUse
from tests.engine.models.requests import GO, ask, request, said, trouble

NAME = "openai-chat:small"
CALLS = (
    ToolUse(name="find", arguments='{"order": "ord_1", "名":"王芳"}', id="call_a"),
    ToolUse(name="find", arguments='{"order":"ord_2"', id="call_b"),
)
COUNTED = rd.Usage(input=10, cache_read=4, cache_write=2, output=7, reasoning=3)


@pytest.fixture(params=[False, True], ids=["whole", "in pieces"])
def stream(request: pytest.FixtureRequest) -> bool:
    """How the reply comes."""
    return bool(request.param)


@pytest.fixture(autouse=True)
def no_key_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever keys this machine has."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def served(line: ModelReplied | str, stream: bool, fault: rd.Fault | None = None) -> Iterator[Any]:
    """A server with one reply, and the model that asks it."""
    with rd.Loopback(rd.ScriptedModel([line]), faults={1: fault} if fault else {}) as server:
        yield server, rd.ProviderModel(NAME, base_url=server.url, stream=stream)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(rd.reply("完成了 🎉, done.", model="small-7", response_id="r-1"), id="words"),
        pytest.param(rd.reply("", *CALLS, model="small-7", response_id="r-1"), id="calls alone, one that breaks off"),
        pytest.param(rd.reply("I look twice.", *CALLS, model="s", response_id="r", usage=COUNTED), id="all at once"),
        pytest.param(rd.reply("x" * 5_000, model="s", response_id="r", usage=rd.Usage(output=1)), id="long"),
        pytest.param(ModelReplied(content="Cut o", finish="length", model="s", response_id="r"), id="out of tokens"),
    ],
)
def test_a_reply_comes_back_as_it_was_given(reply: ModelReplied, stream: bool) -> None:
    """Words and arguments to the letter, tokens counted once, also where the arguments are no JSON."""
    for _, model in served(reply, stream):
        assert ask(model) == reply


def test_thinking_comes_back_and_is_recognized(stream: bool) -> None:
    """The provider's field goes back under its own name: what it takes to know that stands in a last block."""
    thought = Thinking(text="想一想")
    first = ModelReplied(content=(thought, Text(text="Ja.")), response_id="r")
    with rd.Loopback(rd.ScriptedModel([first, "No more."])) as server:
        model = rd.ProviderModel(NAME, base_url=server.url, stream=stream)
        reply = ask(model)
        assert reply.content[:2] == (thought, Text(text="Ja."))
        assert isinstance(reply.content[2], Opaque)
        assert ask(model, request(*GO, said("assistant", reply.content), said("user", "And?"))).content == "No more."
        assert server.requests[1]["messages"][2] == {
            "role": "assistant",
            "content": "Ja.",
            "reasoning_content": "想一想",
        }


def test_a_request_is_what_the_log_says(stream: bool) -> None:
    """Messages, tools and parameters: nothing is added to them, and nothing left out."""
    calls = [
        ToolUse(name="find", arguments='{"order":"ord_1","名":"王芳"}', id="call_a"),
        ToolUse(name="find", arguments="{}", id="call_b"),
    ]
    reply = rd.reply("I look.", *calls)
    answers = (said("tool", "on its way", call_id="call_a"), said("tool", "lost", call_id="call_b"))
    for server, model in served("Done.", stream):
        asked = request(*GO, said("assistant", reply.content), *answers, said("system", "Hurry."), temperature=0.5)
        assert ask(model, asked).content == "Done."
        (sent,) = server.requests
        assert sent["messages"] == [
            {"role": "system", "content": "You find orders."},
            {"role": "user", "content": "Where is 王芳's order? 🚚"},
            {"role": "assistant", "content": "I look.", "tool_calls": [_call(one) for one in calls]},
            {"role": "tool", "tool_call_id": "call_a", "content": "on its way"},
            {"role": "tool", "tool_call_id": "call_b", "content": "lost"},
            {"role": "system", "content": "Hurry."},
        ]
        (tool,) = sent["tools"]
        assert tool["function"]["parameters"] == asked.tools["find"]["schema"]
        assert (sent["model"], sent["temperature"], sent["stream"]) == ("small", 0.5, stream)
        assert server.keys == ["Bearer api-key-not-set"]


def _call(call: ToolUse) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


@pytest.mark.parametrize(
    ("named", "sent"),
    [
        pytest.param("", "small", id="none"),
        pytest.param("large", "large", id="of the same provider"),
        pytest.param("openai-chat:huge", "huge", id="in full"),
    ],
)
def test_the_model_that_a_request_names_is_asked(named: str, sent: str) -> None:
    """The contract's own, or a stronger one."""
    for server, model in served("Hello.", False):
        ask(model, request(model=named))
        assert [one["model"] for one in server.requests] == [sent]


def test_a_key_that_is_given_is_the_one_that_is_sent() -> None:
    """And it is not shown where the model is."""
    with rd.Loopback(rd.ScriptedModel(["Hello."])) as server:
        model = rd.ProviderModel(NAME, base_url=server.url, api_key="k-1")
        ask(model)
        assert server.keys == ["Bearer k-1"]
    assert "k-1" not in repr(model)


WHOLE = b'{"id":"x","object":"chat.completion","created":0,"model":"m","choices":'
PIECE = (
    b'data: {"id":"x","object":"chat.completion.chunk","created":0,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"hal"},"finish_reason":null}]}\n\n'
)
BROKEN = {"kind": "broken", "retryable": True, "retry_after_ms": None, "status": 0}


def failed(kind: str, status: int, *, again: bool = False, after_ms: int | None = None) -> dict[str, Any]:
    """A trouble, as it would be recorded."""
    return {"kind": kind, "retryable": again, "retry_after_ms": after_ms, "status": status}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(rd.Fault(429), failed("rate_limited", 429, again=True), id="rate limit"),
        pytest.param(
            rd.Fault(429, {"Retry-After": "3"}), failed("rate_limited", 429, again=True, after_ms=3000), id="in seconds"
        ),
        pytest.param(
            rd.Fault(429, {"retry-after-ms": "1500"}),
            failed("rate_limited", 429, again=True, after_ms=1500),
            id="in milliseconds",
        ),
        pytest.param(
            rd.Fault(503, {"Retry-After": "1"}), failed("unavailable", 503, again=True, after_ms=1000), id="overloaded"
        ),
        pytest.param(rd.Fault(500), failed("unavailable", 500, again=True), id="server error"),
        pytest.param(rd.Fault(408), failed("timeout", 408, again=True), id="their time-out"),
        pytest.param(rd.Fault(401), failed("refused", 401), id="no such key"),
        pytest.param(rd.Fault(403), failed("refused", 403), id="not allowed"),
        pytest.param(rd.Fault(404), failed("refused", 404), id="no such model"),
        pytest.param(rd.Fault(400), failed("refused", 400), id="not understood"),
        pytest.param(rd.Fault(402), failed("refused", 402), id="no money left"),
        pytest.param(rd.Fault(418), failed("refused", 418), id="something else"),
        pytest.param(rd.Fault(body=b""), BROKEN, id="nothing"),
        pytest.param(rd.Fault(body=WHOLE), BROKEN, id="JSON that breaks off"),
        pytest.param(rd.Fault(body=WHOLE + b"[]}"), BROKEN, id="no choices"),
        pytest.param(rd.Fault(body=WHOLE + b'[{"message": 5}]}'), BROKEN, id="another shape"),
        pytest.param(rd.Fault(body=b"<html>Bad gateway</html>"), BROKEN, id="a page"),
        pytest.param(rd.Fault(body=b"null"), BROKEN, id="null"),
        pytest.param(rd.Fault(body=b"\xff\xfe{"), BROKEN, id="no UTF-8"),
        pytest.param(rd.Fault(cut_bytes=0), BROKEN, id="cut at once"),
        pytest.param(rd.Fault(cut_bytes=90), BROKEN, id="cut in the midst"),
        pytest.param(rd.Fault(body=PIECE), BROKEN, id="a stream that ends without an end"),
    ],
)
def test_what_goes_wrong_is_told_by_class(fault: rd.Fault, expected: dict[str, Any], stream: bool) -> None:
    """Nothing of half a reply is kept, and nothing is asked twice unseen."""
    for server, model in served(rd.reply("A reply of some length.", *CALLS), stream, fault):
        assert trouble(model) == expected
        assert len(server.requests) == 1
        assert ask(model).finish == "tool_calls"


def test_an_error_inside_a_stream_is_the_error_it_is() -> None:
    """A provider that has begun to answer can no longer change the status."""
    body = PIECE + b'data: {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}\n\n'
    for _, model in served("Hello.", True, rd.Fault(body=body)):
        assert trouble(model) == failed("rate_limited", 429, again=True)


def test_nobody_listens() -> None:
    """A connection that is refused may be accepted later."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        model = rd.ProviderModel(NAME, base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        assert trouble(model) == failed("unavailable", 0, again=True)


@pytest.mark.parametrize(
    ("kind", "status"), [("rate_limited", 429), ("refused", 400), ("unavailable", 503), ("timeout", 504)]
)
def test_what_the_served_model_fails_with_arrives(kind: Any, status: int) -> None:
    """A script can make trouble, too."""

    def fails(*_: object) -> str:
        raise rd.ModelTrouble(kind, retry_after_ms=20)

    with rd.Loopback(rd.ScriptedModel(fails)) as server:
        found = trouble(rd.ProviderModel(NAME, base_url=server.url))
    assert (found["status"], found["retry_after_ms"]) == (status, 20)


def test_a_picture_is_refused_rather_than_left_out() -> None:
    """Nobody would see that the model was not shown it."""
    picture = Opaque(data={"type": "image_url", "image_url": "data:"})
    for server, model in served("A dog.", False):
        assert trouble(model, request(said("user", (picture,)))) == failed("refused", 0)
        assert trouble(model, request(*GO, said("assistant", (picture,)))) == failed("refused", 0)
        assert server.requests == []


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        pytest.param(rd.ProviderModel("gpt"), "a model is named PROVIDER:NAME, as openai:gpt-5", id="no provider"),
        pytest.param(rd.ProviderModel("nobody:gpt"), "Unknown provider: nobody", id="an unknown one"),
        pytest.param(rd.ProviderModel("openai:gpt"), "Set the `OPENAI_API_KEY` environment variable", id="no key"),
        pytest.param(rd.ProviderModel("groq:llama"), "Please install the `groq` package", id="not installed"),
        pytest.param(
            rd.ProviderModel("deepseek:d", base_url="http://a"), "provider deepseek takes no base_url", id="no URL"
        ),
    ],
)
def test_a_model_that_cannot_be_asked_is_told_before_anything_begins(model: rd.ProviderModel, problem: str) -> None:
    """In one line, and the log has no run of it."""
    log = rd.MemoryLog()
    agent = rd.Agent("clerk", "1", rd.Contract(tools={}), model=model)
    with pytest.raises(rd.BadInput) as refused:
        agent.run("Say.", log=log)
    assert str(refused.value).startswith(f"model {model.name}: {problem}")
    assert "\n" not in str(refused.value)
    assert list(log.runs()) == []


def test_a_stronger_model_that_cannot_be_asked_is_a_refusal() -> None:
    """By then the run is under way: it ends, and does not crash."""
    for server, model in served("Hello.", False):
        assert trouble(model, request(model="nobody:x")) == failed("refused", 0)
        assert server.requests == []
