"""What happened in a run as people read it: one line for each event, in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from redrive_events import (
    INPUTS,
    AnnotationMade,
    ApprovalAsked,
    ApprovalGiven,
    BudgetWarned,
    CallIntercepted,
    CancelRequested,
    Content,
    DeadlinePassed,
    DecisionMade,
    EffectCompensated,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    FactCommitted,
    FinishRefused,
    Json,
    LeaseGranted,
    LeaseRevoked,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    OutcomeStated,
    PersonAsked,
    PlanDrawn,
    Quarantined,
    ReconcileAsked,
    Record,
    RecoveryChosen,
    ReflectionNoted,
    ReplyRefused,
    RunEnded,
    RunForked,
    RunStarted,
    SignalsHeard,
    StopDecided,
    Thinking,
    ToolCalled,
    ToolUse,
    VerdictGiven,
    blocks_of,
    canonical,
    kind_of,
    text_of,
)
from redrive_projections.folding import evolve
from redrive_projections.state import RunState

VALUE_CHARS_MAX = 60
TEXT_CHARS_MAX = 400

_SPACE = re.compile(r"\s+")
# What moves a terminal's cursor, colours it, or turns the direction of its text, must not come from a log.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_DECIDED = {
    "finish": "to finish",
    "ask": "to speak to the person",
    "escalate": "to hand over to a person",
    "plan": "on a plan",
}
_NOT_OK = {"ok": "", "error": "error: ", "timeout": "timeout: ", "cancelled": "cancelled: ", "unknown": "unknown: "}


@dataclass(frozen=True, slots=True)
class Moment:
    """One event for people: ``word`` says in one word what kind it is, ``text`` the rest in one line.

    ``level`` is 0 for what came from outside, 1 for what followed from it.
    """

    position: int
    at: datetime
    kind: str
    word: str
    text: str
    level: int


def timeline(records: Iterable[Record], *, thoughts: bool = False) -> Iterator[Moment]:
    """A run's records from its beginning as moments; what the model thought is left out unless asked for."""
    state = RunState()
    for record in records:
        evolve(state, record)
        event = record.event
        word, told = _WORDS[type(event)]
        said = harmless(told(_Seen(event, state, thoughts)))
        at = record.at if type(event) is not Quarantined else state.now or record.at
        yield Moment(record.position, at, kind_of(event), word, said, 0 if type(event) in INPUTS else 1)


