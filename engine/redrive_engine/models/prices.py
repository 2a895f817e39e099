"""What models cost: a table that the user gives, and the cost of each reply by it, in whole millionths."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Final, Self

import msgspec

from redrive_engine.models.port import Model, ModelRequest, ModelTrouble, connected
from redrive_engine.toml_file import Misfit, TomlFile
from redrive_events import BadInput, Json, Limits, ModelReplied, Terms, Usage

KINDS: Final = ("input", "cache_read", "cache_write", "output")
_LOG: Final = logging.getLogger("redrive.models")
# Beyond this nothing is sold by the token, and the sum of a long run still is a whole number that JSON can hold.
PRICE_MAX: Final = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens of each kind cost; reasoning is output."""

    input: Decimal
    cache_read: Decimal
    cache_write: Decimal
    output: Decimal

    def micros(self, usage: Usage) -> int:
        """The cost of a reply, rounded up: a price for a million tokens is one in millionths for each."""
        exact = sum((getattr(usage, kind) * getattr(self, kind) for kind in KINDS), Decimal())
        return int(exact.to_integral_value(ROUND_CEILING))


FREE: Final = Price(Decimal(0), Decimal(0), Decimal(0), Decimal(0))


@dataclass(frozen=True)
class Prices:
    """Prices by model. A name is looked up as it is asked for, then without its provider; ``*`` is any other."""

    models: Mapping[str, Price]
    currency: str = "USD"

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """The table in a TOML file, or in a text.

        Raises:
            BadInput: it cannot be read, or holds what is no price; the place is the line.
        """
        file = TomlFile.of(source, name="prices")
        try:
            return cls(_models(file.data), _currency(file.data))
        except Misfit as misfit:
            raise file.refusal(misfit, named=True) from None

    def of(self, model: str) -> Price | None:
        """The price of a model; None where the table does not have it."""
        names = (model, model.partition(":")[2], "*")
        return next((self.models[name] for name in names if name in self.models), None)


def metered(model: Model, prices: Prices | Path | None, terms: Terms) -> Model:
    """``model``, whose replies say what they cost.

    A model with a `name` is one that costs money. Where the contract limits cost, each of those that it may ask needs a
    price, and is not asked without.

    Raises:
        BadInput: there is no price for a model whose cost the contract limits, or it is in another currency.
    """
    table = Prices.from_toml(prices) if isinstance(prices, Path) else prices or Prices({}, terms.budget.currency)
    name = str(getattr(model, "name", ""))
    limited = terms.budget.cost_micros is not None
    if limited:
        _check(table, [terms.model or name, *terms.models], terms.budget)
    return _Metered(model, name, table, limited=limited)


def _check(table: Prices, names: list[str], budget: Limits) -> None:
    for name in filter(None, names):
        if table.of(name) is None:
            problem = f"the contract limits cost, and there is no price for {name!r}"
            raise BadInput(f"{problem}; give a table of prices, or set no limit", place="contract.budget.cost")
    if any(names) and table.currency != budget.currency:
        problem = f"the contract counts {budget.currency}, the prices are in {table.currency}"
        raise BadInput(problem, place="contract.budget.cost")


@dataclass(frozen=True)
class _Metered:
    """A model, and what it costs to ask it: under the name that a request gives, else under its own, if it has one."""

    model: Model
    name: str
    prices: Prices
    limited: bool

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Model]:
        async with connected(self.model) as ready:
            yield _Metered(ready, self.name, self.prices, self.limited)

    async def ask(self, request: ModelRequest) -> ModelReplied:
        name = request.model or self.name
        price = self.prices.of(name)
        if self.limited and name and price is None:
            raise ModelTrouble("refused")
        reply = await self.model.ask(request)
        if price is None or reply.cost_micros is not None:
            return reply
        usage = reply.usage or (Usage() if price == FREE else None)
        if usage is None:
            if self.limited:
                _LOG.warning("%s counts no tokens, so nobody knows what it costs", name)
            return reply
        return msgspec.structs.replace(reply, cost_micros=price.micros(usage))


def _currency(data: Mapping[str, Json]) -> str:
    currency = data.get("currency", "USD")
    if not isinstance(currency, str) or len(currency) != 3 or not (currency.isascii() and currency.isupper()):
        raise Misfit("a currency is three capital letters, as USD", "currency")
    return currency


def _models(data: Mapping[str, Json]) -> dict[str, Price]:
    for key in data:
        if key not in {"currency", "models"}:
            raise Misfit("no such field; there are currency, models", key)
    models = data.get("models", {})
    if not isinstance(models, dict):
        raise Misfit("must be a table: a model's name, and its prices", "models")
    return {name: _price(name, written) for name, written in models.items()}


def _price(name: str, written: Json) -> Price:
    if not isinstance(written, dict):
        raise Misfit(f"must be a table of {', '.join(KINDS)}", "models", name)
    for kind in written:
        if kind not in KINDS:
            raise Misfit(f"no such field; there are {', '.join(KINDS)}", "models", name, kind)
    for kind in ("input", "output"):
        if kind not in written:
            raise Misfit(f"{kind} is missing", "models", name)
    amounts = {kind: _amount(written[kind], "models", name, kind) for kind in written}
    plain = amounts["input"]  # what is cached costs what it costs uncached, unless something else is said
    return Price(plain, amounts.get("cache_read", plain), amounts.get("cache_write", plain), amounts["output"])


def _amount(value: Json, *path: str) -> Decimal:
    exact = Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if exact is None or not exact.is_finite() or not 0 <= exact <= PRICE_MAX:
        raise Misfit("a price is a number, 0 or more: so much for a million tokens", *path)
    return exact
