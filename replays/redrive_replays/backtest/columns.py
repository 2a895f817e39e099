"""What a back-test reads of recorded runs: the runs, each verdict, each fact, from columns and not from the log."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

import msgspec

from redrive_engine.policy import COMPENSATION
from redrive_events import Json
from redrive_projections.history import Notebook
from redrive_replays.backtest.inheriting import Inherited, inherited_by

RUNS: Final = """
WITH unread AS (SELECT run, count(*) AS records FROM events WHERE problem IS NOT NULL GROUP BY run)
SELECT run, run_id, coalesce(agent, ''), coalesce(rules, 0), source_format IS NOT NULL, coalesce(grade, 'full'),
       coalesce(unread.records, 0), coalesce(principal, ''), coalesce(tenant, ''), coalesce(clock, 'none'),
       parent IS NOT NULL
FROM runs LEFT JOIN unread USING (run)
WHERE run IN ({wanted}) ORDER BY run
"""
# No reply had wanted the call by which the engine undoes another one: its tool stands where it is made, which is later.
VERDICTS: Final = f"""
SELECT v.run, v.call, v.position, v.step, epoch_us(v.judged_at),
       CASE v.rule WHEN '{COMPENSATION}' THEN coalesce(s.tool, '') ELSE v.tool END, v.verdict, v.rule,
       s.arguments, v.arguments, coalesce(v.text, '')
FROM verdicts v LEFT JOIN steps s ON s.run = v.run AND s.call = v.call
WHERE v.run IN ({{wanted}}) ORDER BY v.run, v.position
"""
FACTS: Final = """
SELECT run, position, key, value FROM facts WHERE run IN ({wanted}) ORDER BY run, position
"""
# What the parent of a child run knew when it began it.
KNOWN: Final = """
SELECT run, payload->'$.known' FROM payloads
WHERE position = 1 AND run IN (SELECT run FROM runs WHERE parent IS NOT NULL AND run IN ({wanted}))
"""
ROWS_AT_ONCE: Final = 10_000

decoded: Final = msgspec.json.Decoder().decode


class Candidate(NamedTuple):
    """A run that is to be judged again, as far as its columns tell of it as a whole."""

    run: int
    run_id: str
    agent: str
    rules: int
    imported: bool
    grade: str
    unread: int
    principal: str
    tenant: str
    clock: Literal["utc", "naive", "none"]
    child: bool


class VerdictAs(NamedTuple):
    """A verdict as it was recorded.

    ``proposed`` are the arguments as the model wanted them, ``edited`` those that this verdict puts in their place.
    """

    run: int
    call: int
    position: int
    step: int
    at_us: int | None
    tool: str
    verdict: str
    rule: str
    proposed: str | None
    edited: str | None
    text: str


class FactAs(NamedTuple):
    """A fact as it was committed."""

    run: int
    position: int
    key: str
    value: str


class RunAs(NamedTuple):
    """A run as it was recorded: its own verdicts and facts, each in order, and what was known at its beginning.

    What it ``inherits`` is judged in the runs that have it.
    """

    run: Candidate
    verdicts: list[VerdictAs]
    facts: list[FactAs]
    known: dict[str, Json]
    inherits: Inherited


def recorded_runs(notebook: Notebook, where: str) -> Iterator[RunAs]:
    """The runs for which ``where``, an expression over the columns of runs, holds; all as of one moment.

    Raises:
        BadInput: it is no such expression.
    """
    wanted = f"SELECT run FROM runs WHERE ({where})"
    notebook.rows(wanted)  # which says what is wrong with it
    db = notebook.connection()
    known = {run: decoded(value) for run, value in _rows(db, KNOWN.format(wanted=wanted)) if value}
    inherited = inherited_by(partial(_rows, db), wanted)
    verdicts, facts = (_by_run(_rows(db, query.format(wanted=wanted))) for query in (VERDICTS, FACTS))
    judged, committed = next(verdicts, None), next(facts, None)
    for run in map(Candidate._make, _rows(db, RUNS.format(wanted=wanted))):
        given, found = list[VerdictAs](), list[FactAs]()
        if judged is not None and judged[0] == run.run:
            given, judged = list(map(VerdictAs._make, judged[1])), next(verdicts, None)
        if committed is not None and committed[0] == run.run:
            found, committed = list(map(FactAs._make, committed[1])), next(facts, None)
        inherits = inherited.get(run.run) or Inherited()
        given = [_decided(one, inherits) for one in given] if inherits.calls else given
        yield RunAs(run, given, found, known.get(run.run, {}) | inherits.known, inherits)


def _decided(row: VerdictAs, inherits: Inherited) -> VerdictAs:
    """A verdict, with what was wanted by a call that another run has decided."""
    call = inherits.calls.get(row.call)
    return row if call is None else row._replace(tool=call.tool, proposed=call.proposed)


def _by_run(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
    for run, of_run in groupby(rows, key=itemgetter(0)):
        yield run, list(of_run)


def _rows(db: Any, query: str) -> Iterator[tuple[Any, ...]]:
    found = db.cursor().execute(query)
    while rows := found.fetchmany(ROWS_AT_ONCE):
        yield from rows
