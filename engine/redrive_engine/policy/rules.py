"""A policy of rules: the first that matches decides, and what no rule allows is denied."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from redrive_engine.policy.changing import Setting, edited
from redrive_engine.policy.looks import ClauseLook, Outcome, RuleLook
from redrive_engine.policy.operands import Operand
from redrive_engine.policy.paths import TEXTS, Getter, getter, spelled
from redrive_engine.policy.question import NO_RULE, NOT_ALLOWED, Question, Ruling
from redrive_engine.policy.readings import recordable
from redrive_engine.policy.written import Clause, WrittenRule, rules_of
from redrive_engine.toml_file import Misfit, TomlFile
from redrive_events import BadInput, Json, Reading, digest
from redrive_projections import MISSING, OPERATORS

Holds: TypeAlias = Callable[[Question], bool | None]


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause, ready to be looked at."""

    holds: Holds
    path: str
    operator: str
    get: Getter
    operand: Operand

    def read(self, question: Question) -> Reading:
        value, limit = recordable(self.get(question)), self.operand.constant
        if self.operand.resolve is not None:
            limit = recordable(self.operand.resolve(question))
        return Reading(path=self.path, operator=self.operator, value=value, limit=limit)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule, ready to be looked at."""

    written: WrittenRule
    clauses: tuple[_Clause, ...]
    settings: tuple[Setting, ...]
    holds: tuple[Holds, ...]
    said: Ruling | None  # what it says where it surely matches, but for what it read; None if that hangs on the call

    def matches(self, question: Question) -> bool | None:
        """Whether all surely holds; None where nothing surely fails, and something cannot be said."""
        sure: bool | None = True
        for holds in self.holds:
            found = holds(question)
            if found is False:
                return False
            if found is None:
                sure = None
        return sure

    def ruling(self, question: Question, *, sure: bool) -> Ruling | None:
        """What it says where it matches, or may; None where it is an edit that changes nothing."""
        written, read = self.written, tuple(clause.read(question) for clause in self.clauses)
        if not sure:
            return Ruling("deny", written.name, self._doubt(question), NOT_ALLOWED, read)
        if self.said is not None:
            return Ruling(self.said.verdict, self.said.rule, self.said.reason, self.said.text, read)
        change = edited(self.settings, question)
        read += tuple(setting.read(question) for setting in self.settings)
        if change.doubt:
            return Ruling("deny", written.name, change.doubt, NOT_ALLOWED, read)
        if not change.changed:
            return None
        return Ruling("edit", written.name, written.reason, read=read, arguments=change.arguments)

    def _doubt(self, question: Question) -> str:
        doubtful = next(clause for clause in self.clauses if clause.holds(question) is None)
        if doubtful.get(question) is MISSING:
            return f"{doubtful.path} is missing"
        if missing := doubtful.operand.missing(question):
            return f"{missing} is missing"
        return f"{doubtful.path} cannot be compared ({doubtful.operator})"


@dataclass(frozen=True, slots=True)
class RulesPolicy:
    """Rules in order; the first that matches decides.

    A rule matches if all it compares surely holds, and does not if anything surely fails. Where neither can be said,
    since a value is missing or cannot be compared, the call is denied there and then. No match is a denial too. An
    edit that would change nothing is passed over, so that judging the changed call comes to an end.

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
        rules = tuple(map(_rule, written))
        return cls(deciding, wording, {"rule": data.get("rule", []), "wording": wording}, rules)

    @property
    def written(self) -> tuple[WrittenRule, ...]:
        """The rules as they are written, in order."""
        return tuple(rule.written for rule in self._rules)

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules, in order."""
        return tuple(rule.written.name for rule in self._rules)

    def opinion(self, question: Question) -> Ruling | None:
        """The ruling of the first rule that matches; None if none does. It never raises, whatever the arguments are."""
        return self._first(question)

    def judge(self, question: Question) -> Ruling:
        """The ruling of the first rule that matches; else a denial."""
        return self.opinion(question) or NO_RULE

    def briefly(self, question: Question) -> Ruling:
        """As `judge`, but without what was read: where very many are judged, to be asked of the few that matter."""
        return self._first(question, briefly=True) or NO_RULE

    def _first(self, question: Question, *, briefly: bool = False) -> Ruling | None:
        for rule in self._rules:
            found = rule.matches(question)
            if briefly and found is True and rule.said is not None:
                return rule.said
            if found is not False and (ruling := rule.ruling(question, sure=found is True)) is not None:
                return ruling
        return None

    def looks(self, question: Question) -> Iterator[RuleLook]:
        """What is looked at, rule by rule, up to the one that decides."""
        for rule in self._rules:
            found = rule.matches(question)
            ruling = None if found is False else rule.ruling(question, sure=found is True)
            outcome: Outcome = "no match" if found is False else "changes nothing" if ruling is None else "decides"
            yield RuleLook(rule.written.name, rule.written.then, outcome, _looked(rule, question), ruling)
            if ruling is not None:
                return


def _looked(rule: _Rule, question: Question) -> tuple[ClauseLook, ...]:
    clauses = zip(rule.written.clauses, rule.clauses, strict=True)
    return tuple(
        ClauseLook(clause.read(question), written.operand, clause.holds(question)) for written, clause in clauses
    )


def _rule(written: WrittenRule) -> _Rule:
    clauses = tuple(map(_compiled, written.clauses))
    settings = tuple(Setting(change.path, Operand.compiled(change.operand)) for change in written.changes)
    return _Rule(written, clauses, settings, tuple(clause.holds for clause in clauses), _said(written))


def _said(written: WrittenRule) -> Ruling | None:
    if written.then == "edit":
        return None
    text = written.text or NOT_ALLOWED if written.then == "deny" else written.text
    return Ruling(written.then, written.name, written.reason, text)


def _compiled(clause: Clause) -> _Clause:
    get, operand = getter(clause.path), Operand.compiled(clause.operand)
    return _Clause(_holds(clause, get, operand), spelled(clause.path), clause.operator, get, operand)


def _holds(clause: Clause, get: Getter, operand: Operand) -> Holds:
    """Whether the clause holds for a question; None where that cannot be said."""
    constant, resolve = operand.constant, operand.resolve
    if clause.operator == "known":
        return lambda question: (get(question) is not MISSING) is constant
    if clause.path[0] in TEXTS and clause.operator == "is" and isinstance(constant, str):
        return lambda question: bool(get(question) == constant)
    test = OPERATORS[clause.operator]

    def holds(question: Question) -> bool | None:
        value, against = get(question), constant if resolve is None else resolve(question)
        if value is MISSING or against is MISSING:
            return None
        try:
            return test(value, against)
        except BadInput:  # what has no canonical spelling can be compared with nothing
            return None

    return holds
