"""Codex sessions, old and new, and what `codex exec --json` prints: each as a run, what was taken back as another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from redrive_events import Json
from redrive_replays.traces.codex.forks import BY_TIME, forked_from, goes_on, id_of, last_of_other, spawned_by
from redrive_replays.traces.codex.lines import (
    Line,
    entries_in,
    is_bare,
    is_document,
    is_envelope,
    is_exec,
    is_head,
    is_told,
    item_of,
    line_of,
    text,
)
from redrive_replays.traces.codex.said import Told, given
from redrive_replays.traces.codex.shown import as_item
from redrive_replays.traces.codex.spawned import spawned
from redrive_replays.traces.conversation import NO_TIMES, retell
from redrive_replays.traces.material import Material
from redrive_replays.traces.times import clock_of, moment
from redrive_replays.traces.trace import ELSEWHERE, Remark, Said, Trace

NO_PROMPT: Final = "the system prompt and the tools' descriptions (the format does not keep them)"
NO_TOOLS: Final = "the tools' descriptions (the format does not keep them)"
NO_TALK: Final = "the conversation (the file holds none)"
ONLY_SHOWN: Final = "the items that the model was asked with (only what was shown to a person is there)"
PRINTED: Final = "what was asked, and where one reply ends (only what was printed is there)"
LOST: Final = "a message (its line could not be read)"
_LABELS: Final = {
    **{"id": "session", "session_id": "session", "cwd": "cwd", "originator": "originator", "cli_version": "version"},
    **{"model_provider": "provider", "parent_thread_id": "parent_session"},
    **{"thread_id": "session", "agent_nickname": "agent_nickname", "history_mode": "history_mode"},
}
LOOKED_AT: Final = 20


def detect(material: Material) -> bool:
    """Whether the file is made of a session's lines."""
    looked_at = [entry.value for entry in material.entries[:LOOKED_AT]]
    first, *others = looked_at
    if is_head(first) and ("instructions" in first or any(map(is_bare, others))):
        return True
    if is_document(first) or any(map(is_envelope, looked_at)):
        return True
    if 2 * sum(map(is_told, looked_at)) > len(looked_at):
        return True
    return is_exec(first) and sum(map(is_exec, looked_at)) * 2 > len(looked_at)


def read(material: Material) -> Iterator[Trace]:
    """Each session as a run, what was taken back in it as runs behind it."""
    lines = [line_of(entry) for entry in entries_in(material.entries)]
    entries = iter(range(len(lines) + 1))
    for session in _sessions(lines):
        yield from _runs(session, entries, material)


