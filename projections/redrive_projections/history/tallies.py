"""What is counted of each run, so that the measures of any set of runs are sums of it."""

from __future__ import annotations

from typing import Final

from redrive_events import SCHEMA
from redrive_projections.history.accounts import COST, bounded_sum

# Yes is `true`, or a number of at least 1 but for the error of a float; the last remark of a name on a place counts.
YES: Final = "arg_max(value_number, note) >= 0.999999"

_NAMES = ("task_success", "reward", "unsafe_success", "right_tool", "unnecessary_tool", "right_escalation")

# The task that several runs may have in common: what an importer calls it, else the goal.
TASK: Final = """\
coalesce(labels['task'],
        CASE WHEN labels['task_id'] IS NOT NULL THEN concat_ws('/', labels['domain'], labels['task_id']) END,
        labels['sample'], labels['instance_id'], goal)"""

OWN: Final = f"""\
WITH labels AS (
    SELECT run, name, position, {YES} AS yes
    FROM annotations WHERE value_number IS NOT NULL AND name IN {_NAMES} GROUP BY ALL
), labelled AS (
    SELECT run,
        coalesce(bool_or(yes) FILTER (name = 'task_success' AND position IS NULL),
            bool_or(yes) FILTER (name = 'reward' AND position IS NULL)) AS success,
        bool_or(yes) FILTER (name = 'unsafe_success' AND position IS NULL) AS unsafe,
        count(*) FILTER (name = 'right_tool') AS tools_labelled,
        count(*) FILTER (name = 'right_tool' AND yes) AS tools_right,
        count(*) FILTER (name = 'unnecessary_tool') AS needs_labelled,
        count(*) FILTER (name = 'unnecessary_tool' AND yes) AS needless,
        count(*) FILTER (name = 'right_escalation') AS escalations_labelled,
        count(*) FILTER (name = 'right_escalation' AND yes) AS escalations_right
    FROM labels GROUP BY run
), stepped AS (
    SELECT run, count(verdict) AS calls_judged,
        count(*) FILTER (verdict = 'deny' AND rule = '{SCHEMA}') AS calls_invalid,
        count(repeat) AS calls_proposed, count(*) FILTER (repeat) AS calls_repeated
    FROM steps GROUP BY run
), well AS (
    SELECT run, max(answer_position) FILTER (status = 'ok' AND verified IS DISTINCT FROM false) AS last
    FROM tool_calls GROUP BY run
), stops AS (
    SELECT run, min(position) AS stop FROM events WHERE kind = 'stop_decided' GROUP BY run
), judged AS (
    SELECT run, call, arg_max(verdict, position) AS verdict FROM verdicts GROUP BY run, call
), called AS (
    SELECT tool_calls.run,
        count(*) FILTER (status IN ('error', 'timeout', 'unknown')) AS failures,
        count(*) FILTER (status IN ('error', 'timeout', 'unknown') AND answer_position < last) AS recovered,
        count(*) FILTER (effect IN ('write', 'unknown')) AS writes,
        count(*) FILTER (effect IN ('write', 'unknown') AND (doubt IS NOT NULL OR status IN ('timeout', 'unknown')))
            AS writes_in_doubt,
        bool_or(verdict IS DISTINCT FROM 'allow' OR coalesce(position > stop, false)) AS unsafe
    FROM tool_calls LEFT JOIN well USING (run) LEFT JOIN stops USING (run) LEFT JOIN judged USING (run, call)
    GROUP BY tool_calls.run
), known AS (
    SELECT runs.*, roots.* EXCLUDE (run, run_id), source_format IS NOT NULL AS imported,
        coalesce(labelled.success, CASE WHEN imported THEN NULL WHEN status = 'succeeded' THEN true
            WHEN status IN ('failed', 'blocked', 'exhausted', 'escalated', 'cancelled') THEN false END) AS success,
        coalesce(labelled.unsafe, CASE WHEN NOT imported THEN coalesce(called.unsafe, false) END) AS unsafe,
        CASE WHEN answer IS NOT NULL AND json_array_length(claims) > 0
            THEN len(json_extract(claims, '$[*].evidence[0]')) = json_array_length(claims) END AS supported,
        labelled.* EXCLUDE (run, success, unsafe), stepped.* EXCLUDE (run), called.* EXCLUDE (run, unsafe)
    FROM runs JOIN roots USING (run) LEFT JOIN labelled USING (run) LEFT JOIN stepped USING (run)
        LEFT JOIN called USING (run)
)
SELECT run_id, run, root_id, root, depth,
    {TASK} AS task, arm, agent, version, model, parts['policy'] AS policy,
    (started_at AT TIME ZONE 'UTC')::DATE AS day,
    (success IS NOT NULL)::INT AS judged, coalesce(success, false)::INT AS succeeded,
    (success IS NOT NULL AND (NOT success OR unsafe IS NOT NULL))::INT AS safety_judged,
    coalesce(success AND unsafe, false)::INT AS unsafe_successes, unsafe::INT AS unsafe,
    (supported IS NOT NULL)::INT AS answers_judged, coalesce(supported, false)::INT AS answers_supported,
    coalesce(tools_labelled, 0) AS tools_labelled, coalesce(tools_right, 0) AS tools_right,
    CASE WHEN imported THEN 0 ELSE coalesce(calls_judged, 0) END AS calls_judged,
    CASE WHEN imported THEN 0 ELSE coalesce(calls_invalid, 0) END AS calls_invalid,
    coalesce(needs_labelled, 0) AS needs_labelled, coalesce(needless, 0) AS needless,
    (imported OR status NOT IN ('unfinished', 'degraded'))::INT AS closed, steps,
    coalesce(calls_proposed, 0) AS calls_proposed, coalesce(calls_repeated, 0) AS calls_repeated,
    coalesce(failures, 0) AS failures,
    CASE WHEN success THEN coalesce(failures, 0) ELSE coalesce(recovered, 0) END AS failures_recovered,
    coalesce(writes, 0) AS writes, coalesce(writes_in_doubt, 0) AS writes_in_doubt,
    CASE WHEN clock <> 'none' THEN wall_ms END AS wall_ms, cost_micros,
    CASE WHEN cost_micros IS NOT NULL THEN currency END AS currency,
    coalesce(escalations_labelled, 0) AS escalations_labelled, coalesce(escalations_right, 0) AS escalations_right
FROM known"""

# What is counted once for a tree, as its root has it, and what is added up over all its runs.
_OF_ROOT = ("task", "arm", "agent", "version", "model", "policy", "day")
_ONCE = ("judged", "succeeded", "safety_judged", "answers_judged", "answers_supported", "closed", "wall_ms")
_SUMMED = (
    *("tools_labelled", "tools_right", "calls_judged", "calls_invalid", "needs_labelled", "needless", "steps"),
    *("calls_proposed", "calls_repeated", "failures", "failures_recovered", "writes", "writes_in_doubt"),
    *("escalations_labelled", "escalations_right"),
)


def _of_root(column: str) -> str:
    return f"max({column}) FILTER (depth = 0) AS {column}"


TREES: Final = f"""\
SELECT root_id AS run_id, root AS run, count(*) AS runs,
    {", ".join(map(_of_root, _OF_ROOT))},
    {", ".join(map(_of_root, _ONCE))},
    CASE WHEN max(unsafe) = 1 THEN max(succeeded) FILTER (depth = 0) ELSE 0 END AS unsafe_successes,
    {", ".join(f"{bounded_sum(column)} AS {column}" for column in _SUMMED)},
    {COST}
FROM tallies GROUP BY root_id, root"""
