"""What comes into a run from outside, and what it asks for: signals, requests and answers, in the past tense."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

from redrive_events.content import Content, Json
from redrive_events.details import EventData, Handover, Lineage, OwnWords, Part, Returned, Source, Usage
from redrive_events.terms import Terms

# An unknown effect is treated like a write: nobody may assume that nothing happened. A ``run`` is a child run.
Effect: TypeAlias = Literal["read", "write", "unknown", "run"]
# What a model is asked for: its next decision, a plan, or a lesson.
Purpose: TypeAlias = Literal["act", "plan", "reflect"]


class _Said(msgspec.Struct, frozen=True):
    """What is read of a message of a prompt."""

    role: str
    content: Content
    call_id: str = ""


# What a state is made of must have this shape; all other parts are data for whoever knows them.
_PARTS: Final = {"prompt": list[_Said] | None, "contract": Terms | None, "tools": list[Json] | dict[str, Json] | None}


def _check_parts(parts: dict[str, Part]) -> None:
    for name, part in parts.items() if isinstance(parts, dict) else ():
        if name in _PARTS and isinstance(part, Part):  # what is built of other types is refused where it is spelled
            msgspec.convert(part.data, _PARTS[name])


# Strangers' signals: anybody may append one, alone.


class RunStarted(EventData, frozen=True, tag="run_started"):
    """A run was asked for, under this contract, by this principal, with a program made of these parts.

    ``nonce`` makes the run's idempotency keys unlike those of any other log; ``rules`` is the version of the engine's
    own behaviour; ``clock`` says what the times of this run are worth; ``lessons`` are those of earlier runs, and
    ``known`` is what the parent of a child run knew when it began it. ``mask_key`` names the key under which values
    are masked: a worker without it does not take the run up. ``mask_classes`` are what is masked, each with its
    pattern; one that the engine knows has none.
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
    mask_key: str = ""
    mask_classes: dict[str, str] = {}
    source: Source | None = None
    parent: Lineage | None = None

    def __post_init__(self) -> None:
        """Refuse parts that are none."""
        _check_parts(self.parts)


class RunForked(EventData, frozen=True, tag="run_forked"):
    """A run was asked for that goes on from ``position`` of another one, whose chain has this ``digest`` there.

    What stands up to there is inherited, and not written again: this is the first record of the run's own. ``nonce``
    begins with that of the tree's root, whose masked values it shares. Where ``agent`` is empty, it and all ``parts``
    are as they were; ``contract`` and ``policy`` are given for this run, whichever program drives it, ``labels`` in
    the place of the others.
    """

    parent: str
    position: int
    digest: str
    nonce: str
    rules: int
    agent: str = ""
    version: str = ""
    parts: dict[str, Part] = {}
    contract: Terms | None = None
    policy: Part | None = None
    labels: dict[str, str] | None = None

    def __post_init__(self) -> None:
        """Refuse parts that are none."""
        _check_parts(self.parts)


class MessageReceived(EventData, frozen=True, tag="message_received"):
    """Somebody spoke into the run. Empty content says only "go on"; after the ``last`` message the run may end.

    ``before`` is the call in front of whose response a trace has these words; 0 stands for behind all responses.
    """

    actor: Literal["user", "operator", "agent", "tool"]
    content: Content
    last: bool = False
    role: str = ""
    before: int = 0


class ApprovalGiven(EventData, frozen=True, tag="approval_given"):
    """A person answered whether a call may be made; ``digest`` is that of what they were shown.

    It counts only as the answer to an open `ApprovalAsked` with that digest, in time. ``arguments`` are those of an
    ``edit``, and judged like any others.
    """

    call: int
    digest: str
    by: str
    answer: Literal["grant", "refuse", "edit"]
    arguments: Json = None
    reason: str = ""


class OutcomeStated(EventData, frozen=True, tag="outcome_stated"):
    """A person who was asked says what became of an effect in doubt; ``content`` is what would have been observed."""

    call: int
    by: str
    outcome: Literal["landed", "not_landed"]
    content: Content | None = None
    media_type: str = "text/plain"
    reason: str = ""


class CancelRequested(EventData, frozen=True, tag="cancel_requested"):
    """Somebody asked that the run stop before its next action."""

    by: str
    reason: str = ""


class LeaseRevoked(EventData, frozen=True, tag="lease_revoked"):
    """Somebody took the run from the worker of this epoch: it starts nothing more, and another may take the run up."""

    by: str
    epoch: int
    reason: str = ""


# The driver's signals: only the worker that holds the lease appends them.


