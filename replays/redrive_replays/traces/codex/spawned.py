"""Which calls of a session began other sessions, as their results, or what was noted beside them, say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from redrive_events import BadInput, Json, calls_of, parse_json, text_of
from redrive_replays.traces.codex.lines import text
from redrive_replays.traces.trace import SPAWNED, Remark, Said

# Where a result has the name of the session that its call began.
_NAMES: Final = ("agent_id", "thread_id", "new_thread_id")
_RESULT_BYTES_MAX: Final = 10_000


def spawned(said: Sequence[Said]) -> Iterator[Remark]:
    """A remark on each session that one of the calls began."""
    calls = [call.id for one in said if one.replied for _, call in calls_of(one.content)]
    tools = {call.id: call.name for one in said if one.replied for _, call in calls_of(one.content)}
    numbers = {label: number for number, label in reversed(list(enumerate(calls, start=1)))}
    agents: dict[str, str] = {}
    for one in said:
        for label, agent in (*_by_result(one, tools), *_by_notes(one)):
            if label in numbers:
                agents.setdefault(agent, label)
    for agent, label in agents.items():
        yield Remark(SPAWNED, {"agent": agent, "call": numbers[label]})


def _by_result(said: Said, tools: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if not (said.answered and said.answers and "spawn" in tools.get(said.answers[0], "")):
        return
    words = text_of(said.content)
    if not words.startswith("{") or len(words) > _RESULT_BYTES_MAX:
        return
    try:
        value = parse_json(words)
    except BadInput:
        return
    if isinstance(value, dict) and (name := next(filter(None, (text(value.get(key)) for key in _NAMES)), "")):
        yield said.answers[0], name


def _by_notes(said: Said) -> Iterator[tuple[str, str]]:
    for kind, value in said.beside:
        note = value if isinstance(value, dict) else {}
        item = note.get("item")
        if kind == "collab_agent_spawn_end":
            yield text(note.get("call_id")), text(note.get("new_thread_id"))
        elif isinstance(item, dict) and "spawn" in text(item.get("tool")).lower():
            yield from ((text(item.get("id")), text(agent)) for agent in _list(item.get("receiver_thread_ids")))


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
