"""The lines of one Claude Code run as what was said: split replies put together, results, and what stood between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from redrive_events import BadInput, Json, ToolUse, blocks_of
from redrive_replays.traces.anthropic.messages import said_of
from redrive_replays.traces.anthropic.replies import meta_of, rest_of, usage_of
from redrive_replays.traces.bodies import micros
from redrive_replays.traces.claude_code.lines import BESIDE, REPLACED, Line, text
from redrive_replays.traces.times import Moment, moment
from redrive_replays.traces.trace import ASSISTANT, Meta, Said, Trace

# The model of a text that no model said.
LOCAL: Final = "<synthetic>"
SYNTHETIC: Final = "a reply of the model (a local text stands in its place)"
WENT_BACK: Final = "the order of times (a clock went back; the file's order counts)"
UNKNOWN: Final = "what a record of an unknown type means (kept as it came)"
FORGOT: Final = "what the model was shown after a compaction (the run keeps all that was said before)"
QUEUED: Final = "how the model was shown what a person said while it worked (kept beside)"
STREAMED: Final = "the pieces in which a reply was streamed (the whole reply is there)"
_CONSTANT: Final = frozenset({"type", "message", "timestamp", "sessionId", "session_id", "isSidechain", "agentId"})
# What is said of a sub-agent where its words come back.
_AGENT: Final = ("agentId", "agentType", "status", "totalToolUseCount", "totalTokens", "totalDurationMs")
_DENIED: Final = ("The user doesn't want to proceed", "The user doesn't want to take this action")


@dataclass(slots=True)
class Told:
    """What was said in a run so far, and what has been read beside it since the last message."""

    trace: Trace
    said: list[Said] = field(default_factory=list)
    moments: list[Moment | None] = field(default_factory=list)
    replies: dict[str, Said] = field(default_factory=dict)
    labels: dict[str, Json] = field(default_factory=dict)
    broken: list[tuple[Line, str]] = field(default_factory=list)
    first: list[tuple[str, Json]] = field(default_factory=list)
    latest: Moment | None = None

    def beside(self, name: str, value: Json) -> None:
        """What is no message stands with the message before it; at the beginning, with the run."""
        if self.said:
            self.said[-1].beside.append((name, value))
        else:
            self.first.append((name, value))

    def add(self, line: Line) -> None:
        """One line more."""
        if not line.talk:
            self._record(line)
            return
        if line.value.get("isVisibleInTranscriptOnly") is True:
            self.beside("shown_only", dict(line.value))
            return
        try:
            if line.kind == ASSISTANT:
                self._reply(line)
            else:
                self._heard(line)
        except BadInput as error:
            self.broken.append((line, error.problem))
            self.beside("broken", dict(line.value))

    def _record(self, line: Line) -> None:
        kind = line.kind
        if kind == "stream_event":
            self.trace.lacks(STREAMED)
            return
        if kind not in BESIDE:
            self.trace.lacks(UNKNOWN)
        inner = line.value.get("attachment")
        inner = inner.get("type") if isinstance(inner, dict) else None
        name = text(line.value.get("subtype")) or text(inner) or kind or "record"
        if name in REPLACED:
            self.trace.missing[FORGOT] = 1
        if kind == "result" and "subtype" in line.value:
            self.beside("exit_status", line.value["subtype"])
            name = kind
        if _is_queued(line):
            self.trace.lacks(QUEUED)
        self.beside(name, dict(line.value))
        for verdict in _verdicts(line):
            self.beside("verdict", verdict)

    def _when(self, line: Line) -> tuple[Moment | None, dict[str, Json]]:
        """When it was said; a time before that of the line before stands in the file's own words beside it."""
        raw = line.value.get("timestamp")
        at = moment(raw)
        self.moments.append(at)
        if at is None:
            return None, {"timestamp": raw} if raw is not None else {}
        if self.latest is not None and at.at < self.latest.at:
            self.trace.lacks(WENT_BACK)
            return at, {"timestamp": raw}
        self.latest = at
        return at, {}

    def _rest(self, line: Line) -> dict[str, Json]:
        """What a line has beside its message, without what the whole run has."""
        return {
            key: value
            for key, value in line.value.items()
            if key not in _CONSTANT and value is not None and (key not in self.labels or self.labels[key] != value)
        }

    def _reply(self, line: Line) -> None:
        message = {"content": line.message.get("content"), **line.message, "role": ASSISTANT}
        if not line.message:
            raise BadInput("the message is no object")
        (said,) = said_of({"role": ASSISTANT, "content": message["content"]}, meta_of(message))
        at, late = self._when(line)
        extras = {**self._rest(line), **rest_of(message), **said.extras, **late}
        if line.value.get("isApiErrorMessage") is True or message.get("model") == LOCAL:
            self.trace.lacks(SYNTHETIC)
        label, request = text(message.get("id")), text(line.value.get("requestId"))
        before = self.replies.get(label) if label else None
        if not label and request and self.said and self.replies.get(request) is self.said[-1]:
            before = self.said[-1]  # without an id, what stands right behind is of the same response
        if before is None:
            said.at, said.extras = at and at.at, extras
            said.meta = said.meta._replace(cost_micros=micros(line.value.get("costUSD")))
            self.said.append(said)
            self.replies |= {name: said for name in (label or request,) if name}
            return
        _join(before, said, extras)
        if at is not None and before is self.said[-1]:
            before.at = max(before.at, at.at) if before.at else at.at

    def _heard(self, line: Line) -> None:
        role = text(line.message.get("role")) or "user"
        if not line.message:
            raise BadInput("the message is no object")
        at, late = self._when(line)
        given = {key: value for key, value in line.message.items() if key != "role"}
        heard = list(said_of({**given, "role": "user" if role == ASSISTANT else role}))
        rest = {**self._rest(line), **late}
        for index, said in enumerate(heard):
            said.at = at and at.at
            said.extras = {**said.extras, **rest} if index == 0 else said.extras
            self.said.append(said)
        cleared = _cleared(heard)
        if cleared:
            self.beside("cleared", True)
        if cleared or line.value.get("isCompactSummary") is True:
            self.trace.missing[FORGOT] = 1
        for verdict in _denials(line):
            self.beside("verdict", verdict)
        result = line.value.get("toolUseResult")
        if isinstance(result, dict) and "agentId" in result:
            self.beside("sub_agent", {key: result[key] for key in _AGENT if key in result})


