"""Sessions that go on from another: which one that is, and where its words end and their own begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from redrive_events import Json
from redrive_replays.traces.codex.lines import Line, text
from redrive_replays.traces.responses.items import is_replied
from redrive_replays.traces.times import moment

BY_TIME: Final = "where the session that this one goes on from ends (told by when the lines were written)"
# The lines of the other session are copied at once; a person, or a model, takes longer.
_COPIED: Final = timedelta(seconds=1)


def id_of(meta: Mapping[str, Json]) -> str:
    """What a session is called."""
    return text(meta.get("id")) or text(meta.get("session_id"))


def spawned_by(meta: Mapping[str, Json]) -> Mapping[str, Json]:
    """What a session says of the one that began it."""
    source = meta.get("source")
    for key in ("subagent", "thread_spawn"):
        source = source.get(key) if isinstance(source, dict) else None
    return source if isinstance(source, dict) else {}


def goes_on(meta: Mapping[str, Json]) -> bool:
    """Whether a session says that it has another's words in front of its own."""
    return bool(meta.get("forked_from_id") or spawned_by(meta))


def forked_from(lines: Sequence[Line]) -> str:
    """The session that this one goes on from: by its own word, or because the other's head stands behind its own."""
    heads = [line.value for line in lines if line.kind == "session_meta"]
    own = heads[0] if heads else {}
    others = (id_of(head) for head in heads[1:] if id_of(head) != id_of(own))
    return text(own.get("forked_from_id")) or next(filter(None, others), "")


def last_of_other(lines: Sequence[Line]) -> tuple[Line | None, bool]:
    """The last item of the other session, and whether that is told only by when it was written.

    The lines keep their times, or have that of the copy: then they end where the first pause is, and the words that
    ask for the next reply are the session's own.
    """
    head = next((line for line in lines if line.kind == "session_meta"), None)
    began = moment(head.value.get("timestamp")) if head else None
    items = [(line, moment(line.timestamp)) for line in lines if line.kind == "response_item"]
    before = [line for line, at in items if began and at and at.at < began.at]
    if before:
        return before[-1], False
    other = next((line for line in lines if line.kind == "session_meta" and line is not head), None)
    copied = moment(other.timestamp) if other else None
    if copied is None:
        return None, False
    found = None
    for line, at in items:
        if at is None or at.at - copied.at > _COPIED:
            break
        copied = at
        found = line if _is_said_by_agent(line) else found
    return found, found is not None


def _is_said_by_agent(line: Line) -> bool:
    return is_replied(line.value) or text(line.value.get("type")).endswith("_output")