def harmless(text: str) -> str:
    """``text`` without a sign that a terminal takes for a command: each becomes one that stands for a broken one."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    """``text`` on one line that no terminal takes for a command, cut behind ``chars_max`` characters."""
    line = harmless(_SPACE.sub(" ", text[: 4 * chars_max])).strip()
    return line if len(line) <= chars_max and len(text) <= 4 * chars_max else line[: chars_max - 1] + "…"


def called_as(tool: str, arguments: Json, value_chars_max: int = VALUE_CHARS_MAX) -> str:
    """A call as code is written: ``refund(order_id="ord_123", cents=1200)``."""
    if not isinstance(arguments, dict):
        return f"{one_line(tool)}({one_line(_json(arguments), value_chars_max)})"
    inside = ", ".join(f"{one_line(key)}={one_line(_json(value), value_chars_max)}" for key, value in arguments.items())
    return f"{one_line(tool)}({inside})"


class _Seen(NamedTuple):
    """An event, the state that already holds it, and whether thoughts are told."""

    event: Any
    state: RunState
    thoughts: bool

    @property
    def call(self) -> str:
        """The call that the event is about, by number and tool."""
        number = self.event.call
        call = self.state.calls.get(number)
        return f"{number} {one_line(call.tool)}" if call else f"{number}"

    def words(self, content: Content | None) -> str:
        """What was said, in one line."""
        return one_line(text_of(content))


_Told: TypeAlias = Callable[[_Seen], str]


def _json(value: Json) -> str:
    return canonical(value).decode()


def _started(seen: _Seen) -> str:
    event = seen.event
    whom = f" for {event.principal}" if event.principal else ""
    goal = f": {one_line(event.goal, VALUE_CHARS_MAX)}" if event.goal else ""
    return one_line(f"{event.agent} {event.version}".strip() + whom) + goal


def _forked(seen: _Seen) -> str:
    event = seen.event
    given = [name for name, one in (("contract", event.contract), ("policy", event.policy)) if one is not None]
    other = f", with another {' and '.join(given)}" if given else ""
    whom = f", by {event.agent} {event.version}".rstrip() if event.agent else ""
    return one_line(f"from run {event.parent} at {event.position}{whom}{other}")


def _message(seen: _Seen) -> str:
    last = " (the last word)" if seen.event.last else ""
    return (seen.words(seen.event.content) or "go on") + last


def _cancel(seen: _Seen) -> str:
    reason = f": {seen.event.reason}" if seen.event.reason else ""
    return one_line(f"asked for by {seen.event.by}{reason}")


def _approval(seen: _Seen) -> str:
    event = seen.event
    changed = f", as {_json(event.arguments)}" if event.answer == "edit" else ""
    reason = f": {event.reason}" if event.reason else ""
    return f"{seen.call}: {event.answer} by {one_line(event.by)}{one_line(changed)}{one_line(reason)}"


def _approval_asked(seen: _Seen) -> str:
    event = seen.event
    said = [("on", event.object), ("to", event.destination)]
    what = "".join(f" {word} {_json(value)}" for word, value in said if value is not None)
    until = f", until {event.expires.isoformat()}" if event.expires else ""
    return one_line(f"whether call {seen.call} may be made, a {event.effect}{what} ({event.reason})") + until


def _revoked(seen: _Seen) -> str:
    reason = f": {seen.event.reason}" if seen.event.reason else ""
    return one_line(f"epoch {seen.event.epoch}, by {seen.event.by}{reason}")


def _lease(seen: _Seen) -> str:
    return one_line(f"{seen.event.worker} took the run up, epoch {seen.event.epoch}")


def _model_asked(seen: _Seen) -> str:
    new = len(seen.state.asked) - seen.event.kept
    return f"with {_count(new, 'new message')}" + (f" after {seen.event.kept}" if seen.event.kept else "")


def _called(seen: _Seen) -> str:
    again = f", attempt {seen.event.attempt}" if seen.event.attempt > 1 else ""
    again += f", to undo call {seen.event.compensates}" if seen.event.compensates else ""
    return f"{seen.event.call} {called_as(seen.event.tool, seen.event.arguments)}{again}"


def _replied(seen: _Seen) -> str:
    blocks = blocks_of(seen.event.content)
    thought = " ".join(block.text for block in blocks if type(block) is Thinking) if seen.thoughts else ""
    calls = sum(type(block) is ToolUse for block in blocks)
    parts = [f"(thinks: {one_line(thought)})" if thought else "", seen.words(seen.event.content)]
    return " ".join(filter(None, [*parts, f"[{_count(calls, 'call')}]" if calls else ""])) or "(nothing)"


def _model_failed(seen: _Seen) -> str:
    event = seen.event
    status = f" ({event.status})" if event.status else ""
    after = f", again after {event.retry_after_ms:,} ms" if event.retry_after_ms is not None else ""
    return f"{event.kind}{status}, {'may pass' if event.retryable else 'for good'}{after}"


def _observed(seen: _Seen) -> str:
    event = seen.event
    cut = f" ({event.cut:,} of {event.size_bytes:,} bytes left out)" if event.cut else ""
    return f"{seen.call} → {_NOT_OK[event.status]}{seen.words(event.content) or '(nothing)'}{cut}"


def _reconciled(seen: _Seen) -> str:
    said = seen.words(seen.event.content)
    by = f", says {one_line(seen.event.by)}" if isinstance(seen.event, OutcomeStated) else ""
    said = said + by if said else by.removeprefix(", ")
    return f"{seen.call} {seen.event.outcome.replace('_', ' ')}" + (f": {said}" if said else "")


def _decided(seen: _Seen) -> str:
    event = seen.event
    if event.kind == "call":
        what = ", ".join(_proposed(seen, one.call, one.tool) for one in event.calls)
    else:
        what = "that it cannot be done" if event.unable else _DECIDED[event.kind]
    said = text_of(seen.state.messages[-1].content) if seen.state.messages else ""
    # the words of a reply stand in the line above; a summary in JSON or under a label does not
    why = "" if said.lstrip().startswith(event.summary[:20]) else f": {one_line(event.summary)}"
    dropped = f" (dropped: {', '.join(map(one_line, event.dropped))})" if event.dropped else ""
    return what + why + dropped


def _proposed(seen: _Seen, number: int, tool: str) -> str:
    call = seen.state.calls.get(number)
    return f"{number} {called_as(tool, call.arguments if call else {})}"


def _verdict(seen: _Seen) -> str:
    event = seen.event
    because = f" ({one_line(event.reason)})" if event.reason else ""
    because += f", as {one_line(_json(event.arguments))}" if event.verdict == "edit" else ""
    return f"{seen.call}: {event.verdict} by rule “{one_line(event.rule)}”{because}"


def _verified(seen: _Seen) -> str:
    return f"{seen.call} by {one_line(seen.event.verifier)}"


def _observation_refused(seen: _Seen) -> str:
    return f"{seen.call} by {one_line(seen.event.verifier)}: {one_line(seen.event.reason)}"


def _fact(seen: _Seen) -> str:
    event = seen.event
    before = f", in place of the one at {event.supersedes}" if event.supersedes else ""
    evidence = ", ".join(map(str, event.evidence))
    return f"{one_line(event.key)} = {one_line(_json(event.value))} (from {evidence or 'nothing'}{before})"


def _intercepted(seen: _Seen) -> str:
    judged = ", ".join(map(str, seen.event.window))
    return f"{seen.call} by the guard “{seen.event.guard.replace('_', ' ')}”" + (f" (from {judged})" if judged else "")


def _person(seen: _Seen) -> str:
    event = seen.event
    because = f" ({one_line(event.reason)})" if event.reason else ""
    return f"the {event.actor}{because}" + (f", until {event.expires.isoformat()}" if event.expires else "")


def _finish_refused(seen: _Seen) -> str:
    lacking = one_line(", ".join([*seen.event.missing, *seen.event.unsupported]))
    return f"to finish without {lacking}"


def _recovery(seen: _Seen) -> str:
    event = seen.event
    return one_line(f"{event.rung.replace('_', ' ')} {event.model}".strip() + f" after {event.reason}")


def _planned(seen: _Seen) -> str:
    event = seen.event
    steps = "; ".join(f"{number}. {one_line(step.words)}" for number, step in enumerate(event.steps, start=1))
    return f"revision {event.revision}: {steps or '(nothing)'}"


def _stopped(seen: _Seen) -> str:
    event = seen.event
    read = (f"{one_line(one.path)} {_json(one.value)}, {one.operator} {_json(one.limit)}" for one in event.read)
    return one_line(f"{event.status}: {event.reason}") + "".join(f" ({one})" for one in read)


def _ended(seen: _Seen) -> str:
    event = seen.event
    partial = f"; so far: {one_line(event.partial)}" if event.partial else ""
    return f"{event.status}: {one_line(event.reason if event.answer is None else event.answer)}{partial}"


def _remark(seen: _Seen) -> str:
    where = f" at {seen.event.position}" if seen.event.position else ""
    return one_line(f"{seen.event.name} = {_json(seen.event.value)}{where}, says {seen.event.source}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


# What kind of event it is, in one word, and the rest of its line.
_WORDS: dict[type, tuple[str, _Told]] = {
    RunStarted: ("started", _started),
    RunForked: ("forked", _forked),
    MessageReceived: ("said", lambda seen: f"{seen.event.role or seen.event.actor}: {_message(seen)}"),
    ApprovalGiven: ("approval", _approval),
    OutcomeStated: ("learnt", _reconciled),
    CancelRequested: ("cancel", _cancel),
    LeaseRevoked: ("revoked", _revoked),
    LeaseGranted: ("lease", _lease),
    SignalsHeard: ("heard", lambda _: "what was said meanwhile"),
    DeadlinePassed: ("deadline", lambda seen: str(seen.event.which).replace("_", " ")),
    ModelAsked: ("asked", lambda seen: f"the model, {_model_asked(seen)}"),
    ToolCalled: ("called", _called),
    ApprovalAsked: ("asked", _approval_asked),
    PersonAsked: ("asked", _person),
    ReconcileAsked: ("asked", lambda seen: f"the authority about call {seen.call}"),
    ModelReplied: ("model", _replied),
    ModelFailed: ("no reply", _model_failed),
    ObservationReceived: ("observed", _observed),
    EffectReconciled: ("learnt", _reconciled),
    DecisionMade: ("decided", _decided),
    ReplyRefused: ("refused", lambda seen: f"the reply: {one_line(seen.event.reason)}"),
    VerdictGiven: ("verdict", _verdict),
    ObservationVerified: ("verified", _verified),
    ObservationRefused: ("refused", _observation_refused),
    FactCommitted: ("fact", _fact),
    FinishRefused: ("refused", _finish_refused),
    CallIntercepted: ("held", _intercepted),
    BudgetWarned: ("warned", lambda seen: f"{seen.event.left} left of {seen.event.dimension.replace('_', ' ')}"),
    RecoveryChosen: ("recovery", _recovery),
    ReflectionNoted: ("lesson", lambda seen: one_line(seen.event.lesson)),
    PlanDrawn: ("plan", _planned),
    EffectConfirmed: ("landed", lambda seen: seen.call),
    EffectInDoubt: ("in doubt", lambda seen: f"{seen.call}: {seen.event.why}"),
    EffectCompensated: ("undone", lambda seen: f"{seen.call} by call {seen.event.by}"),
    StopDecided: ("stop", _stopped),
    RunEnded: ("ended", _ended),
    AnnotationMade: ("remark", _remark),
    Quarantined: ("unread", lambda seen: one_line(seen.event.reason)),
}
