"""OpenAI's chat messages: roles, text and other parts, calls new and old, reasoning, and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from redrive_events import BadInput, Block, Content, Json, Opaque, Text, Thinking, ToolUse
from redrive_replays.traces.trace import ASSISTANT, NO_META, RESULTS, Meta, Said

ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_READ: Final = frozenset(
    {
        *("role", "content", "name", "tool_calls", "tool_call_id", "tool_call_ids", "function_call"),
        "tool_name",
        *("refusal", "reasoning_content", "reasoning", "thinking_blocks"),
    }
)
_TEXTS: Final = frozenset({"", "text", "input_text", "output_text"})
# Blocks of Anthropic's messages: the calls are in the content, so these are not OpenAI's.
_FOREIGN: Final = frozenset({"tool_use", "tool_result", "redacted_thinking"})


def are_messages(value: Json) -> bool:
    """Whether ``value`` is a list of chat messages."""
    if not isinstance(value, list) or not value:
        return False
    if not all(isinstance(one, dict) and isinstance(one.get("role"), str) for one in value):
        return False
    return any(one["role"] in ROLES for one in value) and not any(_is_foreign(one) for one in value)


def _is_foreign(message: Mapping[str, Json]) -> bool:
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        return any(_kind(part) in _FOREIGN or ("thinking" in part and "signature" in part) for part in parts)
    return content is None and "parts" in message


def _kind(part: Mapping[str, Json]) -> str:
    kind = part.get("type", "")
    return kind if isinstance(kind, str) else "of no kind"


def said_of(message: Mapping[str, Json], meta: Meta = NO_META) -> Said:
    """One message, with all that it holds.

    Raises:
        BadInput: its calls are no list of objects.
    """
    role = message["role"]
    content = message.get("content")
    extras: dict[str, Json] = {}
    if not message.keys() <= _READ:
        extras = {key: one for key, one in message.items() if key not in _READ and one is not None and one != []}
    if role == ASSISTANT:
        return Said(role, _replied(message, content, extras), meta=meta, extras=extras)
    name = message.get("name")
    if role in RESULTS:
        name = name or message.get("tool_name")
        return Said(
            role, _content(content, extras), _ids(message), name if isinstance(name, str) else "", extras=extras
        )
    if name is not None:
        extras["name"] = name
    if "tool_name" in message:
        extras["tool_name"] = message["tool_name"]
    return Said(role, _content(content, extras), extras=extras)


def _ids(message: Mapping[str, Json]) -> tuple[str, ...]:
    """The calls a result answers; some write a list."""
    given = message.get("tool_call_id") or message.get("tool_call_ids")
    given = given if isinstance(given, list) else [given]
    return tuple(one for one in given if isinstance(one, str) and one)


def _content(content: Json, extras: dict[str, Json]) -> Content:
    """Plain text stays plain; text parts are text, whatever else stands there is kept as it came."""
    if isinstance(content, str):
        return content
    if content is None:
        return ()
    if not isinstance(content, list):
        return (Opaque(data=content),)
    return tuple(_part(part, index, extras) for index, part in enumerate(content))


def _part(part: Json, index: int, extras: dict[str, Json]) -> Block:
    if isinstance(part, str):
        return Text(text=part)
    text = part.get("text") if isinstance(part, dict) and _kind(part) in _TEXTS else None
    if not isinstance(text, str):
        return Opaque(data=part)
    rest = {key: value for key, value in part.items() if key not in {"type", "text"} and value is not None}
    if rest:
        extras[f"part {index}"] = rest
    return Text(text=text)


def _replied(message: Mapping[str, Json], content: Json, extras: dict[str, Json]) -> Content:
    said = _content(content, extras)
    calls = tuple(_calls(message))
    thinking = tuple(_thinking(message))
    refusal = message.get("refusal")
    refused = (Opaque(data={"type": "refusal", "refusal": refusal}),) if refusal else ()
    if not (calls or thinking or refused):
        return said
    return (*thinking, *((Text(text=said),) if isinstance(said, str) else said), *refused, *calls)


def _thinking(message: Mapping[str, Json]) -> Iterator[Thinking]:
    blocks = message.get("thinking_blocks")
    sealed = [one for one in blocks if isinstance(one, dict)] if isinstance(blocks, list) else []
    for one in sealed:
        if isinstance(text := one.get("thinking"), str):
            yield Thinking(text=text, signature=str(one.get("signature") or ""))
    if not sealed:
        text = message.get("reasoning_content") or message.get("reasoning")
        if isinstance(text, str) and text:
            yield Thinking(text=text)


def _calls(message: Mapping[str, Json]) -> Iterator[ToolUse]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise BadInput("tool_calls is no list of objects")
    for call in calls:
        made = call.get("function") or call.get("custom")
        made = made if isinstance(made, dict) else call
        yield _call(made, call.get("id"))
    old = message.get("function_call")
    if isinstance(old, dict):
        yield _call(old, None)


def _call(made: Mapping[str, Json], label: Json) -> ToolUse:
    name, arguments = made.get("name"), made.get("arguments", made.get("input"))
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return ToolUse(name=name if isinstance(name, str) else "", arguments=arguments, id=label if _named(label) else "")


def _named(label: Json) -> bool:
    return isinstance(label, str)
