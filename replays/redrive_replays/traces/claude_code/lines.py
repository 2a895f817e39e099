"""The lines of a Claude Code session: what each is, which run it belongs to, and which of them were taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from redrive_events import Json
from redrive_replays.traces.anthropic.messages import RESULT, blocks_in
from redrive_replays.traces.lines import Entry

TALK: Final = frozenset({"user", "assistant"})
# What else is written into a session, or printed of one, and is known to be no message.
BESIDE: Final = frozenset(
    {
        *("system", "summary", "attachment", "progress", "queue-operation", "file-history-snapshot", "permission-mode"),
        *("last-prompt", "mode", "agent-name", "custom-title", "ai-title", "pr-link", "frame-link", "worktree-state"),
        *("relocated", "bridge-session", "started", "result", "rate_limit_event", "tool_progress", "stream_event"),
        *("agent-color", "agent-setting", "tag", "task-summary", "file-history-delta", "attribution-snapshot"),
        *("content-replacement", "marble-origami-commit", "marble-origami-snapshot", "marble-origami-reset"),
        *("speculation-accept", "continued-in", "fork-context-ref", "ended-by-model", "cost-state", "observer-ref"),
        *("history-suppression", "isolation-latch", "atis-latch", "tool_use_summary", "auth_status", "keep_alive"),
        *("prompt_suggestion", "control_request", "control_response", "control_cancel_request"),
    }
)
# What says that the model is shown something else in the place of what was said.
REPLACED: Final = frozenset(
    {"compact_boundary", "microcompact_boundary", "content-replacement", "marble-origami-commit"}
)
_OWN: Final = frozenset({"uuid", "parentUuid", "sessionId", "session_id", "isSidechain", "leafUuid", "messageId"})
_MARKS: Final = frozenset({"parentUuid", "isSidechain", "sessionId"})
# What a person has the terminal do, and what it printed; several of them follow the same first line.
_LOCAL: Final = ("<command-", "<local-command-", "<bash-")


@dataclass(slots=True, eq=False)
class Line:
    """One line of a session: its place in the file, what it says it is, its own name, and the line that it follows.

    ``agent`` is the sub-agent that it is of, as far as it says so.
    """

    index: int
    value: Mapping[str, Json]
    line: int = 0
    offset: int = 0
    kind: str = field(init=False)
    id: str = field(init=False)
    follows: str = field(init=False)
    session: str = field(init=False)
    agent: str = field(init=False)
    message: Mapping[str, Json] = field(init=False)

    def __post_init__(self) -> None:
        value = self.value
        self.kind = text(value.get("type"))
        self.id = text(value.get("uuid"))
        self.follows = text(value.get("parentUuid"))
        self.session = text(value.get("sessionId") or value.get("session_id"))
        self.agent = text(value.get("agentId") or value.get("parent_tool_use_id"))
        message = value.get("message")
        self.message = message if isinstance(message, dict) else {}

    @property
    def aside(self) -> bool:
        """Whether a sub-agent said it, or heard it."""
        return self.value.get("isSidechain") is True or bool(text(self.value.get("parent_tool_use_id")))

    @property
    def talk(self) -> bool:
        """Whether it is a message."""
        return self.kind in TALK and "message" in self.value

    @property
    def results(self) -> list[Mapping[str, Json]]:
        """The results of calls that it brings."""
        return [block for block in blocks_in(self.message) if block.get("type") == RESULT]

    @property
    def prompt(self) -> bool:
        """Whether a person speaks, to the model and not to the terminal."""
        if self.kind != "user" or not self.talk or self.results or self.value.get("isMeta") is True:
            return False
        content = self.message.get("content")
        return not (isinstance(content, str) and content.startswith(_LOCAL))


def text(value: Json) -> str:
    """``value`` if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def is_line(value: Json) -> bool:
    """Whether ``value`` is a line of a session."""
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str) or "payload" in value:
        return False
    if kind in TALK:
        return isinstance(message := value.get("message"), dict) and "content" in message
    return kind in BESIDE and (bool(_OWN & value.keys()) or kind in {"queue-operation", "permission-mode"})


def is_marked(value: Mapping[str, Json]) -> bool:
    """Whether a line has what each that is in the tree of a session has, whatever its type."""
    return value.keys() >= _MARKS and "payload" not in value


def lines_of(entries: Iterable[Entry]) -> list[Line]:
    """The lines of a file, also where they stand in one document."""
    found: list[Line] = []
    for entry in entries:
        value = entry.value
        inner = value.get("loglines") if isinstance(value, dict) else value
        if isinstance(inner, list):
            found += (Line(index, one) for index, one in enumerate(inner) if isinstance(one, dict))
        elif isinstance(value, dict):
            found.append(Line(entry.index, value, entry.line, entry.offset))
    return found


