"""What a row says of what the model was asked, what it wanted, and what it was told."""

from __future__ import annotations

from typing import Annotated

from redrive_projections.history.tables.columns import JsonText, Moment, Names, Positions, Row


class StepRow(Row, kw_only=True):
    """One row for each call, and one for a step without a call: decision, verdict and observation side by side."""

    step: Annotated[int, "The step, that is the answered model request, counted from 1."]
    call: Annotated[int | None, "The call, counted from 1 in the run; NULL for a step without a call."] = None
    position: Annotated[int, "Where the decision stands; without one, the reply or the first request."]
    decided_at: Annotated[Moment | None, "When that was."]
    decision: Annotated[
        str | None, "call, finish, unable, ask, escalate or plan; refused where the reply was no decision."
    ] = None
    summary: Annotated[str | None, "The decision in one line."] = None
    refusal: Annotated[str | None, "Why the reply was no decision, or what a finish lacked: criteria, evidence."] = None
    tool: Annotated[str | None, "The tool."] = None
    arguments: Annotated[JsonText | None, "The arguments; a text where they could not be read."] = None
    digest: Annotated[str | None, "The digest of tool and arguments: equal calls have equal ones."] = None
    repeat: Annotated[bool | None, "Whether the run had proposed the same tool with the same arguments before."] = None
    verdict: Annotated[str | None, "The last one on it: allow, deny, ask or edit."] = None
    rule: Annotated[str | None, "The rule that decided it."] = None
    intercepted: Annotated[str | None, "The guard that held the call back: repeated, last_step or forked."] = None
    effect: Annotated[str | None, "read or write; NULL if the tool was not called."] = None
    attempts: Annotated[int, "How often the tool was called for it; 0 means not at all."] = 0
    status: Annotated[str | None, "The last observation: ok, error, timeout, cancelled or unknown."] = None
    source: Annotated[str | None, "Where the observation says it comes from."] = None
    size_bytes: Annotated[int | None, "Its size, before anything was cut."] = None
    latency_ms: Annotated[int | None, "From request to observation; NULL if the run has no clock."] = None
    verified: Annotated[bool | None, "Whether a verifier accepted the observation; NULL if none judged it."] = None


class ModelCallRow(Row, kw_only=True):
    """One row for each request to a model, and what came of it."""

    position: Annotated[int, "Where the request stands; without one, the reply."]
    asked_at: Annotated[Moment | None, "When it was made."] = None
    step: Annotated[int | None, "The step that the reply is; NULL while there is none."] = None
    purpose: Annotated[str, "What the model was asked for: act, plan or reflect."] = "act"
    model: Annotated[str | None, "The model that was asked."] = None
    view: Annotated[str | None, "In which view it saw the run."] = None
    messages: Annotated[int, "Of how many messages the request was made."] = 0
    kept: Annotated[int, "How many of them stood in the last request already."] = 0
    request: Annotated[str | None, "The digest of the whole request."] = None
    answer_position: Annotated[int | None, "Where the answer stands; NULL while it is awaited."] = None
    answered_at: Annotated[Moment | None, "When it came."] = None
    status: Annotated[
        str | None,
        "replied, or why there was no reply: timeout, rate_limited, refused, broken, cancelled, unavailable.",
    ] = None
    retryable: Annotated[bool | None, "Of a failure, whether asking again may help."] = None
    http_status: Annotated[int | None, "Of a failure, the status of its HTTP response."] = None
    latency_ms: Annotated[int | None, "From request to answer; NULL if the run has no clock."] = None
    replied_by: Annotated[str | None, "The model that says it replied."] = None
    response_id: Annotated[str | None, "The provider's name for the reply."] = None
    finish: Annotated[str | None, "Why the reply ended there, in the provider's words."] = None
    calls: Annotated[int, "How many calls the reply holds."] = 0
    input_tokens: Annotated[
        int | None, "Input tokens that were not cached; NULL if nobody counted, as those below."
    ] = None
    cache_read_tokens: Annotated[int | None, "Input tokens read from a cache."] = None
    cache_write_tokens: Annotated[int | None, "Input tokens written to a cache."] = None
    output_tokens: Annotated[int | None, "Output tokens, those of reasoning included."] = None
    reasoning_tokens: Annotated[int | None, "Output tokens of reasoning."] = None
    cost_micros: Annotated[
        int | None, "What the reply cost, in millionths of the run's currency; NULL if not known."
    ] = None


