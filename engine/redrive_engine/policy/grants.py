"""The contract as a policy: which tools are granted, how far, and what is excluded all the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from redrive_engine.policy.paths import Path, spelled, split, value_at
from redrive_engine.policy.question import NOT_ALLOWED, Ruling
from redrive_engine.policy.readings import recordable
from redrive_events import BadInput, Json, Predicate, Reading, Terms
from redrive_projections import MISSING, compare


class ScopeReading(msgspec.Struct, frozen=True):
    """What a scope compared, and whether it holds; None where that cannot be said."""

    read: Reading
    holds: bool | None
    missing: bool


class _Comparison(NamedTuple):
    """One comparison of a scope: with what stands where in the arguments, and how a reading spells that place."""

    path: Path
    place: str
    operator: str
    limit: Json


class Grants:
    """What the contract alone says of a call; its scopes are looked through once.

    A tool must be granted, and every predicate of its scope must surely hold. What it excludes is denied; an exclusion
    of which nobody can say whether it applies, does.
    """

    def __init__(self, terms: Terms) -> None:
        self._granted = None if terms.tools is None else sorted(terms.tools)
        self._scopes = {tool: _comparisons(scope) for tool, scope in (terms.tools or {}).items()}
        self._excluded = {tool: _comparisons(scope) for tool, scope in terms.exclude.items()}

    def judge(self, tool: str, arguments: Json) -> Ruling:
        """Whether the contract grants it, by what it read."""
        if self._granted is not None and tool not in self._scopes:
            return _not_granted(self._granted, tool)
        read = []
        failing: ScopeReading | None = None
        for comparison in self._scopes.get(tool, ()):
            one = _compared(comparison, arguments)
            read.append(one.read)
            if failing is None and not one.holds:
                failing = one
        if failing is not None:
            return Ruling("deny", "scope", _why(failing), NOT_ALLOWED, tuple(read))
        if tool in self._excluded:
            excluded = [_compared(one, arguments) for one in self._excluded[tool]]
            if all(one.holds is not False for one in excluded):
                doubt = next((one for one in excluded if one.holds is None), None)
                reason = _why(doubt) if doubt else "the contract excludes this call"
                return Ruling("deny", "excluded", reason, NOT_ALLOWED, tuple(one.read for one in excluded))
        return Ruling("allow", "granted", read=tuple(read))


def _comparisons(scope: Mapping[str, Predicate]) -> tuple[_Comparison, ...]:
    """The comparisons of a scope in the order of its paths and operators."""
    return tuple(
        _Comparison(path, spelled(("arguments", *path)), operator, predicate[operator])
        for path, predicate in ((split(text), predicate) for text, predicate in sorted(scope.items()))
        for operator in sorted(predicate)
    )


def _compared(comparison: _Comparison, arguments: Json) -> ScopeReading:
    path, place, operator, limit = comparison
    value = value_at(arguments, path)
    try:
        found = compare(operator, value, limit)
    except (BadInput, KeyError):  # what has no canonical spelling, or a predicate of another version
        found = None
    read = Reading(path=place, operator=operator, value=recordable(value), limit=limit)
    return ScopeReading(read, found, value is MISSING)


def _why(one: ScopeReading) -> str:
    if one.holds is False:
        return f"{one.read.path} is out of scope ({one.read.operator})"
    return f"{one.read.path} is missing" if one.missing else f"{one.read.path} cannot be compared ({one.read.operator})"


def _not_granted(granted: list[str], tool: str) -> Ruling:
    read = Reading(path="tool", operator="one_of", value=tool, limit=granted)
    return Ruling("deny", "not granted", f"tool {tool!r} is not granted", no_such_tool(tool, granted), (read,))


def no_such_tool(tool: str, granted: Iterable[str]) -> str:
    """What the model is told of a tool that it may not use, the same whether it exists or not."""
    return f"There is no tool {tool!r} here. The tools are: {', '.join(granted) or 'none'}."
