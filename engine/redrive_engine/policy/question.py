"""What a policy may read, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

import msgspec

from redrive_events import ALONE, SCHEMA, UNKNOWN_TOOL, Effect, Json, Reading, Verdict

# What the model reads of a denial: the same words for every scope and threshold, so that none can be guessed at.
NOT_ALLOWED = "This call is not allowed."

# An argument must occur in what people said, in facts, or in observations that were verified.
GROUNDED = "grounded"

# A person allowed a call that a rule asks about, or changed it; or did not, or not in time.
APPROVAL = "approval"
NOT_APPROVED = "not approved"
EXPIRED = "approval expired"

# Rules that edit a call over and over come to no verdict.
EDITED_OVER = "edited over and over"

# The engine's own call, by which it undoes what an earlier one did.
COMPENSATION = "compensation"

# The engine's own call, which begins a step of a plan.
STEP = "a step of the plan"

# By these names the engine itself rules; no rule that people write is called so.
RESERVED = (
    *(SCHEMA, UNKNOWN_TOOL, ALONE, GROUNDED, "no rule", "granted", "not granted", "scope", "excluded"),
    *(APPROVAL, NOT_APPROVED, EXPIRED, EDITED_OVER, COMPENSATION, STEP),
)


class Question(msgspec.Struct, frozen=True):
    """A call to be judged: all that a policy may read, and nothing else.

    ``object`` and ``destination`` are the values of the arguments that the tool names as such; `MISSING` where it
    names none, or the call does not give it. ``at`` is worth what ``clock`` says of the times of the run.
    """

    principal: str
    tenant: str
    tool: str
    arguments: Json
    effect: Effect
    object: Json
    destination: Json
    facts: Mapping[str, Json]
    at: datetime
    clock: Literal["utc", "naive", "none"] = "utc"


class Ruling(msgspec.Struct, frozen=True):
    """A verdict, the rule that gave it, and what it read; ``reason`` is for the record, ``text`` for the model.

    The ``arguments`` are those that an ``edit`` puts in the place of the call's own.
    """

    verdict: Verdict
    rule: str
    reason: str = ""
    text: str = ""
    read: tuple[Reading, ...] = ()
    arguments: Json = None


NO_RULE = Ruling("deny", "no rule", "no rule matches", NOT_ALLOWED)


@runtime_checkable
class Policy(Protocol):
    """Judges calls; pure, so that the same question always gets the same ruling, and never raising."""

    @property
    def digest(self) -> str:
        """Of what decides: who changes it may change a verdict."""
        ...

    @property
    def wording(self) -> str:
        """Digest of the whole text: it also tells a change of words that changes no verdict."""
        ...

    @property
    def data(self) -> Json:
        """The policy as plain data, as a run records it; None where it is not data."""
        ...

    def judge(self, question: Question) -> Ruling:
        """Whether the call may be made."""
        ...


@runtime_checkable
class Opinionated(Policy, Protocol):
    """A policy that may have nothing to say of a call: in a list the next one is asked then; alone it denies."""

    @property
    def rules(self) -> tuple[str, ...]:
        """By which names it rules."""
        ...

    def opinion(self, question: Question) -> Ruling | None:
        """What it has to say of the call; None if nothing."""
        ...
