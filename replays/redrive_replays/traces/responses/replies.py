"""OpenAI's response objects: the output in one, or put together again from its streamed events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from redrive_events import Json, Usage
from redrive_replays.traces.bodies import body_of, text, tokens_of
from redrive_replays.traces.exchanges import Answer
from redrive_replays.traces.responses.items import kind_of, replied
from redrive_replays.traces.times import moment
from redrive_replays.traces.trace import Meta, Said

ENDS: Final = frozenset({"response.completed", "response.failed", "response.incomplete", "response.done"})
# Which text of an item a delta adds to.
_ADDED: Final = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.mcp_call_arguments.delta": "arguments",
    "response.code_interpreter_call_code.delta": "code",
}
_READ: Final = frozenset(
    {
        *("id", "object", "created_at", "completed_at", "model", "output", "usage", "instructions", "tools"),
        *("previous_response_id", "conversation"),
    }
)


def answer_of(value: Json) -> Answer | None:
    """A response as it is, from its JSON text, or from streamed events; None if this is none of these."""
    value = body_of(value)
    if isinstance(value, list):
        return _assembled(value)
    if not isinstance(value, dict):
        return None
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return Answer(value)
    output = value.get("output")
    if value.get("object") is None and isinstance(output, list) and "usage" in value and "id" in value:
        return Answer(value) if all(isinstance(item, dict) and kind_of(item) for item in output) else None
    return None


def error_of(value: Json) -> Json:
    """The error that stands in the place of a response, None if there is none."""
    value = body_of(value)
    error = value.get("error") if isinstance(value, dict) else None
    return error if isinstance(error, dict) and "message" in error else None


def reply_of(response: Mapping[str, Json]) -> Said | None:
    """The output of a response as a reply, with its tokens and times; None where it holds none."""
    output = response.get("output")
    said = replied(output if isinstance(output, list) else (), meta_of(response))
    if said is None:
        return None
    at = moment(response.get("completed_at")) or moment(response.get("created_at"))
    said.at = at.at if at else None
    rest = {key: one for key, one in response.items() if key not in _READ and one is not None and one not in ({}, [])}
    said.extras = {**said.extras, **({"response": rest} if rest else {})}
    return said


def meta_of(response: Mapping[str, Json]) -> Meta:
    """What a response says of itself."""
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return Meta(
        usage=usage_of(response.get("usage")),
        finish=text(reason) or text(response.get("status")),
        model=text(response.get("model")),
        response_id=text(response.get("id")),
    )


def usage_of(usage: Json) -> Usage | None:
    """Tokens without double counting: what is read from the cache, or written to it, is part of the input."""
    if not isinstance(usage, dict):
        return None
    given, made = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    read = tokens_of(given, "cached_tokens") or tokens_of(usage, "cached_input_tokens")
    write = tokens_of(given, "cache_write_tokens") or tokens_of(usage, "cache_write_input_tokens")
    output = tokens_of(usage, "output_tokens")
    reasoning = tokens_of(made, "reasoning_tokens") or tokens_of(usage, "reasoning_output_tokens")
    return Usage(
        input=max(0, tokens_of(usage, "input_tokens") - read - write),
        cache_read=read,
        cache_write=write,
        output=output,
        reasoning=min(output, reasoning),
    )


@dataclass(slots=True)
class _Item:
    """An item while it is streamed."""

    value: dict[str, Json]
    done: bool = False
    added: dict[str, list[str]] = field(default_factory=dict)
    words: dict[int, list[str]] = field(default_factory=dict)
    summary: dict[int, list[str]] = field(default_factory=dict)

    def whole(self) -> dict[str, Json]:
        """The item as far as it came."""
        if self.done:
            return self.value
        texts: dict[str, Json] = {key: "".join((text(self.value.get(key)), *more)) for key, more in self.added.items()}
        if self.words:
            kind = "reasoning_text" if kind_of(self.value) == "reasoning" else "output_text"
            texts["content"] = [{"type": kind, "text": "".join(self.words[at])} for at in sorted(self.words)]
        if self.summary:
            parts = ["".join(self.summary[at]) for at in sorted(self.summary)]
            texts["summary"] = [{"type": "summary_text", "text": part} for part in parts]
        return self.value | texts


def _assembled(events: Iterable[Json]) -> Answer | None:
    """One response from its events: the last has it whole, else it is as far as its items came."""
    response: dict[str, Json] = {}
    items: dict[int, _Item] = {}
    ended, error = False, None
    for event in events:
        kind = kind_of(event) if isinstance(event, dict) else ""
        if kind == "error":
            error = event.get("error") or {key: one for key, one in event.items() if key != "type"}
        elif kind.startswith("response."):
            response |= inner if isinstance(inner := event.get("response"), dict) else {}
            ended = ended or kind in ENDS
            _build(items, kind, event)
    if not response and not items:
        return Answer(error=error) if error is not None else None
    if not response.get("output"):
        response["output"] = [items[index].whole() for index in sorted(items)]
    return Answer({**response, "object": "response"}, error, whole=ended)


def _build(items: dict[int, _Item], kind: str, event: Mapping[str, Json]) -> None:
    """One event more about an item."""
    index = event.get("output_index")
    if not isinstance(index, int):
        return
    if isinstance(value := event.get("item"), dict):
        items[index] = _Item(dict(value), done=kind.endswith(".done"))
    elif index in items and isinstance(delta := event.get("delta"), str):
        if kind in _ADDED:
            items[index].added.setdefault(_ADDED[kind], []).append(delta)
        elif kind in {"response.output_text.delta", "response.reasoning_text.delta"}:
            at = event.get("content_index")
            items[index].words.setdefault(at if isinstance(at, int) else 0, []).append(delta)
        elif kind == "response.reasoning_summary_text.delta":
            at = event.get("summary_index")
            items[index].summary.setdefault(at if isinstance(at, int) else 0, []).append(delta)
