"""Anthropic's messages in the words of the oracle, by another way than the importer's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def retold(turns: Sequence[Mapping[str, Any]], system: Any = None, *, joined: bool = True) -> list[dict[str, Any]]:
    """The messages, results apart, behind the system prompt where there is one."""
    told: list[dict[str, Any]] = [] if system is None else [{"role": "system", "content": system}]
    for turn in turns:
        blocks = turn["content"] if isinstance(turn["content"], list) else [{"type": "text", "text": turn["content"]}]
        if turn["role"] == "assistant":
            calls = [
                {"id": one["id"], "function": {"name": one["name"], "arguments": one["input"]}}
                for one in blocks
                if one["type"] == "tool_use"
            ]
            content = [one for one in blocks if one["type"] != "tool_use" and "thinking" not in one]
            told.append({"role": "assistant", "content": content, "tool_calls": calls})
            continue
        told += _user(blocks)
    return list(_joined(told)) if joined else told


def _user(blocks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    words: list[Any] = []
    for one in [*blocks, {"type": "end"}]:
        if one["type"] in {"tool_result", "end"}:
            if words:
                yield {"role": "user", "content": words}
            words = []
        if one["type"] == "tool_result":
            yield {"role": "tool", "content": one["content"], "tool_call_id": one["tool_use_id"]}
        elif one["type"] != "end":
            words.append(one)


def _joined(told: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Replies behind one another, the first of which calls, are one."""
    before: dict[str, Any] | None = None
    for one in told:
        if before and one["role"] == "assistant" == before["role"] and before["tool_calls"]:
            before = {**before, "content": [*before["content"], *one["content"]]} | {
                "tool_calls": [*before["tool_calls"], *one["tool_calls"]]
            }
            continue
        if before:
            yield before
        before = one
    if before:
        yield before
