"""The contract of a run as it is recorded: units resolved, predicates in one form, nothing left to the code."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from redrive_events.content import Data, Json

# A predicate is ``{operator: operand, …}``, all of which must hold; `redrive_projections.predicates` has the operators.
Predicate: TypeAlias = dict[str, Json]

Dimension: TypeAlias = Literal["steps", "tokens", "wall_time", "tool_calls", "cost"]


class Limits(Data, frozen=True):
    """What a run may use; None is no limit. Money is in millionths of ``currency``."""

    steps: int | None = None
    tokens: int | None = None
    wall_time_ms: int | None = None
    tool_calls: int | None = None
    cost_micros: int | None = None
    currency: str = "USD"


class Quotas(Data, frozen=True):
    """How many failures of a kind in a row are corrected before another way is taken; None is no limit.

    ``unreadable`` replies, requests the model gave no answer to, ``arguments`` that do not fit or tools that do not
    exist, calls ``denied``, tools that ``tool_failed``, observations ``refused`` by a verifier, a ``finish`` refused;
    ``infrastructure``: time-outs and what else is no fault of the model's.
    """

    unreadable: int | None = 3
    model_failed: int | None = 3
    arguments: int | None = None
    denied: int | None = None
    tool_failed: int | None = None
    refused: int | None = None
    finish: int | None = None
    infrastructure: int | None = None


class RepeatTerms(Data, frozen=True):
    """A call with the same tool and arguments is made ``times`` times within the last ``window`` calls, then no more.

    None is all calls of the run. A write that landed forgets what was called before it where ``write_resets``; the
    tools in ``polling`` may be called again and again.
    """

    times: int = 1
    window: int | None = None
    write_resets: bool = True
    polling: tuple[str, ...] = ()


class StagnationTerms(Data, frozen=True):
    """So many near-identical thoughts in a row, without a new action, stop the run.

    Similarity is in hundredths: Dice's coefficient of the two texts' pairs of characters.
    """

    thoughts: int = 2
    similarity_percent: int = 90


class GuardTerms(Data, frozen=True):
    """What watches over the loop; all of it is turned on by the contract.

    ``barren_turns`` is how many turns in a row may bring no new fact. ``warn`` tells the model one step before the
    end, and ``last_step`` lets no call start on the last one.
    """

    repeats: RepeatTerms | None = None
    stagnation: StagnationTerms | None = None
    barren_turns: int | None = None
    warn: bool = False
    last_step: bool = False


class PlanTerms(Data, frozen=True):
    """A plan of at most ``steps`` steps, each a child run of at most ``step_budget`` steps, drawn anew so often."""

    steps: int = 5
    step_budget: int = 5
    revisions: int = 2


class StepTerms(Data, frozen=True):
    """A call that a fixed workflow makes; a text argument may name facts and the goal: ``{order}``, ``{goal}``."""

    tool: str
    arguments: dict[str, Json] = {}


Failure: TypeAlias = Literal[
    "unreadable", "model_failed", "arguments", "denied", "tool_failed", "refused", "finish", "infrastructure"
]
# By these rules a call is denied that only needs correcting: its arguments do not fit, there is no such tool, or a way
# out is called beside other calls.
SCHEMA: Final = "schema"
UNKNOWN_TOOL: Final = "unknown tool"
ALONE: Final = "alone"
SLIPS: Final = frozenset({SCHEMA, UNKNOWN_TOOL, ALONE})

# Driven like this, the model only speaks: it is offered no tools, so nothing becomes known by what it does.
SPEAKING: Final = frozenset({"direct", "workflow"})

Rung: TypeAlias = Literal["another_way", "stronger_model", "escalate", "compensate"]
WayOut: TypeAlias = Literal["finish", "unable", "escalate"]


class Terms(Data, frozen=True):
    """What the run may do, when it is done, and what happens when something is refused.

    ``tools`` maps each granted tool to predicates over its arguments; None grants every tool. A call that fulfils the
    predicates of its tool in ``exclude`` is denied all the same. ``answer`` is a template over facts (``{name}``);
    empty means the model's own words, and ``partial`` is one for a run that is stopped. ``recovery`` is what is tried,
    in this order, whenever a quota is reached, before the run is given up; ``models`` are the stronger ones. A reply
    may leave the loop by the engine's own tools in ``ways_out``. ``claims`` says whether the answer's words must be
    borne out. ``arm`` is how the run is driven. ``attempts`` bounds those of a write that did not happen,
    ``read_attempts`` those of a read that timed out or whose source was unavailable.
    """

    tools: dict[str, dict[str, Predicate]] | None = None
    exclude: dict[str, dict[str, Predicate]] = {}
    done: dict[str, Predicate] = {}
    answer: str = ""
    budget: Limits = Limits()
    quotas: Quotas = Quotas()
    attempts: int = 2
    read_attempts: int = 1
    on_denied: Literal["block", "tell"] = "tell"
    on_unknown: Literal["block", "tell"] = "tell"
    on_refused: Literal["fail", "tell"] = "tell"
    on_doubt: Literal["escalate", "wait", "tell"] = "escalate"
    dialect: str = "native"
    view: str = "chat"
    dialogue: bool = False
    model: str = ""
    parameters: dict[str, Json] = {}
    guards: GuardTerms = GuardTerms()
    recovery: tuple[Rung, ...] = ()
    models: tuple[str, ...] = ()
    escalation: Literal["wait", "end"] = "wait"
    person_ms: int | None = None
    approval_ms: int | None = None
    ways_out: tuple[WayOut, ...] = ()
    claims: Literal["free", "supported"] = "free"
    partial: str = ""
    arm: Literal["loop", "plan", "workflow", "direct"] = "loop"
    plan: PlanTerms | None = None
    workflow: tuple[StepTerms, ...] = ()
    reflection: Literal["none", "rule", "model"] = "none"
