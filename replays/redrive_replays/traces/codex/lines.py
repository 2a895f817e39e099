"""The lines of a Codex session in one form: what the model was told and said, and what was noted beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from redrive_events import Json
from redrive_replays.traces.lines import Entry

ENVELOPES: Final = frozenset(
    {
        *("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"),
        *("inter_agent_communication", "inter_agent_communication_metadata"),
    }
)
EXEC: Final = frozenset(
    {
        *("thread.started", "turn.started", "turn.completed", "turn.failed"),
        *("item.started", "item.updated", "item.completed"),
    }
)
ITEM: Final = "item"
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
    return value["type"] != "item.completed" or isinstance(value.get(ITEM), dict)


def is_head(value: Json) -> bool:
    """Whether ``value`` is the first line of a session without envelopes."""
    return isinstance(value, dict) and {"id", "timestamp", "instructions"} <= value.keys() and "type" not in value


def line_of(entry: Entry) -> Line:
    """A line in one form; one without an envelope is an item, or the head of its session."""
    value = entry.value if isinstance(entry.value, dict) else {"value": entry.value}
    when = value.get("timestamp", value.get("created_at"))
    if is_envelope(value):
        return Line(entry, value["type"], value["payload"], when)
    if is_exec(value):
        return Line(entry, value["type"], value, when)
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
            return {**found, "output": result if isinstance(result, str) else _json(result)}
        return {"call_id": "", "arguments": value.get("arguments"), **found}
    return value


def _json(value: Json) -> str:
    return "" if value is None else msgspec.json.encode(value).decode()


def items_of_exec(line: Line) -> Iterator[Mapping[str, Json]]:
    """What an item that `codex exec` printed says, as items of a conversation."""
    item = line.value.get(ITEM)
    if not isinstance(item, dict):
        return
    kind, words = text(item.get("type")), text(item.get("text"))
    if kind == "agent_message":
        yield {"type": "message", "role": "assistant", "content": words}
    elif kind == "reasoning":
        yield {"type": "reasoning", "summary": [{"type": "summary_text", "text": words}]}
    elif kind in {"command_execution", "mcp_tool_call"}:
        yield from _acted(item, kind)
    elif kind in {"file_change", "web_search"}:
        yield {"type": f"{kind}_call", **{key: one for key, one in item.items() if key != "type"}}


def _acted(item: Mapping[str, Json], kind: str) -> Iterator[Mapping[str, Json]]:
    """A call and, where it has come, its result."""
    label = text(item.get("id"))
    result: dict[str, Json] = {"type": "function_call_output", "call_id": label}
    if kind == "mcp_tool_call":
        yield _call(label, text(item.get("tool")), item.get("arguments"))
        if (came := item.get("error") or item.get("result")) is not None:
            yield {**result, "output": _json(came), **({"status": "failed"} if item.get("error") else {})}
        return
    yield _call(label, kind, {"command": item.get("command")})
    if "aggregated_output" in item or item.get("exit_code") is not None:
        yield {**result, "output": text(item.get("aggregated_output")), "exit_code": item.get("exit_code")}


def _call(label: str, name: str, arguments: Json) -> Mapping[str, Json]:
    return {"type": "function_call", "call_id": label, "name": name, "arguments": arguments}
