"""tau2-bench: the agent's calls are calls, the user's are words of the user's, and rewards can be asked for in SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from redrive_events import (
    AnnotationMade,
    BadInput,
    MemoryLog,
    MessageReceived,
    ModelReplied,
    ObservationReceived,
    RunStarted,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from redrive_projections import fold, status
from redrive_projections.history import ask
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes, import_file
from tests.traces.oracle import check
from tests.traces.shared import AT_HAND, Row, content, imported, replays, rows

HERE = Path(__file__).parent.parent / "fixtures" / "traces" / "tau2-bench"
SONNET = "claude-sonnet-4-5_airline_default_gpt4.1_1trials.json"
REFUSED = {
    "experiment/results.json": "tau2 results without simulations: each of them is a file of its own, import those",
    "submission.json": "an entry of the tau2 leaderboard: figures only; its runs are other files",
}
ROWS = rows("tau2-bench")
PASS = """
SELECT avg(rate) FROM (
    SELECT labels['task_id'] AS task, avg(CAST(abs(value_number - 1) < 1e-6 AS INT)) AS rate
    FROM annotations JOIN runs USING (run) WHERE name = 'reward' GROUP BY task
)
"""


def fixture(name: str) -> tuple[MemoryLog, FileReport]:
    """A fixture in a log of its own."""
    log = MemoryLog()
    return log, import_file(HERE / name, log)


def remarks(log: MemoryLog, run: str, name: str) -> list[Any]:
    """What stands beside a run under a name."""
    notes = (record.event for record in log.read(f"{run}@notes"))
    return [event.value for event in notes if isinstance(event, AnnotationMade) and event.name == name]


def events(log: MemoryLog, run: str, kind: type) -> list[Any]:
    """The events of one kind."""
    return [record.event for record in log.read(run) if type(record.event) is kind]


def as_chat(messages: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """tau2's messages as the oracle reads them; what came of a user's call answers none of the agent's."""
    for one in messages:
        calls = [{"id": call["id"], "function": call} for call in one.get("tool_calls") or ()]
        answers = one["id"] if one["role"] == "tool" and one["requestor"] == "assistant" else ""
        yield {"role": one["role"], "content": one["content"], "tool_calls": calls, "tool_call_id": answers}


def refusal(path: str) -> str:
    """Why a file has no run."""
    return next((why for end, why in REFUSED.items() if path.endswith(end)), "")


def test_a_file_of_simulations_becomes_runs() -> None:
    """A conversation that its user ended, one the agent ended, one that broke off, and one without a user."""
    log, report = fixture("monolith.json")
    statuses = [status(fold(log.read(run))) for run in report.runs]
    assert statuses == ["finished", "finished", "unfinished", "unfinished"]
    assert (report.calls, report.results, report.unpaired) == (6, 5, 0)
    assert report.grades == {"full": 3, "view-only": 1}
    assert [str(one) for one in report.diagnostics] == ["entry 3: not a simulation, left out"]
    assert {replay(recording_of(log, run)).outcome for run in report.runs} == {"same", "same, unfinished"}
    simulations = json.loads((HERE / "monolith.json").read_bytes())["simulations"]
    for run, simulation in zip(report.runs, (one for one in simulations if "messages" in one), strict=True):
        check(list(log.read(run)), list(as_chat(simulation["messages"])))


def test_a_users_calls_are_the_users() -> None:
    """They, and what came of them, are words to the agent, whose model was not shown them."""
    log, report = fixture("monolith.json")
    said = [(one.actor, one.content) for one in events(log, report.runs[0], MessageReceived)]
    assert said[2:5] == [
        (
            "user",
            (
                ToolUse(name="press_switch", arguments='{"on":true}', id="u1"),
                ToolUse(name="look", arguments="{}", id="u2"),
            ),
        ),
        ("tool", "click"),
        ("tool", "Error: too dark"),
    ]
    of_the_user = [one for one in remarks(log, report.runs[0], "extras") if one.get("requestor") == "user"]
    assert of_the_user[1:] == [
        {"turn_idx": 7, "requestor": "user", "id": "u1", "error": False},
        {"turn_idx": 8, "requestor": "user", "id": "u2", "error": True},
    ]
    assert (
        report.missing["that the model was not shown the user's own calls (inferred; they stand in its transcript)"]
        == 1
    )


