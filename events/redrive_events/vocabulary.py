"""Everything that can happen in a run, in the past tense."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from redrive_events.content import Content, Data, Json
from redrive_events.details import (
    Claim,
    Handover,
    Lineage,
    OwnWords,
    Part,
    PlannedStep,
    ProposedCall,
    Reading,
    Returned,
    Source,
    Status,
    Usage,
)
from redrive_events.terms import Dimension, Failure, Rung, Terms

# An unknown effect is treated like a write: nobody may assume that nothing happened. A ``run`` is a child run.
Effect: TypeAlias = Literal["read", "write", "unknown", "run"]
# What a model is asked for: its next decision, a plan, or a lesson.
Purpose: TypeAlias = Literal["act", "plan", "reflect"]
Verdict: TypeAlias = Literal["allow", "deny"]


class _Event(Data, frozen=True, tag_field="event"):
    """Nothing that the vocabulary does not know: no id, clock or position, so that equal happenings are equal."""


# Strangers' signals: anybody may append one, alone.


class RunStarted(_Event, frozen=True, tag="run_started"):
    """A run was asked for, under this contract, by this principal, with a program made of these parts.

    ``nonce`` makes the run's idempotency keys unlike those of any other log; ``rules`` is the version of the engine's
    own behaviour; ``clock`` says what the times of this run are worth; ``lessons`` are those of earlier runs, and
    ``known`` is what the parent of a child run knew when it began it.
    """

    goal: str
    agent: str
    nonce: str
    contract: Terms
    rules: int
    version: str = ""
    principal: str = ""
    tenant: str = ""
    parts: dict[str, Part] = {}
    clock: Literal["utc", "naive", "none"] = "utc"
    environment: dict[str, str] = {}
    labels: dict[str, str] = {}
    lessons: tuple[str, ...] = ()
    known: dict[str, Json] = {}
    source: Source | None = None
    parent: Lineage | None = None


class MessageReceived(_Event, frozen=True, tag="message_received"):
    """Somebody spoke into the run. Empty content says only "go on"; after the ``last`` message the run may end.

    ``before`` is the call in front of whose response a trace has these words; 0 stands for behind all responses.
    """

    actor: Literal["user", "operator", "agent", "tool"]
    content: Content
    last: bool = False
    role: str = ""
    before: int = 0


class CancelRequested(_Event, frozen=True, tag="cancel_requested"):
    """Somebody asked that the run stop before its next action."""

    by: str
    reason: str = ""


# The driver's signals: only the worker that holds the lease appends them.


class LeaseGranted(_Event, frozen=True, tag="lease_granted"):
    """A worker took the run up, for the first time or again; ``parts`` are the digests of the program it brings."""

    worker: str
    epoch: int
    parts: dict[str, str] = {}


class SignalsHeard(_Event, frozen=True, tag="signals_heard"):
    """An idle worker took note of the signals that had come in."""


class DeadlinePassed(_Event, frozen=True, tag="deadline_passed"):
    """A time limit ran out while nothing else happened."""

    which: Literal["wall_time", "person"]


# Requests: what the run asks of the world.


class ModelAsked(_Event, frozen=True, tag="model_asked"):
    """The model was asked: ``kept`` messages of the last request stay, then ``new`` ones follow.

    A number in ``new`` is the position of the event whose messages those are. ``request`` is the digest of the whole
    request, ``state`` that of the state view ``state.1`` at this moment.
    """

    kept: int
    new: tuple[int | OwnWords, ...]
    request: str
    state: str
    model: str = ""
    parameters: dict[str, Json] = {}
    view: str = "chat.1"
    purpose: Purpose = "act"


class ToolCalled(_Event, frozen=True, tag="tool_called"):
    """A tool was asked to act; ``arguments`` is a string only where the provider's text could not be read."""

    call: int
    tool: str
    arguments: Json
    digest: str
    effect: Effect
    key: str = ""
    attempt: int = 1
    timeout_ms: int | None = None


class PersonAsked(_Event, frozen=True, tag="person_asked"):
    """The run waits for a person's words, until ``expires`` if that is set.

    ``call`` is the call of a way out by which the model asked for a person; ``text`` is its response.
    """

    actor: Literal["user", "operator"] = "user"
    why: Literal["reply", "escalation"] = "reply"
    reason: str = ""
    handover: Handover | None = None
    expires: datetime | None = None
    call: int | None = None
    text: str = ""


class ReconcileAsked(_Event, frozen=True, tag="reconcile_asked"):
    """The authority was asked whether the effect with this key landed."""

    call: int
    key: str


# Answers: what the world says to a request.


class ModelReplied(_Event, frozen=True, tag="model_replied"):
    """The model answered; ``content`` is as the provider sent it, the cost None where nobody knows it."""

    content: Content
    finish: str = ""
    model: str = ""
    response_id: str = ""
    usage: Usage | None = None
    cost_micros: int | None = None


class ModelFailed(_Event, frozen=True, tag="model_failed"):
    """The model gave no answer: of which class the failure is, and whether asking again may help.

    ``retry_after_ms`` is how long the provider wants to be left alone, ``status`` that of its HTTP response, if any.
    """

    kind: Literal["timeout", "rate_limited", "refused", "broken", "cancelled", "unavailable"]
    retryable: bool = False
    retry_after_ms: int | None = None
    status: int = 0


