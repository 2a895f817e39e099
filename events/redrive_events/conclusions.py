"""What follows in a run from what happened, and the remarks beside it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from redrive_events.content import Json
from redrive_events.details import (
    Claim,
    EventData,
    Handover,
    PlannedStep,
    ProposedCall,
    Reading,
    Status,
)
from redrive_events.terms import Dimension, Failure, Rung

Verdict: TypeAlias = Literal["allow", "deny", "ask", "edit"]


class DecisionMade(EventData, frozen=True, tag="decision_made"):
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


class ReplyRefused(EventData, frozen=True, tag="reply_refused"):
    """The reply was no decision: why, for the record; ``text`` is what the model is told."""

    reason: str
    text: str


class VerdictGiven(EventData, frozen=True, tag="verdict_given"):
    """A call was judged: by which rule, on what; ``reason`` is for the record, ``text`` for the model.

    An ``edit`` gives the call other ``arguments``, which are judged next; an ``ask`` leaves it to a person. ``policy``
    is the digest of the policy that ruled, empty where the contract or the engine did.
    """

    call: int
    verdict: Verdict
    rule: str
    reason: str = ""
    read: tuple[Reading, ...] = ()
    text: str = ""
    arguments: Json = None
    policy: str = ""


class CallIntercepted(EventData, frozen=True, tag="call_intercepted"):
    """A guard let an allowed call not start: which one, and the positions that it judged; ``text`` is the response.

    ``forked`` stands for what was under way where the run was forked, and is not run here.
    """

    call: int
    guard: Literal["repeated", "last_step", "forked"]
    window: tuple[int, ...]
    text: str


class ObservationVerified(EventData, frozen=True, tag="observation_verified"):
    """A verifier found that the observation answers the request."""

    call: int
    verifier: str


class ObservationRefused(EventData, frozen=True, tag="observation_refused"):
    """A verifier did not accept the observation, so the model gets ``text`` in its place."""

    call: int
    verifier: str
    reason: str
    text: str


class FactCommitted(EventData, frozen=True, tag="fact_committed"):
    """Something is known: the value, who verified it, the positions that bear it out, the position it supersedes."""

    key: str
    value: Json
    verifier: str
    evidence: tuple[int, ...]
    supersedes: int | None = None


class FinishRefused(EventData, frozen=True, tag="finish_refused"):
    """The run is not done: criteria not met, claims that nothing bears out; ``text`` is what the model is told.

    ``call`` is the call of a way out by which the model wanted to finish.
    """

    missing: tuple[str, ...]
    text: str
    unsupported: tuple[str, ...] = ()
    call: int | None = None


class BudgetWarned(EventData, frozen=True, tag="budget_warned"):
    """Little is left of a budget, in the dimension's own units; ``text`` is what the model is told."""

    dimension: Dimension
    left: int
    text: str


class RecoveryChosen(EventData, frozen=True, tag="recovery_chosen"):
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


class ReflectionNoted(EventData, frozen=True, tag="reflection_noted"):
    """A lesson from the failures at ``window``: by a rule, or by the model where ``rule`` is empty."""

    lesson: str
    window: tuple[int, ...]
    rule: str = ""


class PlanDrawn(EventData, frozen=True, tag="plan_drawn"):
    """The steps that are to be done next, each as a child run; a later revision takes the place of what is left."""

    steps: tuple[PlannedStep, ...]
    revision: int = 1
    reason: str = ""


class EffectConfirmed(EventData, frozen=True, tag="effect_confirmed"):
    """The effect of a write landed."""

    call: int


class EffectInDoubt(EventData, frozen=True, tag="effect_in_doubt"):
    """Nobody knows whether the write landed, and it will not be tried again before the authority was asked."""

    call: int
    why: Literal["timeout", "unknown", "worker lost"]


class EffectCompensated(EventData, frozen=True, tag="effect_compensated"):
    """What a call had done was undone by another."""

    call: int
    by: int


class StopDecided(EventData, frozen=True, tag="stop_decided"):
    """From here on nothing new is asked; what is open is closed, then the run ends.

    A guard that stops a run tells the positions it judged, and what it measured; an escalation hands over.
    """

    status: Status
    reason: str
    dimension: Dimension | None = None
    window: tuple[int, ...] = ()
    read: tuple[Reading, ...] = ()
    handover: Handover | None = None


class RunEnded(EventData, frozen=True, tag="run_ended"):
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


class AnnotationMade(EventData, frozen=True, tag="annotation_made"):
    """Somebody's remark about a run, or about one position in it. Never read by the loop."""

    name: str
    value: Json
    source: str
    position: int | None = None
