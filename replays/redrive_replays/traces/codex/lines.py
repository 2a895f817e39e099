"""The lines of a Codex session in one form: what the model was told and said, and what was noted beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from redrive_events import Json
from redrive_replays.traces.lines import Entry
from redrive_replays.traces.responses.items import is_item

ENVELOPES: Final = frozenset(
    {
        *("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"),
        *("inter_agent_communication", "inter_agent_communication_metadata"),
    }
)
EXEC: Final = frozenset(
    {
        *("thread.started", "turn.started", "turn.completed", "turn.failed"),
        *("item.started", "item.updated", "item.completed", "item.plan.delta", "request_user_input"),
        *("session.created", "error"),
    }
)
ITEM: Final = "item"
# All that the first line of a session without envelopes may have.
_HEAD: Final = frozenset({"id", "timestamp", "instructions", "git", "cwd", "originator", "cli_version", "source"})
# What says only again what an item says.
SHOWN: Final = frozenset({"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"})
# Items as they were written at times, in the words of today.
_RENAMED: Final = {
    "tool_call": "function_call",
    "tool_result": "function_call_output",
    "function_result": "function_call_output",
}


@dataclass(slots=True, eq=False)
class Line:
    """One line: of which kind, when, and what it holds."""

    entry: Entry
    kind: str
    value: Mapping[str, Json]
    timestamp: Json = None


def text(value: Json) -> str:
    """``value`` if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def is_envelope(value: Json) -> bool:
    """Whether ``value`` is a line of a session, in an envelope."""
    return isinstance(value, dict) and text(value.get("type")) in ENVELOPES and isinstance(value.get("payload"), dict)


def is_exec(value: Json) -> bool:
    """Whether ``value`` is a line of what `codex exec --json` prints."""
    if not isinstance(value, dict) or text(value.get("type")) not in EXEC or "payload" in value:
        return False
    if value["type"] == "error":
        return isinstance(value.get("message"), str)
    return value["type"] != "item.completed" or isinstance(value.get(ITEM), dict)


def is_document(value: Json) -> bool:
    """Whether ``value`` is a whole session of the first Codex, with all items in one document."""
    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        return False
    head = value.get("session")
    return isinstance(head, dict) and {"id", "timestamp"} <= head.keys()


def entries_in(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The lines of a file; those of a session in one document are its head and its items."""
    value = entries[0].value
    if not is_document(value):
        return entries
    lines = ({"instructions": None, **value["session"]}, *value["items"])
    return [Entry(index, one) for index, one in enumerate(lines)]


def is_head(value: Json) -> bool:
    """Whether ``value`` is the first line of a session without envelopes."""
    return isinstance(value, dict) and {"id", "timestamp"} <= value.keys() <= _HEAD


def is_bare(value: Json) -> bool:
    """Whether ``value`` is a later line of such a session: an item, or a mark between two."""
    return isinstance(value, dict) and "payload" not in value and ("record_type" in value or is_item(value))


def is_told(value: Json) -> bool:
    """Whether ``value`` is a line of what `codex exec --json` printed before it printed items: a number, an event."""
    event = value.get("msg") if isinstance(value, dict) and "id" in value else None
    return isinstance(event, dict) and isinstance(event.get("type"), str)


def _told(value: Mapping[str, Json]) -> tuple[str, Mapping[str, Json]] | None:
    """The kind and the content of such a line, or of one of the two before them: the settings, and the prompt."""
    if is_told(value):
        return "event_msg", value["msg"]
    if value.keys() == {"prompt"}:
        return "event_msg", {"type": "user_message", "message": value["prompt"]}
    return ("turn_context", value) if {"workdir", "model"} <= value.keys() and "type" not in value else None


def line_of(entry: Entry) -> Line:
    """A line in one form; one without an envelope is an item, or the head of its session."""
    value = entry.value if isinstance(entry.value, dict) else {"value": entry.value}
    when = value.get("timestamp", value.get("created_at"))
    if is_envelope(value):
        return Line(entry, value["type"], value["payload"], when)
    if is_exec(value):
        return Line(entry, value["type"], value, when)
    if (told := _told(value)) is not None:
        return Line(entry, *told, when)
    if is_head(value):
        return Line(entry, "session_meta", value, when)
    if "record_type" in value or "payload" in value or not ("type" in value or "role" in value):
        kind = text(value.get("record_type")) or text(value.get("type"))
        return Line(entry, kind or "record", value, when)
    return Line(entry, "response_item", {key: one for key, one in value.items() if key != "created_at"}, when)


def item_of(value: Mapping[str, Json]) -> Mapping[str, Json]:
    """An item in the words of today, whatever it was written in."""
    kind = text(value.get("type"))
    if "role" in value and not kind and "content" not in value:
        return {**value, "content": value.get("message")}
    function = value.get("function")
    if kind in _RENAMED or isinstance(function, dict):
        found = {**value, "type": _RENAMED.get(kind, kind)}
        if isinstance(function, dict):
            found = {**{key: one for key, one in found.items() if key != "function"}, **function}
        if found["type"].endswith("_output"):
            result = found.pop("result", found.get("output"))
            return {**found, "output": result if isinstance(result, str) else json_of(result)}
        return {"call_id": "", "arguments": value.get("arguments"), **found}
    return value


def json_of(value: Json) -> str:
    """``value`` as JSON text, nothing as no text."""
    return "" if value is None else msgspec.json.encode(value).decode()
