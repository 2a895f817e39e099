"""Messages and parts that an SDK puts one level deeper than others do, opened: Gemini's, Bedrock's, Azure's, AWS's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from redrive_events import Json
from redrive_replays.traces.otel.values import parsed
from redrive_replays.traces.trace import RESULTS

# What a part without a type is, by the key that has something in it.
_KEYS: Final = (
    *(("function_call", "function_call"), ("functionCall", "function_call"), ("toolUse", "function_call")),
    *(("function_response", "function_response"), ("functionResponse", "function_response")),
    *(("toolResult", "function_response"), ("reasoningContent", "thinking")),
)


def opened(message: Mapping[str, Json]) -> Mapping[str, Json]:
    """A message whose content is one by itself, with its own role and parts, as that message."""
    inner = message.get("content")
    if not isinstance(inner, dict):
        return message
    rest = {key: value for key, value in message.items() if key != "content"}
    if isinstance(inner.get("parts"), list):
        return {**rest, **inner}
    said = inner.get("message", inner.get("content"))
    if said is not None and (message.get("role") not in RESULTS or "role" in inner or are_parts(parsed(said))):
        return {**rest, **{key: value for key, value in inner.items() if key != "message"}, "content": said}
    text = inner.get("text")
    if isinstance(text, dict) and isinstance(text.get("value"), str):
        return {**rest, "content": text["value"]}
    return message


def are_parts(value: Json) -> bool:
    """Whether these are the parts of a message, which have no type, as Bedrock has them."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and _is_part(one) for one in value)


def _is_part(one: Mapping[str, Json]) -> bool:
    if len(one) != 1:
        return False
    key, inner = next(iter(one.items()))
    if key == "text":
        return isinstance(inner, str)
    return isinstance(inner, dict) and key in {"toolUse", "toolResult", "reasoningContent", "image", "document"}


def kind_of_part(part: Mapping[str, Json]) -> str:
    """What a part without a type is."""
    found = next((kind for key, kind in _KEYS if part.get(key) is not None), "")
    if found:
        return found
    if part.get("thought") is True:
        return "thinking"
    return "text" if part.get("text") is not None else ""


def thought_of(part: Mapping[str, Json]) -> Mapping[str, Json]:
    """Bedrock's thoughts stand two levels below."""
    inner = part.get("reasoningContent")
    text = inner.get("reasoningText") if isinstance(inner, dict) else None
    return text if isinstance(text, dict) else part
