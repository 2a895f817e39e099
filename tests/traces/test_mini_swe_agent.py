"""mini-swe-agent: what each note on a message becomes, and how every run ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from redrive_events import AnnotationMade, BadInput, MemoryLog, ModelReplied, ObservationReceived, RunStarted, Usage
from redrive_projections import fold, status
from redrive_projections.history import ask
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes, import_file
from tests.traces.oracle import check
from tests.traces.shared import AT_HAND, Row, content, imported, replays, rows

HERE = Path(__file__).parent.parent / "fixtures" / "traces" / "mini-swe-agent"
REFUSED = {
    "README.md": "not JSON",
    ".yaml": "not JSON",
    "preds.json": "predictions: a patch for each task, and no messages; the trajectories are other files",
}
ROWS = rows("mini-swe-agent")
EXITS = "SELECT value_text, count(*) FROM annotations WHERE name = 'exit_status' GROUP BY ALL"


def fixture(name: str) -> tuple[MemoryLog, FileReport]:
    """A fixture in a log of its own."""
    log = MemoryLog()
    return log, import_file(HERE / name, log)


def events(log: MemoryLog, run: str, kind: type) -> list[Any]:
    """The events of one kind."""
    return [record.event for record in log.read(run) if type(record.event) is kind]


def remarks(log: MemoryLog, run: str, name: str) -> list[Any]:
    """What stands beside a run under a name."""
    return [one.value for one in events(log, f"{run}@notes", AnnotationMade) if one.name == name]


def messages_of(value: Any) -> Sequence[Mapping[str, Any]]:
    """The messages that a model could have seen."""
    messages = value if isinstance(value, list) else value["messages"]
    return [one for one in messages if one["role"] != "exit"]


def refusal(path: str) -> str:
    """Why a file has no run."""
    return next((why for end, why in REFUSED.items() if path.endswith(end)), "")


@pytest.mark.parametrize(
    ("name", "calls", "results", "how", "exits"),
    [
        ("calls.traj.json", 4, 3, "unfinished", [("Submitted", 1)]),
        ("limits.traj.json", 1, 1, "unfinished", [("LimitsExceeded", 1)]),
        ("text.traj.json", 0, 0, "finished", [("Submitted", 1)]),
        ("bare-list.json", 0, 0, "unfinished", []),
    ],
)
def test_a_trajectory_becomes_a_run(name: str, calls: int, results: int, how: str, exits: list[Any]) -> None:
    """The call that submits is never answered; the exit status is the source's word, not the run's status."""
    log, report = fixture(name)
    (run,) = report.runs
    assert (report.format, report.calls, report.results, report.unpaired) == ("mini-swe-agent", calls, results, 0)
    assert report.grades == {"full": 1}
    assert (status(fold(log.read(run))), ask(log, EXITS).rows) == (how, exits)
    assert replay(recording_of(log, run)).same
    messages = messages_of(json.loads((HERE / name).read_bytes()))
    assert check(list(log.read(run)), messages) == sum(one["role"] == "assistant" for one in messages)


def test_notes_on_replies_become_what_they_mean() -> None:
    """Tokens once, the cost in millionths, times in UTC; what has no place of its own stands beside."""
    log, report = fixture("calls.traj.json")
    (run,) = report.runs
    first = events(log, run, ModelReplied)[0]
    assert (first.finish, first.model, first.response_id) == ("tool_calls", "shell-1-0203", "r0")
    assert (first.usage, first.cost_micros) == (Usage(input=40, cache_read=60, output=9, reasoning=4), 250)
    (started,) = events(log, run, RunStarted)
    assert (started.clock, started.labels) == ("utc", {"instance_id": "shed__rakes-1"})
    assert (started.contract.model, started.contract.parameters) == ("shell-1", {"temperature": 0.0})
    times = [record.at.isoformat() for record in log.read(run) if type(record.event) is ObservationReceived]
    assert times[0] == "2026-02-02T02:40:01.250000+00:00"
    assert remarks(log, run, "exit") == [
        {"content": "3\n", "extra": {"exit_status": "Submitted", "submission": "3\n"}},
    ]
    assert remarks(log, run, "extras")[0] == {"response": {"created": 1770000000, "system_fingerprint": "fp"}}


def test_a_command_fails_by_exception_or_return_code() -> None:
    """The whole output is kept where the model saw only its ends."""
    log, report = fixture("calls.traj.json")
    (run,) = report.runs
    assert [one.status for one in events(log, run, ObservationReceived)] == ["ok", "error", "error"]
    whole = [one["raw_output"] for one in remarks(log, run, "extras") if "raw_output" in one]
    assert whole == ["a" * 30]
    assert {"interrupt_type": "FormatError"} in remarks(log, run, "extras")


def test_a_run_that_broke_off_at_once_is_only_to_look_at() -> None:
    """Its exit status is the exception's name."""
    log = MemoryLog()
    value = {"info": {"exit_status": "Timeout"}, "messages": [], "trajectory_format": "mini-swe-agent-1.1"}
    report = import_bytes(json.dumps(value).encode(), "nothing.traj.json", log)
    assert (report.grades, ask(log, EXITS).rows) == ({"view-only": 1}, [("Timeout", 1)])


