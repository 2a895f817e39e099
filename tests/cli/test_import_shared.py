"""The recorded traces as a whole, where they are at hand: one import of all, against their index, and asked in SQL."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from redrive.command import main
from tests.traces.shared import AT_HAND, SHARED

pytestmark = AT_HAND

# The formats that are read; of any other the files are skipped.
READ = {
    *("anthropic", "claude-code", "codex", "inspect", "mini-swe-agent", "openai-chat", "openai-responses", "otel"),
    *("openinference", "swe-agent", "tau-bench", "tau2-bench", "vercel-ai"),
}
# Files of these formats that hold no run, by what their names hold, and the reason that is told.
NO_RUN = {
    ".meta.json": "what Claude Code notes of a sub-agent beside its file",
    "no-samples.json": "an evaluation without samples",
    "2024-08-29T15-11-17": "an evaluation without samples",
    "test_skeleton/empty.json": "no trace that is known here",
    "exit_statuses_": "not JSON",
    "preds.json": "predictions: a patch for each task",
    "trajectories/README.md": "not JSON",
    "eval_set_helm": "an ADK evaluation set",
    "evalset_k8s": "an ADK evaluation set",
    "few_shot_data": "tau-bench few-shot examples: conversations as text for display",
    "experiment/results.json": "tau2 results without simulations",
    "submission.json": "an entry of the tau2 leaderboard",
    "ai-embed": "1 spans, none of a model that was asked",
    "capture-results.json": "no trace that is known here",
}


class Counts(NamedTuple):
    """Of a file: runs, calls, results, calls without a result, results without a call."""

    runs: int
    calls: int
    results: int
    unanswered: int
    unpaired: int


def _more(**more: int) -> Callable[[Counts], Counts]:
    return lambda theirs: theirs._replace(**{key: getattr(theirs, key) + value for key, value in more.items()})


# Where the index counts otherwise: part of the path, the reason, and what its counts become.
DIFFERENCES: tuple[tuple[str, str, Callable[[Counts], Counts]], ...] = (
    ("reasoning-tool-use", "it counts no call in a response alone", _more(calls=1, unanswered=1)),
    ("nonfncall-llm-logs/", "it counts no call in the response to a request", _more(calls=1, unanswered=1)),
    ("/llm-logs/", "it counts no call in the response to a request", _more(calls=1, unanswered=1)),
    ("with_sf_and_nyc", "it counts nothing inside of a test's result", _more(calls=2, results=2)),
    ("with_only_sf", "it counts nothing inside of a test's result", _more(calls=1, results=1)),
    ("dag_within_fork", "what was taken back is a run of its own", _more(runs=1)),
    ("03eb5929-", "what was taken back is a run of its own", _more(runs=1)),
    ("claude-code-log/memory_sidechain", "a sub-agent is a run of its own", _more(runs=1)),
    ("claude-code-log/sidechain", "a sub-agent is a run of its own", _more(runs=1)),
    ("codex/large.jsonl", "it does not count calls of a type of their own", _more(calls=1, results=1)),
    ("codex/schema_drift", "it does not count results of a type of their own", _more(results=1, unanswered=-1)),
    ("utility_billing_header", "it counts the file; the requests are three conversations", _more(runs=2)),
    ("utility_bridge_wrapped", "it counts the file; the requests are three conversations", _more(runs=2)),
    ("utility_header_only_prompt", "it counts the file; the requests are three conversations", _more(runs=2)),
    ("utility_subagent_no_loop", "it counts the file; the requests are two conversations", _more(runs=1)),
    ("utility_warmup", "it counts the file; the requests are two conversations", _more(runs=1)),
    ("utility_workflow_generate", "it counts the file; the requests are five conversations", _more(runs=4)),
    ("ai-generateText", "it counts the file; its two spans are of two traces", _more(runs=1)),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with all that can be imported."""
    return tmp_path_factory.mktemp("shared") / "all.db"


@pytest.fixture(scope="module")
def reports(whole: Path) -> dict[str, dict[str, Any]]:
    """What is told of each file; one of them has lines that are lost, so not all is in."""
    return _imported(whole, code=1)


