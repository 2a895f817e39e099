"""The oracle of an import: at every turn the model is asked with the file's own messages, word for word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from redrive_events import ModelAsked, ModelReplied, Opaque, Record, blocks_of, calls_of, text_of
from redrive_projections import Message, requests

# role, words, other parts, calls (id, name, arguments), the call that is answered
Line = tuple[str, str, int, list[tuple[str, str, str]], str]


def check(records: Sequence[Record], messages: Sequence[Mapping[str, Any]]) -> int:
    """Hold every turn of a run against the messages of its file; the number of turns."""
    theirs = [line_of(one) for one in messages]
    asked = {position: [_line(one) for one in said] for position, said in _sound(records)}
    turns = 0
    replied: list[int] = []
    for record in records:
        if isinstance(record.event, ModelReplied):
            before = asked[record.cause]
            assert before == [_as_kept(*pair) for pair in zip(before, theirs, strict=False)]
            assert _reply(record.event) == theirs[len(before)]
            replied.append(len(before))
            turns += 1
    # No reply of the file is left out; a greeting, which nobody asked for, stands before the first.
    first = replied[0] if replied else len(theirs)
    assert replied == [index for index, line in enumerate(theirs) if line[0] == "assistant" and index >= first]
    assert not any(line[3] for line in theirs[:first])
    return turns


def turns(records: Sequence[Record]) -> Iterable[tuple[list[Line], Line]]:
    """What the model was asked with at every turn, and what it said."""
    asked = {position: [_line(one) for one in said] for position, said in _sound(records)}
    for record in records:
        if isinstance(record.event, ModelReplied):
            yield asked[record.cause], _reply(record.event)


def _sound(records: Sequence[Record]) -> Iterable[tuple[int, Sequence[Message]]]:
    """The requests as rebuilt from the log, each of which has the digest that was recorded for it."""
    events = {record.position: record.event for record in records}
    for asked in requests(records):
        event = events[asked.position]
        assert isinstance(event, ModelAsked)
        assert asked.digest == event.request
        yield asked.position, asked.messages


def _as_kept(ours: Line, theirs: Line) -> Line:
    """A result whose call is not to be found is a message like any other: the id it names stands beside the run."""
    return theirs if ours[4] else (*theirs[:4], "")


def line_of(message: Mapping[str, Any]) -> Line:
    """A message of a file."""
    role, content = message["role"], message.get("content")
    parts = content if isinstance(content, list) else []
    words = [part["text"] for part in parts if part.get("type") == "text"]
    calls = [_call(one.get("function") or one["custom"], one.get("id")) for one in message.get("tool_calls") or []]
    calls += [_call(old, None)] if (old := message.get("function_call")) else []
    text = content if isinstance(content, str) else "\n".join(words)
    answers = message.get("tool_call_id") or (message.get("tool_call_ids") or [""])[0]
    others = len(parts) - len(words) + bool(message.get("refusal"))
    return _role(role), text, others, calls, answers


def _role(role: str) -> str:
    return "tool" if role == "function" else role


def _call(made: Mapping[str, Any], label: str | None) -> tuple[str, str, str]:
    arguments = made.get("arguments", made.get("input"))
    return (
        label or "",
        made["name"],
        arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode(),
    )


def _reply(event: ModelReplied) -> Line:
    return _line(Message("assistant", event.content, 0))


def _line(said: Message) -> Line:
    others = sum(type(block) is Opaque for block in blocks_of(said.content))
    calls = [(call.id, call.name, call.arguments) for _, call in calls_of(said.content)]
    return _role(said.role), text_of(said.content), others, calls, said.call_id