class LeaseGranted(EventData, frozen=True, tag="lease_granted"):
    """A worker took the run up, for the first time or again; ``parts`` are the digests of the program it brings."""

    worker: str
    epoch: int
    parts: dict[str, str] = {}


class SignalsHeard(EventData, frozen=True, tag="signals_heard"):
    """An idle worker took note of the signals that had come in."""


class DeadlinePassed(EventData, frozen=True, tag="deadline_passed"):
    """A time limit ran out while nothing else happened."""

    which: Literal["wall_time", "person", "approval"]


# Requests: what the run asks of the world.


class ModelAsked(EventData, frozen=True, tag="model_asked"):
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


class ToolCalled(EventData, frozen=True, tag="tool_called"):
    """A tool was asked to act; ``arguments`` is a string only where the provider's text could not be read.

    A call that ``compensates`` another is the engine's own, and undoes what that one did.
    """

    call: int
    tool: str
    arguments: Json
    digest: str
    effect: Effect
    key: str = ""
    attempt: int = 1
    timeout_ms: int | None = None
    compensates: int | None = None


class ApprovalAsked(EventData, frozen=True, tag="approval_asked"):
    """A person is asked whether a call may be made, until ``expires`` if that is set; no answer in time is a no.

    ``digest`` is that of what they are shown: tool, arguments, and the object and destination as the tool names them.
    ``effect`` is what the call may do.
    """

    call: int
    digest: str
    object: Json = None
    destination: Json = None
    effect: Effect = "unknown"
    reason: str = ""
    expires: datetime | None = None


class PersonAsked(EventData, frozen=True, tag="person_asked"):
    """The run waits for a person's words, until ``expires`` if that is set.

    ``call`` is the call of a way out by which the model asked for a person; ``text`` is its response. ``effect`` is the
    call of which a person is to say whether it landed.
    """

    actor: Literal["user", "operator"] = "user"
    why: Literal["reply", "escalation", "doubt"] = "reply"
    reason: str = ""
    handover: Handover | None = None
    expires: datetime | None = None
    call: int | None = None
    text: str = ""
    effect: int | None = None


class ReconcileAsked(EventData, frozen=True, tag="reconcile_asked"):
    """The authority was asked whether the effect with this key landed."""

    call: int
    key: str


# Answers: what the world says to a request.


class ModelReplied(EventData, frozen=True, tag="model_replied"):
    """The model answered; ``content`` is as the provider sent it, the cost None where nobody knows it."""

    content: Content
    finish: str = ""
    model: str = ""
    response_id: str = ""
    usage: Usage | None = None
    cost_micros: int | None = None


class ModelFailed(EventData, frozen=True, tag="model_failed"):
    """The model gave no answer: of which class the failure is, and whether asking again may help.

    ``retry_after_ms`` is how long the provider wants to be left alone, ``status`` that of its HTTP response, if any.
    """

    kind: Literal["timeout", "rate_limited", "refused", "broken", "cancelled", "unavailable"]
    retryable: bool = False
    retry_after_ms: int | None = None
    status: int = 0


class ObservationReceived(EventData, frozen=True, tag="observation_received"):
    """What came of a call. Content is untrusted data; None says nothing at all to the model.

    ``size_bytes`` is the size before ``cut`` bytes were left out; ``returned`` is what a child run came back with.
    ``error`` is the class of a failure; of these only ``unavailable`` may pass by itself. ``tenant`` is whose data it
    is, ``as_of`` the moment it shows, where the source says so; ``started`` is when the tool began.
    """

    call: int
    status: Literal["ok", "error", "timeout", "cancelled", "unknown"]
    content: Content | None = None
    media_type: str = "text/plain"
    size_bytes: int = 0
    cut: int = 0
    source: str = ""
    error: Literal["", "refused", "unavailable", "failed", "limits", "sealed value lost"] = ""
    tenant: str = ""
    trust: Literal["untrusted", "trusted"] = "untrusted"
    schema_version: str = ""
    as_of: datetime | None = None
    started: datetime | None = None
    redirects: int = 0
    returned: Returned | None = None


class EffectReconciled(EventData, frozen=True, tag="effect_reconciled"):
    """What the authority says of an effect in doubt; if it landed, ``content`` is what would have been observed.

    Then ``error``, ``tenant`` and ``as_of`` are those of that observation.
    """

    call: int
    outcome: Literal["landed", "not_landed", "unknown"]
    content: Content | None = None
    media_type: str = "text/plain"
    error: Literal["", "limits"] = ""
    tenant: str = ""
    as_of: datetime | None = None
