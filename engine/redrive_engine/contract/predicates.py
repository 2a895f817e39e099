"""Scopes and criteria as people write them, brought into the one form of a predicate."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator

from redrive_engine.contract.units import WHOLE_MAX
from redrive_engine.policy import meant_as_predicate
from redrive_events import BadInput, Json, Predicate, canonical
from redrive_projections import problem_of


class _Any:
    """Whatever is known; None is something."""

    def __repr__(self) -> str:
        return "ANY"


ANY: Final = _Any()


def _scope(value: Json) -> Predicate:
    """How far an argument may go: a pattern, a list, a table of operators, a number or a truth."""
    if isinstance(value, _Any):
        return {"known": True}
    if isinstance(value, str):
        return _fit({"matches": value})
    if isinstance(value, list | tuple):
        return _fit({"one_of": list(value)})
    if isinstance(value, dict):
        return _fit(value)
    if isinstance(value, int | float):
        return _fit({"is": value})
    raise ValueError("a scope is a pattern, a list, a table of operators, a number, true or false")


def criterion(value: Json) -> Predicate:
    """When a fact is as it should be: `ANY`, a table of operators, or the value it is to have."""
    if isinstance(value, _Any):
        return {"known": True}
    return _fit(value if meant_as_predicate(value) else {"is": value})


def _fit(predicate: Predicate) -> Predicate:
    problem = problem_of(predicate)
    if problem:
        raise ValueError(problem)
    return {operator: plain(predicate[operator]) for operator in sorted(predicate)}


def plain(value: Json) -> Json:
    """``value``, if it is plain JSON data; tuples become lists, as they are when they are read again."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(value[key]) for key in sorted(value)}
    if isinstance(value, int) and abs(value) > WHOLE_MAX:
        raise ValueError(f"{value} is too large a number")
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is no JSON value")
    try:
        canonical(value)
    except BadInput as error:
        raise ValueError(error.problem) from error
    return value


Scopes: TypeAlias = dict[str, dict[str, Annotated[Json, AfterValidator(_scope)]]]
