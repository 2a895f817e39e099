"""What one run of a contract may use at most, before the reply that is in flight when a limit is reached."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple

from redrive_engine.checking.pricing import models_of
from redrive_engine.checking.subject import Subject
from redrive_engine.models import Prices


class Ceiling(NamedTuple):
    """The most of each that a run may use; None where the contract sets no limit, or nobody knows.

    ``steps`` are replies of the run's own, ``child_steps`` those of a plan's child runs; ``output_tokens`` is what
    they may hold where the parameters limit a reply. ``cost_micros`` is the limit, or what the tokens cost at the
    dearest price there is for them.
    """

    steps: int | None
    child_steps: int | None
    tokens: int | None
    output_tokens: int | None
    tool_calls: int | None
    wall_time_ms: int | None
    cost_micros: int | None
    currency: str


def ceiling_of(subject: Subject) -> Ceiling:
    """Steps, tokens and price, brought together."""
    terms = subject.terms
    budget, plan = terms.budget, terms.plan
    children = plan.steps * plan.step_budget * (plan.revisions + 1) if plan is not None and terms.arm == "plan" else 0
    replies = None if budget.steps is None else budget.steps + children
    longest = terms.parameters.get("max_tokens")
    output = replies * longest if replies is not None and isinstance(longest, int) else None
    currency = subject.prices.currency if subject.prices and budget.cost_micros is None else budget.currency
    return Ceiling(
        steps=budget.steps,
        child_steps=children,
        tokens=budget.tokens,
        output_tokens=output,
        tool_calls=budget.tool_calls,
        wall_time_ms=budget.wall_time_ms,
        cost_micros=_cost(subject),
        currency=currency,
    )


def _cost(subject: Subject) -> int | None:
    budget, names = subject.terms.budget, models_of(subject)
    if not names:  # a model without a name costs nothing
        return 0
    limits = [budget.cost_micros, _of_tokens(budget.tokens, names, subject.prices)]
    return min((limit for limit in limits if limit is not None), default=None)


def _of_tokens(tokens: int | None, names: list[str], prices: Prices | None) -> int | None:
    """What so many tokens cost, if all of them are of the dearest kind: a price for a million is one in millionths."""
    found = [prices.of(name) if prices else None for name in names]
    if tokens is None or not all(found):
        return None
    dearest = max(max(one.input, one.cache_read, one.cache_write, one.output) for one in found if one)
    return int((tokens * Decimal(dearest)).to_integral_value(ROUND_CEILING))
