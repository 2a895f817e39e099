"""How long and how much, as people write it."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field

_DURATION = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) ?(ms|s|m|h)")
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
WHOLE_MAX = 2**53  # beyond it other readers of JSON lose the last digits
_MONEY = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)(?: ([A-Z]{3}))?")


def milliseconds(duration: str | timedelta | float) -> int:
    """A length of time as a person writes it: ``500ms``, ``10s``, ``2m``, ``1h``, a timedelta, or seconds.

    Raises:
        ValueError: it is none, not more than 0, or not of whole milliseconds.
    """
    if isinstance(duration, timedelta):
        exact = Decimal(duration // timedelta(microseconds=1)) / 1000
    elif isinstance(duration, str) and (found := _DURATION.fullmatch(duration)):
        exact = Decimal(found[1]) * _UNIT_MS[found[2]]
    elif isinstance(duration, int | float) and not isinstance(duration, bool):
        exact = Decimal(str(duration)) * 1000
    else:
        raise ValueError(f"a length of time is written like 500ms, 10s, 2m or 1h, not {duration!r}")
    if not _is_count(exact):
        raise ValueError(f"a length of time is more than 0, in whole milliseconds, not {duration!r}")
    return int(exact)


def micros(cost: str | Decimal) -> tuple[int, str]:
    """An amount of money in millionths, and its currency: ``0.10 USD``; without one it is USD.

    Raises:
        ValueError: it is none, not more than 0, or finer than a millionth.
    """
    currency = "USD"
    if isinstance(cost, str) and (found := _MONEY.fullmatch(cost)):
        exact, currency = Decimal(found[1]) * 1_000_000, found[2] or currency
    elif isinstance(cost, Decimal):
        exact = cost * 1_000_000
    else:
        raise ValueError(f'money is written like "0.10 USD" or Decimal("0.10"), not {cost!r}')
    if not _is_count(exact):
        raise ValueError(f"money is more than 0, in whole millionths, not {str(cost)!r}")
    return int(exact), currency


def _is_count(exact: Decimal) -> bool:
    return exact.is_finite() and 0 < exact <= WHOLE_MAX and exact == int(exact)


def _checked_duration(value: Any) -> Any:
    if value is not None:
        milliseconds(value)
    return value


def _checked_money(value: Any) -> Any:
    if value is not None:
        micros(value)
    return value


Count: TypeAlias = Annotated[int, Field(gt=0, le=WHOLE_MAX)]
Duration: TypeAlias = Annotated[str | timedelta | float, BeforeValidator(_checked_duration)]
Money: TypeAlias = Annotated[str | Decimal, BeforeValidator(_checked_money)]
