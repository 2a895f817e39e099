"""What a row says of a run as a whole: how it came out, what it used, where it came from."""

from __future__ import annotations

from typing import Annotated

import msgspec

from redrive_projections.history.tables.columns import JsonText, Labels, Moment, Names, Row


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
    started_at: Annotated[Moment | None, "When the run was asked for."] = None
    ended_at: Annotated[Moment | None, "When it ended."] = None
    last_at: Annotated[Moment | None, "When its last record was written."] = None
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
    labels: Annotated[Labels, "The run's labels: labels['suite'] is one of them."] = msgspec.field(default_factory=dict)
    arm: Annotated[
        str | None,
        "How it was driven: the label arm, else that of the contract; equal tasks are compared by it.",
    ] = None
    parts: Annotated[Labels, "The digest of each part of the program: parts['policy'] is one."] = msgspec.field(
        default_factory=dict
    )
    rules: Annotated[int | None, "The version of the engine's own behaviour."] = None
    people_asked: Annotated[int, "How often it waited for a person's words."] = 0
    escalations: Annotated[int, "How often it was handed to a person, or was to end so."] = 0
    workers: Annotated[int, "How often a worker took it up."] = 0
    parent: Annotated[str | None, "The run that called this one."] = None
    parent_call: Annotated[int | None, "By which of its calls; NULL where that is not known."] = None


class BudgetRow(Row, kw_only=True):
    """One row for each run and each dimension that a budget can limit, also where this one's does not."""

    dimension: Annotated[str, "steps, tokens, wall_time (in milliseconds), tool_calls or cost (in millionths)."]
    ceiling: Annotated[int | None, "The limit that the contract sets; NULL is none."] = None
    spent: Annotated[int, "What the run and its children have used, in the same units."] = 0
    remaining: Annotated[int | None, "What is left of it, never below 0; NULL where there is no limit."] = None
    currency: Annotated[str | None, "The currency of a cost."] = None
    warned_position: Annotated[int | None, "Where the model was last told that little is left."] = None
    exhausted: Annotated[bool, "Whether the run ended, or is about to, since this was used up."] = False


class LineageRow(Row, kw_only=True):
    """One row for each way in which a run came from another."""

    parent_id: Annotated[str, "The run it came from; a log need not hold it."]
    parent_call: Annotated[int | None, "By which of its calls; NULL where that is not known."] = None
    parent_position: Annotated[int | None, "Behind which of its events, of a fork."] = None
    kind: Annotated[str, "What it is to that run: call, if that began it, or fork."]
    known_by: Annotated[str, "What tells it: the name of the run, its start, or a remark made later."]