class ObservationReceived(_Event, frozen=True, tag="observation_received"):
    """What came of a call. Content is untrusted data; None says nothing at all to the model.

    ``size_bytes`` is the size before ``cut`` bytes were left out; ``returned`` is what a child run came back with.
    """

    call: int
    status: Literal["ok", "error", "timeout", "cancelled", "unknown"]
    content: Content | None = None
    media_type: str = "text/plain"
    size_bytes: int = 0
    cut: int = 0
    source: str = ""
    returned: Returned | None = None


class EffectReconciled(_Event, frozen=True, tag="effect_reconciled"):
    """What the authority says of an effect in doubt; if it landed, ``content`` is what would have been observed."""

    call: int
    outcome: Literal["landed", "not_landed", "unknown"]
    content: Content | None = None
    media_type: str = "text/plain"


# Conclusions: what follows.


class DecisionMade(_Event, frozen=True, tag="decision_made"):
    """The reply was read as a decision. The answer of a ``finish`` is the reply's text where ``answer`` is empty.

    ``dropped`` names what else the reply said, which nobody acted on. An ``unable`` finish says that it
    cannot be done; ``calls`` of anything but a ``call`` is the one call by which the model said so. With a ``step`` it
    is no reply's decision but that step of the plan or workflow.
    """

    kind: Literal["call", "finish", "ask", "escalate", "plan"]
    summary: str = ""
    calls: tuple[ProposedCall, ...] = ()
    answer: str = ""
    dropped: tuple[str, ...] = ()
    unable: bool = False
    step: int = 0


class ReplyRefused(_Event, frozen=True, tag="reply_refused"):
    """The reply was no decision: why, for the record; ``text`` is what the model is told."""

    reason: str
    text: str


class VerdictGiven(_Event, frozen=True, tag="verdict_given"):
    """A call was judged: by which rule, on what; ``reason`` is for the record, ``text`` for the model."""

    call: int
    verdict: Verdict
    rule: str
    reason: str = ""
    read: tuple[Reading, ...] = ()
    text: str = ""


class CallIntercepted(_Event, frozen=True, tag="call_intercepted"):
    """A guard let an allowed call not start: which one, and the positions that it judged; ``text`` is the response."""

    call: int
    guard: Literal["repeated", "last_step"]
    window: tuple[int, ...]
    text: str


class ObservationVerified(_Event, frozen=True, tag="observation_verified"):
    """A verifier found that the observation answers the request."""

    call: int
    verifier: str


class ObservationRefused(_Event, frozen=True, tag="observation_refused"):
    """A verifier did not accept the observation, so the model gets ``text`` in its place."""

    call: int
    verifier: str
    reason: str
    text: str


class FactCommitted(_Event, frozen=True, tag="fact_committed"):
    """Something is known: the value, who verified it, the positions that bear it out, the position it supersedes."""

    key: str
    value: Json
    verifier: str
    evidence: tuple[int, ...]
    supersedes: int | None = None


class FinishRefused(_Event, frozen=True, tag="finish_refused"):
    """The run is not done: criteria not met, claims that nothing bears out; ``text`` is what the model is told.

    ``call`` is the call of a way out by which the model wanted to finish.
    """

    missing: tuple[str, ...]
    text: str
    unsupported: tuple[str, ...] = ()
    call: int | None = None


class BudgetWarned(_Event, frozen=True, tag="budget_warned"):
    """Little is left of a budget, in the dimension's own units; ``text`` is what the model is told."""

    dimension: Dimension
    left: int
    text: str


class RecoveryChosen(_Event, frozen=True, tag="recovery_chosen"):
    """Failures of a kind have reached their quota: what is tried next, and the positions of these failures.

    ``model`` is the one that is asked from here on, where it is another; ``text`` is what it is told, ``reason`` for
    the record.
    """

    failure: Failure
    rung: Rung
    reason: str
    window: tuple[int, ...]
    model: str = ""
    text: str = ""


class ReflectionNoted(_Event, frozen=True, tag="reflection_noted"):
    """A lesson from the failures at ``window``: by a rule, or by the model where ``rule`` is empty."""

    lesson: str
    window: tuple[int, ...]
    rule: str = ""


class PlanDrawn(_Event, frozen=True, tag="plan_drawn"):
    """The steps that are to be done next, each as a child run; a later revision takes the place of what is left."""

    steps: tuple[PlannedStep, ...]
    revision: int = 1
    reason: str = ""


class EffectConfirmed(_Event, frozen=True, tag="effect_confirmed"):
    """The effect of a write landed."""

    call: int


class EffectInDoubt(_Event, frozen=True, tag="effect_in_doubt"):
    """Nobody knows whether the write landed, and it will not be tried again before the authority was asked."""

    call: int
    why: Literal["timeout", "unknown", "cancelled", "worker lost"]


class StopDecided(_Event, frozen=True, tag="stop_decided"):
    """From here on nothing new is asked; what is open is closed, then the run ends.

    A guard that stops a run tells the positions it judged, and what it measured; an escalation hands over.
    """

    status: Status
    reason: str
    dimension: Dimension | None = None
    window: tuple[int, ...] = ()
    read: tuple[Reading, ...] = ()
    handover: Handover | None = None


class RunEnded(_Event, frozen=True, tag="run_ended"):
    """The last event of a run; ``state`` is the digest of the state view ``state.1``.

    ``partial`` is what there was when the run was stopped, in the contract's words.
    """

    status: Status
    reason: str
    state: str
    answer: str | None = None
    partial: str | None = None
    claims: tuple[Claim, ...] = ()


# Beside the run, in the stream RUN@notes.


class AnnotationMade(_Event, frozen=True, tag="annotation_made"):
    """Somebody's remark about a run, or about one position in it. Never read by the loop."""

    name: str
    value: Json
    source: str
    position: int | None = None
