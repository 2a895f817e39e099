"""Requests and replies in the words of chat completions: whole, or as server-sent events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from redrive_engine.models import ModelRequest
from redrive_events import Content, Json, ModelReplied, Text, Thinking, ToolUse, blocks_of, calls_of, canonical, text_of
from redrive_projections import Message

PIECE_CHARS: Final = 7


def error_of(code: str) -> bytes:
    """An error as a provider words it."""
    return canonical({"error": {"message": f"made to fail: {code}", "type": "error", "code": code}})


def request_of(asked: Json, turn: int) -> ModelRequest:
    """What came, as a model of ours is asked it."""
    beside = asked.keys() - {"messages", "model", "tools", "tool_choice", "stream", "stream_options"}
    functions = [tool["function"] for tool in asked.get("tools", [])]
    return ModelRequest(
        turn=turn,
        messages=[_message(said) for said in asked["messages"]],
        tools={one["name"]: {"description": one["description"], "schema": one["parameters"]} for one in functions},
        model=asked["model"],
        parameters={name: asked[name] for name in sorted(beside)},
    )


def _message(said: Json) -> Message:
    words = said.get("content") or ""
    content: Content = words if isinstance(words, str) else tuple(Text(text=one["text"]) for one in words)
    calls = [
        ToolUse(name=one["function"]["name"], arguments=one["function"]["arguments"], id=one["id"])
        for one in said.get("tool_calls", [])
    ]
    if calls:
        content = (*(block for block in blocks_of(content) if text_of((block,))), *calls)
    return Message(said["role"], content, 0, call_id=said.get("tool_call_id", ""))


def completion(reply: ModelReplied, asked: Json) -> bytes:
    """A reply in one piece."""
    message: dict[str, Json] = {"role": "assistant", "content": text_of(reply.content) or None}
    thought = _thought(reply.content)
    if thought:
        message["reasoning_content"] = thought
    if calls := [_call(call) for _, call in calls_of(reply.content)]:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": reply.finish or "stop"}
    return canonical({**_head(reply, asked, "chat.completion"), "choices": [choice], **_used(reply)})


def events(reply: ModelReplied, asked: Json) -> Iterator[bytes]:
    """The same reply as server-sent events, its words and arguments in small pieces."""
    head = _head(reply, asked, "chat.completion.chunk")
    for delta in _deltas(reply):
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish or "stop"}]})
    if (asked.get("stream_options") or {}).get("include_usage") and reply.usage is not None:
        yield _event({**head, "choices": [], **_used(reply)})
    yield b"data: [DONE]\n\n"


def _deltas(reply: ModelReplied) -> Iterator[Json]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(_thought(reply.content)):
        yield {"reasoning_content": piece}
    for piece in _pieces(text_of(reply.content)):
        yield {"content": piece}
    for index, (_, call) in enumerate(calls_of(reply.content)):
        whole = _call(call)
        yield {"tool_calls": [{**whole, "index": index, "function": {"name": call.name, "arguments": ""}}]}
        for piece in _pieces(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> Iterable[str]:
    return (text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS))


def _event(data: Json) -> bytes:
    return b"data: %b\n\n" % canonical(data)


def _head(reply: ModelReplied, asked: Json, kind: str) -> dict[str, Json]:
    name = reply.model or asked["model"]
    return {"id": reply.response_id or "loopback", "object": kind, "created": 0, "model": name}


def _call(call: ToolUse) -> dict[str, Json]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _thought(content: Content) -> str:
    return "\n".join(block.text for block in blocks_of(content) if isinstance(block, Thinking))


def _used(reply: ModelReplied) -> dict[str, Json]:
    """Tokens as this protocol counts them: the cached ones are among those of the prompt."""
    if reply.usage is None:
        return {}
    used = reply.usage
    prompt = used.input + used.cache_read + used.cache_write
    return {
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": used.output,
            "total_tokens": prompt + used.output,
            "prompt_tokens_details": {"cached_tokens": used.cache_read, "cache_write_tokens": used.cache_write},
            "completion_tokens_details": {"reasoning_tokens": used.reasoning},
        }
    }
