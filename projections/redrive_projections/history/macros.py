"""Questions with a parameter: what was known at a position, a run told in order, trials of a task that all succeed."""

from __future__ import annotations

from typing import Final, NamedTuple

from redrive_projections.history.measures import columns


class Macro(NamedTuple):
    """A macro: how it is called, what it gives, and the statement that makes it."""

    call: str
    told: str
    sql: str

    @property
    def name(self) -> str:
        """Its name alone."""
        return self.call.partition("(")[0]


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

_TRAJECTORY = """\
CREATE MACRO trajectory(of_run) AS TABLE
SELECT position, happened_at, cause, count(*) FILTER (kind = 'model_replied') OVER (ORDER BY position) AS step, kind,
    call, CASE WHEN call IS NOT NULL THEN coalesce(payload->>'$.tool', any_value(tool) OVER (PARTITION BY call)) END
        AS tool,
    coalesce(payload->>'$.verdict', payload->>'$.status', payload->>'$.outcome', payload->>'$.guard',
        payload->>'$.failure') AS outcome,
    left(coalesce(problem, payload->>'$.goal', payload->>'$.answer', payload->>'$.summary', payload->>'$.reason',
        payload->>'$.lesson', CASE json_type(payload, '$.content')
            WHEN 'ARRAY' THEN array_to_string(payload->>'$.content[*].text', ' ') ELSE payload->>'$.content' END,
        CASE WHEN kind = 'fact_committed' THEN (payload->>'$.key') || ' = ' || (payload->'$.value')::VARCHAR END,
        (payload->'$.arguments')::VARCHAR, payload->>'$.text'), 400) AS words
FROM events LEFT JOIN payloads USING (run_id, run, position)
    LEFT JOIN (SELECT call, arg_max(tool, position) AS tool FROM steps WHERE run_id = of_run GROUP BY call) USING (call)
WHERE run_id = of_run ORDER BY position"""

_AS_OF = """\
CREATE MACRO as_of(of_run, at_position) AS TABLE
WITH past AS (
    SELECT events.*, payload->>'$.status' AS status
    FROM events LEFT JOIN payloads USING (run_id, run, position) WHERE run_id = of_run AND position <= at_position
), known AS (
    SELECT key, arg_max(value, position) AS value FROM facts
    WHERE run_id = of_run AND position <= at_position GROUP BY key
), calls AS (
    SELECT call, arg_max(tool, position) AS tool,
        arg_max(answer_position IS NULL OR answer_position > at_position, position) AS open
    FROM tool_calls WHERE run_id = of_run AND position <= at_position GROUP BY call
)
SELECT of_run AS run_id, max(position) AS position, max(happened_at) AS happened_at, arg_max(kind, position) AS kind,
    coalesce(max(status) FILTER (kind = 'run_ended'), 'unfinished') AS status,
    count(*) FILTER (kind = 'model_replied') AS steps, (SELECT count(*) FROM calls) AS tool_calls,
    (SELECT count(*) FROM verdicts WHERE run_id = of_run AND position <= at_position AND verdict = 'deny') AS denials,
    (SELECT TRY_CAST(sum(cost_micros) AS BIGINT) FROM model_calls
        WHERE run_id = of_run AND answer_position <= at_position) AS cost_micros,
    (SELECT map_from_entries(list((key, value) ORDER BY key)) FROM known) AS facts,
    (SELECT list(tool ORDER BY call) FILTER (open) FROM calls) AS open_calls
FROM past HAVING count(*) > 0"""

MACROS: Final = (
    Macro(
        "measures_of(run_ids)",
        "One row: the measures over the runs of these ids, with all runs below them: "
        "`FROM measures_of(['a', 'b'])`, or `(SELECT list(run_id) FROM runs WHERE …)` in its place.",
        _MEASURES_OF,
    ),
    Macro(
        "trajectory(run_id)",
        "One row for each record of a run, in order: what happened, about which call and tool, in which words.",
        _TRAJECTORY,
    ),
    Macro(
        "as_of(run_id, position)",
        "One row: what there was when the record at a position was written: steps, calls, cost, the facts that were "
        "known, the calls that were open. No row if the run has no record there, or before.",
        _AS_OF,
    ),
    Macro(
        "pass_hat(trials, successes, k)",
        "Of one task: the chance that k of its trials all succeed, as a number; NULL if there are fewer than k.",
        _PASS_HAT,
    ),
    Macro(
        "pass_hat_k(k)",
        "One row for each agent, version, model and arm: the chance that k trials of a task all succeed, on the mean "
        "over the tasks with at least k trials of which it is known how they came out: tau-bench's estimator, "
        "C(c, k) / C(n, k) for c successes in n trials.",
        _PASS_HAT_K,
    ),
)
