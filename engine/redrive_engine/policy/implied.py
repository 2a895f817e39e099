"""What comparisons of one value say of each other: that they cannot hold together, or that one follows from others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from redrive_engine.policy.operands import Operand
from redrive_engine.policy.paths import TEXTS, WEEKDAYS, Path
from redrive_engine.policy.written import Clause
from redrive_events import Json
from redrive_projections import compare, same

# All that can stand at these paths.
_ALL: Mapping[Path, Sequence[Json]] = {
    ("effect",): ("read", "write"),
    ("weekday",): WEEKDAYS,
    ("hour",): tuple(range(24)),
}
_OF_NUMBERS = frozenset({"at_most", "at_least"})
_OF_TEXTS = frozenset({"matches", "not_before", "not_after", "domain_one_of", "domain_not_one_of"})


class Comparison(NamedTuple):
    """An operator with a constant."""

    operator: str
    limit: Json


def constant(clause: Clause) -> Comparison | None:
    """The comparison that a clause makes; None where it is with what only a question knows."""
    operand = Operand.compiled(clause.operand)
    return Comparison(clause.operator, operand.constant) if operand.resolve is None else None


def at(path: Path, clauses: Sequence[Clause]) -> list[Comparison]:
    """All that clauses compare the value at a path with, where that is constant."""
    return [found for clause in clauses if clause.path == path and (found := constant(clause))]


def contradict(path: Path, clauses: Sequence[Clause]) -> bool:
    """Whether no value at ``path`` can surely be all that the clauses want."""
    comparisons = at(path, clauses)
    operators = {clause.operator for clause in clauses if clause.path == path}
    if Comparison("known", False) in comparisons:
        return operators != {"known"} or Comparison("known", True) in comparisons
    if operators & _OF_NUMBERS and operators & _OF_TEXTS:
        return True
    finite = _values(path, comparisons)
    return not finite if finite is not None else _apart(comparisons)


def implies(clauses: Sequence[Clause], wanted: Clause) -> bool:
    """Whether ``wanted`` surely holds wherever all of ``clauses`` surely hold."""
    if wanted in clauses:
        return True
    comparisons, found = at(wanted.path, clauses), constant(wanted)
    if found is None:
        return False
    if found.operator == "known":
        others = [one for one in clauses if one.path == wanted.path]
        surely = wanted.path[0] in TEXTS or any(constant(one) != Comparison("known", False) for one in others)
        return found.limit is True and surely
    finite = _values(wanted.path, comparisons)
    if finite:
        return all(compare(found.operator, value, found.limit) for value in finite)
    return any(_follows(found, one) for one in comparisons)


def _values(path: Path, comparisons: Sequence[Comparison]) -> list[Json] | None:
    """All values that stand in each relation, if those are few: None if not."""
    finite = _ALL.get(path)
    for operator, limit in comparisons:
        if operator in {"is", "one_of"} and finite is None:
            finite = [limit] if operator == "is" else list(limit)
    if finite is None:
        return None
    return [value for value in finite if all(compare(one.operator, value, one.limit) for one in comparisons)]


def _apart(comparisons: Sequence[Comparison]) -> bool:
    """Whether a lower limit is above an upper one, or a list of hosts is empty."""
    for lower, upper in (("at_least", "at_most"), ("not_before", "not_after")):
        for one in comparisons:
            ends = [other.limit for other in comparisons if other.operator == upper]
            if one.operator == lower and any(compare(upper, one.limit, end) is False for end in ends):
                return True
    return any(one.operator == "domain_one_of" and not one.limit for one in comparisons)


def _follows(wanted: Comparison, given: Comparison) -> bool:
    """Whether one comparison follows from another alone."""
    rule = _RULES.get(wanted.operator)
    return rule is not None and rule(wanted.limit, given)


def _is_not(limit: Json, given: Comparison) -> bool:
    operator, other = given
    if operator in {"is_not", "not_one_of"}:
        return any(same(limit, one) for one in ([other] if operator == "is_not" else other))
    return operator in _OF_NUMBERS and compare(operator, limit, other) is False


def _within_hosts(limit: Json, given: Comparison) -> bool:
    return given.operator == "domain_one_of" and all(_covered(one, limit) for one in given.limit)


def _outside_hosts(limit: Json, given: Comparison) -> bool:
    return given.operator == "domain_not_one_of" and all(_covered(one, given.limit) for one in limit)


def _covered(host: str, hosts: Sequence[str]) -> bool:
    """Whether all that a host, or a ``*.host``, stands for is among the others."""
    if host.startswith("*."):
        return any(one.startswith("*.") and f".{host[2:]}".endswith(one[1:]) for one in hosts)
    return compare("domain_one_of", host, list(hosts)) is True


_RULES: Mapping[str, Callable[[Json, Comparison], bool]] = {
    "at_most": lambda limit, given: given.operator == "at_most" and bool(given.limit <= limit),
    "at_least": lambda limit, given: given.operator == "at_least" and bool(given.limit >= limit),
    "not_before": lambda limit, given: given.operator == "not_before" and _later(given.limit, limit),
    "not_after": lambda limit, given: given.operator == "not_after" and _later(limit, given.limit),
    "is_not": _is_not,
    "not_one_of": lambda limit, given: all(_is_not(one, given) for one in limit),
    "domain_one_of": _within_hosts,
    "domain_not_one_of": _outside_hosts,
}


def _later(left: Json, right: Json) -> bool:
    """Whether the left limit is at the right one or later: a day and a moment of that day are not told apart."""
    alike = len(left) == len(right)
    return compare("not_before", left, right) is True and (alike or compare("not_after", left, right) is False)
