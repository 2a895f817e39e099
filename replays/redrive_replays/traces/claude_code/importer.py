"""Claude Code sessions: the conversation, each sub-agent as a run begun by a call, and what was taken back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from redrive_events import BadInput, Json, ToolUse, blocks_of, calls_of, parse_json, text_of
from redrive_replays.traces.claude_code.lines import (
    Group,
    Line,
    groups_of,
    is_line,
    is_marked,
    lines_of,
    once,
    sessions,
    text,
)
from redrive_replays.traces.claude_code.said import LOCAL, Told, last_words
from redrive_replays.traces.conversation import retell
from redrive_replays.traces.lines import LOOKED_AT
from redrive_replays.traces.material import Diagnostic, Material, NoTrace
from redrive_replays.traces.times import clock_of
from redrive_replays.traces.trace import (
    ASSISTANT,
    BY_PROMPT,
    ELSEWHERE,
    NO_META,
    RESULTS,
    SPAWNED,
    WHICH_CALL,
    Remark,
    Said,
    Trace,
)

NO_PROMPT: Final = "the system prompt and the tools' descriptions (the format does not keep them)"
NO_TALK: Final = "the conversation (the file holds none)"
ONLY_LAST: Final = "the conversation before the last words (the file holds only these)"
LOST: Final = "a message (its line could not be read)"
TWICE: Final = "lines that stand there twice (taken once)"
# What a whole run has in common, by the name it is labelled with.
_LABELS: Final = {
    **{"sessionId": "session", "session_id": "session", "version": "version", "cwd": "cwd", "gitBranch": "git_branch"},
    **{"entrypoint": "entrypoint", "userType": "user_type", "slug": "slug", "agentId": "agent_id"},
}
_SPAWNS: Final = frozenset({"Task", "Agent"})
# How the model is told the name of an agent that it may go on with.
_NAMED: Final = re.compile(r"^agentId: ([\w@.-]{1,100})", re.MULTILINE)


def detect(material: Material) -> bool:
    """Whether the file is made of a session's lines."""
    lines = lines_of(material.entries[:LOOKED_AT])
    if not material.lined and isinstance(material.entries[0].value, list):
        return bool(lines) and all(is_line(line.value) for line in lines[:LOOKED_AT])
    looked_at = lines[:LOOKED_AT]
    known = [line for line in looked_at if is_line(line.value)]
    # Types are added with each version; a message that stands in a session's tree tells enough.
    return 2 * len(known) > len(looked_at) or any(line.talk and is_marked(line.value) for line in known)


def detect_meta(material: Material) -> bool:
    """Whether this is what Claude Code writes beside a sub-agent's file."""
    value = material.entries[0].value
    return not material.lined and isinstance(value, dict) and "agentType" in value and "message" not in value


def refuse_meta(material: Material) -> Iterator[Trace]:
    """There is no message in it.

    Raises:
        NoTrace: always.
    """
    raise NoTrace("what Claude Code notes of a sub-agent beside its file: no messages, so no run", place=material.name)


@dataclass(slots=True, eq=False)
class _Run:
    """A run while it is read: its lines, what was said in it, and the calls by which others began."""

    group: Group
    trace: Trace
    told: Told
    calls: dict[str, int] = field(default_factory=dict)
    uses: dict[str, ToolUse] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    above: _Run | None = None
    call: int = 0


def read(material: Material) -> Iterator[Trace]:
    """Each session as a run, before the runs that it began."""
    lines, twice = once(lines_of(material.entries))
    entries = iter(range(len(lines) + 1))
    for session in sessions(lines):
        runs = [_run(group, material) for group in groups_of(session)]
        if twice:
            runs[0].trace.missing[TWICE] = twice
        known = _Known(runs)
        for run in runs:
            _link(run, runs[0], known)
        for run in _in_order(runs):
            run.trace.entry = next(entries)
            if run.group.rewound and run.above:
                run.trace.labels["taken_back_from"] = str(run.above.trace.entry)
            elif run.above:
                run.trace.parent = (run.above.trace.entry, run.call)
            yield _finished(run, material)


