"""Inspect's messages: words, reasoning, pictures and calls, and what a model's output says beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from redrive_events import BadInput, Block, Content, Json, Opaque, Text, Thinking, ToolUse, Usage
from redrive_replays.traces.bodies import tokens_of
from redrive_replays.traces.trace import ASSISTANT, RESULTS, Meta, Said

_READ: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "function"})
_CALL: Final = frozenset({"id", "function", "arguments", "type"})
# A call of the common kind says so, or nothing.
_NAMED: Final = frozenset({"function", "None"})


def said_of(message: Json) -> Said:
    """One message, with all that it holds.

    Raises:
        BadInput: it is no message, or its calls are no list of objects.
    """
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise BadInput("not a message")
    extras: dict[str, Json] = {
        key: one for key, one in message.items() if key not in _READ and one is not None and one != []
    }
    content = content_of(message.get("content"), extras)
    said = Said(message["role"], content, extras=extras)
    if said.role in RESULTS:
        label, name = message.get("tool_call_id"), message.get("function")
        said.answers = (label,) if isinstance(label, str) and label else ()
        said.name = name if isinstance(name, str) else ""
        said.status = "error" if message.get("error") or message.get("tool_error") else "ok"
    elif said.role == ASSISTANT:
        calls, thinking = tuple(_calls(message, extras)), tuple(_reasoned(extras))
        if calls or thinking:
            words = (Text(text=content),) if isinstance(content, str) else content
            said.content = (*thinking, *words, *calls)
    return said


def _reasoned(extras: dict[str, Json]) -> Iterator[Thinking]:
    """Reasoning that stands beside the words, as logs of one season have it."""
    if isinstance(text := extras.get("reasoning"), str) and text:
        del extras["reasoning"]
        yield Thinking(text=text)


def content_of(content: Json, extras: dict[str, Json]) -> Content:
    """Plain text stays plain; what is not text or reasoning is kept as it came."""
    if isinstance(content, str):
        return content
    if content is None:
        return ()
    if not isinstance(content, list):
        return msgspec.json.encode(content).decode() if isinstance(content, int | float) else (Opaque(data=content),)
    return tuple(_part(part, index, extras) for index, part in enumerate(content))


def _part(part: Json, index: int, extras: dict[str, Json]) -> Block:
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(part, str):
        return Text(text=part)
    if kind == "text" and isinstance(part.get("text"), str):
        _rest(part, {"type", "text"}, index, extras)
        return Text(text=part["text"])
    if kind == "reasoning" and isinstance(part.get("reasoning"), str) and not part.get("redacted"):
        _rest(part, {"type", "reasoning", "signature", "redacted"}, index, extras)
        signature = part.get("signature")
        return Thinking(text=part["reasoning"], signature=signature if isinstance(signature, str) else "")
    return Opaque(data=part)


def _rest(part: Mapping[str, Json], read: set[str], index: int, extras: dict[str, Json]) -> None:
    if rest := {key: one for key, one in part.items() if key not in read and one is not None}:
        extras[f"part {index}"] = rest


def _calls(message: Mapping[str, Json], extras: dict[str, Json]) -> Iterator[ToolUse]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise BadInput("tool_calls is no list of objects")
    for index, call in enumerate(calls):
        name, label, arguments = call.get("function"), call.get("id"), call.get("arguments")
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else msgspec.json.encode(arguments).decode()
        rest = {key: one for key, one in call.items() if key not in _CALL and one is not None}
        if str(call.get("type")) not in _NAMED:
            rest["type"] = call["type"]
        if rest:
            extras[f"call {index}"] = rest
        yield ToolUse(
            name=name if isinstance(name, str) else "", arguments=arguments, id=label if isinstance(label, str) else ""
        )


def reply_of(event: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """The message that a model's first choice is; None where it has none."""
    output = event.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    return {**message, "role": ASSISTANT} if isinstance(message, dict) else None


def meta_of(event: Mapping[str, Json]) -> Meta:
    """What the output says of a reply; a reply from the cache used no tokens now."""
    output = event.get("output")
    output = output if isinstance(output, dict) else {}
    choices = output.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    usage, cost = output.get("usage"), None
    if isinstance(usage, dict):
        cost = usage.get("total_cost")
    cached = event.get("cache") == "read"
    return Meta(
        usage=None if cached else usage_of(usage),
        finish=_text(choice.get("stop_reason")),
        model=_text(output.get("model")),
        response_id=_response_id(event),
        cost_micros=0 if cached or not isinstance(cost, int | float) or not 0 < cost < 1e6 else round(cost * 1e6),
    )


def usage_of(usage: Json) -> Usage | None:
    """Tokens of one reply; whether the input holds the cached ones is told by the total."""
    if not isinstance(usage, dict):
        return None
    given, made = tokens_of(usage, "input_tokens"), tokens_of(usage, "output_tokens")
    read, write = tokens_of(usage, "input_tokens_cache_read"), tokens_of(usage, "input_tokens_cache_write")
    if read + write and tokens_of(usage, "total_tokens") == given + made:
        given = max(0, given - read - write)
    reasoning = tokens_of(usage, "reasoning_tokens")
    return Usage(input=given, cache_read=read, cache_write=write, output=made, reasoning=reasoning)


def _response_id(event: Mapping[str, Json]) -> str:
    call = event.get("call")
    response = call.get("response") if isinstance(call, dict) else None
    return _text(response.get("id")) if isinstance(response, dict) else ""


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
