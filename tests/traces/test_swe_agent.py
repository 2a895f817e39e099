"""SWE-agent: the history is driven, demonstrations stand in the prompt, and steps stand beside their replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redrive_events import AnnotationMade, MemoryLog, ObservationReceived, RunStarted
from redrive_projections import fold, status
from redrive_projections.history import ask
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes, import_file
from tests.traces.oracle import check
from tests.traces.shared import AT_HAND, Row, content, imported, replays, rows

HERE = Path(__file__).parent.parent / "fixtures" / "traces" / "swe-agent"
ROWS = rows("swe-agent")


def fixture(name: str) -> tuple[MemoryLog, FileReport]:
    """A fixture in a log of its own."""
    log = MemoryLog()
    return log, import_file(HERE / name, log)


def remarks(log: MemoryLog, run: str, name: str) -> list[Any]:
    """What stands beside a run under a name."""
    notes = (record.event for record in log.read(f"{run}@notes"))
    return [event.value for event in notes if isinstance(event, AnnotationMade) and event.name == name]


@pytest.mark.parametrize(
    ("name", "calls", "lacks"),
    [
        ("calls.traj", 3, "the reply of a step (the history has none; the step stands beside the run)"),
        (
            "text.traj",
            0,
            "how the history was shortened for the model (its own requests stand in the steps)",
        ),
        ("history-alone.traj", 1, "how it ended and what it cost (only the history was kept)"),
    ],
)
def test_a_trajectory_becomes_a_run(name: str, calls: int, lacks: str) -> None:
    """At every turn the model is asked with the history as it was kept."""
    log, report = fixture(name)
    (run,) = report.runs
    assert (report.format, report.calls, report.results, report.unpaired) == ("swe-agent", calls, calls, 0)
    assert (report.grades, report.missing[lacks]) == ({"full": 1}, 1)
    assert (status(fold(log.read(run))), replay(recording_of(log, run)).outcome) == ("unfinished", "same, unfinished")
    history = json.loads((HERE / name).read_bytes())["history"]
    replies = sum(one["role"] == "assistant" and not one.get("is_demo") for one in history)
    assert check(list(log.read(run)), history) == replies


def test_demonstrations_stand_in_the_prompt() -> None:
    """Nobody said them in this run: what was asked for is the instance."""
    log, report = fixture("calls.traj")
    started = next(record.event for record in log.read(report.runs[0]))
    assert isinstance(started, RunStarted)
    assert [(one["role"], one["content"]) for one in started.parts["prompt"].data] == [
        ("system", "Setting: a shed."),
        ("user", "Example: find a hoe."),
        ("assistant", "find hoe"),
    ]
    assert (started.goal, started.contract.model) == ("Mend the rake.", "shed-1")


def test_steps_stand_beside_their_replies() -> None:
    """State and time; a step that is in no message stands by itself, a state written as text is read."""
    log, report = fixture("calls.traj")
    (run,) = report.runs
    found = [one["step"] for one in remarks(log, run, "extras") if "step" in one]
    state = {"open_file": "rake.py", "working_dir": "/shed"}
    assert found == [{"execution_time": seconds, "state": state} for seconds in (0.25, 0.5, 0.125)]
    assert [one["response"] for one in remarks(log, run, "step")] == ["Bad reply"]
    log, report = fixture("text.traj")
    states = [one["step"]["state"] for one in remarks(log, report.runs[0], "extras") if "step" in one]
    assert states == [{"open_file": "n/a", "working_dir": "/shed"}, {"open_file": "n/a"}]


def test_a_run_that_broke_off_at_once_is_only_to_look_at() -> None:
    """How it ended is still to be asked for."""
    log = MemoryLog()
    value = {"environment": "shed", "trajectory": [], "history": [], "info": {"exit_status": "exit_error"}}
    report = import_bytes(json.dumps(value).encode(), "nothing.traj", log)
    assert (report.grades, remarks(log, report.runs[0], "exit_status")) == ({"view-only": 1}, ["exit_error"])


@pytest.mark.parametrize("chosen", [True, False])
def test_each_attempt_at_a_task_is_a_run(chosen: bool) -> None:
    """What stands around the attempts repeats the chosen one, and what all of them cost."""
    attempts = [json.loads((HERE / name).read_bytes()) for name in ("calls.traj", "text.traj")]
    value: dict[str, Any] = {"attempts": attempts}
    if chosen:
        stats = {"instance_cost": 4.5}
        value |= {**attempts[1], "info": {**attempts[1]["info"], "best_attempt_idx": 1, "model_stats": stats}}
    log = MemoryLog()
    report = import_bytes(json.dumps(value).encode(), "tried-again.traj", log)
    first, second = report.runs
    assert (report.format, report.calls, report.grades) == ("swe-agent", 3, {"full": 2})
    for run, attempt in zip(report.runs, attempts, strict=True):
        assert check(list(log.read(run)), attempt["history"]) > 0
    assert remarks(log, second, "chosen.model_stats") == ([{"instance_cost": 4.5}] if chosen else [])
    assert remarks(log, first, "chosen.model_stats") == []


def _step(action: str, observation: str, **more: Any) -> dict[str, Any]:
    return {"action": action, "observation": observation, "response": f"So.\n{action}", "thought": "So.", **more}


@pytest.mark.parametrize("history", [{}, {"history": None}, {"history": []}])
def test_steps_alone_are_only_to_look_at(history: dict[str, Any]) -> None:
    """Replies and what came of them are there, what the model was asked with is not."""
    steps = [_step("ls", "rake", execution_time=0.5), _step("submit", "diff")]
    log = MemoryLog()
    value = {"trajectory": steps, "info": {"exit_status": "submitted"}, **history}
    report = import_bytes(json.dumps(value).encode(), "steps.traj", log)
    (run,) = report.runs
    assert (report.format, report.grades, report.calls) == ("swe-agent", {"view-only": 1}, 0)
    assert report.missing["what the model was asked with (only the steps were kept)"] == 1
    assert remarks(log, run, "exit_status") == ["submitted"]
    assert [one["step"]["execution_time"] for one in remarks(log, run, "extras")[:1]] == [0.5]
    spoken = (("assistant", "response"), ("tool", "observation"))
    said = [{"role": role, "content": step[key]} for step in steps for role, key in spoken]
    assert check(list(log.read(run)), said) == 2


@pytest.mark.parametrize("name", ["query", "messages"])
def test_steps_with_their_requests_tell_the_whole_history(name: str) -> None:
    """Each request goes on from the one before; what was said in between is in the next."""
    history = [
        {"role": "system", "content": "A shed."},
        {"role": "user", "content": "Mend the rake."},
        {"role": "assistant", "content": "So.\nls"},
        {"role": "user", "content": "rake\n(cwd: /shed)"},
        {"role": "assistant", "content": "So.\nsubmit"},
        {"role": "user", "content": "diff"},
    ]
    steps = [_step("ls", "rake", **{name: history[:2]}), _step("submit", "diff", **{name: history[:4]})]
    log = MemoryLog()
    report = import_bytes(json.dumps({"trajectory": steps}).encode(), "steps.traj", log)
    assert report.grades == {"full": 1}
    assert check(list(log.read(report.runs[0])), history) == 2
    steps[1][name] = history[:1]
    assert import_bytes(json.dumps({"trajectory": steps}).encode(), "torn.traj", log).grades == {"view-only": 1}


def test_rows_of_a_data_set_are_trajectories() -> None:
    """Their turns have the words in a field of their own, and the model is the AI."""
    turns: list[dict[str, Any]] = [
        {"role": "system", "system_prompt": "A shed.", "text": None, "mask": False},
        {"role": "user", "text": "Mend the rake."},
        {"role": "ai", "text": "ls", "mask": True},
        {"role": "user", "text": "rake"},
    ]
    row = {"instance_id": "shed-1", "model_name": "shed-1", "trajectory": turns, "exit_status": "submitted"}
    log = MemoryLog()
    report = import_bytes(json.dumps(row).encode(), "rows.jsonl", log)
    (run,) = report.runs
    assert (report.format, remarks(log, run, "exit_status")) == ("swe-agent", ["submitted"])
    roles = ("system", "user", "assistant", "user")
    words = [one["text"] or one["system_prompt"] for one in turns]
    messages = [{"role": role, "content": said} for role, said in zip(roles, words, strict=True)]
    assert check(list(log.read(run)), messages) == 1


def test_the_end_is_what_the_source_says() -> None:
    """In SQL, beside the run."""
    log, _ = fixture("text.traj")
    query = "SELECT name, value_text FROM annotations WHERE name IN ('exit_status', 'submission') ORDER BY note"
    assert ask(log, query).rows == [("exit_status", "submitted (exit_cost)"), ("submission", "diff")]


def test_repeated_ids_are_paired_by_place() -> None:
    """Line ends stay as the shell wrote them."""
    log, report = fixture("calls.traj")
    events = [record.event for record in log.read(report.runs[0])]
    seen = [(one.call, one.content) for one in events if isinstance(one, ObservationReceived)]
    assert seen == [(1, "[File: rake.py]\r\n1:tines\r\n"), (2, "Edited."), (3, "diff --git a/rake.py")]


@AT_HAND
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_recorded_runs_are_asked_with_the_files_own_messages(row: Row) -> None:
    """Counts as the index has them, every turn, each replays, and the exit status is the file's."""
    found, value = imported(row.path), content(row.path)
    (run,) = found.report.runs
    counts = (len(found.report.runs), found.report.calls, found.report.results)
    assert counts == (row.runs, row.calls, row.results)
    history = value["history"]
    replies = sum(one["role"] == "assistant" and not one.get("is_demo") for one in history)
    assert check(list(found.log.read(run)), history) == replies
    replays(found)
    exits = [value["info"]["exit_status"]] if "info" in value else []
    assert remarks(found.log, run, "exit_status") == exits
