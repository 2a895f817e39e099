"""Figures that others published of their own runs, computed in SQL over an import of the same files."""

from __future__ import annotations

from typing import Any

import pytest

from redrive_projections.history import ask
from tests.traces.shared import AT_HAND, SHARED, imported

REWARD = "FROM annotations JOIN runs USING (run) WHERE name = 'reward'"
# The ids that the provider gave to more than one call of a run.
REPEATED_IDS = """
    SELECT count(*) FROM (
        SELECT run, block ->> 'id' FROM (
            SELECT run, unnest(payload -> '$.content[*]') AS block
            FROM payloads JOIN events USING (run, position) WHERE kind = 'model_replied'
        ) WHERE block ->> 'type' = 'call' AND block ->> 'id' <> '' GROUP BY ALL HAVING count(*) > 1
    )"""
SWE_AGENT = "swe-agent/**/replay__marshmallow-code__marshmallow-1867__function_calling_replace__install-1"


@AT_HAND
@pytest.mark.parametrize(
    ("file", "query", "published"),
    [
        pytest.param(
            "tau-bench/**/tool-calling-grok-3-*.json",
            f"SELECT count(DISTINCT run), round(avg(value_number), 5), sum((value_number >= 1)::INT) {REWARD}",
            [(115, 0.58435, 0)],
            id="tau-bench, grok-3 in retail",
        ),
        pytest.param(
            "tau2-bench/**/claude-sonnet-4-5_airline_*.json",
            "SELECT pass_hat_k, tasks, trials FROM pass_hat_k(1)",
            [(0.72, 50, 50)],
            id="tau2, claude-sonnet-4-5 in airline",
        ),
        pytest.param("tau-bench/**/tool-calling-grok-3-*.json", REPEATED_IDS, [(0,)], id="ids in grok-3"),
        pytest.param(
            f"{SWE_AGENT}/**/marshmallow-code__marshmallow-1867.traj", REPEATED_IDS, [(3,)], id="in SWE-agent"
        ),
    ],
)
def test_what_was_published_is_what_sql_finds(file: str, query: str, published: list[tuple[Any, ...]]) -> None:
    """To the digits in which it was told."""
    (path,) = SHARED.glob(file)
    found = imported(path.relative_to(SHARED).as_posix())
    assert ask(found.log, query).rows == published
