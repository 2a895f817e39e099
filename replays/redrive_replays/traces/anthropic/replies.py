"""Anthropic's responses: the message in a response, or put together again from its streamed events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from redrive_events import Json, Usage
from redrive_replays.traces.anthropic.messages import said_of
from redrive_replays.traces.bodies import body_of, json_in, text, tokens_of
from redrive_replays.traces.exchanges import Answer
from redrive_replays.traces.trace import ASSISTANT, Meta, Said

_READ: Final = frozenset({"id", "type", "role", "model", "content", "stop_reason", "usage"})
_COUNTED: Final = frozenset({"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"})
# What a delta adds to which text of its block.
_ADDED: Final = {
    **{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"},
    "compaction_delta": "content",
}
EVENTS: Final = frozenset(
    {
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    }
)


def answer_of(value: Json) -> Answer | None:
    """A response as it is, from its JSON text, or from streamed events; None if this is none of Anthropic's."""
    value = body_of(value)
    if isinstance(value, list):
        return _assembled(value)
    if not isinstance(value, dict):
        return None
    if value.get("type") == "message" and value.get("role") == ASSISTANT and "content" in value:
        return Answer(value)
    if value.get("type") == "error" and isinstance(value.get("error"), dict):
        return Answer(error=value["error"])
    return None


def reply_of(message: Mapping[str, Json]) -> Said:
    """A response's message with its tokens and ids.

    Raises:
        BadInput: it has no content.
    """
    (said,) = said_of({"role": ASSISTANT, "content": message.get("content")}, meta_of(message))
    said.extras = {**said.extras, **rest_of(message)}
    return said


def meta_of(message: Mapping[str, Json]) -> Meta:
    """What a response says of itself."""
    return Meta(
        usage=usage_of(message.get("usage")),
        finish=text(message.get("stop_reason")),
        model=text(message.get("model")),
        response_id=text(message.get("id")),
    )


def rest_of(message: Mapping[str, Json]) -> dict[str, Json]:
    """What else stands in a response, and in its usage."""
    rest = {key: value for key, value in message.items() if key not in _READ and value is not None}
    usage = message.get("usage")
    if isinstance(usage, dict):
        counts = {key: value for key, value in usage.items() if key not in _COUNTED and value is not None}
        rest |= {"usage": counts} if counts else {}
    return rest


def usage_of(usage: Json) -> Usage | None:
    """Tokens as they are: here a prompt's count does not include the cached ones."""
    if not isinstance(usage, dict):
        return None
    created, made = usage.get("cache_creation"), usage.get("output_tokens_details")
    kinds = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
    output = tokens_of(usage, "output_tokens")
    return Usage(
        input=tokens_of(usage, "input_tokens"),
        cache_read=tokens_of(usage, "cache_read_input_tokens"),
        cache_write=tokens_of(usage, "cache_creation_input_tokens") or sum(tokens_of(created, kind) for kind in kinds),
        output=output,
        reasoning=min(output, tokens_of(made, "thinking_tokens", "reasoning_tokens")),
    )


@dataclass(slots=True)
class _Block:
    """A block while it is streamed: how it began, and what is added to each of its texts."""

    start: dict[str, Json]
    added: dict[str, list[str]] = field(default_factory=dict)
    input: list[str] = field(default_factory=list)
    others: list[Json] = field(default_factory=list)

    def add(self, delta: Mapping[str, Json]) -> None:
        """One delta more."""
        kind = delta.get("type")
        name = _ADDED.get(kind) if isinstance(kind, str) else None
        if name and isinstance(more := delta.get(name), str):
            self.added.setdefault(name, []).append(more)
            if rest := {key: one for key, one in delta.items() if key not in {"type", name} and one is not None}:
                self.others.append(rest)
        elif kind == "input_json_delta" and isinstance(more := delta.get("partial_json"), str):
            self.input.append(more)
        elif kind == "citations_delta":
            citations = self.start.get("citations")
            self.start["citations"] = [*(citations if isinstance(citations, list) else ()), delta.get("citation")]
        else:
            self.others.append(delta)

    def whole(self) -> dict[str, Json]:
        """The block as it would stand in a message."""
        block = dict(self.start)
        for name, texts in self.added.items():
            block[name] = "".join((text(block.get(name)), *texts))
        if self.input and (given := "".join(self.input)):
            block["input"] = given if block.get("type") == "tool_use" else json_in(given) or given
        return block | ({"deltas": self.others} if self.others else {})


def _assembled(events: Iterable[Json]) -> Answer | None:
    """One message from its events; tokens in later events replace those before, since they count from the start."""
    message: dict[str, Json] = {}
    blocks: dict[Json, _Block] = {}
    ended, error = False, None
    for event in events:
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "error":
            error = event.get("error") or "not told"
        elif isinstance(kind, str) and kind in EVENTS:
            _build(message, blocks, event)
            ended = ended or kind == "message_stop"
    if not message:
        return None if error is None else Answer(error=error)
    begun = message.get("content")
    message["content"] = [*(begun if isinstance(begun, list) else ()), *(block.whole() for block in blocks.values())]
    return Answer(message, error, whole=ended)


def _build(message: dict[str, Json], blocks: dict[Json, _Block], event: Mapping[str, Json]) -> None:
    """One event more: the message begins, changes, or has more in one of its blocks."""
    if event["type"] == "message_start":
        message |= start if isinstance(start := event.get("message"), dict) else {}
    elif event["type"] == "message_delta":
        _change(message, event)
    else:
        _extend(blocks, event)


def _change(message: dict[str, Json], event: Mapping[str, Json]) -> None:
    if isinstance(delta := event.get("delta"), dict):
        message |= delta
    usage, more = message.get("usage"), event.get("usage")
    if isinstance(more, dict):
        told = {key: value for key, value in more.items() if value is not None}
        message["usage"] = {**(usage if isinstance(usage, dict) else {}), **told}


def _extend(blocks: dict[Json, _Block], event: Mapping[str, Json]) -> None:
    index = event.get("index")
    index = index if isinstance(index, int) else len(blocks)
    if isinstance(start := event.get("content_block"), dict):
        blocks[index] = _Block(dict(start))
    elif isinstance(delta := event.get("delta"), dict) and index in blocks:
        blocks[index].add(delta)
