"""The rules that people write, checked and brought into one form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from redrive_engine.policy.paths import FIELDS, TABLES, Path, split
from redrive_engine.policy.question import RESERVED
from redrive_engine.toml_file import Misfit
from redrive_events import Json, Verdict
from redrive_projections import OPERATORS, problem_of

_WORDS = (*OPERATORS, "known")
_KEYS = ("name", "when", "then", "reason", "text")
_VERDICTS: dict[str, Verdict] = {"allow": "allow", "deny": "deny"}
_STAND_INS: dict[str, Json] = {"one_of": [], "not_one_of": [], "at_most": 0, "at_least": 0}
_ROOTS = ", ".join([*(f"${name}" for name in FIELDS), *(f"${name}.…" for name in TABLES)])


@dataclass(frozen=True, slots=True)
class Clause:
    """One comparison of a rule: what stands at ``path``, against ``operand``, which may hold ``$`` references."""

    path: Path
    operator: str
    operand: Json


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule as it is written, its clauses in the order in which they are looked at."""

    name: str
    clauses: tuple[Clause, ...]
    then: Verdict
    reason: str = ""
    text: str = ""

    def deciding(self) -> Json:
        """What of it decides, as data: all but the ``reason``."""
        clauses = [[list(clause.path), clause.operator, clause.operand] for clause in self.clauses]
        return [self.name, clauses, self.then, self.text]


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
        raise Misfit(f"then is allow or deny, not {then!r}", *place, "then")
    if text and then == "allow":
        raise Misfit("text is what the model reads of a denial; an allowed call has none", *place, "text")
    if not isinstance(table["when"], dict):
        raise Misfit("when is a table; an empty one always matches", *place, "when")
    clauses = sorted(_clauses(table["when"], *place, "when"), key=_cheapest_first)
    return WrittenRule(name, tuple(clauses), _VERDICTS[then], table.get("reason", ""), text)


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
        if path == ("effect",) and operator == "is" and operand not in {"read", "write"}:
            raise Misfit(f"an effect is read or write, not {operand!r}", *place)
        yield Clause(path, operator, operand)


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
