"""A policy of rules: the first that matches decides, and what no rule allows is denied."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from redrive_engine.policy.paths import TEXTS, Getter, getter, spelled
from redrive_engine.policy.question import NOT_ALLOWED, Question, Ruling
from redrive_engine.policy.written import Clause, WrittenRule, is_reference, path_of, rules_of
from redrive_engine.toml_file import Misfit, TomlFile
from redrive_events import BadInput, Json, Reading, canonical, digest
from redrive_projections import MISSING, OPERATORS

Holds: TypeAlias = Callable[[Question], bool | None]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A clause, ready to be looked at: ``limit`` is the operand where ``resolve`` has nothing to resolve."""

    holds: Holds
    path: str
    operator: str
    get: Getter
    limit: Json
    resolve: Getter | None
    references: tuple[tuple[str, Getter], ...]


@dataclass(frozen=True, slots=True)
class _Rule:
    written: WrittenRule
    clauses: tuple[_Compiled, ...]


@dataclass(frozen=True, slots=True)
class RulesPolicy:
    """Rules in order; the first that matches decides.

    A rule matches if all it compares surely holds, and does not if anything surely fails. Where neither can be said,
    since a value is missing or cannot be compared, the call is denied there and then. No match is a denial too.

    ``digest`` is that of what decides; ``wording`` that of the text, with comments, spacing and reasons.
    """

    digest: str
    wording: str
    data: Json
    _rules: tuple[_Rule, ...] = field(repr=False, compare=False)

    @classmethod
    def from_toml(cls, source: str | Path) -> RulesPolicy:
        """The policy in a file (a `Path`), or in a text.

        Raises:
            BadInput: it is not TOML, or a rule is not allowed; the place is the line.
        """
        file = TomlFile.of(source, name="policy")
        try:
            return cls._of(file.data, hashlib.sha256(file.text.encode()).hexdigest())
        except Misfit as misfit:
            raise file.refusal(misfit) from None

    @classmethod
    def from_data(cls, data: Json) -> RulesPolicy:
        """The policy that a run recorded: `data` of another, or that table without ``wording``.

        Raises:
            BadInput: it is no policy, or a rule is not allowed.
        """
        if not isinstance(data, dict):
            raise BadInput("a table with a list of rules is wanted", place="policy")
        rules = {key: value for key, value in data.items() if key != "wording"}
        wording = data.get("wording") or digest(rules)
        if not isinstance(wording, str):
            raise BadInput("wording is a digest", place="policy.wording")
        try:
            return cls._of(rules, wording)
        except Misfit as misfit:
            raise Misfit(misfit.problem, *misfit.path, owner="policy") from None

    @classmethod
    def _of(cls, data: dict[str, Json], wording: str) -> RulesPolicy:
        written = rules_of(data)
        deciding = digest([rule.deciding() for rule in written])
        rules = tuple(_Rule(rule, tuple(map(_compiled, rule.clauses))) for rule in written)
        return cls(deciding, wording, {"rule": data.get("rule", []), "wording": wording}, rules)

    def judge(self, question: Question) -> Ruling:
        """The ruling of the first rule that matches; it never raises, whatever the arguments are."""
        for rule in self._rules:
            sure = True
            for clause in rule.clauses:
                found = clause.holds(question)
                if found is False:
                    break
                sure = sure and found is True
            else:
                return _ruling(rule, question) if sure else _undecided(rule, question)
        return Ruling("deny", "no rule", "no rule matches", NOT_ALLOWED)


def _ruling(rule: _Rule, question: Question) -> Ruling:
    written = rule.written
    text = "" if written.then == "allow" else written.text or NOT_ALLOWED
    return Ruling(written.then, written.name, written.reason, text, _readings(rule, question))


def _undecided(rule: _Rule, question: Question) -> Ruling:
    doubtful = next(clause for clause in rule.clauses if clause.holds(question) is None)
    sides = ((doubtful.path, doubtful.get), *doubtful.references)
    missing = next((path for path, get in sides if get(question) is MISSING), None)
    reason = f"{missing} is missing" if missing else f"{doubtful.path} cannot be compared ({doubtful.operator})"
    return Ruling("deny", rule.written.name, reason, NOT_ALLOWED, _readings(rule, question))


def _readings(rule: _Rule, question: Question) -> tuple[Reading, ...]:
    return tuple(_reading(clause, question) for clause in rule.clauses)


def _reading(clause: _Compiled, question: Question) -> Reading:
    limit = clause.limit if clause.resolve is None else recordable(clause.resolve(question))
    return Reading(path=clause.path, operator=clause.operator, value=recordable(clause.get(question)), limit=limit)


def recordable(value: Json) -> Json:
    """``value`` as a reading holds it; None where there is none, or none that a record could spell."""
    if value is MISSING:
        return None
    if isinstance(value, str) and value.isascii():
        return value
    try:
        canonical(value)
    except BadInput:
        return None
    return value


def _compiled(clause: Clause) -> _Compiled:
    limit, resolve = _operand(clause.operand)
    references = tuple((spelled(path_of(text)), getter(path_of(text))) for text in _references(clause.operand))
    get = getter(clause.path)
    holds = _holds(clause, get, limit, resolve)
    return _Compiled(holds, spelled(clause.path), clause.operator, get, limit, resolve, references)


def _holds(clause: Clause, get: Getter, limit: Json, resolve: Getter | None) -> Holds:
    """Whether the clause holds for a question; None where that cannot be said."""
    if clause.operator == "known":
        return lambda question: (get(question) is not MISSING) is limit
    if clause.path[0] in TEXTS and clause.operator == "is" and isinstance(limit, str):
        return lambda question: bool(get(question) == limit)
    test = OPERATORS[clause.operator]

    def holds(question: Question) -> bool | None:
        value, against = get(question), limit if resolve is None else resolve(question)
        if value is MISSING or against is MISSING:
            return None
        try:
            return test(value, against)
        except BadInput:  # what has no canonical spelling can be compared with nothing
            return None

    return holds


def _references(operand: Json) -> list[str]:
    if is_reference(operand):
        return [operand]
    inner = operand.values() if isinstance(operand, dict) else operand if isinstance(operand, list) else ()
    return [reference for one in inner for reference in _references(one)]


def _operand(operand: Json) -> tuple[Json, Getter | None]:
    """An operand without references as it is, ``$$`` read as ``$``; one with them as what resolves it."""
    if is_reference(operand):
        return None, getter(path_of(operand))
    if isinstance(operand, list):
        parts = [_operand(one) for one in operand]
        if all(resolve is None for _, resolve in parts):
            return [limit for limit, _ in parts], None
        return None, lambda question: _whole([_resolved(part, question) for part in parts])
    if isinstance(operand, dict):
        named = {key: _operand(one) for key, one in operand.items()}
        if all(resolve is None for _, resolve in named.values()):
            return {key: limit for key, (limit, _) in named.items()}, None
        return None, lambda question: _whole({key: _resolved(part, question) for key, part in named.items()})
    return operand[1:] if isinstance(operand, str) and operand.startswith("$$") else operand, None


def _resolved(part: tuple[Json, Getter | None], question: Question) -> Json:
    limit, resolve = part
    return limit if resolve is None else resolve(question)


def _whole(filled: Json) -> Json:
    """A list or table with its references resolved; as a whole missing if one of them is."""
    values = filled.values() if isinstance(filled, dict) else filled
    return MISSING if any(value is MISSING for value in values) else filled