def _sessions(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines by session: one that is forked has the head of the other behind its own."""
    found: list[Line] = []
    known: set[str] = set()
    talked = False
    for line in lines:
        if line.kind == "session_meta":
            name = id_of(line.value)
            if talked and name not in known and not goes_on(found[0].value):
                yield found
                found, known, talked = [], set(), False
            known.add(name)
        talked = talked or line.kind == "response_item"
        found.append(line)
    yield found


def _role(meta: Mapping[str, Json]) -> str:
    """What a session that another began is for, where it says nothing else of that one."""
    source = meta.get("source")
    kind = source.get("subagent") if isinstance(source, dict) else None
    return text(kind) or (text(kind.get("other")) if isinstance(kind, dict) else "")


def _runs(lines: Sequence[Line], entries: Iterator[int], material: Material) -> Iterator[Trace]:
    trace = Trace(entry=next(entries))
    told = Told(trace)
    behind = _meta(lines, trace)
    items = [item_of(line.value) for line in lines if line.kind == "response_item"]
    told.shown = {words for item in items for words in _words(item)}
    whole = _whole(lines, items)
    only_shown = any(one is not line for one, line in zip(whole, lines, strict=True))
    last, by_time = last_of_other(whole) if behind else (None, False)
    inherited = 0
    for line in whole:
        told.add(line)
        if line is last:
            told.end_reply()
            inherited = len(told.said)
    told.end()
    moments = told.moments or [moment(line.timestamp) for line in lines]
    trace.clock = clock_of(moments)
    trace.began = next((one.at for one in moments if one is not None), None)
    trace.remarks += (Remark(name, value) for name, value in told.first)
    if origin := trace.labels.get("forked_from"):
        trace.remarks.append(Remark("forked_from", {"session": origin, "messages": inherited}))
    if by_time:
        trace.lacks(BY_TIME)
    trace.remarks += spawned(told.said[inherited:])
    _grade(trace, told, lines, material, only_shown=only_shown)
    if not told.said:
        yield trace
        return
    system = _system(lines)
    trace.lacks(NO_TOOLS if system else NO_PROMPT)
    yield retell(trace, [*system, *given(told.said[:inherited]), *told.said[inherited:]], model=told.model)
    for back in told.backs:
        other = Trace(
            entry=next(entries), clock=trace.clock, labels={**trace.labels, "taken_back_from": str(trace.entry)}
        )
        other.grade, other.agent = trace.grade, trace.agent
        other.missing = {NO_TOOLS if system else NO_PROMPT: 1}
        yield retell(other, [*system, *given(back.before), *back.said], model=told.model)


def _meta(lines: Sequence[Line], trace: Trace) -> bool:
    """What the head of a session says of it; whether another's words stand in front of its own."""
    heads = [line.value for line in lines if line.kind in {"session_meta", "thread.started", "session.created"}]
    head: Mapping[str, Json] = heads[0] if heads else {}
    above = spawned_by(head)
    for key, name in _LABELS.items():
        if value := text(head.get(key)) or text(above.get(key)):
            trace.labels.setdefault(name, value)
    git = head.get("git")
    if isinstance(git, dict):
        trace.labels |= {f"git_{key}": value for key, value in git.items() if isinstance(value, str) and value}
    if isinstance(source := head.get("source"), str):
        trace.labels["source"] = source
    trace.agent = text(above.get("agent_role")) or _role(head)
    if above or trace.agent or head.get("parent_thread_id"):
        trace.lacks(ELSEWHERE)
        trace.labels["agent_id"] = id_of(head)
    if other := forked_from(lines):
        trace.labels["forked_from"] = other
    return bool(other or above)


def _system(lines: Sequence[Line]) -> list[Said]:
    """The system prompt, where the session keeps it."""
    for line in lines:
        base = line.value.get("base_instructions") if line.kind == "session_meta" else None
        words = text(base.get("text")) if isinstance(base, dict) else text(base)
        if words:
            return [Said("system", words)]
    return []


def _whole(lines: Sequence[Line], items: Sequence[Mapping[str, Json]]) -> list[Line]:
    """The lines, with what was only shown to a person as the items that it shows: all, or the words of one side."""
    if any(is_exec(line.entry.value) for line in lines):
        return list(lines)
    if not any(_is_talk(item) for item in items):
        return [as_item(line) for line in lines]
    roles = {text(item.get("role")) for item in items}
    shown = {kind for kind, role in (("user_message", "user"), ("agent_message", "assistant")) if role not in roles}
    return [as_item(line) if text(line.value.get("type")) in shown else line for line in lines]


def _is_talk(item: Mapping[str, Json]) -> bool:
    return text(item.get("type")) not in {"ghost_snapshot", "compaction"}


def _words(item: Mapping[str, Json]) -> Iterator[str]:
    """The texts of an item."""
    for key in ("content", "summary"):
        parts = item.get(key)
        if isinstance(parts, str):
            yield parts
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                yield text(part.get("text"))


def _grade(trace: Trace, told: Told, lines: Sequence[Line], material: Material, *, only_shown: bool) -> None:
    """How much of the run is there."""
    if trace.clock == "none":
        trace.lacks(NO_TIMES)
    if not told.said:
        trace.grade = "view-only"
        trace.lacks(NO_TALK)
    elif only_shown or any(is_exec(line.entry.value) for line in lines):
        trace.grade = "view-only"
        trace.lacks(ONLY_SHOWN if only_shown else PRINTED)
    if material.lost:
        trace.grade = "view-only"
        trace.missing[LOST] = material.lost
