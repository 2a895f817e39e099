"""Codex's rarer kinds: the first Codex's document, what exec printed of old, broken-off runs, and odd outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from redrive_events import MemoryLog, ModelReplied, ObservationReceived, RunStarted, calls_of
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes
from tests.traces.test_codex import events, remarks

META = {"id": "s-1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/bakery", "cli_version": "0.146.0"}


def imported(lines: Sequence[Any]) -> tuple[MemoryLog, FileReport]:
    """Lines in a log of their own, each run of which replays."""
    log = MemoryLog()
    report = import_bytes("\n".join(map(json.dumps, lines)).encode(), "inline", log)
    assert all(replay(recording_of(log, run)).same for run in report.runs)
    return log, report


def line(kind: str, payload: Any) -> dict[str, Any]:
    """A line in its envelope."""
    return {"timestamp": "2026-01-01T00:00:01.000Z", "type": kind, "payload": payload}


def session(*payloads: Any, **meta: Any) -> tuple[MemoryLog, FileReport]:
    """A session of a goal and some items more."""
    goal = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Bake."}]}
    items = [line("response_item", one) if "info" not in one else line("event_msg", one) for one in (goal, *payloads)]
    return imported([line("session_meta", META | meta), *items])


def called(log: MemoryLog, run: str) -> list[tuple[str, str]]:
    """The calls of a run by name and id."""
    replies = events(log, run, ModelReplied)
    return [(call.name, call.id) for one in replies for _, call in calls_of(one.content)]


def test_a_whole_session_of_the_first_codex_in_one_document() -> None:
    """Its head says which session it is; its items are read like those of any other session."""
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Bake."}]},
        {"id": "fc_1", "type": "function_call", "arguments": '{"command":["oven"]}', "call_id": "c1", "name": "shell"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"output":"","metadata":{"exit_code":1}}'},
    ]
    log, report = imported([{"session": {"id": "s-0", "timestamp": "2025-05-01T00:00:00Z"}, "items": items}])
    (run,) = report.runs
    assert (report.format, report.calls, report.results, report.unpaired) == ("codex", 1, 1, 0)
    assert events(log, run, RunStarted)[0].labels == {"session": "s-0"}
    assert [one.status for one in events(log, run, ObservationReceived)] == ["error"]


def test_what_codex_exec_printed_at_first() -> None:
    """Items had their kind under another name, and the agent's words another kind."""
    log, report = imported(
        [
            {"type": "session.created", "session_id": "s-2"},
            {"type": "item.completed", "item": {"id": "i0", "item_type": "reasoning", "text": "Look."}},
            {
                "type": "item.completed",
                "item": {
                    **{"id": "i1", "item_type": "command_execution", "command": "ls", "aggregated_output": "rye"},
                    **{"exit_code": 0, "status": "completed"},
                },
            },
            {"type": "item.completed", "item": {"id": "i2", "item_type": "assistant_message", "text": "Rye."}},
        ]
    )
    (run,) = report.runs
    assert (report.format, report.calls, report.results) == ("codex", 1, 1)
    assert (called(log, run), events(log, run, RunStarted)[0].labels) == (
        [("command_execution", "i1")],
        {"session": "s-2"},
    )
    assert events(log, run, ModelReplied)[-1].content[-1].text == "Rye."


def test_what_codex_exec_printed_of_a_run_that_failed() -> None:
    """An error is no word of the model's; calls of which nothing came are calls, those declined are no successes."""
    log, report = imported(
        [
            {"type": "thread.started", "thread_id": "s-3"},
            {"type": "turn.started"},
            _printed("i1", "mcp_tool_call", server="larder", tool="find", arguments={"q": 1}, error={"message": "no"}),
            _printed("i2", "collab_tool_call", tool="spawn_agent", prompt="Mill.", agents_states={"s-4": {}}),
            _printed("i3", "command_execution", command="rm", aggregated_output="", status="declined"),
            _printed("i4", "command_execution", "item.started", command="sleep", status="in_progress"),
            {"type": "error", "message": "the line went dead"},
            {"type": "turn.failed", "error": {"message": "the line went dead"}},
        ]
    )
    (run,) = report.runs
    assert called(log, run) == [
        *[("find", "i1"), ("spawn_agent", "i2"), ("command_execution", "i3"), ("command_execution", "i4")]
    ]
    assert (report.calls, report.results, report.missing["the result of a call"]) == (4, 3, 1)
    assert [one.status for one in events(log, run, ObservationReceived)] == ["error", "ok", "error"]
    assert remarks(log, run, "verdict") == [{"call": "i3", "verdict": "deny"}]
    assert [one["message"] for one in remarks(log, run, "error")] == ["the line went dead"]
    assert remarks(log, run, "extras")[0] == {"item 0": {"server": "larder"}}


