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
    """How many failures of a kind in a row are corrected before another way is taken; None is no limit.

    ``unreadable`` replies, requests the model gave no answer to, ``arguments`` that do not fit or tools that do not
    exist, calls ``denied``, tools that ``tool_failed``, observations ``refused`` by a verifier, a ``finish`` refused;
    ``infrastructure``: time-outs and what else is no fault of the model's.
    """

    owner = ("quotas",)

    unreadable: Count | None = 3
    model_failed: Count | None = 3
    arguments: Count | None = None
    denied: Count | None = None
    tool_failed: Count | None = None
    refused: Count | None = None
    finish: Count | None = None
    infrastructure: Count | None = None

    def quotas(self) -> Quotas:
        """The recorded form."""
        return Quotas(**self.model_dump())
