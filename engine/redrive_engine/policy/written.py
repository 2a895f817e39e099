"""The rules that people write, checked and brought into one form."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from redrive_engine.policy.paths import FIELDS, TABLES, WEEKDAYS, Path, split
from redrive_engine.policy.question import RESERVED
from redrive_engine.toml_file import Misfit
from redrive_events import Json, Verdict
from redrive_projections import OPERATORS, problem_of

_WORDS = (*OPERATORS, "known")
_KEYS = ("name", "when", "then", "set", "reason", "text")
_VERDICTS: dict[str, Verdict] = {"allow": "allow", "deny": "deny", "ask": "ask", "edit": "edit"}
_STAND_INS: dict[str, Json] = {
    **{"one_of": [], "not_one_of": [], "at_most": 0, "at_least": 0, "domain_one_of": [], "domain_not_one_of": []},
    **{"not_before": "2026-01-01", "not_after": "2026-01-01"},
}
_ALLOWED: dict[str, tuple[str, Collection[Json]]] = {
    "effect": ("an effect is read or write", ("read", "write")),
    "hour": ("an hour is 0 to 23, of UTC", range(24)),
    "weekday": (f"a weekday is {', '.join(WEEKDAYS)}", WEEKDAYS),
}
_ROOTS = ", ".join([*(f"${name}" for name in FIELDS), *(f"${name}.…" for name in TABLES)])


@dataclass(frozen=True, slots=True)
class Clause:
    """One comparison of a rule: what stands at ``path``, against ``operand``, which may hold ``$`` references."""

    path: Path
    operator: str
    operand: Json


@dataclass(frozen=True, slots=True)
class Change:
    """What an edit puts at ``path`` inside the arguments: ``operand``, which may hold ``$`` references."""

    path: Path
    operand: Json


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule as it is written, its clauses in the order in which they are looked at."""

    name: str
    clauses: tuple[Clause, ...]
    then: Verdict
    changes: tuple[Change, ...] = ()
    reason: str = ""
    text: str = ""

    def deciding(self) -> Json:
        """What of it decides, as data: all but the ``reason``."""
        clauses = [[list(clause.path), clause.operator, clause.operand] for clause in self.clauses]
        changes = [[list(change.path), change.operand] for change in self.changes]
        return [self.name, clauses, self.then, self.text, changes]


def rules_of(data: Json) -> tuple[WrittenRule, ...]:
    """The rules in ``{"rule": […]}``.

    Raises:
        Misfit: a rule is not allowed; its path says which.
    """
    for key in data:
        if key != "rule":
            raise Misfit(f"no such table {key!r}; there is [[rule]]", key)
    tables = data.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise Misfit("rules are written as [[rule]] tables", "rule")
    rules: dict[str, WrittenRule] = {}
    for number, table in enumerate(tables):
        rule = _rule(table, "rule", number)
        if rule.name in rules:
            raise Misfit(f"there is another rule {rule.name!r}", "rule", number, "name")
        rules[rule.name] = rule
    return tuple(rules.values())


def meant_as_predicate(value: Json) -> bool:
    """Whether a table in the place of a value is one of operators: if only one key is, or nearly is."""
    return isinstance(value, dict) and any(key in _WORDS or _misspelt(key) for key in value)


def _misspelt(key: Json) -> bool:
    return isinstance(key, str) and bool(get_close_matches(key, _WORDS, n=1, cutoff=0.8))


def _rule(table: dict[str, Json], *place: str | int) -> WrittenRule:
    _check_keys(table, *place)
    name, then, text = table["name"], table["then"], table.get("text", "")
    if not name or name in RESERVED:
        raise Misfit(f"a rule is not called {name!r}", *place, "name")
    if not isinstance(then, str) or then not in _VERDICTS:
        raise Misfit(f"then is {', '.join(_VERDICTS)}, not {then!r}", *place, "then")
    if text and then in {"allow", "edit"}:
        raise Misfit("text is what the model reads of a denial; a call that is made has none", *place, "text")
    if not isinstance(table["when"], dict):
        raise Misfit("when is a table; an empty one always matches", *place, "when")
    clauses = sorted(_clauses(table["when"], *place, "when"), key=_cheapest_first)
    changes = _changes(table, *place) if then == "edit" or "set" in table else ()
    return WrittenRule(name, tuple(clauses), _VERDICTS[then], changes, table.get("reason", ""), text)


def _changes(table: dict[str, Json], *place: str | int) -> tuple[Change, ...]:
    """What an edit sets, in an order that the spelling does not change."""
    if table["then"] != "edit":
        raise Misfit("only a rule that says edit sets anything", *place, "set")
    what = table.get("set")
    arguments = what.get("arguments") if isinstance(what, dict) else None
    if not isinstance(arguments, dict) or not arguments or len(what or ()) != 1:
        problem = "an edit sets arguments, like set = { arguments.cents = 5_000 }"
        raise Misfit(problem, *place, *(("set",) if "set" in table else ()))
    return tuple(sorted(_set(arguments, (), *place, "set", "arguments"), key=lambda change: change.path))