def once(lines: Sequence[Line]) -> tuple[list[Line], int]:
    """The lines without those that stand there twice (a resumed session repeats them), and how many those are."""
    seen: dict[str, Line] = {}
    kept = []
    for line in lines:
        before = seen.get(line.id) if line.id else None
        if before is not None and _says(before) == _says(line):
            continue
        seen.setdefault(line.id, line)
        kept.append(line)
    return kept, len(lines) - len(kept)


def _says(line: Line) -> Json:
    """What a line says, wherever it stands."""
    if line.talk:
        return line.value["message"]
    return {key: value for key, value in line.value.items() if key not in {"sessionId", "session_id"}}


def sessions(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines by session, in the order of the file; a session that follows a line of another is the same run."""
    home = {line.id: line.session for line in lines if line.id}
    same: dict[str, str] = {}

    def run_of(session: str) -> str:
        while session in same:
            session = same[session]
        return session

    for line in lines:
        before = home.get(line.follows, "")
        if before and line.session and (first := run_of(before)) != (second := run_of(line.session)):
            same[second] = first
    found: dict[str, list[Line]] = {}
    last = next((line.session for line in lines if line.session), "")
    for line in lines:
        last = line.session or last
        found.setdefault(run_of(last), []).append(line)
    return list(found.values())


@dataclass(slots=True, eq=False)
class Group:
    """The lines of one run: the session's own, a sub-agent's, or those that were taken back.

    ``inside`` is the run it came from: for lines taken back ``before`` are those that stand before them.
    """

    lines: list[Line] = field(default_factory=list)
    agent: str = ""
    inside: Group | None = None
    before: list[Line] = field(default_factory=list)
    rewound: bool = False


def groups_of(lines: Sequence[Line]) -> list[Group]:
    """A session's runs: its own first, then each sub-agent's, then what was taken back of any of them."""
    main, *agents = _agents(lines)
    return [main, *agents, *(branch for group in (main, *agents) for branch in _rewound(group))]


def _agents(lines: Sequence[Line]) -> Iterator[Group]:
    talk = [line for line in lines if line.talk]
    alone = all(line.aside for line in talk) and len({line.agent for line in talk}) == 1
    main = Group(agent=talk[0].agent if alone and talk else "")
    named: dict[str, Group] = {}
    of: dict[str, Group] = {}
    last: Group | None = None
    for line in lines:
        if not line.aside or alone:
            main.lines.append(line)
            of[line.id] = main
            continue
        before = of.get(line.follows)
        group = named.get(line.agent) if line.agent else before if before is not main else None
        if group is None and line.follows and before is None and not line.agent:
            group = last  # what it follows is lost, so it goes on where the last sub-agent was
        if group is None:
            group = Group(agent=line.agent, inside=main)
            named[line.agent or line.id or str(line.index)] = group
        group.lines.append(line)
        of[line.id] = last = group
    yield main
    yield from named.values()


def _rewound(group: Group) -> list[Group]:
    """Take out of ``group`` what was said and then taken back: somebody spoke again from an earlier place."""
    above = {line.id: line.follows for line in group.lines if line.id}
    talked: set[str] = set()
    kept: list[Line] = []
    places: dict[str, int] = {}
    branches: list[Group] = []
    for line in group.lines:
        if line.talk:
            fork = places.get(line.follows) if line.follows in talked and line.prompt else None
            if fork is not None and kept[fork].value.get("isMeta") is not True:
                fallen = _below(kept[fork + 1 :], line.follows)
                if any(one.talk for one in fallen):
                    before = kept[: kept.index(fallen[0], fork)]
                    branches.append(Group(fallen, group.agent, group, before, rewound=True))
                    gone = {id(one) for one in fallen}
                    kept[fork + 1 :] = [one for one in kept[fork + 1 :] if id(one) not in gone]
                    places |= {one.id: at for at, one in enumerate(kept[fork + 1 :], fork + 1) if one.id}
            _mark(line, talked, above)
        if line.id:
            places[line.id] = len(kept)
        kept.append(line)
    group.lines = kept
    return branches


def _mark(line: Line, talked: set[str], above: Mapping[str, str]) -> None:
    """Note of each line above ``line`` that somebody spoke below it."""
    place = line.follows
    while place and place not in talked:
        talked.add(place)
        place = above.get(place, "")


def _below(lines: Sequence[Line], place: str) -> list[Line]:
    """Those of ``lines`` that follow, over whatever others, the line at ``place``."""
    below = {place}
    found = []
    for line in lines:
        if line.id and line.follows in below:
            below.add(line.id)
            found.append(line)
    return found