def _join(before: Said, said: Said, extras: Mapping[str, Json]) -> None:
    """Another line of the same reply: its words come behind, what it says of the reply counts."""
    have = blocks_of(before.content)
    calls = {block.id for block in have if isinstance(block, ToolUse) and block.id}
    more = [block for block in blocks_of(said.content) if not (isinstance(block, ToolUse) and block.id in calls)]
    before.content = (*have, *more)
    old, new = before.meta, said.meta
    before.meta = old._replace(
        usage=new.usage or old.usage,
        finish=new.finish or old.finish,
        model=new.model or old.model,
        response_id=new.response_id or old.response_id,
    )
    lines = before.extras.get("lines")
    before.extras = {**before.extras, "lines": [*(lines if isinstance(lines, list) else ()), dict(extras)]}


def _cleared(heard: Sequence[Said]) -> bool:
    """Whether a person had the conversation begin anew."""
    return any(isinstance(one.content, str) and "<command-name>/clear<" in one.content[:200] for one in heard)


def _denials(line: Line) -> list[Json]:
    """The calls that a person did not let happen, as the source's verdicts."""
    kind = text(line.value.get("toolDenialKind"))
    found: list[Json] = []
    for block in line.results:
        words = block.get("content")
        words = words if isinstance(words, str) else "".join(text(one.get("text")) for one in _parts(words))
        if kind or (block.get("is_error") is True and words.startswith(_DENIED)):
            told: dict[str, Json] = {"call": block.get("tool_use_id"), "verdict": "deny", "by": "user"}
            found.append(told | ({"kind": kind} if kind else {}))
    return found


def _parts(words: Json) -> list[Mapping[str, Json]]:
    return [one for one in words if isinstance(one, dict)] if isinstance(words, list) else []


def _is_queued(line: Line) -> bool:
    """Whether a person's words went to the model while it worked, which no message of its own says."""
    attachment = line.value.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return False
    origin = attachment.get("origin")
    by = origin.get("kind") if isinstance(origin, dict) else "human"
    return by == "human" and attachment.get("commandMode", "prompt") == "prompt" and "prompt" in attachment


def last_words(lines: Sequence[Line]) -> Said | None:
    """The model's last words as the end of a session tells them, None if it tells none."""
    for line in reversed(lines):
        words = line.value.get("result")
        if line.kind == "result" and isinstance(words, str) and words and line.value.get("is_error") is not True:
            meta = Meta(usage=usage_of(line.value.get("usage")), cost_micros=micros(line.value.get("total_cost_usd")))
            return Said(ASSISTANT, words, meta=meta)
    return None


def _verdicts(line: Line) -> list[Json]:
    """What a hook, or the end of a session, says was not let happen."""
    attachment = line.value.get("attachment")
    if isinstance(attachment, dict) and attachment.get("type") == "hook_blocking_error":
        by = {"by": attachment.get("hookName"), "at": attachment.get("hookEvent")}
        return [{"call": attachment.get("toolUseID"), "verdict": "deny", **by}]
    denials = line.value.get("permission_denials")
    return [
        {"call": one.get("tool_use_id"), "verdict": "deny", "by": "permission"}
        for one in (denials if isinstance(denials, list) else ())
        if isinstance(one, dict)
    ]