def _imported(log: Path, code: int) -> dict[str, dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch, (log.parent / "out.json").open("w", encoding="utf-8") as out:
        patch.setattr("sys.stdout", out)
        assert main(["import", str(SHARED), "--log", str(log), "--json"]) == code
    told = json.loads((log.parent / "out.json").read_text(encoding="utf-8"))
    return {str(Path(one["path"]).relative_to(SHARED)): one for one in told}


def index() -> list[dict[str, str]]:
    """The lines of the index."""
    with (SHARED / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_every_file_is_in_or_skipped_for_a_true_reason(reports: Mapping[str, Any]) -> None:
    """Of the formats that are read, only what holds no run; nothing is refused."""
    assert [path for path, one in reports.items() if one["refused"]] == []
    for row in index():
        told = reports[row["path"]]
        reason = next((why for part, why in NO_RUN.items() if part in row["path"]), "")
        if row["format"] in READ:
            assert told["skipped"].startswith(reason)
            assert bool(told["skipped"]) == bool(reason)
        else:
            assert told["skipped"]
    lost = {Path(path).name for path, one in reports.items() if one["diagnostics"]}
    assert lost == {"edge_cases.jsonl"}


def test_counts_are_those_of_the_index_or_differ_for_a_reason(reports: Mapping[str, Any]) -> None:
    """Runs, calls, results, and what has no other half; where the index counted nothing, nothing is compared."""
    met = set()
    for row in index():
        told = reports[row["path"]]
        if row["format"] not in READ or told["skipped"]:
            continue
        columns = ("runs", "calls", "results", "calls_without_result", "results_without_call")
        theirs = Counts(*(int(row[key] or 0) for key in columns))
        for part, why, change in DIFFERENCES:
            if part in row["path"]:
                theirs = change(theirs)
                met.add(part)
                assert why
                break
        calls, results, unpaired = told["calls"], told["results"], told["unpaired"]
        ours = Counts(len(told["runs"]), calls, results, calls - results + unpaired, unpaired)
        counted = [bool(row[key]) for key in columns]
        assert [one for one, is_counted in zip(ours, counted, strict=True) if is_counted] == [
            one for one, is_counted in zip(theirs, counted, strict=True) if is_counted
        ], row["path"]
    assert met == {part for part, _, _ in DIFFERENCES}


def test_all_of_it_again_adds_nothing(whole: Path, reports: Mapping[str, Any]) -> None:
    """By content, whatever order the files are written in."""
    again = _imported(whole, code=1)
    assert {path: one["runs"] for path, one in again.items()} == {path: one["runs"] for path, one in reports.items()}
    assert sum(one["added"] for one in again.values()) == 0


PASSED = """
SELECT round(avg(rate), 4) FROM (
  SELECT avg(CAST(abs(value_number - 1) < 1e-6 AS INT)) AS rate
  FROM annotations JOIN runs USING (run) WHERE name = 'reward' AND source_sha256 = '{sha}' GROUP BY labels['task_id']
)
"""

ENDED = """
SELECT value_text AS first, count(*) AS number FROM annotations JOIN runs USING (run)
WHERE name = 'exit_status' AND source_format = 'mini-swe-agent' GROUP BY 1
"""


def test_figures_from_sql_are_those_of_the_files(
    whole: Path, reports: Mapping[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """From one log of everything: how often the airline's agent passed, how runs ended, and what was used once."""
    assert reports

    def asked(query: str) -> list[list[Any]]:
        assert main(["sql", query, "--log", str(whole), "--json"]) == 0
        return [list(row.values()) for row in json.loads(capsys.readouterr().out)]

    airline = next(SHARED.glob("tau2-bench/**/claude-sonnet-4-5_airline_*.json"))
    sha = hashlib.sha256(airline.read_bytes()).hexdigest()
    assert asked(PASSED.format(sha=sha)) == [[0.72]]
    ended: dict[str, int] = {}
    spent = 0
    for row in index():
        if row["format"] == "mini-swe-agent" and not reports[row["path"]]["skipped"]:
            value = json.loads((SHARED / row["path"]).read_bytes())
            status = value["info"].get("exit_status") if isinstance(value, dict) else None
            ended |= {status: ended.get(status, 0) + 1} if status else {}
            messages = value["messages"] if isinstance(value, dict) else []
            used = [one.get("extra", {}).get("response", {}).get("usage", {}) for one in messages]
            spent += sum(one.get("total_tokens", 0) for one in used)
    assert dict(map(tuple, asked(ENDED))) == ended
    assert asked("SELECT sum(tokens) FROM runs WHERE source_format = 'mini-swe-agent'") == [[spent]]
