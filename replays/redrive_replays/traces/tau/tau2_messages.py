"""tau2's messages: chat messages whose calls have an object of arguments, and a requestor: the agent or the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from redrive_events import BadInput, Content, Json, Opaque, Text, Thinking, ToolUse
from redrive_replays.traces.bodies import micros
from redrive_replays.traces.chat.replies import completion_of, usage_of
from redrive_replays.traces.times import moment
from redrive_replays.traces.trace import ASSISTANT, RESULTS, Meta, Said

_READ: Final = frozenset({"role", "content", "tool_calls", "timestamp", "raw_data", "id", "requestor", "error"})
_COUNTED: Final = frozenset({"usage", "cost"})
_SHAPE: Final = frozenset({"message", "finish_reason", "index", "object"})
# What a raw reply of the agent's says of itself that is kept as what it means.
_TOLD: Final = _SHAPE | {"usage", "model", "id"}
# What a raw reply repeats of the message.
_REPEATED: Final = frozenset({"content", "role", "tool_calls", "function_call", "reasoning_content"})


def said_of(message: Json) -> Said:
    """One message, with all that it holds.

    Raises:
        BadInput: it is no message, or its calls are no list of objects.
    """
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise BadInput("not a message")
    at = moment(message.get("timestamp"))
    extras = {key: value for key, value in message.items() if key not in _READ and value is not None}
    said = Said(message["role"], _content(message.get("content")), at=at.at if at else None, extras=extras)
    if said.role in RESULTS:
        _result(said, message, extras)
        return said
    raw = _raw(message.get("raw_data"))
    calls = tuple(_calls(message))
    thinking: tuple[Thinking, ...] = ()
    if said.role == ASSISTANT:
        said.meta, thinking = _meta(message, raw), tuple(_thinking(message, raw))
        for key in _COUNTED & extras.keys():
            del extras[key]
    elif calls:
        said.by = "user"
        extras["requestor"] = "user"
    if calls or thinking:
        words = (Text(text=said.content),) if isinstance(said.content, str) else said.content
        said.content = (*thinking, *words, *calls)
    if rest := _rest(raw, _TOLD if said.role == ASSISTANT else _SHAPE):
        extras["raw_data"] = rest
    return said


def _raw(raw: Json) -> Mapping[str, Json]:
    """A raw reply: one choice with all that its completion says, or the choice alone, as older files keep it."""
    if not isinstance(raw, dict):
        return {}
    choices = raw["choices"] if completion_of(raw) is not None else []
    if len(choices) != 1 or not isinstance(choices[0], dict):
        return raw
    return {**choices[0], **{key: one for key, one in raw.items() if key != "choices"}}


def _result(said: Said, message: Mapping[str, Json], extras: dict[str, Json]) -> None:
    label, failed = message.get("id"), message.get("error") is True
    said.answers = (label,) if isinstance(label, str) and label else ()
    said.status = "error" if failed else "ok"
    if message.get("requestor") == "user":
        said.by = "tool"
        extras |= {"requestor": "user", "id": label, "error": failed}


def _content(content: Json) -> Content:
    if isinstance(content, str):
        return content
    return () if content is None else (Opaque(data=content),)


def _calls(message: Mapping[str, Json]) -> Iterator[ToolUse]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise BadInput("tool_calls is no list of objects")
    for call in calls:
        name, label, arguments = call.get("name"), call.get("id"), call.get("arguments")
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else msgspec.json.encode(arguments).decode()
        yield ToolUse(
            name=name if isinstance(name, str) else "", arguments=arguments, id=label if isinstance(label, str) else ""
        )


def _thinking(message: Mapping[str, Json], raw: Mapping[str, Json]) -> Iterator[Thinking]:
    made = raw.get("message")
    text = message.get("reasoning_content") or (made.get("reasoning_content") if isinstance(made, dict) else None)
    if isinstance(text, str) and text:
        yield Thinking(text=text)


def _meta(message: Mapping[str, Json], raw: Mapping[str, Json]) -> Meta:
    finish, model, label = raw.get("finish_reason"), raw.get("model"), raw.get("id")
    return Meta(
        usage=usage_of(raw.get("usage") or message.get("usage")),
        finish=finish if isinstance(finish, str) else "",
        model=model if isinstance(model, str) else "",
        response_id=label if isinstance(label, str) else "",
        cost_micros=micros(message.get("cost")),
    )


def _rest(raw: Mapping[str, Json], told: frozenset[str]) -> dict[str, Json]:
    """What a raw reply says beside the message and how it ended."""
    rest = {key: value for key, value in raw.items() if key not in told and value}
    made = raw.get("message")
    more = (
        {key: value for key, value in made.items() if key not in _REPEATED and value} if isinstance(made, dict) else {}
    )
    return {**rest, "message": more} if more else rest
