"""The contract as a policy: which tools are granted, how far, and what is excluded all the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from redrive_engine.policy.paths import spelled, split, value_at
from redrive_engine.policy.question import NOT_ALLOWED, Question, Ruling
from redrive_engine.policy.readings import recordable
from redrive_events import BadInput, Json, Predicate, Reading, Terms
from redrive_projections import MISSING, compare


class ScopeReading(NamedTuple):
    """What a scope compared, and whether it holds; None where that cannot be said."""

    read: Reading
    holds: bool | None
    missing: bool


def by_contract(terms: Terms, question: Question) -> Ruling:
    """What the contract alone says of a call.

    A tool must be granted, and every predicate of its scope must surely hold. What it excludes is denied; an exclusion
    of which nobody can say whether it applies, does.
    """
    if terms.tools is not None and question.tool not in terms.tools:
        return _not_granted(sorted(terms.tools), question.tool)
    scope = scope_readings((terms.tools or {}).get(question.tool, {}), question.arguments)
    read = tuple(one.read for one in scope)
    for one in scope:
        if not one.holds:
            return Ruling("deny", "scope", _why(one), NOT_ALLOWED, read)
    if question.tool in terms.exclude:
        excluded = scope_readings(terms.exclude[question.tool], question.arguments)
        if all(one.holds is not False for one in excluded):
            doubt = next((one for one in excluded if one.holds is None), None)
            reason = _why(doubt) if doubt else "the contract excludes this call"
            return Ruling("deny", "excluded", reason, NOT_ALLOWED, tuple(one.read for one in excluded))
    return Ruling("allow", "granted", read=read)


def scope_readings(scope: Mapping[str, Predicate], arguments: Json) -> tuple[ScopeReading, ...]:
    """Each comparison of a scope with the arguments of a call, in the order of its paths and operators."""
    return tuple(
        _compared(path, operator, predicate[operator], value_at(arguments, split(path)))
        for path, predicate in sorted(scope.items())
        for operator in sorted(predicate)
    )


def _compared(path: str, operator: str, limit: Json, value: Json) -> ScopeReading:
    try:
        found = compare(operator, value, limit)
    except (BadInput, KeyError):  # what has no canonical spelling, or a predicate of another version
        found = None
    path = spelled(("arguments", *split(path)))
    read = Reading(path=path, operator=operator, value=recordable(value), limit=limit)
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