def test_results_keep_their_error_and_replies_what_they_cost() -> None:
    """Ids repeat within a turn; a cost is in millionths; the times are of an unknown zone."""
    log, report = fixture("monolith.json")
    run = report.runs[0]
    seen = [(one.call, one.status, one.content) for one in events(log, run, ObservationReceived)]
    assert seen == [(1, "ok", "kettle 7: off"), (2, "error", "Error: no kettle 8"), (3, "ok", "kettle 7: on")]
    assert events(log, run, ModelReplied)[2] == ModelReplied(
        content=(Text(text="I will check."), ToolUse(name="get_kettle", arguments='{"id":7}', id="get_0")),
        finish="tool_calls",
        usage=Usage(input=110, output=7),
        cost_micros=2000,
    )
    (started,) = events(log, run, RunStarted)
    assert (started.clock, started.agent, started.contract.model) == ("naive", "llm_agent", "kettle-2")
    assert started.contract.parameters == {"temperature": 0.0}
    assert started.labels == {"domain": "kitchen", "task_id": "cold", "trial": "0"}
    times = [record.at.isoformat() for record in log.read(run)]
    assert (times[0], times[-1]) == ("2026-02-03T10:00:00+00:00", "2026-02-03T10:00:14.000014+00:00")


def test_what_is_known_of_a_simulation_stands_beside_it() -> None:
    """Reward, end, task and policy; a reward that was never given is none."""
    log, report = fixture("monolith.json")
    names = ("reward", "termination_reason", "task", "policy", "agent_cost")
    assert [[*remarks(log, run, name)] for run in report.runs[:1] for name in names] == [
        [1.0],
        ["user_stop"],
        [{"id": "cold", "description": {"purpose": "heat"}}],
        ["# Kitchen policy"],
        [0.008],
    ]
    assert [remarks(log, report.runs[2], name) for name in names[:2]] == [[], ["infrastructure_error"]]
    assert ask(log, PASS).rows == [(0.25,)]


@pytest.mark.parametrize(
    ("name", "runs", "grades"),
    [
        pytest.param("split-simulation.json", 1, {"full": 1}, id="a file for each"),
        pytest.param("bare-list.json", 2, {"full": 2}, id="a bare list"),
        pytest.param("full-duplex.json", 1, {"view-only": 1}, id="speech"),
    ],
)
def test_other_layouts_say_what_they_lack(name: str, runs: int, grades: dict[str, int]) -> None:
    """The agent's name and model stand in another file."""
    log, report = fixture(name)
    assert (len(report.runs), report.grades) == (runs, grades)
    assert report.missing["the agent and its model (they stand in results.json)"] == runs
    assert remarks(log, report.runs[0], "termination_reason")


def test_results_that_were_kept_together_are_one_each() -> None:
    """As they stand in memory; with nothing in them, there is nothing."""
    value = json.loads((HERE / "split-simulation.json").read_bytes())
    messages = value["messages"]
    value["messages"] = [*messages[:3], {"role": "tool", "tool_messages": messages[3:5]}, messages[5]]
    report = import_bytes(json.dumps(value).encode(), "together", MemoryLog())
    assert (report.calls, report.results, report.unpaired) == (2, 2, 0)
    value["messages"] = [{"role": "tool", "tool_messages": []}]
    assert import_bytes(json.dumps(value).encode(), "nothing", MemoryLog()).calls == 0


def test_speech_keeps_what_was_said_and_done() -> None:
    """Silence and sound are left out; there are no turns to drive."""
    log, report = fixture("full-duplex.json")
    (tick,) = remarks(log, report.runs[0], "tick")
    assert (tick["tick_id"], tick["agent_chunk"]["content"], report.calls, report.results) == (1, "Good day", 1, 1)


@pytest.mark.parametrize(
    ("name", "why"),
    [("split-results.json", REFUSED["experiment/results.json"]), ("submission.json", REFUSED["submission.json"])],
)
def test_files_without_runs_are_refused_with_the_reason(name: str, why: str) -> None:
    """And nothing of them is kept."""
    log = MemoryLog()
    with pytest.raises(BadInput, match=why.split(":", maxsplit=1)[0]):
        import_file(HERE / name, log)
    assert list(log.runs()) == []


