"""Claude Code sessions: the conversation, each sub-agent as a run begun by a call, and what was taken back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from redrive_events import BadInput, Json, ToolUse, blocks_of, calls_of, parse_json, text_of
from redrive_replays.traces.claude_code_lines import (
    Group,
    Line,
    groups_of,
    is_line,
    lines_of,
    once,
    sessions,
    text,
)
from redrive_replays.traces.claude_code_said import Told
from redrive_replays.traces.conversation import retell
from redrive_replays.traces.reading import Diagnostic, Material
from redrive_replays.traces.times import clock_of
from redrive_replays.traces.trace import ASSISTANT, NO_META, RESULTS, Remark, Said, Trace

NO_PROMPT: Final = "the system prompt and the tools' descriptions (the format does not keep them)"
NO_TALK: Final = "the conversation (the file holds none)"
LOST: Final = "a message (its line could not be read)"
TWICE: Final = "lines that stand there twice (taken once)"
WHICH_CALL: Final = "which call began a sub-agent"
BY_PROMPT: Final = "which call began a sub-agent (found by its prompt)"
OTHER_FILE: Final = "the run that began this sub-agent (it is in another file)"
# What a whole run has in common, by the name it is labelled with.
_LABELS: Final = {
    **{"sessionId": "session", "session_id": "session", "version": "version", "cwd": "cwd", "gitBranch": "git_branch"},
    **{"entrypoint": "entrypoint", "userType": "user_type", "slug": "slug", "agentId": "agent_id"},
}
LOOKED_AT: Final = 50
_SPAWNS: Final = frozenset({"Task", "Agent"})


def detect(material: Material) -> bool:
    """Whether the file is made of a session's lines."""
    lines = lines_of(material.entries[:LOOKED_AT])
    if not material.lined and isinstance(material.entries[0].value, list):
        return bool(lines) and all(is_line(line.value) for line in lines[:LOOKED_AT])
    looked_at = lines[:LOOKED_AT]
    return 2 * sum(is_line(line.value) for line in looked_at) > len(looked_at)


def detect_meta(material: Material) -> bool:
    """Whether this is what Claude Code writes beside a sub-agent's file."""
    value = material.entries[0].value
    return not material.lined and isinstance(value, dict) and "agentType" in value and "message" not in value


def refuse_meta(material: Material) -> Iterator[Trace]:
    """There is no message in it.

    Raises:
        BadInput: always.
    """
    raise BadInput("what Claude Code notes of a sub-agent beside its file: no messages, so no run", place=material.name)


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
        for run in runs:
            _link(run, runs)
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
    for line in lines:
        for key in _LABELS:
            if key not in found and (value := text(line.value.get(key))):
                found[key] = value
    return found


def _place(line: Line) -> str:
    return "" if line.line else f"entry {line.index}: "


def _note_agents(run: _Run, line: Line) -> None:
    """Which call began which sub-agent, as the call's result or its progress says it."""
    result, data = line.value.get("toolUseResult"), line.value.get("data")
    if isinstance(result, dict) and (agent := text(result.get("agentId"))):
        for block in line.results[:1]:
            run.agents.setdefault(agent, text(block.get("tool_use_id")))
    if isinstance(data, dict) and data.get("type") == "agent_progress" and (agent := text(data.get("agentId"))):
        run.agents.setdefault(agent, text(line.value.get("parentToolUseID")))


def _in_order(runs: Sequence[_Run]) -> Iterator[_Run]:
    """Each run behind the one that began it; of those that began each other, the first is begun by the session."""
    left, done = list(runs), set()
    while left:
        run = next((one for one in left if one.above is None or id(one.above) in done), None)
        if run is None:
            run = left[0]
            run.above, run.call = runs[0], 0
        left.remove(run)
        done.add(id(run))
        yield run


def _begun(run: _Run, runs: Sequence[_Run]) -> tuple[_Run, str, bool]:
    """The run and the call that began ``run``, and whether that was found by its prompt only."""
    if run.group.rewound:
        return next(one for one in runs if one.group is run.group.inside), "", False
    others = [one for one in runs if one is not run and not one.group.rewound]
    for find in (_by_agent, _by_place):
        for other in others:
            if call := find(run, other):
                return other, call, False
    for other in others:
        if call := _by_prompt(run, other):
            return other, call, True
    return runs[0], "", False


def _by_agent(run: _Run, other: _Run) -> str:
    """The call whose result or progress names the sub-agent, or by whose id the sub-agent goes."""
    call = other.agents.get(run.group.agent, run.group.agent)
    return call if call in other.calls else ""


def _by_place(run: _Run, other: _Run) -> str:
    """The call in the line that the sub-agent's first line follows."""
    first = run.group.lines[0].follows
    lines = (line for line in other.group.lines if first and line.id == first)
    return next((text(call.get("id")) for line in lines for call in _calls(line)), "")


def _by_prompt(run: _Run, other: _Run) -> str:
    """The call that has the sub-agent's first words as its prompt."""
    words = next((text_of(one.content) for one in run.told.said if one.role == "user"), "")
    spawning = ((label, call) for label, call in other.uses.items() if call.name in _SPAWNS and label in other.calls)
    return next((label for label, call in spawning if words and text(_arguments(call).get("prompt")) == words), "")


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


def _link(run: _Run, runs: Sequence[_Run]) -> None:
    """Find the run that began this one, and the call, which begins no other."""
    if run is runs[0]:
        if any(line.aside for line in run.group.lines):
            run.trace.lacks(OTHER_FILE)
        return
    run.above, label, guessed = _begun(run, runs)
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
    trace.remarks += (Remark(name, value, None) for name, value in told.first)
    if not told.said:
        trace.grade = "view-only"
        trace.lacks(NO_TALK)
        return trace
    if lost := material.lost + len(told.broken):
        trace.grade = "view-only"
        trace.missing[LOST] = lost
    model = next((one.meta.model for one in told.said if one.meta.model), "")
    return retell(trace, [*before, *told.said], model=model)
