"""The lines of one Codex session as what was said, each reply with its tokens, and what stood beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from redrive_events import BadInput, Json, Usage, parse_json, text_of
from redrive_replays.traces.codex import printed
from redrive_replays.traces.codex.lines import ENVELOPES, EXEC, SHOWN, Line, item_of, text
from redrive_replays.traces.responses.items import Reply, heard, is_replied
from redrive_replays.traces.responses.replies import usage_of
from redrive_replays.traces.times import Moment, moment
from redrive_replays.traces.trace import Said, Trace

WENT_BACK: Final = "the order of times (a clock went back; the file's order counts)"
UNKNOWN: Final = "what a record of an unknown type means (kept as it came)"
FORGOT: Final = "what the model was shown after a compaction (the run keeps all that was said before)"
BY_EXIT: Final = "whether a result is an error (told by its exit code)"
LATE_TOKENS: Final = "which reply some tokens are of (counted with the one before)"
_KNOWN: Final = ENVELOPES | EXEC | {"state"}
_COMPACTED: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})
# What is printed while a command runs; the result has it.
_REPEATED: Final = frozenset({"stdout", "stderr", "aggregated_output", "formatted_output"})
_EXIT: Final = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,18})(?!\d)")
# What is said in a person's role by the program.
_INJECTED: Final = (
    *("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions instructions>"),
    *("<turn_aborted>", "<skill>", "<user_shell_command>", "<subagent_notification>"),
)


@dataclass(slots=True)
class Back:
    """Words that were taken back: how many were said before them, and they themselves."""

    before: list[Said]
    said: list[Said]


@dataclass(slots=True)
class Told:
    """What was said so far."""

    trace: Trace
    said: list[Said] = field(default_factory=list)
    moments: list[Moment | None] = field(default_factory=list)
    first: list[tuple[str, Json]] = field(default_factory=list)
    backs: list[Back] = field(default_factory=list)
    model: str = ""
    shown: set[str] = field(default_factory=set)
    latest: Moment | None = None
    reply: Reply | None = None
    context: Json = None
    total: Json = None
    held: Usage | None = None
    begun: dict[str, Line] = field(default_factory=dict)

    def beside(self, name: str, value: Json) -> None:
        """What is no message stands with the message before it; at the beginning, with the run."""
        (self.said[-1].beside if self.said else self.first).append((name, value))

    def add(self, line: Line) -> None:
        """One line more."""
        match line.kind:
            case "response_item":
                self._item(line, item_of(line.value))
            case "event_msg":
                self._event(line)
            case "turn_context":
                self._turn(line.value)
            case "compacted":
                self.trace.missing[FORGOT] = 1
                self.beside("compacted", dict(line.value))
            case kind if kind in EXEC:
                self._printed(line)
            case kind:
                if kind not in _KNOWN:
                    self.trace.lacks(UNKNOWN)
                self.beside(kind, dict(line.value))

    def _when(self, line: Line) -> tuple[Moment | None, dict[str, Json]]:
        at = moment(line.timestamp)
        self.moments.append(at)
        if at is None:
            return None, {} if line.timestamp is None else {"timestamp": line.timestamp}
        if self.latest is not None and at.at < self.latest.at:
            self.trace.lacks(WENT_BACK)
            return at, {"timestamp": line.timestamp}
        self.latest = at
        return at, {}

    def _item(self, line: Line, item: Mapping[str, Json]) -> None:
        kind = text(item.get("type"))
        if kind == "ghost_snapshot":
            self.beside(kind, dict(item))
            return
        if kind in _COMPACTED:
            self.trace.missing[FORGOT] = 1
        if is_replied(item) and kind != "agent_message":
            if self.reply is None:
                at, late = self._when(line)
                self.reply = Reply(extras=late)
                said = self.reply.said()
                said.at = at and at.at
                said.meta = said.meta._replace(model=self.model, usage=self.held)
                self.held = None
                self.said.append(said)
            self.reply.add(item)
            return
        self.end_reply()
        at, late = self._when(line)
        said = heard(item)
        said.at, said.extras = at and at.at, {**said.extras, **late}
        if said.role == "tool":
            self._exit(said)
        self.said.append(said)

    def end_reply(self) -> None:
        """What comes now is no part of the reply before it."""
        if self.reply is not None:
            self.said[-1].content = tuple(self.reply.blocks)
            self.reply = None

    def _exit(self, said: Said) -> None:
        """The exit code and the duration of a command, as its output says them."""
        words = text_of(said.content)
        found: Json = None
        if words.startswith("{") and '"metadata"' in words:
            try:
                found = parse_json(words)
            except BadInput:
                found = None
            found = found.get("metadata") if isinstance(found, dict) else None
        elif match := _EXIT.search(words[:400]):
            found = {"exit_code": int(match[1])}
        if isinstance(found, dict):
            said.extras = {**said.extras, **found}
        code = said.extras.get("exit_code")
        if isinstance(code, int) and not isinstance(code, bool):
            self.trace.missing[BY_EXIT] = 1
            said.status = "error" if code else "ok"

    def _turn(self, context: Mapping[str, Json]) -> None:
        """The settings of a turn, where they are not those of the turn before."""
        self.model = text(context.get("model")) or self.model
        plain = {key: value for key, value in context.items() if key != "turn_id"}
        if plain != self.context:
            self.context = plain
            self.beside("turn_context", dict(context))

    def _event(self, line: Line) -> None:
        event = line.value
        kind = text(event.get("type"))
        if kind == "token_count":
            self._tokens(event)
        elif kind == "thread_rolled_back":
            self._take_back(event.get("num_turns"))
            self.beside(kind, dict(event))
        elif kind in SHOWN:
            words = text(event.get("message")) or text(event.get("text"))
            if words not in self.shown:
                self.beside(kind, dict(event))
        elif not kind.endswith("_delta"):
            if kind == "context_compacted":
                self.trace.missing[FORGOT] = 1
            self.beside(kind or "event_msg", {key: value for key, value in event.items() if key not in _REPEATED})
        if kind == "guardian_assessment":
            told = {"call": event.get("call_id"), "verdict": event.get("status"), "by": "guardian"}
            self.beside("verdict", {**told, "reason": event.get("rationale")})

    def _take_back(self, turns: Json) -> None:
        """The last turns of a person are taken back, with all that was said in them."""
        self.end_reply()
        if not isinstance(turns, int) or isinstance(turns, bool) or turns < 1:
            return
        spoken = [index for index, one in enumerate(self.said) if one.role == "user" and not _injected(one)]
        if spoken:
            begin = spoken[-min(turns, len(spoken))]
            self.backs.append(Back(self.said[:begin], self.said[begin:]))
            self.said = self.said[:begin]

    def _tokens(self, event: Mapping[str, Json]) -> None:
        """Tokens of one reply: told twice over, before it or behind it; a total that stands still says nothing new."""
        info = event.get("info")
        if not isinstance(info, dict) or (total := info.get("total_token_usage")) is None:
            self.beside("token_count", dict(event))
            return
        if total == self.total:
            return
        last = info.get("last_token_usage")
        used = usage_of(last) if isinstance(last, dict) else _less(usage_of(total), usage_of(self.total))
        self.total = total
        self.beside("token_count", dict(event))
        if used is None:
            return
        if self.said and self.said[-1].replied and self.said[-1].meta.usage is None:
            self.said[-1].meta = self.said[-1].meta._replace(usage=used)
        else:
            self.held = _more(self.held, used)

    def _printed(self, line: Line) -> None:
        """A line of what `codex exec --json` prints."""
        if printed.is_open(line):
            self.begun[printed.name_of(line)] = line
        if line.kind == "item.completed":
            self._ended(line)
        if line.kind == "turn.completed" and (used := usage_of(line.value.get("usage"))) is not None:
            self.held = _more(self.held, used)
            self._give_back()
        if line.kind.startswith("turn."):
            self._never_ended()
        if not line.kind.startswith("item."):
            self.beside(line.kind, dict(line.value))

    def _ended(self, line: Line) -> None:
        """An item that was printed whole."""
        self.begun.pop(printed.name_of(line), None)
        found = list(printed.items_of(line))
        for one in found:
            self._item(line, one)
        if not found:
            self.beside(printed.kind_of(line) or "item", line.value["item"])
        if (verdict := printed.declined(line)) is not None:
            self.beside("verdict", verdict)

    def _never_ended(self) -> None:
        """Calls that were begun, and of which nothing came."""
        for line in self.begun.values():
            for one in printed.items_of(line):
                self._item(line, one)
        self.begun.clear()

    def _give_back(self) -> None:
        """Tokens behind the last reply are of one before it."""
        self.end_reply()
        replies = [one for one in self.said if one.replied]
        if self.held is not None and replies:
            last = replies[-1]
            if last.meta.usage is not None:
                self.trace.lacks(LATE_TOKENS)
            last.meta = last.meta._replace(usage=_more(last.meta.usage, self.held))
            self.held = None

    def end(self) -> None:
        """Nothing comes any more."""
        self._never_ended()
        self._give_back()


def _injected(said: Said) -> bool:
    return text_of(said.content).lstrip().startswith(_INJECTED)


def _more(one: Usage | None, other: Usage) -> Usage:
    if one is None:
        return other
    return Usage(**{name: getattr(one, name) + getattr(other, name) for name in one.__struct_fields__})


def _less(whole: Usage | None, before: Usage | None) -> Usage | None:
    if whole is None or before is None:
        return whole
    return Usage(**{name: max(0, getattr(whole, name) - getattr(before, name)) for name in whole.__struct_fields__})


def given(said: Sequence[Said]) -> list[Said]:
    """The same words as something that stands in the prompt, whose tokens are counted elsewhere."""
    return [replace(one, given=True, beside=[], extras={}, meta=one.meta._replace(usage=None)) for one in said]
