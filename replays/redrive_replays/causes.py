"""Why a replay parts from its recording: from which part's digest changed, and where that surfaces."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from redrive_engine import RULES
from redrive_events import (
    SCHEMA,
    UNKNOWN_TOOL,
    ApprovalAsked,
    DeadlinePassed,
    DecisionMade,
    EffectReconciled,
    Event,
    FactCommitted,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    Reading,
    Record,
    ReplyRefused,
    RunEnded,
    StopDecided,
    Terms,
    ToolCalled,
    VerdictGiven,
)
from redrive_projections import RunState, sealed, used_otherwise
from redrive_replays.difference import Difference

Cause: TypeAlias = Literal[
    "code",
    "prompt",
    "model",
    "tool schema",
    "tool result",
    "policy",
    "verifier",
    "contract",
    "clock",
    "order",
    "environment",
    "recording short",
    "left over",
]

# The parts of a program, by the beginning of their name, and what it is called that one of them changed.
PARTS: Final[Mapping[str, Cause]] = {
    "prompt": "prompt",
    "tool": "tool schema",
    "policy": "policy",
    "verifier": "verifier",
    "contract": "contract",
    "dialect": "contract",
    "model": "model",  # which stands in the contract, see `with_model`
}
# In which events a changed part surfaces, the likeliest first; in any other it is the contract's doing.
SURFACES: Final[Mapping[type, tuple[Cause, ...]]] = {
    ModelAsked: ("prompt", "tool schema", "contract"),
    VerdictGiven: ("policy", "contract", "tool schema"),
    ApprovalAsked: ("policy", "contract", "tool schema"),
    ToolCalled: ("tool schema", "policy", "contract"),
    ObservationVerified: ("verifier", "tool schema", "contract"),
    ObservationRefused: ("verifier", "tool schema", "contract"),
    FactCommitted: ("verifier", "contract"),
    DecisionMade: ("contract",),
    ReplyRefused: ("contract",),
}
# By these rules a call is judged before, or beside, any policy.
JUDGED_BY: Final[Mapping[str, Cause]] = {
    SCHEMA: "tool schema",
    UNKNOWN_TOOL: "tool schema",
    "grounded": "tool schema",
    "scope": "contract",
    "excluded": "contract",
    "not granted": "contract",
}
# Where no part has changed, an input is no longer what the recorded events followed from. Of any other input it is what
# the run stands in: who asked, for what and for whom, and what people say.
INPUTS: Final[Mapping[type, Cause]] = {
    ModelReplied: "model",
    ModelFailed: "model",
    ObservationReceived: "tool result",
    EffectReconciled: "tool result",
    DeadlinePassed: "clock",
}
# Then one value alone may tell where it comes from.
VALUES: Final[Mapping[str, Cause]] = {
    "/key": "environment",  # which begins with the nonce of the start
    "/policy": "policy",
    "/effect": "tool schema",
    "/timeout_ms": "tool schema",
    "/expires": "clock",
    "/parameters": "code",
    "/view": "code",
    "/purpose": "code",
}
# And so does what a verdict looked at, by the first name of its path; what was observed is known as facts.
LOOKS: Final[Mapping[str, Cause]] = {
    "principal": "environment",
    "tenant": "environment",
    "at": "clock",
    "facts": "tool result",
    "arguments": "model",
}
# What a limit counts, where that is not how often something came.
LIMITS: Final[Mapping[str | None, Cause]] = {"tokens": "model", "cost": "model", "wall_time": "clock"}


def with_model(parts: tuple[str, ...], recorded: Terms, other: Terms) -> tuple[str, ...]:
    """The parts of a program that differ, with the model that is asked as one of its own.

    It stands in the contract, which is named beside it only where it differs in something else as well.
    """
    if "contract" not in parts or recorded.model == other.model:
        return parts
    alike, at = msgspec.structs.replace(recorded, model=other.model) == other, parts.index("contract")
    return *parts[:at], *(("model",) if alike else ("contract", "model")), *parts[at + 1 :]


def changes_of(parts: Collection[str], *, rules: int) -> frozenset[Cause]:
    """What it is called that these parts of a program have changed, or that it knows other rules than these."""
    code: list[Cause] = ["code"] if rules != RULES else []
    if "contract" in parts:  # it says what of the tools a model is told
        parts = [name for name in parts if name != "tools"]
    return frozenset([*code, *(cause for name in parts for begins, cause in PARTS.items() if name.startswith(begins))])


def cause_of(
    recorded: Event | None,
    replayed: Event | None,
    found: Sequence[Difference],
    *,
    after: Record,
    state: RunState,
    changed: Collection[Cause],
) -> Cause:
    """Why the event that follows from ``after`` is another one, or is none, on one of the sides.

    ``state`` is the recorded one as far as the two agree, ``changed`` what has changed in the program.
    """
    if found and all(one.pointer in {"/at", "/cause"} for one in found):
        return "clock" if found[0].pointer == "/at" else "order"
    if {one.pointer for one in found} & {"/model"}:
        return "model"
    surfacing = [event for event in (replayed, recorded) if event is not None]
    for cause in _likely(surfacing):
        if cause in changed:
            return cause
    if changed:  # a change in one place may surface in another, such as a limit in the end of a run
        return next(iter(sorted(changed)))
    if is_of_use(found):
        return "model" if _other_usage(recorded, replayed, state) else "clock"
    return _of_value(found) or _of_input(recorded, replayed, after, state)


def is_of_use(found: Sequence[Difference]) -> bool:
    """Whether it shows in the sealed state alone, so that something else was used up by then."""
    return bool(found) and {one.pointer for one in found} == {"/state"}


def _likely(events: Sequence[Event]) -> Iterator[Cause]:
    """The parts that can have made these events other ones, the likeliest first."""
    for event in events:
        if isinstance(event, VerdictGiven) and event.rule in JUDGED_BY:
            yield JUDGED_BY[event.rule]
    for event in events:
        yield from SURFACES.get(type(event), ("contract",))


def _other_usage(recorded: Event | None, replayed: Event | None, state: RunState) -> bool:
    """Whether what differs in a state that is sealed is what the model is said to have used."""
    if not isinstance(recorded, ModelAsked | RunEnded) or not isinstance(replayed, ModelAsked | RunEnded):
        return False
    return sealed(state) == replayed.state and used_otherwise(state, recorded.state)


def _of_value(found: Sequence[Difference]) -> Cause | None:
    """With the same program: what the one field in which two events differ says of where it comes from."""
    fields = {"/" + one.pointer.split("/")[1] for one in found}
    return VALUES.get(fields.pop()) if len(fields) == 1 else None


def _of_input(recorded: Event | None, replayed: Event | None, after: Record, state: RunState) -> Cause:
    """With the same program: the input that it follows from is another one, or one that it was told of by then."""
    cause: Cause | None = None
    match recorded, replayed:
        case ModelAsked(), ModelAsked():
            cause = _told(replayed, state)
        case VerdictGiven(), VerdictGiven():
            cause = _looked(recorded, replayed, after)
        case (StopDecided(status="cancelled"), _) | (_, StopDecided(status="cancelled")):
            cause = "environment"
        case (StopDecided(dimension=dimension), _) | (_, StopDecided(dimension=dimension)):
            cause = LIMITS.get(dimension)
        case _:
            pass
    return cause or INPUTS.get(type(after.event), "environment")


def _told(asked: ModelAsked, state: RunState) -> Cause | None:
    """Whose words are new in a request: those first that nothing else of the run has borne out.

    A person's words stand alone, and so does what a tool said if no fact came of it. What the model said was decided.
    """
    new = [message for message in state.transcript() if message.of in asked.new]
    borne_out = {position for fact in state.facts.values() for position in fact.evidence}
    roles = {message.role for message in new if message.of not in borne_out}
    for role in ("tool", "user"):
        if role in roles:
            return "tool result" if role == "tool" else "environment"
    return (
        "tool result" if any(message.role == "tool" for message in new) else "model" if "assistant" in roles else None
    )


def _looked(recorded: VerdictGiven, replayed: VerdictGiven, after: Record) -> Cause:
    """What a call was judged by: a value that is another one by now, else what judges it."""
    values = {(one.path, one.operator): one.value for one in recorded.read}
    others = [one for one in replayed.read if values.get((one.path, one.operator), one.value) != one.value]
    for one in others or _alone(recorded.read, replayed.read):
        if (cause := LOOKS.get(one.path.split(".")[0])) is not None:
            return cause
    if not isinstance(after.event, ModelReplied):  # a person's answer is heard with whatever comes next
        return "clock" if isinstance(after.event, DeadlinePassed) else "environment"
    ruled = recorded.policy or replayed.policy
    return JUDGED_BY.get(replayed.rule) or JUDGED_BY.get(recorded.rule) or ("policy" if ruled else "contract")


def _alone(recorded: Sequence[Reading], replayed: Sequence[Reading]) -> Iterator[Reading]:
    """What only one of two verdicts looked at."""
    yield from (one for one in replayed if one not in recorded)
    yield from (one for one in recorded if one not in replayed)


def chain_of(records: Sequence[Record], position: int) -> tuple[int, ...]:
    """The positions from an event back to what began it: what it follows from, and what that answers, and so on.

    It ends where records are missing, or one is said to follow from what came no earlier.
    """
    chain, at = list[int](), position
    while 0 < at <= len(records) and records[at - 1].position == at and (not chain or at < chain[-1]):
        chain.append(at)
        at = records[at - 1].cause
    return tuple(chain)
