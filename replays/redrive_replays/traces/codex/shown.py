"""What was shown to a person, as the items that it shows: for a session that keeps no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from redrive_events import Json
from redrive_replays.traces.codex.lines import SHOWN, Line, is_told, json_of, text

# Calls as they were told of, at their begin and at their end.
_ACTS: Final = ("exec_command", "mcp_tool_call", "patch_apply")
_OUTPUTS: Final = ("aggregated_output", "formatted_output", "stdout")


def as_item(line: Line) -> Line:
    """What was shown to a person, as the item that it shows."""
    kind = text(line.value.get("type"))
    words = text(line.value.get("message")) or text(line.value.get("text"))
    item: dict[str, Json] = {"type": "message", "role": "user" if kind == "user_message" else "assistant"}
    if line.kind != "event_msg":
        return line
    if kind == "item_completed" and isinstance(line.value.get("item"), dict):
        return _completed(line, line.value["item"])
    if is_told(line.entry.value) and (acted := _acted(kind, line.value)):
        return Line(line.entry, "response_item", acted, line.timestamp)
    if kind not in SHOWN or not words:
        return line
    if kind.startswith("agent_reasoning"):
        item = {"type": "reasoning", "summary": [{"type": "summary_text", "text": words}]}
    else:
        item["content"] = words
    return Line(line.entry, "response_item", item, line.timestamp)


def _completed(line: Line, item: Mapping[str, Json]) -> Line:
    """An item of a session that keeps no others."""
    roles = {"UserMessage": "user", "AgentMessage": "assistant", "user_message": "user", "agent_message": "assistant"}
    kind = text(item.get("type"))
    if kind not in roles:
        return line
    content = item.get("content", item.get("text", item.get("message")))
    parts = content if isinstance(content, list) else [content]
    words = [text(part.get("text")) if isinstance(part, dict) else text(part) for part in parts]
    shown = {"type": "message", "role": roles[kind], "content": "\n".join(words)}
    return Line(line.entry, "response_item", shown, line.timestamp)


def _acted(kind: str, value: Mapping[str, Json]) -> dict[str, Json]:
    """The begin of a call as the call, its end as what came of it; nothing if this is neither."""
    act, _, part = kind.rpartition("_")
    if act not in _ACTS or part not in {"begin", "end"}:
        return {}
    label = text(value.get("call_id"))
    if part == "end":
        return {"type": "function_call_output", "call_id": label, **_came(value)}
    given = value.get("invocation")
    if isinstance(given, dict):
        return {
            **{"type": "function_call", "call_id": label, "name": text(given.get("tool"))},
            **{"arguments": json_of(given.get("arguments")), "server": given.get("server")},
        }
    rest = {key: one for key, one in value.items() if key not in {"type", "call_id", "parsed_cmd"}}
    return {"type": "function_call", "call_id": label, "name": act, "arguments": json_of(rest)}


def _came(value: Mapping[str, Json]) -> dict[str, Json]:
    if "result" in value:
        result = value["result"]
        failed = isinstance(result, dict) and "Err" in result
        return {"output": json_of(result), **({"status": "failed"} if failed else {})}
    words = next((text(value.get(key)) for key in _OUTPUTS if value.get(key)), "")
    errors = text(value.get("stderr"))
    found: dict[str, Json] = {"output": words if errors in words else "\n".join(filter(None, (words, errors)))}
    if value.get("exit_code") is not None:
        found["exit_code"] = value["exit_code"]
    return found | ({"status": "failed"} if value.get("success") is False else {})
