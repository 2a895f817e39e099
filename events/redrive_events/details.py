"""What events are made of: the structures inside them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from redrive_events.content import Data, Json

Status: TypeAlias = Literal["succeeded", "failed", "blocked", "exhausted", "escalated", "cancelled", "finished"]
Grade: TypeAlias = Literal["full", "model-only", "verdicts-only", "view-only"]


class EventData(Data, frozen=True, tag_field="event"):
    """What an event holds: no id, clock or position, so that equal happenings are equal."""


class Part(Data, frozen=True):
    """A pure part of the program: the digest of what decides, and the data itself where the part is data."""

    digest: str
    data: Json = None


class Source(Data, frozen=True):
    """Where an imported run came from, how much of it is there, and what is missing."""

    format: str
    sha256: str
    entry: int = 0
    grade: Grade = "full"
    missing: tuple[str, ...] = ()


class Lineage(Data, frozen=True):
    """The run, and the call in it, by which this run was begun; call 0 where it is not known."""

    run_id: str
    call: int = 0


class Usage(Data, frozen=True):
    """Tokens of one reply; ``input`` is without the cached ones, ``reasoning`` is contained in ``output``."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0


class Returned(Data, frozen=True):
    """What a child run came back with; what it used counts in its parent's budget, and is paid for in its own log."""

    status: Status
    reason: str = ""
    answer: str = ""
    facts: dict[str, Json] = {}
    tokens: int = 0
    tool_calls: int = 0
    cost_micros: int = 0


class PlannedStep(Data, frozen=True):
    """A step of a plan in words, and how many steps of its own a child run may take for it; None is the contract's."""

    words: str
    budget: int | None = None


class ProposedCall(Data, frozen=True):
    """A call that the model wants: its arguments are those of block ``block`` of the reply, or stand here."""

    call: int
    tool: str
    block: int | None = None
    arguments: Json = None


class Reading(Data, frozen=True):
    """What a verdict looked at: the attribute's path, the operator, the value found, and the resolved limit."""

    path: str
    operator: str
    value: Json = None
    limit: Json = None


class OwnWords(Data, frozen=True):
    """A message of the engine's own, in full since no event holds it."""

    role: str
    text: str


class Claim(Data, frozen=True):
    """What the answer says, and the positions of the events that bear it out."""

    text: str
    evidence: tuple[int, ...] = ()


class Tried(Data, frozen=True):
    """A call that was proposed, and in one word what became of it."""

    call: int
    tool: str
    outcome: str


class Handover(Data, frozen=True):
    """What a person needs to take over: what was asked, what is known, what was tried, what is still open."""

    asked: str
    known: dict[str, Json] = {}
    tried: tuple[Tried, ...] = ()
    open: tuple[str, ...] = ()
