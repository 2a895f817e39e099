"""Every recorded call judged again, from columns alone: with the facts as of its position, and nothing of later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from redrive_engine import Program
from redrive_engine.loop import NOBODY, REFUSED
from redrive_engine.policy import (
    APPROVAL,
    EXPIRED,
    NOT_APPROVED,
    RESERVED,
    Policy,
    Question,
    RulesPolicy,
    Ruling,
)
from redrive_events import CannotReplay, Effect, Json, canonical
from redrive_projections import MISSING
from redrive_projections.history import Notebook
from redrive_replays.backtest.columns import Candidate, RunAs, VerdictAs, decoded, recorded_runs

# What the model reads where a person did not allow a call, and no rule that asked has words of its own.
WORDS: Final = {NOT_APPROVED: REFUSED, EXPIRED: NOBODY}
# The engine and the contract rule by these names whatever the policy is; by the others of theirs it was asked, too.
OWN: Final = frozenset(RESERVED) - {"no rule", "granted", APPROVAL, *WORDS}
# How much of an import must be there for its calls to be judged.
JUDGED_GRADES: Final = frozenset({"full", "model-only", "verdicts-only"})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Flipped(NamedTuple):
    """A call that is judged otherwise: its verdict as recorded and now, by which rules."""

    run_id: str
    call: int
    position: int
    step: int
    tool: str
    before: str
    after: str
    rule_before: str
    rule_after: str


class Transition(NamedTuple):
    """From which verdict to which, for calls of a tool, by which rule now."""

    tool: str
    before: str
    after: str
    rule: str


@dataclass(slots=True)
class Judged:
    """All calls judged again under one policy.

    ``first`` is the first flipped call of each run: what is recorded behind its reply may not have come to be, so later
    calls are left as recorded and count nowhere. ``transitions`` counts the verdicts up to there, ``behind`` is how
    many stand behind that. ``unjudged`` are the runs that cannot be judged, each with why; ``grades`` those that are no
    full recordings.
    """

    transitions: Counter[Transition] = field(default_factory=Counter)
    first: dict[str, Flipped] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    unjudged: dict[str, str] = field(default_factory=dict)
    grades: dict[str, str] = field(default_factory=dict)
    verdicts: int = 0
    behind: int = 0

    def count(self, *transition: str) -> None:
        """One verdict more."""
        self.verdicts += 1
        if transition in self.transitions:  # which finds the one with names that equals it
            self.transitions[transition] += 1  # type: ignore[index]
        else:
            self.transitions[Transition(*transition)] = 1

    def join(self, other: Judged) -> None:
        """Add what was found of other runs."""
        self.transitions += other.transitions
        self.first |= other.first
        self.runs += other.runs
        self.unjudged |= other.unjudged
        self.grades |= other.grades
        self.verdicts += other.verdicts
        self.behind += other.behind


class _Declared(NamedTuple):
    """What a program declares of a tool, as far as a question needs it."""

    effect: Effect = "unknown"
    object: str = ""
    destination: str = ""


_UNKNOWN: Final = _Declared()
_Tools = Mapping[str, _Declared]
ProgramOf = Callable[[Candidate], Program | None]


def judged_again(
    notebook: Notebook,
    policies: Mapping[str, Policy],
    program_of: ProgramOf,
    where: str = "true",
    *,
    told: Callable[[int], object] = lambda _: None,
) -> dict[str, Judged]:
    """What each of the named policies says of every recorded call of the runs ``where`` an expression over runs holds.

    ``program_of`` gives the program of a run, None for one that knows any tool, and raises `CannotReplay` where there
    is none: such runs are not judged. What contract and engine had ruled stays ruled. ``told`` hears after each run how
    many are done.

    Raises:
        BadInput: ``where`` is no expression over the columns of runs.
    """
    found = {name: Judged() for name in policies}
    tools = dict[tuple[str, int, bool], _Tools | str | None]()
    for done, recorded in enumerate(recorded_runs(notebook, where), start=1):
        run = recorded.run
        kind = run.agent, run.rules, run.imported
        if kind not in tools:
            tools[kind] = _tools_of(run, program_of)
        declared = tools[kind]
        why = declared if isinstance(declared, str) else _unjudgeable(recorded, declared)
        for name, judged in found.items():
            if why or isinstance(declared, str):
                judged.unjudged[run.run_id] = why
            else:
                _Judge(judged, policies[name], recorded, declared).all()
        told(done)
    return found


def _tools_of(run: Candidate, program_of: ProgramOf) -> _Tools | str | None:
    """What the run's program declares of its tools, None where it knows any; or why there is no program."""
    try:
        program = program_of(run)
    except CannotReplay as error:
        return str(error)
    if program is None or program.tools is None:
        return None
    return {name: _Declared(one.effect, one.object, one.destination) for name, one in program.tools.items()}


