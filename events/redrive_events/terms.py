"""The contract of a run as it is recorded: units resolved, predicates in one form, nothing left to the code."""

from __future__ import annotations

from typing import Literal, TypeAlias

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
    """How many failures of a kind in a row end the run; None is no limit."""

    unreadable: int | None = 3
    model_failed: int | None = 3


class Terms(Data, frozen=True):
    """What the run may do, when it is done, and what happens when something is refused.

    ``tools`` maps each granted tool to predicates over its arguments; None grants every tool. A call that fulfils the
    predicates of its tool in ``exclude`` is denied all the same. ``answer`` is a template over facts (``{name}``);
    empty means the model's own words.
    """

    tools: dict[str, dict[str, Predicate]] | None = None
    exclude: dict[str, dict[str, Predicate]] = {}
    done: dict[str, Predicate] = {}
    answer: str = ""
    budget: Limits = Limits()
    quotas: Quotas = Quotas()
    attempts: int = 2
    on_denied: Literal["block", "tell"] = "tell"
    on_refused: Literal["fail", "tell"] = "tell"
    on_doubt: Literal["escalate", "tell"] = "escalate"
    dialect: str = "native"
    view: str = "chat"
    dialogue: bool = False
    model: str = ""
    parameters: dict[str, Json] = {}
