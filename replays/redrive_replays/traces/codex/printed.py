"""What `codex exec --json` printed, as items of a conversation: words, and calls with what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from redrive_events import Json
from redrive_replays.traces.codex.lines import ITEM, Line, json_of, text

# Calls, by where they have what they are to do.
_GIVEN: Final = {
    "command_execution": ("command",),
    "mcp_tool_call": ("arguments",),
    "collab_tool_call": ("prompt", "receiver_thread_ids"),
}
# What came of a call, and what else tells of that.
_CAME: Final = frozenset({"aggregated_output", "exit_code", "result", "error", "agents_states"})
_OPEN: Final = "in_progress"


def kind_of(line: Line) -> str:
    """The kind of the item that a line is about, in the words of today."""
    item = line.value.get(ITEM)
    kind = text(item.get("type")) or text(item.get("item_type")) if isinstance(item, dict) else ""
    return "agent_message" if kind == "assistant_message" else kind


def name_of(line: Line) -> str:
    """The id of the item that a line is about."""
    item = line.value.get(ITEM)
    return text(item.get("id")) if isinstance(item, dict) else ""


def items_of(line: Line) -> Iterator[Mapping[str, Json]]:
    """What an item that was printed says, as items of a conversation."""
    item, kind = line.value.get(ITEM), kind_of(line)
    if not isinstance(item, dict):
        return
    words = text(item.get("text"))
    if kind == "agent_message":
        yield {"type": "message", "role": "assistant", "content": words}
    elif kind == "reasoning":
        yield {"type": "reasoning", "summary": [{"type": "summary_text", "text": words}]}
    elif kind in _GIVEN:
        yield from _acted(item, kind)
    elif kind in {"file_change", "web_search"}:
        yield {"type": f"{kind}_call", **{key: one for key, one in item.items() if key not in {"type", "item_type"}}}


def is_open(line: Line) -> bool:
    """Whether a call was begun, of which nothing came yet."""
    return line.kind == "item.started" and kind_of(line) in _GIVEN


def declined(line: Line) -> Json:
    """The verdict that a call was not let happen, None if there is none."""
    item = line.value.get(ITEM)
    if line.kind != "item.completed" or not isinstance(item, dict) or item.get("status") != "declined":
        return None
    return {"call": item.get("id"), "verdict": "deny"}


def _acted(item: Mapping[str, Json], kind: str) -> Iterator[Mapping[str, Json]]:
    """A call and, where it has come, its result."""
    label, status = text(item.get("id")), text(item.get("status"))
    given = item.get("arguments") if kind == "mcp_tool_call" else {key: item.get(key) for key in _GIVEN[kind]}
    taken = {"id", "type", "item_type", "tool", "status", *_GIVEN[kind], *_CAME}
    rest = {key: one for key, one in item.items() if key not in taken and one is not None}
    yield {
        **rest,
        **{"type": "function_call", "call_id": label, "name": text(item.get("tool")) or kind, "arguments": given},
    }
    if status == _OPEN:
        return
    result: dict[str, Json] = {"type": "function_call_output", "call_id": label}
    if status in {"failed", "declined"}:
        result["status"] = "failed"
    if kind == "command_execution":
        if "aggregated_output" in item or item.get("exit_code") is not None:
            yield {**result, "output": text(item.get("aggregated_output")), "exit_code": item.get("exit_code")}
        return
    came = item.get("error") or item.get("result") or item.get("agents_states")
    if came is not None:
        yield {**result, "output": json_of(came), **({"status": "failed"} if item.get("error") else {})}
