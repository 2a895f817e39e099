"""What a run may use, and how many failures it may make."""

from __future__ import annotations

from pydantic import model_validator

from redrive_engine.contract.units import Count, Duration, Money, micros, milliseconds
from redrive_engine.contract.written import Written
from redrive_events import Limits, Quotas


class Budget(Written):
    """What a run may use; None is no limit, but some limit there must be.

    ``wall_time`` is written like ``2m`` (or a timedelta, or seconds), ``cost`` like ``0.10 USD`` (or a Decimal).
    """

    owner = ("budget",)

    steps: Count | None = 30
    tokens: Count | None = None
    wall_time: Duration | None = None
    tool_calls: Count | None = None
    cost: Money | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Budget:
        if self.steps is self.tokens is self.wall_time is self.cost is None:
            raise ValueError("an agent without any limit runs for ever: set steps, tokens, wall_time or cost")
        return self

    def limits(self) -> Limits:
        """The recorded form: milliseconds, and millionths of a currency."""
        cost, currency = (None, "USD") if self.cost is None else micros(self.cost)
        return Limits(
            steps=self.steps,
            tokens=self.tokens,
            wall_time_ms=None if self.wall_time is None else milliseconds(self.wall_time),
            tool_calls=self.tool_calls,
            cost_micros=cost,
            currency=currency,
        )


class FailureQuotas(Written):
    """How many failures of a kind in a row end the run; None is no limit."""

    owner = ("quotas",)

    unreadable: Count | None = 3
    model_failed: Count | None = 3

    def quotas(self) -> Quotas:
        """The recorded form."""
        return Quotas(unreadable=self.unreadable, model_failed=self.model_failed)
