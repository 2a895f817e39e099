"""Real traces, where they are at hand: counts as their index says, every turn as the file has it, and each replays."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from redrive_events import AnnotationMade, BadInput, MemoryLog, ObservationReceived, SqliteLog, ToolCalled
from redrive_projections import fold, status
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_file
from redrive_replays.traces.chat.replies import completion_of
from tests.traces.oracle import check

SHARED = Path(__file__).parents[3] / "shared" / "traces"
GROK = (
    "tau-bench/sierra-research+tau-bench/tau_bench/tool-calling-grok-3-0.0_range_0--1_user-grok-3-llm_0921131646.json"
)
Messages = Sequence[Mapping[str, Any]]

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded traces are not at hand")


class Row(NamedTuple):
    """A line of the index."""

    path: str
    runs: int
    calls: int
    results: int


@cache
def index() -> list[Row]:
    """The files of the formats that are read, as their index has them."""
    if not SHARED.is_dir():
        return []
    with (SHARED / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    kept = [row for row in rows if row["format"] in {"openai-chat", "tau-bench"}]
    return [Row(row["path"], *(int(row[key]) for key in ("runs", "calls", "results"))) for row in kept]


def is_display(path: str) -> bool:
    """Whether a file holds conversations as text for display only."""
    return "few_shot_data" in path


def is_wrapped(path: str) -> bool:
    """Whether a file holds the result of a test, in which the index counted nothing."""
    return "invariant" in path


IMPORTED = [row for row in index() if not is_display(row.path)]


@cache
def imported(path: str) -> tuple[MemoryLog, FileReport]:
    """A file in a log of its own, once."""
    log = MemoryLog()
    return log, import_file(SHARED / path, log)


@cache
def outcomes(path: str) -> list[tuple[str, tuple[str, ...], str]]:
    """How each run of a file replays, what of the program has changed, and its status; once."""
    log, report = imported(path)
    found = ((replay(recording_of(log, run)), status(fold(log.read(run)))) for run in report.runs)
    return [(again.outcome, again.changed_parts, ended) for again, ended in found]


def conversations(path: str) -> list[Messages]:
    """The messages of each run of a file, the reply of a response behind those of its request."""
    value = json.loads((SHARED / path).read_bytes())
    if isinstance(value, list):
        return [one["traj"] for one in value] if "traj" in value[0] else [value]
    if isinstance(value.get("trace"), dict):
        return [value["trace"]["trace"]]
    response = completion_of(value["response"])
    assert response is not None
    return [[*value.get("request", value)["messages"], response["choices"][0]["message"]]]


@pytest.mark.parametrize("row", IMPORTED, ids=lambda row: row.path)
def test_counts_are_those_of_the_index(row: Row) -> None:
    """Or the difference is known: the index counts no call inside a test's result, nor in the response to a request."""
    _, report = imported(row.path)
    theirs = conversations(row.path)
    calls = sum(len(message.get("tool_calls") or ()) for said in theirs for message in said)
    results = sum(message["role"] == "tool" for said in theirs for message in said)
    assert (len(report.runs), report.calls, report.results) == (row.runs, calls, results)
    in_response = len(theirs[0][-1].get("tool_calls") or ()) if "llm-logs/" in row.path else 0
    if not is_wrapped(row.path):
        assert (report.calls - in_response, report.results) == (row.calls, row.results)
    assert report.diagnostics == []


@pytest.mark.parametrize("row", IMPORTED, ids=lambda row: row.path)
def test_every_turn_is_asked_with_the_files_own_messages(row: Row) -> None:
    """Role by role and text by text."""
    log, report = imported(row.path)
    for run, messages in zip(report.runs, conversations(row.path), strict=True):
        assert check(list(log.read(run)), messages) == sum(message["role"] == "assistant" for message in messages)


@pytest.mark.parametrize("row", IMPORTED, ids=lambda row: row.path)
def test_every_run_replays(row: Row) -> None:
    """With the program that is found from the log alone."""
    _, report = imported(row.path)
    assert report.grades == {"full": row.runs}
    for outcome, changed, ended in outcomes(row.path):
        assert (outcome, changed) == ("same, unfinished" if ended == "unfinished" else "same", ())


@pytest.mark.parametrize("row", [row for row in index() if is_display(row.path)], ids=lambda row: row.path)
def test_text_for_display_is_refused(row: Row) -> None:
    """There is no message in it, so there is nothing to drive."""
    log = MemoryLog()
    with pytest.raises(BadInput, match="text for display"):
        import_file(SHARED / row.path, log)
    assert list(log.runs()) == []


def test_the_grok_file_is_what_its_makers_say() -> None:
    """115 attempts with a mean reward of 0.58435, of which 17 end without a reply, and none can be called a success."""
    log, report = imported(GROK)
    assert (len(report.runs), report.added) == (115, 115)
    found = Counter((outcome, ended) for outcome, _, ended in outcomes(GROK))
    assert found == {("same", "finished"): 98, ("same, unfinished", "unfinished"): 17}
    notes = (record.event for run in report.runs for record in log.read(f"{run}@notes"))
    rewards = [event.value for event in notes if isinstance(event, AnnotationMade) and event.name == "reward"]
    assert (len(rewards), round(sum(rewards) / len(rewards), 5)) == (115, 0.58435)


def test_the_grok_files_calls_stand_in_the_log_in_their_order() -> None:
    """All 932, each with its arguments and its own result."""
    log, report = imported(GROK)
    count = 0
    for run, messages in zip(report.runs, conversations(GROK), strict=True):
        events = [record.event for record in log.read(run)]
        called = [(event.tool, event.arguments) for event in events if isinstance(event, ToolCalled)]
        seen = [(event.call, event.content) for event in events if isinstance(event, ObservationReceived)]
        calls = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
        results = [message["content"] for message in messages if message["role"] == "tool"]
        assert called == [(call["name"], json.loads(call["arguments"])) for call in calls]
        assert seen == list(enumerate(results, start=1))
        count += len(called)
    assert count == 932


def test_the_grok_file_goes_into_a_file_once(tmp_path: Path) -> None:
    """Again adds nothing, and the stored records are those of a log in memory."""
    log = SqliteLog(tmp_path / "log.db")
    first = import_file(SHARED / GROK, log)
    again = import_file(SHARED / GROK, log)
    assert (first.added, again.added, again.runs) == (115, 0, first.runs)
    memory, _ = imported(GROK)
    assert list(log.runs()) == list(memory.runs())
    log.close()
