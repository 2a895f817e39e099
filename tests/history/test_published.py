"""Published figures, recomputed in SQL from the traces they were made of, where these are at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redrive_events import MemoryLog
from redrive_projections.history import ask
from redrive_replays.traces import import_file

SHARED = Path(__file__).parents[3] / "shared" / "traces"
TAU = "tau-bench/sierra-research+tau-bench/tau_bench/*grok-3*.json"
TAU2 = "tau2-bench/sierra-research+tau2-bench/web/leaderboard/**/claude-sonnet-4-5_airline_*.json"
SCOUT = "inspect/meridianlabs-ai+inspect_scout"

REWARDS = """
    SELECT count(*), avg(value_number), (SELECT task_success FROM measures) FROM annotations
    WHERE name = 'reward' AND position IS NULL"""
# As the framework scores: correct is 1, partly correct a half; the error is that of the mean.
SCORES = """
    WITH scored AS (
        SELECT CASE value_text WHEN 'C' THEN 1 WHEN 'P' THEN 0.5 ELSE 0 END::DOUBLE AS score FROM annotations
        WHERE starts_with(name, 'score.') AND value_text IN ('C', 'P', 'I')
    )
    SELECT count(*), avg(score), stddev_samp(score) / sqrt(count(*)) FROM scored"""
# The ids that the provider gave to more than one call of a run.
REPEATED_IDS = """
    SELECT count(*) FROM (
        SELECT run, block ->> 'id' FROM (
            SELECT run, unnest(payload -> '$.content[*]') AS block
            FROM payloads JOIN events USING (run, position) WHERE kind = 'model_replied'
        ) WHERE block ->> 'type' = 'call' AND block ->> 'id' <> '' GROUP BY ALL HAVING count(*) > 1
    )"""
SWE_AGENT = "swe-agent/**/replay__marshmallow-code__marshmallow-1867__function_calling_replace__install-1/*.traj"

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded traces are not at hand")


@pytest.mark.parametrize(
    ("pattern", "query", "published"),
    [
        # No reward is exactly 1 there, so no task counts as done.
        pytest.param(TAU, REWARDS, (115, 0.58435, 0.0), id="tau-bench grok-3 retail"),
        pytest.param(TAU2, "SELECT tasks, pass_hat_k FROM pass_hat_k(1)", (50, 0.72), id="tau2 sonnet airline"),
        pytest.param(f"{SCOUT}/*theory-of-mind*.eval", SCORES, (100, 0.83, 0.0378), id="theory of mind"),
        pytest.param(f"{SCOUT}/*security-guide*.eval", SCORES, (16, 0.6875, 0.1197), id="security guide"),
        pytest.param(
            "inspect/UKGovernmentBEIS+inspect_ai/scorer/logs/2025-02*popularity*.eval",
            SCORES,
            (10, 0.8, 0.1333),
            id="popularity",
        ),
        pytest.param(TAU, REPEATED_IDS, (0,), id="ids given twice by grok-3"),
        pytest.param(SWE_AGENT, REPEATED_IDS, (3,), id="ids given twice in a SWE-agent run"),
    ],
)
def test_a_published_figure_is_what_sql_finds(pattern: str, query: str, published: tuple[Any, ...]) -> None:
    """To the digits that were published."""
    (path,) = SHARED.glob(pattern)
    log = MemoryLog()
    import_file(path, log)
    (found,) = ask(log, query).rows
    assert tuple(round(cell, 5 if pattern == TAU else 4) for cell in found) == published
