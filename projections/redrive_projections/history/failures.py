"""What went wrong in runs, one row each, and the same things together: equal but for numbers, ids and quoted values."""

from __future__ import annotations

from typing import Final

CHARS_MAX: Final = 200

# Quoted values first, then words with a digit in them, then numbers, and white space is one space.
_PATTERNS = (
    (r"""“[^”]*”|「[^」]*」|«[^»]*»|`[^`]*`|"(?:\\.|[^"\\])*"|(^|[^\w])'[^']*'""", r"\1<value>"),
    (r"[A-Za-z0-9_-]*(?:[A-Za-z_]-*[0-9]|[0-9]-*[A-Za-z_])[A-Za-z0-9_-]*", "<id>"),
    (r"[0-9]+(?:[.,:/-][0-9]+)*", "<number>"),
    (r"\s+", " "),
)


def _normalised() -> str:
    said = f"left(message, {2 * CHARS_MAX})"
    for pattern, instead in _PATTERNS:
        quoted = pattern.replace("'", "''")
        said = f"regexp_replace({said}, '{quoted}', '{instead}', 'g')"
    return f"rtrim(left(ltrim({said}), {CHARS_MAX}))"


NORMALISED: Final = f"CREATE MACRO normalised(message) AS {_normalised()}"

ALL: Final = """\
SELECT run_id, run, position, step, call, tool, 'denied' AS class, rule, coalesce(reason, text, '') AS message
FROM verdicts WHERE verdict = 'deny'
UNION ALL
SELECT run_id, run, position, step, call, tool, 'intercepted', intercepted, ''
FROM steps WHERE intercepted IS NOT NULL
UNION ALL
SELECT run_id, run, position, step, NULL, NULL, 'unreadable', NULL, refusal
FROM decisions WHERE decision = 'refused'
UNION ALL
SELECT run_id, run, position, step, NULL, NULL, 'not done', NULL, array_to_string(missing || unsupported, ', ')
FROM decisions WHERE len(missing || unsupported) > 0
UNION ALL
SELECT run_id, run, position, step, call, tool, status, rule, coalesce(excerpt, '')
FROM observations WHERE status IN ('error', 'timeout', 'unknown')
UNION ALL
SELECT run_id, run, position, step, call, tool, 'refused', verifier, refusal
FROM observations WHERE NOT verified
UNION ALL
SELECT run_id, run, coalesce(answer_position, position), step, NULL, NULL, 'model ' || status, NULL,
    coalesce('HTTP ' || http_status, '')
FROM model_calls WHERE status <> 'replied'
UNION ALL
SELECT run_id, run, position, NULL, NULL, NULL, 'quarantined', NULL, problem
FROM events WHERE kind = 'quarantined'
UNION ALL
SELECT run_id, run, records, steps, NULL, NULL, status, dimension, coalesce(reason, '')
FROM runs WHERE status IN ('failed', 'blocked', 'exhausted', 'escalated', 'cancelled')"""

CLUSTERS: Final = """\
SELECT tool, rule, class, normalised(message) AS message, count(*) AS failures, count(DISTINCT failures.run) AS runs,
    min(started_at) AS first_at, max(started_at) AS last_at, arg_min(failures.run_id, failures.run) AS example,
    arg_min(position, (failures.run, position)) AS position
FROM failures JOIN runs USING (run)
GROUP BY tool, rule, class, normalised(message)
ORDER BY failures DESC, runs DESC, tool, rule, class, message"""