class DecisionRow(Row, kw_only=True):
    """One row for each reply that was read as a decision, or could not be."""

    position: Annotated[int, "Where the decision stands."]
    decided_at: Annotated[Moment | None, "When it was made."] = None
    step: Annotated[int, "The step."]
    decision: Annotated[str, "call, finish, unable, ask, escalate or plan; refused where the reply was no decision."]
    summary: Annotated[str | None, "The decision in one line."] = None
    calls: Annotated[int, "How many calls it proposes."] = 0
    answer: Annotated[str | None, "The answer of a finish, where it is not the reply's text."] = None
    dropped: Annotated[Names, "What else the reply said, which nobody acted on."] = ()
    plan_step: Annotated[int | None, "The step of the plan or workflow that it is, where no reply decided it."] = None
    refusal: Annotated[str | None, "Why the reply was no decision."] = None
    missing: Annotated[Names, "The criteria that a finish which was refused did not meet."] = ()
    unsupported: Annotated[Names, "The claims of a finish which was refused that nothing bears out."] = ()


class VerdictRow(Row, kw_only=True):
    """One row for each verdict."""

    position: Annotated[int, "Where it stands."]
    judged_at: Annotated[Moment | None, "When it was given."]
    step: Annotated[int, "The step that the call belongs to."]
    call: Annotated[int, "The call that was judged."]
    tool: Annotated[str | None, "The tool."]
    verdict: Annotated[str, "allow, deny, ask (a person) or edit (the arguments, which are judged next)."]
    rule: Annotated[str, "The rule that decided."]
    reason: Annotated[str | None, "Why, for the record."]
    text: Annotated[str | None, "What the model was told."]
    read: Annotated[JsonText, "What the rule looked at: a list of path, operator, value and limit."]
    arguments: Annotated[JsonText | None, "The arguments that an edit gives the call."] = None
    policy: Annotated[str | None, "The digest of the policy that ruled; NULL where the contract or the engine did."] = (
        None
    )


class FactRow(Row, kw_only=True):
    """One row for each time a fact was committed."""

    position: Annotated[int, "Where it stands."]
    step: Annotated[int, "The step after which that was."]
    committed_at: Annotated[Moment | None, "When it was committed."]
    key: Annotated[str, "The fact's name."]
    value: Annotated[JsonText, "Its value."]
    verifier: Annotated[str, "Who verified it."]
    evidence: Annotated[Positions, "The positions that bear it out."]
    supersedes: Annotated[int | None, "The position of the fact that it replaces."]


class ReflectionRow(Row, kw_only=True):
    """One row for each lesson."""

    position: Annotated[int, "Where it stands."]
    noted_at: Annotated[Moment | None, "When it was noted."] = None
    step: Annotated[int, "The step after which that was."]
    lesson: Annotated[str, "The lesson."]
    rule: Annotated[str | None, "The rule that it comes from; NULL if the model drew it."] = None
    failures: Annotated[Positions, "The positions of the failures it is drawn from."] = ()


class PlanRow(Row, kw_only=True):
    """One row for each step of each plan; a later revision takes the place of what was left of the one before."""

    position: Annotated[int, "Where the plan stands."]
    drawn_at: Annotated[Moment | None, "When it was drawn."] = None
    revision: Annotated[int, "How manieth it is in the run."]
    reason: Annotated[str | None, "Why it was drawn anew."] = None
    number: Annotated[int, "The step of the plan, counted from 1."]
    words: Annotated[str, "What is to be done."]
    step_budget: Annotated[int | None, "How many steps it may take; NULL is as the contract says."] = None
    call: Annotated[int | None, "The call that began it; NULL if it was never begun. Its run is RUN/CALL."] = None
    status: Annotated[str | None, "How the run that did it ended."] = None


class MessageRow(Row, kw_only=True):
    """One row for each thing that was said in words: the goal, what people and others said, the model's replies."""

    position: Annotated[int, "Where it stands."]
    said_at: Annotated[Moment | None, "When it was said."] = None
    step: Annotated[int, "The step after which that was; a reply is its step."]
    actor: Annotated[str, "Who: principal (the goal), user, operator, agent, tool, or the model."]
    text: Annotated[str, "The words; calls, thinking and pictures are left out."]
    final: Annotated[bool, "Whether it was somebody's last word, after which the run may end."] = False