def _run(group: Group, material: Material) -> _Run:
    trace = Trace(missing={NO_PROMPT: 1})
    told = Told(trace, labels=_common(group.lines))
    trace.labels = {_LABELS[key]: text(value) for key, value in told.labels.items()}
    session = group.lines[0].session if group.lines else ""
    for line in group.lines:
        if line.session and line.session != session:
            session = line.session
            told.beside("session", session)
        told.add(line)
    for line, problem in told.broken:
        material.diagnostics.append(Diagnostic(f"{_place(line)}{problem}, left out", line.line, line.offset))
    run = _Run(group, trace, told)
    calls = [call for one in told.said if one.role == ASSISTANT for _, call in calls_of(one.content)]
    for number, call in enumerate(calls, start=1):
        run.calls.setdefault(call.id or f"#{number}", number)
        run.uses.setdefault(call.id or f"#{number}", call)
    for line in group.lines:
        _note_agents(run, line)
    return run


def _common(lines: Sequence[Line]) -> dict[str, Json]:
    """The first that is said of each thing that a whole run has in common."""
    found: dict[str, Json] = {}
    for line in lines[:LOOKED_AT]:
        for key in _LABELS:
            if key == "agentId" and not line.aside:
                continue  # of the sub-agent whose words came back with this line
            if key not in found and (value := text(line.value.get(key))):
                found[key] = value
    return found


def _place(line: Line) -> str:
    return "" if line.line else f"entry {line.index}: "


def _note_agents(run: _Run, line: Line) -> None:
    """Which call began which sub-agent, as the call's result or its progress says it."""
    result, data = line.value.get("toolUseResult"), line.value.get("data")
    if not line.aside and (agent := text(line.value.get("agentId"))):
        for block in line.results[:1]:
            run.agents.setdefault(agent, text(block.get("tool_use_id")))
    if isinstance(result, dict) and (agent := text(result.get("agentId"))):
        for block in line.results[:1]:
            run.agents.setdefault(agent, text(block.get("tool_use_id")))
    for block in line.results:
        use = run.uses.get(label := text(block.get("tool_use_id")))
        if use is not None and use.name in _SPAWNS and (told := _NAMED.search(_words(block.get("content")))):
            run.agents.setdefault(told[1], label)
    if isinstance(data, dict) and data.get("type") == "agent_progress" and (agent := text(data.get("agentId"))):
        run.agents.setdefault(agent, text(line.value.get("parentToolUseID")))


def _words(content: Json) -> str:
    parts = content if isinstance(content, list) else [{"text": content}]
    return "\n".join(text(part.get("text")) for part in parts if isinstance(part, dict))


def _in_order(runs: Sequence[_Run]) -> Iterator[_Run]:
    """Each run behind the one that began it; of those that began each other, the first is begun by the session."""
    below: dict[int, list[_Run]] = {}
    for run in runs:
        below.setdefault(id(run.above), []).append(run)
    done: set[int] = set()
    for first in runs:
        if id(first) not in done and first.above is not None and not _reaches(first, done):
            first.above, first.call = runs[0], 0
        ready = [first] if first.above is None or id(first.above) in done else []
        while ready:
            run = ready.pop(0)
            if id(run) not in done:
                done.add(id(run))
                yield run
                ready += below.get(id(run), [])


def _reaches(run: _Run, done: set[int]) -> bool:
    """Whether the runs above ``run`` end at one that has none, or is done; those that began each other do not."""
    seen = {id(run)}
    above = run.above
    while above is not None and id(above) not in done:
        if id(above) in seen:
            return False
        seen.add(id(above))
        above = above.above
    return True