def test_whole_responses_stand_for_their_replies() -> None:
    """So it is where the model speaks the Responses API: each reply is a response, each result an item."""
    output = [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Count them."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Counting."}]},
        {"type": "function_call", "id": "fc", "call_id": "c1", "name": "bash", "arguments": '{"command":"ls"}'},
    ]
    usage = {"input_tokens": 100, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 60}}
    response = {"id": "r1", "object": "response", "model": "shell-1", "status": "completed", "usage": usage}
    notes = {"cost": 0.00025, "timestamp": 1770000000.0, "actions": [{"command": "ls", "tool_call_id": "c1"}]}
    shown = {"type": "function_call_output", "call_id": "c1", "output": "<output>rake</output>"}
    messages = [
        {"role": "system", "content": "A shed."},
        {"role": "user", "content": "How many rakes?"},
        {**response, "output": output, "extra": notes},
        {**shown, "extra": {"raw_output": "rake", "returncode": 1, "timestamp": 1770000001.25}},
        {"role": "exit", "content": "", "extra": {"exit_status": "LimitsExceeded"}},
    ]
    value = {"info": {"exit_status": "LimitsExceeded"}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    log = MemoryLog()
    report = import_bytes(json.dumps(value).encode(), "responses.traj.json", log)
    (run,) = report.runs
    assert (report.format, report.grades, report.calls, report.results) == ("mini-swe-agent", {"full": 1}, 1, 1)
    (reply,) = events(log, run, ModelReplied)
    assert [type(block).__name__ for block in reply.content] == ["Thinking", "Text", "ToolUse"]
    assert (reply.usage, reply.cost_micros) == (Usage(input=40, cache_read=60, output=9), 250)
    (seen,) = events(log, run, ObservationReceived)
    assert (seen.call, seen.status, seen.content) == (1, "error", "<output>rake</output>")
    (at,) = [record.at.isoformat() for record in log.read(run) if type(record.event) is ObservationReceived]
    assert at == "2026-02-02T02:40:01.250000+00:00"
    assert replay(recording_of(log, run)).outcome == "same, unfinished"


def test_a_bare_list_keeps_its_notes() -> None:
    """Times, tokens and costs stand on its messages as they do in a file of today."""
    value = json.loads((HERE / "text.traj.json").read_bytes())
    messages = [{"role": "system", "content": "A shed."}, *messages_of(value)[1:]]
    log = MemoryLog()
    report = import_bytes(json.dumps(messages).encode(), "bare.json", log)
    whole, original = fixture("text.traj.json")
    assert report.format == "mini-swe-agent"
    replies = events(log, report.runs[0], ModelReplied)
    assert replies == events(whole, original.runs[0], ModelReplied)
    assert any(one.cost_micros for one in replies)


def test_predictions_are_refused_with_the_reason() -> None:
    """A patch is no trajectory."""
    with pytest.raises(BadInput, match="predictions: a patch for each task"):
        fixture("predictions.json")


@AT_HAND
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_recorded_files_count_as_their_index_does(row: Row) -> None:
    """All of them; what a batch leaves beside its trajectories is refused."""
    found = imported(row.path)
    assert found.refused == refusal(row.path)
    assert (len(found.report.runs), found.report.calls, found.report.results) == (
        row.runs,
        row.calls or 0,
        row.results or 0,
    )
    assert found.report.missing.get("the result of a call", 0) == (row.unanswered or 0)


@AT_HAND
@pytest.mark.parametrize("row", [row for row in ROWS if not refusal(row.path)], ids=lambda row: row.path)
def test_recorded_runs_are_asked_with_the_files_own_messages(row: Row) -> None:
    """At every turn, and each replays; the exit status and the tokens are those of the file."""
    found, value = imported(row.path), content(row.path)
    (run,) = found.report.runs
    messages = messages_of(value)
    assert check(list(found.log.read(run)), messages) == sum(one["role"] == "assistant" for one in messages)
    replays(found)
    if isinstance(value, dict):
        assert ask(found.log, EXITS).rows == [(value["info"]["exit_status"], 1)]
        usages = [one["extra"]["response"]["usage"] for one in messages if one["role"] == "assistant"]
        tokens = sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in usages)
        assert ask(found.log, "SELECT tokens FROM runs").rows == [(tokens,)]
