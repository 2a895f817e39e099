"""What is asked again and again, as views over the tables: made when they are spoken of, and never out of date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from redrive_projections.history import accounts, failures, macros, tallies
from redrive_projections.history.measures import columns


class View(NamedTuple):
    """A view: its name, what a row of it is, and the query that it stands for."""

    name: str
    told: str
    query: str


_WORD = re.compile(r"\w+")
# Words of queries that list tables and views.
_LISTS: Final = frozenset({"show", "information_schema", "pg_catalog", "sqlite_master", "summarize"})

# A run whose parent is not in the log is a root; so is one of a circle, which only a wrong remark can make.
_ROOTS = """\
WITH RECURSIVE below AS (
    SELECT run, run_id, run AS root, run_id AS root_id, 0 AS depth
    FROM runs WHERE parent IS NULL OR parent NOT IN (SELECT run_id FROM runs)
    UNION ALL
    SELECT child.run, child.run_id, below.root, below.root_id, below.depth + 1
    FROM runs AS child JOIN below ON child.parent = below.run_id
)
FROM below
UNION ALL
SELECT run, run_id, run, run_id, 0 FROM runs WHERE run NOT IN (SELECT run FROM below)"""

_BACKTESTS = """\
SELECT run_id, run, note, annotated_at AS found_at, position, value->>'$.rules' AS rules,
    value->>'$.policy' AS policy, value->>'$.sureness' AS sureness, (value->>'$.turn')::BIGINT AS turn,
    (value->>'$.turns')::BIGINT AS turns, nullif(value->>'$.why', '') AS why,
    (value->>'$.first.step')::BIGINT AS step, (value->>'$.first.call')::BIGINT AS call,
    value->>'$.first.tool' AS tool, value->>'$.first.before' AS before, value->>'$.first.after' AS after,
    value->>'$.first.rule_before' AS rule_before, value->>'$.first.rule_after' AS rule_after,
    nullif(value->>'$.recorded_status', '') AS recorded_status, nullif(value->>'$.status', '') AS status,
    (value->'$.prevented')::BIGINT[] AS prevented
FROM annotations WHERE name = 'backtest' AND source = 'redrive'"""

# By what the measures are grouped: the rest of the view's name, the columns, and the words for them.
GROUPINGS: Final = {
    "arm": ("arm", "each arm, that is each way to drive a run"),
    "task": ("task, arm", "each task and arm"),
    "day": ("day", "each day on which runs began, in UTC"),
    "version": ("agent, version", "each version of each agent"),
    "model": ("model", "each model that a contract names"),
    "policy": ("policy", "each policy, by its digest"),
}


@cache
def views() -> tuple[View, ...]:
    """All views, each behind those that it reads."""
    return (
        View("roots", "One row for each run: the topmost run that it was begun for, which may be itself.", _ROOTS),
        View(
            "run_trees",
            "One row for each run that no other began: what it and all runs below it have used, each counted once.",
            accounts.RUN_TREES,
        ),
        View("tallies", "One row for each run: what the measures are computed from.", tallies.OWN),
        View(
            "tree_tallies",
            "One row for each run that no other began, with the counts of all runs below it; how it came out, and how "
            "long it took, is its own.",
            tallies.TREES,
        ),
        View("measures", "One row: the measures over all runs that no other began.", _measures("tree_tallies")),
        View("measures_by_run", "One row for each run: its own measures.", _measures("tallies", "run_id, run")),
        *(
            View(f"measures_by_{name}", f"The measures, one row for {told}.", _measures("tree_tallies", grouped))
            for name, (grouped, told) in GROUPINGS.items()
        ),
        View("failures", "One row for whatever went wrong in a run, and how that run ended if not well.", failures.ALL),
        View(
            "failure_clusters",
            "Failures that are the same but for numbers, ids and quoted values: how many, in how many runs.",
            failures.CLUSTERS,
        ),
        View(
            "budget_account",
            "One row for each task and arm: what its runs used, with all runs below them, and the highest ceiling that "
            "a contract set them.",
            accounts.ACCOUNT,
        ),
        View(
            "backtests",
            "One row for each run that `backtest --keep` judged under other rules: how sure it is what would have come "
            "of it, its first flip, and why it was not judged.",
            _BACKTESTS,
        ),
        View("trials", "One row for each task, agent, model and arm: how often it was tried, and done.", macros.TRIALS),
    )


class Definition(NamedTuple):
    """What makes a view or macro: its name, the statement, and the names of those that it is made from."""

    name: str
    sql: str
    needs: frozenset[str]


@cache
def definitions() -> tuple[Definition, ...]:
    """What makes all views and macros, each behind those that it needs."""
    made: list[Definition] = []
    for name, sql in _statements():
        spoken = set(_WORD.findall(sql))
        needs = {need for one in made if one.name in spoken for need in (one.name, *one.needs)}
        made.append(Definition(name, sql, frozenset(needs - {name})))
    return tuple(made)


def wanted(query: str) -> frozenset[str]:
    """The names of the views and macros that a query speaks of, and of those they need; all, if it lists what there is.

    To make one takes milliseconds, since DuckDB looks at all that is below it; to make all would take longer than most
    questions do.
    """
    spoken = {word.lower() for word in _WORD.findall(query)}
    all_of_them = any(word in _LISTS or word.startswith("duckdb_") for word in spoken)
    found = [one for one in definitions() if all_of_them or one.name in spoken]
    return frozenset(name for one in found for name in (one.name, *one.needs))


def _statements() -> Iterator[tuple[str, str]]:
    yield "normalised", failures.NORMALISED
    for view in views():
        yield view.name, f"CREATE VIEW {view.name} AS {view.query}"
    for macro in macros.MACROS:
        yield macro.name, macro.sql


def _measures(source: str, grouped: str = "") -> str:
    runs = "" if grouped.startswith("run_id") else "count(*) AS runs,\n    "
    head, tail = (f"{grouped}, ", f" GROUP BY {grouped} ORDER BY {grouped}") if grouped else ("", "")
    return f"SELECT {head}{runs}{columns()}\nFROM {source}{tail}"
