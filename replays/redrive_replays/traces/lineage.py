"""Runs that another began, told in files of their own: each finds the other by what both say, in whichever order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Final, NamedTuple

import msgspec

from redrive_events import (
    NOTES,
    PARENT,
    AnnotationMade,
    Batch,
    EventLog,
    Lineage,
    Record,
    RunStarted,
    ToolCalled,
)
from redrive_replays.traces.building import Run
from redrive_replays.traces.report import FileReport
from redrive_replays.traces.trace import BY_PROMPT, ELSEWHERE, SPAWNED, WHICH_CALL

# Where a call that begins a run has the words that the run begins with.
_PROMPTS: Final = ("prompt", "message")
_AGENTS: Final = "subagents"


class _Key(NamedTuple):
    """A name in a format: of an agent, or of a session."""

    format: str
    name: str


class _Found(NamedTuple):
    """A run's parent, and what is still to be said of how it was found."""

    lineage: Lineage
    note: str = ""


class Families:
    """What a log has of runs that began others, or that were begun by one of another file; read when first needed."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._sessions: dict[_Key, list[str]] | None = None
        self._orphans: dict[_Key, list[str]] = {}
        self._taken: set[Lineage] = set()
        self._began: dict[str, dict[str, int]] = {}
        self._new: list[Record] = []

    def begin(self) -> None:
        """A file more; what was `placed` of one that did not come to be written is forgotten."""
        self._new.clear()

    def settle(self) -> None:
        """The runs that were `placed` are written."""
        for first in self._new if self._sessions is not None else ():
            self._note(first.run_id, first)
        self._new.clear()

    def waits(self, run: Run, path: str) -> bool:
        """Whether another run began this one, by a call that the log does not have yet."""
        started = _orphan(run.records[0])
        if started is None or started.parent is not None:
            return False
        found = self._parent_of(run.run_id, started, path)
        return found is None or found.note == WHICH_CALL

    def placed(self, run: Run, report: FileReport) -> Run:
        """The run as it is written: with the run and the call that began it, where the log has them."""
        started = _orphan(run.records[0])
        found = self._parent_of(run.run_id, started, report.path) if started and started.parent is None else None
        if started and started.source and found:
            missing = tuple(found.note if what == ELSEWHERE else what for what in started.source.missing)
            source = msgspec.structs.replace(started.source, missing=tuple(filter(None, missing)))
            event = msgspec.structs.replace(started, parent=found.lineage, source=source)
            run = run._replace(records=[msgspec.structs.replace(run.records[0], event=event), *run.records[1:]])
            report.replace_missing(ELSEWHERE, found.note)
        self._new.append(run.records[0])
        return run

    def adopted(self, run: Run) -> Iterator[Batch]:
        """A note beside each run that came into the log before the one that began it."""
        started = run.records[0].event
        if not isinstance(started, RunStarted) or not started.source or not (called := _spawned(run.notes)):
            return
        self._read()
        for agent, call in called.items():
            for child in self._orphans.get(_Key(started.source.format, agent), ()):
                stream = child + NOTES
                notes = list(self._log.read(stream))
                if child != run.run_id and not any(_is_note(one, PARENT) for one in notes):
                    last = notes[-1] if notes else next(self._log.read(child))
                    value = {"run_id": run.run_id, "call": call}
                    event = AnnotationMade(name=PARENT, value=value, source=started.source.format)
                    place = len(notes) + 1
                    record = Record(run_id=stream, position=place, at=last.at, cause=0, left=0, event=event)
                    yield Batch(stream, [record], len(notes))

    def _parent_of(self, child: str, started: RunStarted, path: str) -> _Found | None:
        """The call that names the run; else one of its session with its words; else the session, by no known call."""
        kind, labels = started.source.format if started.source else "", started.labels
        sessions = self._read()
        homes = (labels.get("parent_session") or labels.get("session", ""), _folder(path))
        near = [run for home in homes for run in sessions.get(_Key(kind, home), ()) if run != child]
        far = [run for key, runs in sessions.items() if key.format == kind for run in runs if run != child]
        agent = labels.get("agent_id", "")
        # A session that was imported more than once, as it grew, is there as often: the last knows most.
        for run in reversed(near or far):
            if call := self._spawned(run).get(agent, 0):
                return _Found(Lineage(run_id=run, call=call))
        for run in reversed(near):
            for call in _with_words(self._log.read(run), started.goal):
                if (lineage := Lineage(run_id=run, call=call)) not in self._taken:
                    return _Found(lineage, BY_PROMPT)
        main = [run for run in near if not _label(next(self._log.read(run)), "agent_id")]
        return _Found(Lineage(run_id=main[-1]), WHICH_CALL) if main else None

    def _spawned(self, run: str) -> dict[str, int]:
        if run not in self._began:
            self._began[run] = _spawned(self._log.read(run + NOTES))
        return self._began[run]

    def _read(self) -> dict[_Key, list[str]]:
        if self._sessions is None:
            self._sessions = {}
            for head in self._log.runs():
                if not head.run_id.endswith(NOTES) and head.position:
                    self._note(head.run_id, next(self._log.read(head.run_id)))
        return self._sessions

    def _note(self, run_id: str, first: Record) -> None:
        started = first.event
        if not isinstance(started, RunStarted) or not started.source or self._sessions is None:
            return
        kind = started.source.format
        if session := started.labels.get("session"):
            self._sessions.setdefault(_Key(kind, session), []).append(run_id)
        if _orphan(first):
            self._orphans.setdefault(_Key(kind, started.labels.get("agent_id", "")), []).append(run_id)
        if started.parent is not None:
            self._taken.add(started.parent)


def _orphan(first: Record) -> RunStarted | None:
    """How a run began, if another began it, and by which call is not known."""
    started = first.event
    if isinstance(started, RunStarted) and started.source and {ELSEWHERE, WHICH_CALL} & {*started.source.missing}:
        return started
    return None


def _folder(path: str) -> str:
    """What the folder is called in which a session keeps its agents: by its name."""
    parts = PurePath(path).parts
    return parts[parts.index(_AGENTS) - 1] if _AGENTS in parts[1:] else ""


def _label(first: Record, name: str) -> str:
    return first.event.labels.get(name, "") if isinstance(first.event, RunStarted) else ""


def _is_note(record: Record, name: str) -> bool:
    return isinstance(record.event, AnnotationMade) and record.event.name == name


def _spawned(notes: Iterable[Record]) -> dict[str, int]:
    """The agents that a run began, by name, and by which call."""
    found: dict[str, int] = {}
    for record in notes:
        if isinstance(record.event, AnnotationMade) and record.event.name == SPAWNED:
            value = record.event.value
            agent, call = (value.get("agent"), value.get("call")) if isinstance(value, dict) else (None, None)
            if isinstance(agent, str) and isinstance(call, int):
                found.setdefault(agent, call)
    return found


def _with_words(records: Iterable[Record], words: str) -> Iterator[int]:
    """The calls that hand over these very words."""
    for record in records:
        if words and isinstance(record.event, ToolCalled) and isinstance(record.event.arguments, dict):
            given = record.event.arguments
            if any(given.get(name) == words for name in _PROMPTS):
                yield record.event.call
