"""What a row says of a call: the attempts, what came of them, and what they did to the world."""

from __future__ import annotations

from typing import Annotated

from redrive_projections.history.tables.columns import JsonText, Moment, Row


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
    asked_at: Annotated[Moment | None, "When it was made."]
    answer_position: Annotated[int | None, "Where the observation stands; NULL while it is awaited."] = None
    answered_at: Annotated[Moment | None, "When it came."] = None
    status: Annotated[str | None, "ok, error, timeout, cancelled or unknown."] = None
    media_type: Annotated[str | None, "Of what type the content is."] = None
    size_bytes: Annotated[int | None, "The size of the content, before anything was cut."] = None
    cut_bytes: Annotated[int | None, "How much of it was left out."] = None
    source: Annotated[str | None, "Where the observation says it comes from."] = None
    latency_ms: Annotated[int | None, "From request to observation; NULL if the run has no clock."] = None
    verifier: Annotated[str | None, "The verifier that judged the observation last."] = None
    verified: Annotated[bool | None, "Whether it accepted the observation."] = None
    refusal: Annotated[str | None, "Why it did not."] = None
    error: Annotated[str | None, "The class of a failure: refused, unavailable, failed, limits, sealed value lost."] = (
        None
    )
    compensates: Annotated[int | None, "The call that this one, which is the engine's own, is to undo."] = None
    outcome: Annotated[
        str | None, "Of a write, what became of this attempt: landed, not_landed, unknown; NULL while nobody says."
    ] = None
    doubt: Annotated[
        str | None,
        "Why it was in doubt whether it had its effect: timeout, unknown, worker lost; NULL if it never was.",
    ] = None


class ObservationRow(Row, kw_only=True):
    """One row for each observation."""

    position: Annotated[int, "Where it stands."]
    observed_at: Annotated[Moment | None, "When it came."] = None
    step: Annotated[int | None, "The step that the call belongs to."] = None
    call: Annotated[int, "The call that it answers."]
    attempt: Annotated[int | None, "Which attempt of it."] = None
    tool: Annotated[str | None, "The tool."] = None
    rule: Annotated[str | None, "The rule that had allowed the call."] = None
    status: Annotated[str, "ok, error, timeout, cancelled or unknown."]
    error: Annotated[str | None, "The class of a failure: refused, unavailable, failed, limits, sealed value lost."] = (
        None
    )
    source: Annotated[str | None, "Where it says it comes from."] = None
    tenant: Annotated[str | None, "Whose data it says it is."] = None
    trust: Annotated[str, "untrusted or trusted."] = "untrusted"
    schema_version: Annotated[str | None, "The version of its schema."] = None
    as_of: Annotated[Moment | None, "The moment that it shows, where the source says so."] = None
    redirects: Annotated[int, "How many redirects led to it."] = 0
    media_type: Annotated[str, "Of what type the content is."]
    size_bytes: Annotated[int, "The size of the content, before anything was cut."] = 0
    cut_bytes: Annotated[int, "How much of it was left out."] = 0
    latency_ms: Annotated[int | None, "From request to observation; NULL if the run has no clock."] = None
    excerpt: Annotated[str | None, "How the content begins, at most 400 characters; all of it is in payloads."] = None
    verifier: Annotated[str | None, "The verifier that judged it last."] = None
    verified: Annotated[bool | None, "Whether it was accepted; NULL if none judged it."] = None
    refusal: Annotated[str | None, "Why it was not."] = None


class EffectRow(Row, kw_only=True):
    """One row for each write, and each call of a tool of unknown effect that was ever in doubt: the ledger."""

    call: Annotated[int, "The call, counted from 1 in the run."]
    tool: Annotated[str, "The tool."]
    effect: Annotated[str, "write, or unknown for a tool of which nobody said."]
    key: Annotated[str | None, "The idempotency key: the same over all attempts."] = None
    digest: Annotated[str, "The digest of tool and arguments as recorded."]
    attempts: Annotated[int, "How often it was requested."] = 1
    position: Annotated[int, "Where the first request stands."]
    planned_at: Annotated[Moment | None, "When that was."] = None
    stage: Annotated[str, "planned, confirmed, in doubt, reconciled, compensated or not done."]
    outcome: Annotated[
        str | None, "landed, not_landed, or unknown where the authority does not know either; NULL while nobody says."
    ] = None
    why: Annotated[str | None, "Why it was in doubt: timeout, unknown, worker lost; NULL if it never was."] = None
    doubted_position: Annotated[int | None, "Where that stands."] = None
    authority_asked: Annotated[int, "How often the authority was asked."] = 0
    known_by: Annotated[str | None, "Who reconciled it: authority, or a person or worker by name."] = None
    reason: Annotated[str | None, "How they know."] = None
    compensates: Annotated[int | None, "The call that this one is to undo."] = None
    compensated_by: Annotated[int | None, "The call that undid it."] = None
    settled_position: Annotated[
        int | None, "Where it became what it is; NULL while it is planned or in doubt, or if a remark says it."
    ] = None
    settled_at: Annotated[Moment | None, "When that was."] = None


class ApprovalRow(Row, kw_only=True):
    """One row for each time a person was asked whether a call may be made."""

    position: Annotated[int, "Where the question stands."]
    asked_at: Annotated[Moment | None, "When it was asked."] = None
    step: Annotated[int | None, "The step that the call belongs to."] = None
    call: Annotated[int, "The call."]
    tool: Annotated[str | None, "The tool."] = None
    digest: Annotated[str, "The digest of all that is shown: tool, arguments, object and destination."]
    object: Annotated[JsonText, "What the call acts on, as the tool names it."]
    destination: Annotated[JsonText, "Where it goes, as the tool names it."]
    reason: Annotated[str | None, "Why a person is asked."] = None
    expires_at: Annotated[Moment | None, "Until when an answer counts."] = None
    answer: Annotated[
        str | None,
        "grant, refuse or edit; expired where none came in time, withdrawn where the run stopped; NULL while open.",
    ] = None
    answered_by: Annotated[str | None, "Who answered."] = None
    answer_position: Annotated[int | None, "Where the answer stands, or what took its place."] = None
    answered_at: Annotated[Moment | None, "When that was."] = None
    waited_ms: Annotated[int | None, "From the question to that; NULL if the run has no clock."] = None
    arguments: Annotated[JsonText | None, "The arguments of an edit."] = None
    answer_reason: Annotated[str | None, "Why it was answered so."] = None
