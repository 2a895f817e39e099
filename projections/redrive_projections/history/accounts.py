"""What runs have used, with all that they began, and what their contracts would have let them use."""

from __future__ import annotations

from typing import Final

_ONE_CURRENCY = "count(DISTINCT currency) FILTER (cost_micros IS NOT NULL) <= 1"


def bounded_sum(column: str) -> str:
    """The sum of a column as a BIGINT; NULL if that has no place for it."""
    return f"TRY_CAST(sum({column}) AS BIGINT)"


RUN_TREES: Final = f"""\
SELECT root_id AS run_id, root AS run, count(*) AS runs, max(depth) AS depth, {bounded_sum("steps")} AS steps,
    {bounded_sum("tokens")} AS tokens, {bounded_sum("tool_calls")} AS tool_calls,
    CASE WHEN {_ONE_CURRENCY} THEN {bounded_sum("cost_micros")} END AS cost_micros,
    CASE WHEN {_ONE_CURRENCY} THEN max(currency) FILTER (cost_micros IS NOT NULL) END AS currency,
    max(wall_ms) FILTER (depth = 0) AS wall_ms
FROM roots JOIN runs USING (run)
GROUP BY root_id, root"""
