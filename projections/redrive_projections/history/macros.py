"""Questions with a parameter: what was known at a position, a run told in order, trials of a task that all succeed."""

from __future__ import annotations

from typing import Final, NamedTuple

from redrive_projections.history.measures import columns


class Macro(NamedTuple):
    """A macro: how it is called, what it gives, and the statement that makes it."""

    call: str
    told: str
    sql: str


TRIALS: Final = """\
SELECT task, agent, version, model, arm, count(*) AS trials, sum(succeeded)::BIGINT AS successes
FROM tree_tallies WHERE judged = 1
GROUP BY task, agent, version, model, arm ORDER BY ALL"""

# From tau-bench (Yao et al. 2024, "τ-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains"): of n
# trials of a task c succeed, so k of them, drawn without putting back, all succeed with chance C(c,k)/C(n,k); pass^k is
# its mean over tasks.
_PASS_HAT = """\
CREATE MACRO pass_hat(trials, successes, k) AS CASE WHEN k BETWEEN 1 AND trials THEN
    list_product(list_transform(range(k), lambda drawn: greatest(successes - drawn, 0) / (trials - drawn))) END"""

_PASS_HAT_K = """\
CREATE MACRO pass_hat_k(k) AS TABLE
SELECT agent, version, model, arm, count(*) AS tasks, sum(trials)::BIGINT AS trials,
    avg(pass_hat(trials, successes, k)) AS pass_hat_k
FROM trials WHERE trials >= k AND k >= 1
GROUP BY agent, version, model, arm ORDER BY agent, version, model, arm"""

_MEASURES_OF = f"""\
CREATE MACRO measures_of(run_ids) AS TABLE
SELECT count(*) AS runs,
    {columns()}
FROM tree_tallies WHERE run_id IN (SELECT unnest(run_ids))"""

MACROS: Final = (
    Macro(
        "measures_of(run_ids)",
        "One row: the measures over the runs of these ids, with all runs below them: "
        "`FROM measures_of(['a', 'b'])`, or `(SELECT list(run_id) FROM runs WHERE …)` in its place.",
        _MEASURES_OF,
    ),
    Macro("pass_hat(trials, successes, k)", "The same for one task, as a number.", _PASS_HAT),
    Macro(
        "pass_hat_k(k)",
        "One row for each agent, version, model and arm: the chance that k trials of a task all succeed, on the mean "
        "over the tasks with at least k trials of which it is known how they came out: tau-bench's estimator, "
        "C(c, k) / C(n, k) for c successes in n trials.",
        _PASS_HAT_K,
    ),
)
