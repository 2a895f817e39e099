"""Predicates over plain data: the one small language of criteria, scopes and policy rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]

from redrive_events import Json, Predicate, canonical
from redrive_projections.hosts import goes_to_none_of, goes_to_one_of, problem_of_hosts
from redrive_projections.masked import is_masked, may_be_same, may_match
from redrive_projections.moments import not_after, not_before, problem_of_moment

# Said by our own errors, not on stderr by the library.
_QUIET: Final = re2.Options()
_QUIET.log_errors = False


class _Missing:
    """There is no such value; None is a value."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Final = _Missing()


def same(left: Json, right: Json) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but true is not 1."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if _number(left) and _number(right):
        return bool(left == right)
    return type(left) is type(right) and canonical(left) == canonical(right)


def _number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _at_most(value: Json, limit: Json) -> bool | None:
    return value <= limit if _number(value) and _number(limit) else None


def _at_least(value: Json, limit: Json) -> bool | None:
    return value >= limit if _number(value) and _number(limit) else None


def _is(value: Json, limit: Json) -> bool | None:
    """Whether they are the same; None where a masked value may be the other, or something else."""
    return same(value, limit) or (None if may_be_same(value, limit) else False)


def _one_of(value: Json, limit: Json) -> bool | None:
    if not isinstance(limit, list | tuple):
        return None
    if any(same(value, one) for one in limit):
        return True
    return None if any(may_be_same(value, one) for one in limit) else False


def _opposite(test: Callable[[Json, Json], bool | None]) -> Callable[[Json, Json], bool | None]:
    """The test that holds where ``test`` surely does not."""

    def opposite(value: Json, limit: Json) -> bool | None:
        found = test(value, limit)
        return None if found is None else not found

    return opposite


def _matches(value: Json, limit: Json) -> bool | None:
    if not isinstance(value, str) or not isinstance(limit, str):
        return None
    try:
        pattern = _pattern(limit)
        return may_match(pattern, value) if is_masked(value) else pattern.fullmatch(value.encode()) is not None
    except (re2.error, UnicodeEncodeError):  # a predicate of another version, or half a character
        return None


@lru_cache(maxsize=512)
def _pattern(text: str) -> Any:
    """RE2: whatever the pattern and the text, and whoever wrote them, it takes no longer than the two are long.

    It is given UTF-8, which is what it reads: for a text its binding counts where each letter of the match stands.
    """
    return re2.compile(text.encode(), _QUIET)


# operator: (value, limit) -> whether it holds; None where the two cannot be compared
OPERATORS: Mapping[str, Callable[[Json, Json], bool | None]] = {
    "is": _is,
    "is_not": _opposite(_is),
    "one_of": _one_of,
    "not_one_of": _opposite(_one_of),
    "at_most": _at_most,
    "at_least": _at_least,
    "matches": _matches,
    "not_before": not_before,
    "not_after": not_after,
    "domain_one_of": goes_to_one_of,
    "domain_not_one_of": goes_to_none_of,
}

_OPERANDS: Mapping[str, Callable[[Json], str | None]] = {
    "one_of": lambda limit: None if isinstance(limit, list | tuple) else "takes a list",
    "not_one_of": lambda limit: None if isinstance(limit, list | tuple) else "takes a list",
    "at_most": lambda limit: None if _number(limit) else "takes a number",
    "at_least": lambda limit: None if _number(limit) else "takes a number",
    "not_before": problem_of_moment,
    "not_after": problem_of_moment,
    "domain_one_of": problem_of_hosts,
    "domain_not_one_of": problem_of_hosts,
    "known": lambda limit: None if isinstance(limit, bool) else "takes true or false",
}


def compare(operator: str, value: Json, limit: Json) -> bool | None:
    """Whether ``value`` stands in this relation to ``limit``; None where that cannot be said (a missing value)."""
    if operator == "known":
        return (value is not MISSING) is bool(limit)
    if value is MISSING or limit is MISSING:
        return None
    return OPERATORS[operator](value, limit)


def holds(predicate: Predicate, value: Json) -> bool:
    """Whether every part of ``predicate`` surely holds for ``value``."""
    return all(compare(operator, value, limit) for operator, limit in predicate.items())


def problem_of(predicate: object) -> str | None:
    """What is wrong with ``predicate`` as data, in one clause; None if nothing is."""
    if not isinstance(predicate, dict) or not predicate:
        return "a predicate is a table of operators"
    return next(filter(None, (_problem(operator, limit) for operator, limit in predicate.items())), None)


def _problem(operator: object, limit: Json) -> str | None:
    if operator != "known" and operator not in OPERATORS:
        return f"no operator {operator!r}; there are {', '.join([*OPERATORS, 'known'])}"
    if operator == "matches":
        return _problem_of_pattern(limit)
    problem = _OPERANDS[str(operator)](limit) if operator in _OPERANDS else None
    return f"{operator} {problem}" if problem else None


def _problem_of_pattern(text: Json) -> str | None:
    if not isinstance(text, str):
        return f"{text!r} is no regular expression"
    try:
        _pattern(text)
    except re2.error as error:
        return f"{text!r} is no regular expression of RE2: {error.args[0].decode(errors='replace')}"
    except UnicodeEncodeError:
        return f"{text!r} is no regular expression: half a character"
    return None
