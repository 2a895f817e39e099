"""What is asked again and again, as views and macros over the tables: made with them, and never out of date."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class View(NamedTuple):
    """A view: its name, what a row of it is, and the query that it stands for."""

    name: str
    told: str
    query: str


def bounded_sum(column: str) -> str:
    """The sum of a column as a BIGINT; NULL if that has no place for it."""
    return f"TRY_CAST(sum({column}) AS BIGINT)"


# A run whose parent is not in the log is a root; so is one of a circle, which only a wrong remark can make.
ROOTS = """\
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

ONE_CURRENCY = "count(DISTINCT currency) FILTER (cost_micros IS NOT NULL) <= 1"

TREES = f"""\
SELECT root_id AS run_id, root AS run, count(*) AS runs, max(depth) AS depth, {bounded_sum("steps")} AS steps,
    {bounded_sum("tokens")} AS tokens, {bounded_sum("tool_calls")} AS tool_calls,
    CASE WHEN {ONE_CURRENCY} THEN {bounded_sum("cost_micros")} END AS cost_micros,
    CASE WHEN {ONE_CURRENCY} THEN max(currency) FILTER (cost_micros IS NOT NULL) END AS currency,
    max(wall_ms) FILTER (depth = 0) AS wall_ms
FROM roots JOIN runs USING (run)
GROUP BY ALL"""


def views() -> tuple[View, ...]:
    """All views, each behind those that it reads."""
    return (
        View("roots", "One row for each run: the topmost run that it was begun for, which may be itself.", ROOTS),
        View(
            "run_trees",
            "One row for each run that no other began: what it and all runs below it have used, each counted once.",
            TREES,
        ),
    )


def definitions() -> Iterator[str]:
    """The statements that make them, behind the tables."""
    for view in views():
        yield f"CREATE VIEW {view.name} AS {view.query}"