def test_raw_replies_may_be_whole_completions() -> None:
    """Model, id, end and tokens are read from them; the cached ones stand nowhere else."""
    usage = {"prompt_tokens": 50, "completion_tokens": 4}
    made = {"role": "assistant", "content": "Which one?", "reasoning_content": "Two of them."}
    raw = {
        "id": "c-1",
        "object": "chat.completion",
        "model": "desk-1",
        "choices": [{"index": 0, "finish_reason": "stop", "message": made}],
        "usage": {**usage, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 15},
        "system_fingerprint": "fp",
    }
    messages = [
        {"role": "user", "content": "Cancel my seat.", "tool_calls": None},
        {"role": "assistant", "content": "Which one?", "cost": 0.002, "usage": usage, "raw_data": raw},
        {"role": "user", "content": "###STOP###", "raw_data": {**raw, "usage": None, "system_fingerprint": None}},
    ]
    value: dict[str, Any] = {"task_id": "1", "termination_reason": "user_stop", "messages": messages}
    value |= {"reward": 0, "reward_info": {"reward": 1.0}}
    log = MemoryLog()
    (run,) = import_bytes(json.dumps({"simulations": [value]}).encode(), "reduced.json", log).runs
    (reply,) = events(log, run, ModelReplied)
    assert (reply.finish, reply.model, reply.response_id, reply.cost_micros) == ("stop", "desk-1", "c-1", 2000)
    assert reply.usage == Usage(input=5, cache_read=30, cache_write=15, output=4)
    assert reply.content == (Thinking(text="Two of them."), Text(text="Which one?"))
    beside = [one["raw_data"] for one in remarks(log, run, "extras")]
    assert beside == [{"system_fingerprint": "fp"}, {"id": "c-1", "model": "desk-1"}]
    assert (remarks(log, run, "reward"), remarks(log, run, "simulation.reward")) == ([1.0], [0])


def test_results_that_are_not_whole_are_still_simulations() -> None:
    """Some leave out when the file was made, its tasks, or how a simulation ended."""
    messages = [{"role": "user", "content": "Cancel."}, {"role": "assistant", "content": "Done."}]
    simulation = {"task_id": "1", "reward_info": {"reward": 1.0}, "messages": messages}
    value = {"info": {"agent_info": {"llm": "desk-1"}}, "simulations": [simulation]}
    for one in (value, {**value, "tasks": [{"id": "1"}]}):
        log = MemoryLog()
        report = import_bytes(json.dumps(one).encode(), "part.json", log)
        (started,) = events(log, report.runs[0], RunStarted)
        assert (report.format, started.contract.model) == ("tau2-bench", "desk-1")


@AT_HAND
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_recorded_files_count_as_their_index_does(row: Row) -> None:
    """All of them; speech has no turns, and files without a run are refused."""
    found = imported(row.path)
    assert found.refused == refusal(row.path)
    if not found.refused:
        assert len(found.report.runs) == row.runs
        assert (found.report.calls, found.report.results) == (row.calls, row.results)
        assert (found.report.unpaired, found.report.diagnostics) == (row.unanswered or 0, [])


@AT_HAND
@pytest.mark.parametrize("row", [row for row in ROWS if not refusal(row.path)], ids=lambda row: row.path)
def test_recorded_runs_are_asked_with_the_files_own_messages(row: Row) -> None:
    """At every turn, and each replays."""
    found = imported(row.path)
    value = content(row.path)
    for run, simulation in zip(found.report.runs, value.get("simulations", [value]), strict=True):
        messages = list(as_chat(simulation.get("messages", [])))
        greeting = bool(messages)
        assert check(list(found.log.read(run)), messages) == sum(
            one["role"] == "assistant" for one in messages[greeting:]
        )
    replays(found)


@AT_HAND
def test_the_airline_file_passes_as_often_as_its_makers_say() -> None:
    """pass^1 of 0.72 over 50 tasks, from SQL."""
    found = imported(next(row.path for row in ROWS if row.path.endswith(SONNET)))
    assert ask(found.log, PASS).rows == [(0.72,)]
    assert ask(found.log, "SELECT count(DISTINCT labels['task_id']) FROM runs").rows == [(50,)]
