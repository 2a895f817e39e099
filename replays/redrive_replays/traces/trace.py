"""What an importer makes of a recorded run: words in order, inputs for the engine, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, NamedTuple

from redrive_events import Content, Grade, Input, Json, Terms, Usage, calls_of

SYSTEM = frozenset({"system", "developer"})
RESULTS = frozenset({"tool", "function"})
ASSISTANT = "assistant"
# How a run says of itself that another began it, and of another that it began it: the remark `SPAWNED`.
ELSEWHERE: Final = "the run that began this one (it is in another file)"
WHICH_CALL: Final = "which call began this run"
BY_PROMPT: Final = "which call began this run (found by its prompt)"
SPAWNED: Final = "spawned"


class Meta(NamedTuple):
    """What a source says of a reply beside its words."""

    usage: Usage | None = None
    finish: str = ""
    model: str = ""
    response_id: str = ""
    cost_micros: int = 0


NO_META = Meta()
NO_TERMS = Terms()


@dataclass(slots=True)
class Said:
    """One message of a trace; ``answers`` are the ids of the calls that a tool's message says it answers.

    ``at`` is when it was said, None where the source has no times; ``status`` is that of a result. ``extras`` is what
    else the source has on it: kept beside the run. ``by`` is who speaks where the role does not tell: the calls of a
    user, and what came of them, are words to the agent; so are those of another agent, which are counted in its own
    run. What is ``given`` was said by nobody in this run: an example that stands in the prompt. ``beside`` is what the
    source has at this place that is no message: name and value.
    """

    role: str
    content: Content
    answers: Sequence[str] = ()
    name: str = ""
    last: bool = False
    meta: Meta = NO_META
    at: datetime | None = None
    status: Literal["ok", "error", "timeout", "cancelled", "unknown"] = "ok"
    extras: Mapping[str, Json] = field(default_factory=dict)
    by: Literal["", "user", "tool", "agent"] = ""
    beside: list[tuple[str, Json]] = field(default_factory=list)
    given: bool = False

    @property
    def answered(self) -> bool:
        """Whether it is what came of a call of the agent's."""
        return self.role in RESULTS and not self.by

    @property
    def replied(self) -> bool:
        """Whether the model of this run said it."""
        return self.role == ASSISTANT and not (self.by or self.given)

    @property
    def calls(self) -> bool:
        """Whether it is a reply that calls tools."""
        return self.replied and bool(calls_of(self.content))


class Remark(NamedTuple):
    """Something the source says about the run, or about the input with this index."""

    name: str
    value: Json
    input: int | None = None


@dataclass(slots=True)
class Trace:
    """One recorded run: how it began, what happened to it, and what of it is missing or was inferred.

    ``times`` are those of the inputs, None where the source has none. A run begun by another has its ``parent``: the
    entry of that one in the same file, before this, and the number of the call (0 where it is not known).
    """

    entry: int = 0
    prompt: list[Mapping[str, Json]] = field(default_factory=list)
    told: Sequence[Json] = ()
    goal: str = ""
    terms: Terms = NO_TERMS
    inputs: list[Input] = field(default_factory=list)
    times: list[datetime | None] = field(default_factory=list)
    clock: Literal["utc", "naive", "none"] = "none"
    agent: str = ""
    parent: tuple[int, int] | None = None
    began: datetime | None = None
    labels: dict[str, str] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)
    grade: Grade = "full"
    calls: int = 0
    results: int = 0
    unpaired: int = 0

    def remark(self, said: Said, index: int) -> None:
        """Note what else the source has on a message, and beside it; the input with ``index`` brought it."""
        if said.extras:
            self.remarks.append(Remark("extras", dict(said.extras), index))
        self.remarks += (Remark(name, value, index) for name, value in said.beside)

    def lacks(self, what: str) -> None:
        """Note once more that something is missing, or was inferred."""
        self.missing[what] = self.missing.get(what, 0) + 1
