"""Anthropic's messages: blocks of text, sealed thinking, calls in the assistant's words and results in the user's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from redrive_events import BadInput, Block, Content, Json, Opaque, Text, Thinking, ToolUse
from redrive_replays.traces.trace import ASSISTANT, NO_META, Meta, Said

RESULT: Final = "tool_result"
ROLES: Final = frozenset({"user", ASSISTANT, "system"})
# Blocks that no other provider's messages have; results of tools that run at Anthropic end in `_tool_result`.
_OWN: Final = frozenset(
    {"tool_use", RESULT, "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "mcp_tool_result"}
)
_READ: Final = frozenset({"role", "content"})
_RESULT_READ: Final = frozenset({"type", "tool_use_id", "content", "is_error"})


def are_turns(value: Json) -> bool:
    """Whether ``value`` is a list of messages that could be Anthropic's."""
    return isinstance(value, list) and bool(value) and all(map(is_turn, value))


def is_turn(value: Json) -> bool:
    """Whether ``value`` is a message of one of the roles there are."""
    return isinstance(value, dict) and isinstance(value.get("role"), str) and value["role"] in ROLES


def are_own(value: Json) -> bool:
    """Whether these are messages, and one of their blocks is of a kind that only Anthropic's have."""
    return are_turns(value) and any(_kind(block) in _OWN for turn in value for block in blocks_in(turn))


def blocks_in(turn: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The blocks of a message that are objects."""
    content = turn.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _kind(block: Json) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else ""


def said_of(turn: Mapping[str, Json], meta: Meta = NO_META) -> Iterator[Said]:
    """One message as what was said: each result by itself, with the words before and behind it.

    Raises:
        BadInput: it has no content at all.
    """
    role, content = turn["role"], turn.get("content")
    if content is None and "content" not in turn:
        raise BadInput("a message without content")
    extras = {key: value for key, value in turn.items() if key not in _READ and value is not None}
    if role == ASSISTANT:
        yield Said(role, content_of(content, extras), meta=meta, extras=extras)
        return
    if not isinstance(content, list):
        yield Said(role, content_of(content, extras), extras=extras)
        return
    *before, last = _parts(role, content)
    yield from before
    last.extras = {**last.extras, **extras}
    yield last


def _parts(role: str, content: list[Json]) -> Iterator[Said]:
    """The results of a message, and the words before and behind each."""
    words: list[Json] = []
    for block in content:
        if _kind(block) != RESULT:
            words.append(block)
            continue
        if words:
            yield _words(role, words, {})
            words = []
        yield result_of(block)
    if words or not content:
        yield _words(role, words, {})


def _words(role: str, blocks: list[Json], extras: dict[str, Json]) -> Said:
    """Words that are no reply; one block of text is plain words."""
    content = content_of(blocks, extras)
    if len(content) == 1 and isinstance(only := content[0], Text):
        content = only.text
    return Said(role, content, extras=extras)


def result_of(block: Mapping[str, Json]) -> Said:
    """The result of a call."""
    extras = {key: value for key, value in block.items() if key not in _RESULT_READ and value is not None}
    label, failed = block.get("tool_use_id"), block.get("is_error")
    if failed is not None and not isinstance(failed, bool):
        extras["is_error"] = failed
    return Said(
        "tool",
        content_of(block.get("content"), extras),
        (label,) if isinstance(label, str) and label else (),
        status="error" if failed is True else "ok",
        extras=extras,
    )


def content_of(content: Json, extras: dict[str, Json]) -> Content:
    """Plain text stays plain; blocks become blocks, and what else stands on them goes into ``extras``."""
    if isinstance(content, str):
        return content
    if content is None:
        return ()
    if not isinstance(content, list):
        return (Opaque(data=content),)
    return tuple(_block(block, index, extras) for index, block in enumerate(content))


def _block(block: Json, index: int, extras: dict[str, Json]) -> Block:
    """A block in our terms; pictures, tools that ran at the provider and sealed data stay as they came."""
    if isinstance(block, str):
        return Text(text=block)
    kind = _kind(block)
    read: Block | None = None
    taken: tuple[str, ...] = ()
    if kind == "text" and isinstance(text := block.get("text"), str):
        read, taken = Text(text=text), ("type", "text")
    elif kind == "thinking" and isinstance(text := block.get("thinking"), str):
        signature = block.get("signature")
        read = Thinking(text=text, signature=signature if isinstance(signature, str) else "")
        taken = ("type", "thinking", "signature")
    elif kind == "tool_use":
        name, label = block.get("name"), block.get("id")
        read = ToolUse(
            name=name if isinstance(name, str) else "",
            arguments=_arguments(block.get("input")),
            id=label if isinstance(label, str) else "",
        )
        taken = ("type", "name", "id", "input")
    if read is None:
        return Opaque(data=block)
    if rest := {key: value for key, value in block.items() if key not in taken and value is not None}:
        extras[f"block {index}"] = rest
    return read


def _arguments(given: Json) -> str:
    """The arguments as text: a stream has them as it was sent."""
    if isinstance(given, str):
        return given or "{}"
    return "{}" if given is None else msgspec.json.encode(given).decode()