class _Known:
    """Where the call that began a sub-agent may be found: by the agent, by a line, by the prompt."""

    def __init__(self, runs: Sequence[_Run]) -> None:
        self.runs = {id(run.group): run for run in runs}
        self.agents: dict[str, tuple[_Run, str]] = {}
        self.lines: dict[str, tuple[_Run, Line]] = {}
        self.prompts: dict[str, list[tuple[_Run, str]]] = {}
        for run in runs:
            if not run.group.rewound:
                self._note(run)

    def _note(self, run: _Run) -> None:
        for agent, call in [*run.agents.items(), *((call, call) for call in run.calls)]:
            if call in run.calls:
                self.agents.setdefault(agent, (run, call))
        for line in run.group.lines:
            if line.kind == ASSISTANT and line.id:
                self.lines.setdefault(line.id, (run, line))
        for label, use in run.uses.items():
            if use.name in _SPAWNS and (words := text(_arguments(use).get("prompt"))):
                self.prompts.setdefault(words, []).append((run, label))

    def begun(self, run: _Run, session: _Run) -> tuple[_Run, str, bool]:
        """The run and the call that began ``run``, and whether that was found by its prompt only."""
        if run.group.rewound:
            return self.runs[id(run.group.inside)], "", False
        if (found := self.agents.get(run.group.agent)) and found[0] is not run:
            return *found, False
        if (placed := self.lines.get(run.group.lines[0].follows)) and placed[0] is not run:
            return placed[0], next((text(call.get("id")) for call in _calls(placed[1])), ""), False
        words = next((text_of(one.content) for one in run.told.said if one.role == "user"), "")
        for other, label in self.prompts.get(words, ()):
            if other is not run and label in other.calls:
                return other, label, True
        return session, "", False


def _arguments(call: ToolUse) -> Mapping[str, Json]:
    try:
        value = parse_json(call.arguments)
    except BadInput:
        return {}
    return value if isinstance(value, dict) else {}


def _calls(line: Line) -> list[Mapping[str, Json]]:
    content = line.message.get("content")
    blocks = content if isinstance(content, list) else []
    return [one for one in blocks if isinstance(one, dict) and one.get("type") == "tool_use"]


def _link(run: _Run, session: _Run, known: _Known) -> None:
    """Find the run that began this one, and the call, which begins no other."""
    if run is session:
        if any(line.aside for line in run.group.lines):
            run.trace.lacks(ELSEWHERE)
        return
    run.above, label, guessed = known.begun(run, session)
    if run.group.rewound:
        return
    use, run.call = run.above.uses.get(label), run.above.calls.pop(label, 0)
    if not run.call:
        run.trace.lacks(WHICH_CALL)
    elif guessed:
        run.trace.lacks(BY_PROMPT)
    if use is not None:
        run.trace.agent = text(_arguments(use).get("subagent_type"))


def _finished(run: _Run, material: Material) -> Trace:
    trace, told = run.trace, run.told
    before: list[Said] = []
    if run.group.rewound:
        earlier = Told(Trace())
        for line in run.group.before:
            earlier.add(line)
        before = [
            Said(one.role, one.content, one.answers, one.name, meta=NO_META, given=True)
            for one in earlier.said
            if one.role in RESULTS or one.role == ASSISTANT or blocks_of(one.content)
        ]
    trace.clock = clock_of(told.moments)
    trace.began = next((one.at for one in told.moments if one is not None), None)
    trace.remarks += (Remark(name, value) for name, value in told.first)
    trace.remarks += (
        Remark(SPAWNED, {"agent": agent, "call": run.calls[call]})
        for agent, call in run.agents.items()
        if call in run.calls and not run.group.rewound
    )
    if not told.said and (last := last_words(run.group.lines)) is not None:
        trace.grade = "model-only"
        trace.lacks(ONLY_LAST)
        return retell(trace, [last])
    if not told.said:
        trace.grade = "view-only"
        trace.lacks(NO_TALK)
        return trace
    if lost := material.lost + len(told.broken):
        trace.grade = "view-only"
        trace.missing[LOST] = lost
    model = next((one.meta.model for one in told.said if one.meta.model not in {"", LOCAL}), "")
    return retell(trace, [*before, *told.said], model=model)