def _unjudgeable(recorded: RunAs, tools: _Tools | None) -> str:
    """Why the calls of a run cannot be judged; nothing if they can."""
    run, inherits = recorded.run, recorded.inherits
    if run.unread:
        return f"{run.unread} of its events cannot be read"
    if inherits.why_not:
        return inherits.why_not
    if run.grade not in JUDGED_GRADES:
        return f"it was imported as {run.grade}"
    called = {one.tool for one in recorded.verdicts}
    if None in called:
        return "it has verdicts on calls that nobody had wanted"
    if tools is not None and not called <= tools.keys():
        unknown = (one for one in recorded.verdicts if one.tool not in tools and one.rule not in OWN)
        return next((f"the program has no tool {one.tool!r}, which call {one.call} is of" for one in unknown), "")
    return ""


class _Judge:
    """One run under one policy, verdict by verdict."""

    def __init__(self, judged: Judged, policy: Policy, recorded: RunAs, tools: _Tools | None) -> None:
        self.judged, self.recorded, self.tools = judged, recorded, tools or {}
        self.rules = policy.briefly if isinstance(policy, RulesPolicy) else policy.judge
        self.flip: Flipped | None = None
        self.last, self.gone = 0, set[int]()

    def all(self) -> None:
        """All of its verdicts, as far as they surely come to be."""
        judged, run, before = self.judged, self.recorded.run, self.judged.verdicts
        judged.runs.append(run.run_id)
        if run.grade != "full":
            judged.grades[run.run_id] = run.grade
        self._as_far_as_sure()
        judged.behind += len(self.recorded.verdicts) - (judged.verdicts - before)

    def _as_far_as_sure(self) -> None:
        for row, question in self._asked():
            # All calls of a reply are judged before any is made, one behind the other: with the flip these count.
            if self.flip is not None:
                if row.position != self.last + 1:
                    return
                self.last = row.position
                if row.call in self.gone:
                    continue
            self._take(row, question)

    def _take(self, row: VerdictAs, question: Question | None) -> None:
        """One verdict more."""
        if question is None:
            self.judged.count(row.tool, row.verdict, row.verdict, row.rule)
            return
        ruling = self.rules(question)
        if ruling.verdict == row.verdict == "allow":
            self.judged.count(row.tool, "allow", "allow", ruling.rule)
            return
        after, rule, flips = _outcome(row, ruling)
        self.judged.count(row.tool, row.verdict, after, rule)
        if flips:
            self._flips(row, after, rule)

    def _flips(self, row: VerdictAs, after: str, rule: str) -> None:
        """What the recording makes of this call behind here does not come to be."""
        self.gone.add(row.call)
        if self.flip is None:
            place = self.recorded.run.run_id, row.call, row.position, row.step, row.tool
            self.flip = Flipped(*place, row.verdict, after, row.rule, rule)
            self.last = row.position
            self.judged.first[self.flip.run_id] = self.flip

    def _asked(self) -> Iterator[tuple[VerdictAs, Question | None]]:
        """Each verdict with the question that a policy is asked for it; None where none is."""
        run, committed = self.recorded.run, self.recorded.facts
        facts, known = dict(self.recorded.known), 0
        edited = {call: one.edited for call, one in self.recorded.inherits.calls.items() if one.edited}
        at_us, at = 0, _EPOCH
        for row in self.recorded.verdicts:
            while known < len(committed) and committed[known].position < row.position:
                facts[committed[known].key] = decoded(committed[known].value)
                known += 1
            if row.at_us is not None and row.at_us != at_us:
                at_us, at = row.at_us, _EPOCH + timedelta(microseconds=row.at_us)
            if row.rule in OWN or (row.rule == APPROVAL and row.verdict == "edit"):
                yield row, None
            else:
                arguments = decoded(edited.get(row.call) or row.proposed or "null")
                declared = self.tools.get(row.tool, _UNKNOWN)
                yield (
                    row,
                    Question(
                        run.principal,
                        run.tenant,
                        row.tool,
                        arguments,
                        declared.effect,
                        _named(arguments, declared.object),
                        _named(arguments, declared.destination),
                        facts,
                        at,
                        run.clock,
                    ),
                )
            if row.edited is not None:
                edited[row.call] = row.edited


def _outcome(row: VerdictAs, ruling: Ruling) -> tuple[str, str, bool]:
    """Which verdict comes of a ruling, by which rule; and whether that is a flip.

    A flip is a change of verdict, of edited arguments, or of the text for the model.
    """
    if row.rule in WORDS:  # people's word, in those of the rule that asked
        words = (ruling.text if ruling.verdict == "ask" else "") or WORDS[row.rule]
        return row.verdict, row.rule, words != row.text
    verdict, text = ruling.verdict, ruling.text
    if verdict == "ask" and row.rule == APPROVAL:  # which a person has answered
        verdict, text = "allow", ""
    if verdict != row.verdict:
        return verdict, ruling.rule, True
    if verdict == "edit":
        return verdict, ruling.rule, canonical(decoded(row.edited or "null")) != canonical(ruling.arguments)
    return verdict, ruling.rule, verdict != "allow" and text != row.text


def _named(arguments: Json, name: str) -> Json:
    return arguments.get(name, MISSING) if name and isinstance(arguments, dict) else MISSING
