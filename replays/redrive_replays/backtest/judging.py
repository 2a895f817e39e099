"""Every recorded call judged again, from columns alone: with the facts as of its position, and nothing of later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import msgspec

from redrive_engine import Program
from redrive_engine.policy import Policy, Question, Ruling
from redrive_events import Effect, Json
from redrive_projections import MISSING
from redrive_projections.history import Notebook

# One row for each decided call, as it was judged first, with the facts that had been committed by then.
CALLS: Final = """
WITH first AS (
    SELECT run, call, min(position) AS position FROM verdicts GROUP BY run, call
), judged AS (
    SELECT v.run, v.call, v.position, v.step, v.judged_at, v.tool, v.verdict, v.rule, v.policy,
           v.arguments AS edited, v.text
    FROM verdicts v JOIN first USING (run, call, position)
), wanted AS (
    SELECT run, run_id, principal, tenant, clock FROM runs WHERE {where}
)
SELECT j.run, w.run_id, w.principal, w.tenant, w.clock, j.call, j.position, j.step, j.judged_at, j.tool,
       s.arguments, j.verdict, j.rule, j.policy, j.edited, j.text
FROM judged j
JOIN wanted w USING (run)
JOIN steps s ON s.run = j.run AND s.call = j.call
ORDER BY j.run, j.position
"""
FACTS: Final = """
SELECT run, position, key, value FROM facts WHERE run IN (SELECT run FROM runs WHERE {where}) ORDER BY run, position
"""
ROWS_AT_ONCE: Final = 10_000

_json = msgspec.json.Decoder().decode


class _Row(NamedTuple):
    """A decided call, as it was judged first."""

    run: int
    run_id: str
    principal: str | None
    tenant: str | None
    clock: Literal["utc", "naive", "none"]
    call: int
    position: int
    step: int
    at: datetime
    tool: str
    arguments: str
    verdict: str
    rule: str
    policy: str | None
    edited: str | None
    text: str | None


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
    calls are left as recorded and count nowhere. ``transitions`` counts the verdicts up to there.
    """

    transitions: Counter[Transition] = field(default_factory=Counter)
    first: dict[str, Flipped] = field(default_factory=dict)
    runs: set[str] = field(default_factory=set)
    unjudged: set[str] = field(default_factory=set)
    verdicts: int = 0


class _Declared(NamedTuple):
    """What a program declares of a tool, as far as a question needs it."""

    effect: Effect = "unknown"
    object: str = ""
    destination: str = ""


_UNKNOWN: Final = _Declared()


def judged_again(
    notebook: Notebook, policies: Mapping[str, Policy], program_of: Callable[[str], Program | None], where: str = "true"
) -> dict[str, Judged]:
    """What each of the named policies says of every recorded call of the runs ``where`` an expression over runs holds.

    ``program_of`` gives the program of a run by its id, or None: such runs are not judged. What the contract had denied
    stays denied.

    Raises:
        BadInput: ``where`` is no expression over the columns of runs.
    """
    notebook.sql(f"SELECT run FROM runs WHERE {where}")  # which says what is wrong with it
    found = {name: Judged() for name in policies}
    facts = _facts(notebook, where)
    run, values, declared, coming = 0, dict[str, Json](), None, next(facts, None)
    for row in map(_Row._make, _rows(notebook, CALLS.format(where=where))):
        if row.run != run:
            run, values, declared = row.run, {}, _declared(program_of(row.run_id))
        while coming is not None and coming < (run, row.position):
            if coming[0] == run:
                values[coming[2]] = coming[3]
            coming = next(facts, None)
        if declared is None:
            for judged in found.values():
                judged.unjudged.add(row.run_id)
        else:
            _judge(row, values, declared.get(row.tool, _UNKNOWN), policies, found)
    return found


def _judge(
    row: _Row,
    facts: Mapping[str, Json],
    declared: _Declared,
    policies: Mapping[str, Policy],
    found: Mapping[str, Judged],
) -> None:
    own = row.verdict == "deny" and row.policy is None  # the contract's word, or one of form: no policy was asked
    question = None if own else _question(row, facts, declared)
    for name, policy in policies.items():
        judged = found[name]
        judged.runs.add(row.run_id)
        flip = judged.first.get(row.run_id)
        if flip is not None and flip.step != row.step:
            continue
        judged.verdicts += 1
        if question is None:
            judged.transitions[Transition(row.tool, row.verdict, row.verdict, row.rule)] += 1
            continue
        ruling = policy.judge(question)
        judged.transitions[Transition(row.tool, row.verdict, ruling.verdict, ruling.rule)] += 1
        if flip is None and _flips(row, ruling):
            place = row.run_id, row.call, row.position, row.step, row.tool
            judged.first[row.run_id] = Flipped(*place, row.verdict, ruling.verdict, row.rule, ruling.rule)


def _flips(row: _Row, ruling: Ruling) -> bool:
    """A change of verdict, of edited arguments, or of what the model is told."""
    if ruling.verdict != row.verdict:
        return True
    if ruling.verdict == "edit":
        return row.edited is None or _json(row.edited) != ruling.arguments
    return ruling.verdict == "deny" and (row.text or "") != ruling.text


def _question(row: _Row, facts: Mapping[str, Json], declared: _Declared) -> Question:
    arguments = _json(row.arguments)
    return Question(
        row.principal or "",
        row.tenant or "",
        row.tool,
        arguments,
        declared.effect,
        _named(arguments, declared.object),
        _named(arguments, declared.destination),
        facts,
        row.at,
        row.clock,
    )


def _named(arguments: Json, name: str) -> Json:
    return arguments.get(name, MISSING) if name and isinstance(arguments, dict) else MISSING


def _declared(program: Program | None) -> dict[str, _Declared] | None:
    if program is None:
        return None
    return {name: _Declared(one.effect, one.object, one.destination) for name, one in (program.tools or {}).items()}


def _facts(notebook: Notebook, where: str) -> Iterator[tuple[int, int, str, Json]]:
    for run, position, key, value in _rows(notebook, FACTS.format(where=where)):
        yield run, position, key, _json(value)


def _rows(notebook: Notebook, query: str) -> Iterable[tuple[Any, ...]]:
    found = notebook.connection().execute(query)
    while rows := found.fetchmany(ROWS_AT_ONCE):
        yield from rows