def _set(value: Json, path: Path, *place: str | int) -> Iterator[Change]:
    """Each value below a table, with the names that lead to it; an empty table is a value."""
    if path and not (isinstance(value, dict) and value):
        if problem := _no_operand(value):
            raise Misfit(problem, *place)
        yield Change(path, value)
        return
    for name, inner in value.items():
        yield from _set(inner, (*path, name), *place, name)


def _check_keys(table: dict[str, Json], *place: str | int) -> None:
    for key in table:
        if key not in _KEYS:
            raise Misfit(f"no such key {key!r}; a rule has {', '.join(_KEYS)}", *place, key)
    for key in ("name", "when", "then"):
        if key not in table:
            raise Misfit(f"the rule has no {key}", *place)
    for key in ("name", "reason", "text"):
        if not isinstance(table.get(key, ""), str):
            raise Misfit(f"{key} is a text", *place, key)


def _cheapest_first(clause: Clause) -> tuple[int, Path, str]:
    """An order that the spelling does not change: recorded data has its keys sorted."""
    return ((*FIELDS, *TABLES).index(clause.path[0]), clause.path, clause.operator)


def _clauses(when: dict[str, Json], *place: str | int) -> Iterator[Clause]:
    for key, value in when.items():
        if key in FIELDS:
            yield from _compared((key,), value, *place, key)
        elif key in TABLES:
            if not isinstance(value, dict) or not value:
                raise Misfit(f"{key} is a table of names", *place, key)
            for name, inner in value.items():
                yield from _inside((key, name), inner, *place, key, name)
        else:
            allowed = ", ".join([*FIELDS, *(f"{table}.…" for table in TABLES)])
            raise Misfit(f"no such thing to look at: {key!r}; there are {allowed}", *place, key)


def _inside(path: Path, value: Json, *place: str | int) -> Iterator[Clause]:
    """A table below arguments or facts holds operators, or the names one level deeper."""
    if not isinstance(value, dict) or not value or any(key in OPERATORS or key == "known" for key in value):
        yield from _compared(path, value, *place)
        return
    for name, inner in value.items():
        if not isinstance(inner, dict) and _misspelt(name):
            raise Misfit(problem_of({name: inner}) or "", *place, name)
        yield from _inside((*path, name), inner, *place, name)


def _compared(path: Path, value: Json, *place: str | int) -> Iterator[Clause]:
    predicate = value if isinstance(value, dict) else {"is": value}
    if problem := _unfit(predicate):
        raise Misfit(problem, *place)
    for operator, operand in predicate.items():
        if problem := _odd(path, operator, operand):
            raise Misfit(problem, *place)
        yield Clause(path, operator, operand)


def _odd(path: Path, operator: str, operand: Json) -> str | None:
    """Why nothing at ``path`` can ever stand in this relation to a constant; None if something can."""
    if path == ("at",) and operator not in {"not_before", "not_after"}:
        return f"a time is compared by not_before and not_after, not by {operator}"
    allowed = _ALLOWED.get(path[0]) if len(path) == 1 else None
    if allowed is None or operator == "known":
        return None
    for one in operand if isinstance(operand, list) else [operand]:
        if not is_reference(one) and (isinstance(one, bool) or one not in allowed[1]):
            return f"{allowed[0]}, not {one!r}"
    return None


def _unfit(predicate: dict[str, Json]) -> str | None:
    for operator, operand in predicate.items():
        if problem := _no_operand(operand):
            return problem
        if operator in {"matches", "known"} and is_reference(operand):
            return f"{operator} takes no reference"
    # what a reference stands for is known only when a call is judged
    return problem_of({key: _STAND_INS.get(key) if is_reference(one) else one for key, one in predicate.items()})


def is_reference(operand: Json) -> bool:
    """Whether an operand is a text that stands for a value of the question."""
    return isinstance(operand, str) and operand.startswith("$") and not operand.startswith("$$")


def path_of(reference: str) -> Path:
    """The path that a ``$`` reference names."""
    return split(reference[1:])


def _no_operand(value: Json) -> str | None:
    """Why an operand cannot be one; None if it can."""
    if is_reference(value):
        path = path_of(value)
        named = path[0] in FIELDS if len(path) == 1 else path[0] in TABLES
        return None if named else f"{value!r} names nothing; there are {_ROOTS}, and $$ is a plain $"
    if isinstance(value, list):
        return next(filter(None, map(_no_operand, value)), None)
    if isinstance(value, dict):
        return next(filter(None, map(_no_operand, value.values())), None)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN and Infinity are no JSON numbers"
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return f"{value} has more than 64 bits"
    plain = value is None or isinstance(value, str | int | float)
    return None if plain else f"{value} is no JSON value; a date is written as a text"
