"""The tables of the history, column by column: what they are made from is what they are told by."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, NewType, TypeAlias, get_args, get_type_hints

import msgspec

# Text that is JSON already.
JsonText = NewType("JsonText", str)

# A map as DuckDB takes it: its keys under "key", their values under "value". A plain dict with an empty key is none.
Labels: TypeAlias = dict[str, list[str]]
Positions: TypeAlias = tuple[int, ...]
Names: TypeAlias = tuple[str, ...]


def labels_of(names: Mapping[str, str]) -> Labels:
    """Names with their values, as a row holds them."""
    return {"key": [*names], "value": [*names.values()]}


class Column(NamedTuple):
    """A column: its name, its type in SQL, and what stands in it."""

    name: str
    type: str
    told: str


class Table(NamedTuple):
    """A table: its name, what a row of it is, and its columns in order."""

    name: str
    told: str
    columns: tuple[Column, ...]


class Row(msgspec.Struct, kw_only=True, gc=False):
    """What every row begins with; a field that is not known, or does not apply, is NULL."""

    run_id: Annotated[str, "The run."]
    run: Annotated[int, "The run as a number, for fast joins and windows: 1 is the run that began first in the log."]


class RunRow(Row, kw_only=True):
    """One row for each run."""

    agent: Annotated[str | None, "The agent's name."] = None
    version: Annotated[str | None, "The agent's version."] = None
    principal: Annotated[str | None, "On whose behalf the run acts."] = None
    tenant: Annotated[str | None, "Whose data the run may see."] = None
    goal: Annotated[str | None, "What was asked for."] = None
    status: Annotated[
        str, "How it reads: the status of its end, unfinished while there is none, degraded if events cannot be read."
    ] = ""
    reason: Annotated[str | None, "Why it ended, or is about to."] = None
    dimension: Annotated[str | None, "Of what the budget was used up, if that ended it."] = None
    answer: Annotated[str | None, "The run's answer."] = None
    unable: Annotated[bool, "Whether it ended by an honest word that it cannot be done."] = False
    partial: Annotated[str | None, "What there was when it was stopped, in the contract's words."] = None
    claims: Annotated[JsonText | None, "What the answer claims, each with the positions that bear it out."] = None
    started_at: Annotated[datetime | None, "When the run was asked for."] = None
    ended_at: Annotated[datetime | None, "When it ended."] = None
    last_at: Annotated[datetime | None, "When its last record was written."] = None
    clock: Annotated[str | None, "What its times are worth: utc, naive (of an unknown zone) or none."] = None
    records: Annotated[int, "How many records it has: its rows in events."] = 0
    quarantined: Annotated[int, "How many of them, and of the remarks on it, cannot be read."] = 0
    steps: Annotated[int, "Answered model requests."] = 0
    tokens: Annotated[int, "Tokens of all replies: input, cached input and output."] = 0
    tool_calls: Annotated[int, "Calls that were made; further attempts of the same call do not count."] = 0
    denials: Annotated[int, "Verdicts that denied a call."] = 0
    cost_micros: Annotated[
        int | None, "Cost of the replies that told theirs, in millionths of the currency; NULL if none did."
    ] = None
    currency: Annotated[str | None, "The currency of the cost."] = None
    wall_ms: Annotated[int, "Wall time as the budget counts it: without waiting for people, or for a worker."] = 0
    model: Annotated[str | None, "The model that the contract names."] = None
    grade: Annotated[
        str | None, "How much of an imported run is there: full, model-only, verdicts-only, view-only."
    ] = None
    missing: Annotated[Names | None, "What is missing of an imported run."] = None
    source_format: Annotated[str | None, "The format an imported run came in."] = None
    source_sha256: Annotated[str | None, "The digest of the file an imported run came from."] = None
    labels: Annotated[Labels, "The run's labels: labels['suite'] is one of them."] = msgspec.field(
        default_factory=lambda: labels_of({})
    )
    arm: Annotated[
        str | None,
        "How it was driven: the label arm, else that of the contract; equal tasks are compared by it.",
    ] = None
    parts: Annotated[Labels, "The digest of each part of the program: parts['policy'] is one."] = msgspec.field(
        default_factory=lambda: labels_of({})
    )
    rules: Annotated[int | None, "The version of the engine's own behaviour."] = None
    parent: Annotated[str | None, "The run that called this one."] = None
    parent_call: Annotated[int | None, "By which of its calls; NULL where that is not known."] = None


class StepRow(Row, kw_only=True):
    """One row for each call, and one for a step without a call: decision, verdict and observation side by side."""

    step: Annotated[int, "The step, that is the answered model request, counted from 1."]
    call: Annotated[int | None, "The call, counted from 1 in the run; NULL for a step without a call."] = None
    position: Annotated[int, "Where the decision stands; without one, the reply or the first request."]
    decided_at: Annotated[datetime | None, "When that was."]
    decision: Annotated[
        str | None, "call, finish, unable, ask, escalate or plan; refused where the reply was no decision."
    ] = None
    summary: Annotated[str | None, "The decision in one line."] = None
    refusal: Annotated[str | None, "Why the reply was no decision, or what a finish lacked: criteria, evidence."] = None
    tool: Annotated[str | None, "The tool."] = None
    arguments: Annotated[JsonText | None, "The arguments; a text where they could not be read."] = None
    digest: Annotated[str | None, "The digest of tool and arguments: equal calls have equal ones."] = None
    repeat: Annotated[bool | None, "Whether the run had proposed the same tool with the same arguments before."] = None
    verdict: Annotated[str | None, "allow or deny."] = None
    rule: Annotated[str | None, "The rule that decided it."] = None
    intercepted: Annotated[str | None, "The guard that held the allowed call back: repeated or last_step."] = None
    effect: Annotated[str | None, "read or write; NULL if the tool was not called."] = None
    attempts: Annotated[int, "How often the tool was called for it; 0 means not at all."] = 0
    status: Annotated[str | None, "The last observation: ok, error, timeout, cancelled or unknown."] = None
    source: Annotated[str | None, "Where the observation says it comes from."] = None
    size_bytes: Annotated[int | None, "Its size, before anything was cut."] = None
    latency_ms: Annotated[int | None, "From request to observation; NULL if the run has no clock."] = None
    verified: Annotated[bool | None, "Whether a verifier accepted the observation; NULL if none judged it."] = None


class EventRow(Row, kw_only=True):
    """One row for each record of a run; what was said beside it is in annotations."""

    position: Annotated[int, "Its place in the run, counted from 1."]
    happened_at: Annotated[datetime | None, "When it was written; NULL, like all times, if the run has no clock."]
    cause: Annotated[int, "The position it follows from; 0 where nothing in the run caused it."]
    remaining: Annotated[int, "How many records of the same append were still to come."]
    kind: Annotated[str, "What happened: tool_called, verdict_given and so on."]
    payload: Annotated[JsonText | None, "The event as it is stored; NULL if it is not even JSON."]
    problem: Annotated[str | None, "Why it cannot be read; its kind is then quarantined."] = None


class ToolCallRow(Row, kw_only=True):
    """One row for each attempt of a call."""

    call: Annotated[int, "The call, counted from 1 in the run."]
    attempt: Annotated[int, "Which attempt, counted from 1."]
    tool: Annotated[str, "The tool."]
    effect: Annotated[str, "read or write."]
    arguments: Annotated[JsonText, "The arguments; a text where they could not be read."]
    digest: Annotated[str, "The digest of tool and arguments as recorded."]
    key: Annotated[str | None, "The idempotency key of a write: the same over all attempts."] = None
    timeout_ms: Annotated[int | None, "How long it might take."] = None
    position: Annotated[int, "Where the request stands."]
    asked_at: Annotated[datetime | None, "When it was made."]
    answer_position: Annotated[int | None, "Where the observation stands; NULL while it is awaited."] = None
    answered_at: Annotated[datetime | None, "When it came."] = None
    status: Annotated[str | None, "ok, error, timeout, cancelled or unknown."] = None
    media_type: Annotated[str | None, "Of what type the content is."] = None
    size_bytes: Annotated[int | None, "The size of the content, before anything was cut."] = None
    cut_bytes: Annotated[int | None, "How much of it was left out."] = None
    source: Annotated[str | None, "Where the observation says it comes from."] = None
    latency_ms: Annotated[int | None, "From request to observation; NULL if the run has no clock."] = None
    verifier: Annotated[str | None, "The verifier that judged the observation last."] = None
    verified: Annotated[bool | None, "Whether it accepted the observation."] = None
    refusal: Annotated[str | None, "Why it did not."] = None
    outcome: Annotated[str | None, "Of a write, the last that is known: landed, not_landed, unknown or in_doubt."] = (
        None
    )


class VerdictRow(Row, kw_only=True):
    """One row for each verdict."""

    position: Annotated[int, "Where it stands."]
    judged_at: Annotated[datetime | None, "When it was given."]
    step: Annotated[int, "The step that the call belongs to."]
    call: Annotated[int, "The call that was judged."]
    tool: Annotated[str | None, "The tool."]
    verdict: Annotated[str, "allow or deny."]
    rule: Annotated[str, "The rule that decided."]
    reason: Annotated[str | None, "Why, for the record."]
    text: Annotated[str | None, "What the model was told."]
    read: Annotated[JsonText, "What the rule looked at: a list of path, operator, value and limit."]


class FactRow(Row, kw_only=True):
    """One row for each time a fact was committed."""

    position: Annotated[int, "Where it stands."]
    committed_at: Annotated[datetime | None, "When it was committed."]
    key: Annotated[str, "The fact's name."]
    value: Annotated[JsonText, "Its value."]
    verifier: Annotated[str, "Who verified it."]
    evidence: Annotated[Positions, "The positions that bear it out."]
    supersedes: Annotated[int | None, "The position of the fact that it replaces."]


class AnnotationRow(Row, kw_only=True):
    """One row for each remark about a run: rewards, scores, labels."""

    note: Annotated[int, "Its place among the remarks on this run, counted from 1."]
    annotated_at: Annotated[datetime, "When it was made."]
    position: Annotated[int | None, "The position in the run that it is about; NULL means the whole run."]
    name: Annotated[str, "What is remarked on."]
    value: Annotated[JsonText, "The value."]
    value_number: Annotated[float | None, "The value if it is a number; true is 1 and false is 0."]
    value_text: Annotated[str | None, "The value if it is text."]
    source: Annotated[str, "Who says so."]


ROWS: MappingProxyType[str, type[Row]] = MappingProxyType(
    {
        "runs": RunRow,
        "steps": StepRow,
        "events": EventRow,
        "tool_calls": ToolCallRow,
        "verdicts": VerdictRow,
        "facts": FactRow,
        "annotations": AnnotationRow,
    }
)

_TYPES: dict[Any, str] = {
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE",
    str: "VARCHAR",
    datetime: "TIMESTAMPTZ",
    JsonText: "JSON",
    Labels: "MAP(VARCHAR, VARCHAR)",
    Positions: "BIGINT[]",
    Names: "VARCHAR[]",
}


@cache
def schema() -> tuple[Table, ...]:
    """The tables with their columns, and a sentence on each."""
    return tuple(Table(name, (row.__doc__ or "").strip(), _columns(row)) for name, row in ROWS.items())


def _columns(row: type[Row]) -> tuple[Column, ...]:
    hints = get_type_hints(row, include_extras=True)
    return tuple(Column(name, *_told(hints[name])) for name in row.__struct_fields__)


def _told(hint: Any) -> tuple[str, str]:
    kind, told = get_args(hint)
    (plain,) = [one for one in get_args(kind) if one is not type(None)] if type(None) in get_args(kind) else [kind]
    return _TYPES[plain], told
