"""What runs have used, with all that they began, and what their contracts would have let them use."""

from __future__ import annotations

from typing import Final


def bounded_sum(column: str) -> str:
    """The sum of a column as a BIGINT; NULL if that has no place for it."""
    return f"TRY_CAST(sum({column}) AS BIGINT)"


_COSTED = "FILTER (cost_micros IS NOT NULL)"
_ONE_CURRENCY = f"count(DISTINCT currency) {_COSTED} <= 1"

# Of several runs, two columns: amounts of several currencies have no sum.
COST: Final = f"""\
CASE WHEN {_ONE_CURRENCY} THEN {bounded_sum("cost_micros")} END AS cost_micros,
    CASE WHEN {_ONE_CURRENCY} THEN max(currency) {_COSTED} END AS currency"""

RUN_TREES: Final = f"""\
SELECT root_id AS run_id, root AS run, count(*) AS runs, max(depth) AS depth, {bounded_sum("steps")} AS steps,
    {bounded_sum("tokens")} AS tokens, {bounded_sum("tool_calls")} AS tool_calls,
    {COST},
    max(wall_ms) FILTER (depth = 0) AS wall_ms
FROM roots JOIN runs USING (run)
GROUP BY root_id, root"""

# A step of a plan is a run of its own, so a plan may take as many steps more as its child runs may.
_CEILINGS = """\
SELECT run, tokens, cost AS cost_micros, steps + coalesce(planned, 0) AS steps
FROM (PIVOT (SELECT run, dimension, ceiling FROM budgets) ON dimension IN ('steps', 'tokens', 'cost')
        USING max(ceiling) GROUP BY run)
    LEFT JOIN (
        SELECT run, coalesce((plan->>'$.steps')::BIGINT, 5) * coalesce((plan->>'$.step_budget')::BIGINT, 5)
            * (coalesce((plan->>'$.revisions')::BIGINT, 2) + 1) AS planned
        FROM (SELECT run, payload->'$.contract.plan' AS plan FROM payloads SEMI JOIN (
            SELECT run, position FROM events SEMI JOIN runs ON runs.run = events.run AND runs.arm = 'plan'
            WHERE kind = 'run_started') USING (run, position))
    ) USING (run)"""


def _told(column: str) -> str:
    name = column.removesuffix("_micros")
    unit = column.removeprefix(name)
    told = {"p50": f"quantile_disc(used.{column}, 0.5)", "p95": f"quantile_disc(used.{column}, 0.95)"}
    told |= {"max": f"max(used.{column})", "ceiling": f"max(ceilings.{column})"}
    return ", ".join(f"{sql} AS {name}_{what}{unit}" for what, sql in told.items())


ACCOUNT: Final = f"""\
WITH ceilings AS ({_CEILINGS})
SELECT task, arm, count(*) AS runs, {_told("steps")}, {_told("tokens")}, {_told("cost_micros")},
    CASE WHEN count(DISTINCT used.currency) <= 1 THEN max(used.currency) END AS currency
FROM run_trees AS used JOIN tallies USING (run) LEFT JOIN ceilings USING (run)
GROUP BY task, arm ORDER BY task, arm"""
