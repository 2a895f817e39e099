"""What is wrong with rules that are well written: that they are idle, or speak of what there is not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from redrive_engine.policy.cedar import CedarPolicy
from redrive_engine.policy.cedar_terms import actions_of
from redrive_engine.policy.implied import contradict, implies
from redrive_engine.policy.listed import policy_in
from redrive_engine.policy.operands import references
from redrive_engine.policy.paths import Path as Names
from redrive_engine.policy.paths import spelled
from redrive_engine.policy.rules import RulesPolicy
from redrive_engine.policy.written import Clause, WrittenRule
from redrive_engine.toml_file import TomlFile
from redrive_events import Json
from redrive_projections import compare

Kind: TypeAlias = Literal["unused", "shadowed", "unknown"]


class Finding(NamedTuple):
    """What is wrong with a rule: of which kind, and why, in one clause; the ``line`` where that is known."""

    rule: str
    line: int | None
    kind: Kind
    text: str


class KnownTool(NamedTuple):
    """What a rule may say of a tool."""

    effect: str
    arguments: Collection[str]
    object: str
    destination: str


@dataclass(frozen=True)
class Known:
    """What there is for rules to speak of: tools, which of them are granted, and the facts that may be committed."""

    tools: Mapping[str, KnownTool]
    granted: Collection[str]
    facts: Collection[str]


@dataclass
class _Check:
    """The rules so far; ``open`` are the tools that no rule has taken whole."""

    known: Known | None
    before: list[WrittenRule] = field(default_factory=list)
    open: set[str] = field(default_factory=set)
    of_tool: dict[str | None, list[tuple[int, WrittenRule]]] = field(default_factory=dict)

    def of(self, rule: WrittenRule) -> Iterator[tuple[Kind, str]]:
        """What is wrong with the next rule: all that is not known, and the first that makes it idle."""
        if self.known:
            yield from _unknown(rule, self.known)
        if (idle := next(self._idle(rule), None)) is not None:
            yield idle
        if self.known and rule.then != "edit" and all(map(_is_of_tool, rule.clauses)):
            self.open -= meant(rule, self.known)
        self.before.append(rule)
        self.of_tool.setdefault(_one_tool(rule), []).append((len(self.before), rule))

    def _idle(self, rule: WrittenRule) -> Iterator[tuple[Kind, str]]:
        for path in dict.fromkeys(clause.path for clause in rule.clauses):
            if contradict(path, rule.clauses):
                yield "unused", f"no {spelled(path)} can be all that it wants"
        if self.known and not meant(rule, self.known):
            if set(_named_tools(rule)) <= set(self.known.granted):  # else that has been told
                yield "unused", "no tool that is granted is what it wants"
            return
        for earlier in self._rivals(rule):
            if earlier.then != "edit" and self._takes_all(earlier, rule):
                yield "shadowed", f"rule {earlier.name!r} matches whatever it does"
        if self.known and not meant(rule, self.known) & self.open:
            yield "shadowed", f"earlier rules decide on all calls of {_list(meant(rule, self.known))}"

    def _rivals(self, rule: WrittenRule) -> Iterable[WrittenRule]:
        """The earlier rules that may take all of it: those that want another tool cannot, and may be thousands."""
        tool = _one_tool(rule)
        if tool is None:
            return self.before
        numbered = sorted(self.of_tool.get(None, []) + self.of_tool.get(tool, []), key=itemgetter(0))
        return (earlier for _, earlier in numbered)

    def _takes_all(self, earlier: WrittenRule, rule: WrittenRule) -> bool:
        wanted: Sequence[Clause] = earlier.clauses
        if self.known and meant(rule, self.known) <= meant(earlier, self.known):
            wanted = [clause for clause in wanted if not _is_of_tool(clause)]
        return all(implies(rule.clauses, clause) for clause in wanted)


_TARGETS: Mapping[str, Callable[[KnownTool], str]] = {
    "object": lambda tool: tool.object,
    "destination": lambda tool: tool.destination,
}


def _one_tool(rule: WrittenRule) -> str | None:
    """The tool that a rule wants, if it is just one."""
    wanted = (clause.operand for clause in rule.clauses if clause.path == ("tool",) and clause.operator == "is")
    return next((one for one in wanted if isinstance(one, str) and not references(one)), None)


def _is_of_tool(clause: Clause) -> bool:
    """Whether a clause says which tools are meant, and that alone."""
    return clause.path in {("tool",), ("effect",)} and not references(clause.operand)


def check_policy(file: Path, known: Known | None = None) -> tuple[int, list[Finding]]:
    """How many rules a file holds, and all that is wrong with them, in their order.

    Without what is ``known`` it is only what rules say of each other. Of policies in Cedar it is only which tools they
    name: what else is wrong with them, a schema finds when they are read.

    Raises:
        BadInput: it cannot be read, or is no policy.
    """
    policy = policy_in(file)
    if isinstance(policy, CedarPolicy):
        return len(policy.rules), list(_of_cedar(policy, known)) if known else []
    source = TomlFile.of(file, name=file.name)
    lines = source.lines_of_tables("rule")
    return len(policy.rules), list(check_rules(policy, known, lambda number: lines[number]))


def check_rules(
    policy: RulesPolicy, known: Known | None = None, line_of: Callable[[int], int | None] = lambda _: None
) -> Iterator[Finding]:
    """All that is wrong with rules; ``line_of`` says where the rule of a number, from 0, is written."""
    check = _Check(known, open=set(known.granted) if known else set())
    for number, rule in enumerate(policy.written):
        for kind, text in check.of(rule):
            yield Finding(rule.name, line_of(number), kind, text)


def _of_cedar(policy: CedarPolicy, known: Known) -> Iterator[Finding]:
    for name, written in policy.written.items():
        for kind, text in _unknown_tools(actions_of(written), known):
            yield Finding(name, None, kind, text)


def meant(rule: WrittenRule, known: Known) -> set[str]:
    """The granted tools that a rule may match, by what it says of tool and effect."""
    wanted = [clause for clause in rule.clauses if _is_of_tool(clause)]
    return {name for name in known.granted if all(_may(clause, name, known.tools[name]) for clause in wanted)}


def _may(clause: Clause, name: str, tool: KnownTool) -> bool:
    value = name if clause.path == ("tool",) else "read" if tool.effect == "read" else "write"
    return compare(clause.operator, value, clause.operand) is True


def _unknown(rule: WrittenRule, known: Known) -> Iterator[tuple[Kind, str]]:
    """What a rule speaks of that there is not."""
    yield from _unknown_tools(_named_tools(rule), known)
    tools = [known.tools[name] for name in sorted(meant(rule, known))]
    for root, *names in dict.fromkeys(_spoken_of(rule)):
        if root == "facts" and names[0] not in known.facts:
            yield "unknown", f"no verifier commits fact {names[0]!r}; there are {_list(known.facts)}"
        if root == "arguments" and tools and not any(names[0] in tool.arguments for tool in tools):
            there = {name for tool in tools for name in tool.arguments}
            yield "unknown", f"no argument {names[0]!r}; there are {_list(there)}"
        if root in _TARGETS and tools and not any(map(_TARGETS[root], tools)):
            yield "unknown", f"no tool that is meant names its {root}"


def _unknown_tools(names: Iterable[str], known: Known) -> Iterator[tuple[Kind, str]]:
    for name in names:
        if name not in known.tools:
            yield "unknown", f"no tool {name!r}; there are {_list(known.tools)}"
        elif name not in known.granted:
            yield "unused", f"tool {name!r} is not granted"


def _named_tools(rule: WrittenRule) -> Iterator[str]:
    for clause in rule.clauses:
        if clause.path == ("tool",) and clause.operator in {"is", "one_of"}:
            yield from (one for one in _all_of(clause.operand) if isinstance(one, str) and not references(one))


def _all_of(operand: Json) -> list[Json]:
    return list(operand) if isinstance(operand, list) else [operand]


def _spoken_of(rule: WrittenRule) -> Iterator[Names]:
    """Each path that a rule compares, refers to or sets."""
    for clause in rule.clauses:
        yield clause.path
        yield from references(clause.operand)
    for change in rule.changes:
        yield ("arguments", *change.path)
        yield from references(change.operand)


def _list(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "none"