def _printed(label: str, kind: str, state: str = "item.completed", **item: Any) -> dict[str, Any]:
    return {"type": state, "item": {"id": label, "type": kind, "status": "completed", **item}}


def test_an_output_that_is_an_object_is_read_as_the_words_in_it() -> None:
    """One part of text, or words with a mark whether the call went well."""
    log, report = session(
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": {"type": "input_text", "text": "rye"}},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c2", "output": {"content": "burnt", "success": False}},
    )
    (run,) = report.runs
    results = events(log, run, ObservationReceived)
    assert [(one.content, one.status) for one in results] == [("rye", "ok"), ("burnt", "error")]


def test_tokens_written_to_the_cache_are_no_input_a_second_time() -> None:
    """They are told in the session under a name of their own, as part of the input."""
    used = {"input_tokens": 100, "cached_input_tokens": 30, "cache_write_input_tokens": 20, "output_tokens": 8}
    log, report = session(
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Baked."}]},
        {"type": "token_count", "info": {"total_token_usage": used, "last_token_usage": used}},
    )
    (reply,) = events(log, report.runs[0], ModelReplied)
    assert (reply.usage.input, reply.usage.cache_read, reply.usage.cache_write) == (50, 30, 20)


def test_a_review_is_a_session_that_another_began() -> None:
    """It says only what it is for, not which session that was; what passes between agents is known."""
    _, report = session({"type": "context_compaction", "encrypted_content": "seal"}, source={"subagent": "review"})
    assert report.missing["the run that began this one (it is in another file)"] == 1
    assert report.missing["what the model was shown after a compaction (the run keeps all that was said before)"] == 1
    told = line("inter_agent_communication", {"author": "a", "recipient": "b", "content": "Mill."})
    _, report = imported([line("session_meta", META), told])
    assert "what a record of an unknown type means (kept as it came)" not in report.missing


def test_words_that_stand_only_where_they_were_shown_are_the_conversation() -> None:
    """Items of one side alone are no conversation; that this is not all the model was asked with lowers the grade."""
    call = {"type": "function_call", "name": "mill", "arguments": "{}", "call_id": "c1"}
    lines = [line("event_msg", {"type": "user_message", "message": "Bake."}), line("response_item", call)]
    log, report = imported([line("session_meta", META), *lines])
    (run,) = report.runs
    assert (events(log, run, RunStarted)[0].goal, called(log, run)) == ("Bake.", [("mill", "c1")])
    assert report.grades == {"view-only": 1}


def test_an_old_head_may_have_no_instructions() -> None:
    """What follows it tells that it is one."""
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Bake."}]}
    log, report = imported([{"id": "s-5", "timestamp": "2025-08-01T00:00:00Z"}, said])
    assert (report.format, events(log, report.runs[0], RunStarted)[0].goal) == ("codex", "Bake.")


def test_what_codex_exec_printed_before_it_printed_items() -> None:
    """A number and an event on each line: the calls by their begin, the results by their end."""
    told = [
        {"type": "task_started"},
        {"type": "exec_command_begin", "call_id": "c1", "command": ["ls"], "cwd": "/bakery"},
        {"type": "exec_command_end", "call_id": "c1", "stdout": "rye", "stderr": "", "exit_code": 2},
        {"type": "mcp_tool_call_begin", "call_id": "c2", "invocation": {"server": "larder", "tool": "find"}},
        {"type": "mcp_tool_call_end", "call_id": "c2", "result": {"Err": "no"}},
        {"type": "agent_message", "message": "Rye."},
    ]
    lines = [{"id": "0", "msg": one} for one in told]
    log, report = imported([{"workdir": "/bakery", "model": "gpt-x"}, {"prompt": "Bake."}, *lines])
    (run,) = report.runs
    assert (report.format, report.calls, report.results, report.grades) == ("codex", 2, 2, {"view-only": 1})
    assert events(log, run, RunStarted)[0].goal == "Bake."
    assert [one.status for one in events(log, run, ObservationReceived)] == ["error", "error"]
    assert called(log, run) == [("exec_command", "c1"), ("find", "c2")]
    assert events(log, run, ModelReplied)[-1].content[-1].text == "Rye."
