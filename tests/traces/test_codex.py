"""Codex's sessions of every age: one run each, tokens once, and what was rolled back beside."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from redrive_events import (
    AnnotationMade,
    MemoryLog,
    ModelReplied,
    ObservationReceived,
    RunStarted,
    Thinking,
    ToolUse,
    Usage,
)
from redrive_projections.history import ask
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes, import_file
from tests.traces.oracle import check
from tests.traces.test_responses import retold

HERE = Path(__file__).parent.parent / "fixtures" / "traces" / "codex"
SHARED = Path(__file__).parents[3] / "shared" / "traces"
# Files whose calls or results have types of their own: the index did not count them all.
OWN_TYPES = {"large.jsonl": (1, 1), "schema_drift.jsonl": (1, 1)}


def imported(path: Path) -> tuple[MemoryLog, FileReport]:
    """A file in a log of its own."""
    log = MemoryLog()
    return log, import_file(path, log)


def events(log: MemoryLog, run: str, kind: type) -> list[Any]:
    """The events of one kind."""
    return [record.event for record in log.read(run) if type(record.event) is kind]


def remarks(log: MemoryLog, run: str, name: str) -> list[Any]:
    """What stands beside a run under a name."""
    notes = [record.event for record in log.read(f"{run}@notes")]
    return [note.value for note in notes if isinstance(note, AnnotationMade) and note.name == name]


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The records of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def items_of(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The items of a session in envelopes."""
    items = [line["payload"] for line in lines if line["type"] == "response_item"]
    return [item for item in items if item["type"] != "ghost_snapshot"]


def test_a_session() -> None:
    """Whole values: sealed reasoning, errors by their exit codes, and the tokens of each reply."""
    log, report = imported(HERE / "session.jsonl")
    main, back = report.runs
    assert (report.format, report.calls, report.results, report.unpaired) == ("codex", 5, 4, 0)
    assert (report.grades, report.diagnostics) == ({"full": 2}, [])
    (started,), (again,) = events(log, main, RunStarted), events(log, back, RunStarted)
    assert started.labels == {
        "session": "s-1",
        "cwd": "/bakery",
        "originator": "codex_exec",
        "version": "0.90.0",
        "provider": "ovens",
        "git_commit_hash": "c0ffee",
        "git_branch": "main",
        "source": "exec",
    }
    assert started.parts["prompt"].data == [{"role": "system", "content": "You run a bakery."}]
    first, *_ = replies = events(log, main, ModelReplied)
    assert first.content == (
        Thinking(text="**Ovens**", signature="gAAA="),
        ToolUse(name="shell", arguments='{"command":["ls"]}', id="c1"),
        ToolUse(name="shell", arguments='{"command":["cat"]}', id="c2"),
    )
    assert [one.usage for one in replies] == [
        Usage(input=60, cache_read=40, output=10),
        Usage(input=100, cache_read=100, output=20),
        Usage(input=100, cache_read=200, output=5),
        None,
        Usage(input=100, cache_read=400, output=7),
        None,
    ]
    assert [one.usage for one in events(log, back, ModelReplied)] == [Usage(input=100, cache_read=300, output=6)]
    seen = events(log, main, ObservationReceived)
    assert [(one.call, one.status) for one in seen] == [(1, "ok"), (2, "error"), (3, "ok"), (4, "ok")]
    assert again.labels["taken_back_from"] == "0"
    assert [said["role"] for said in again.parts["prompt"].data][-2:] == ["tool", "assistant"]
    items = items_of(lines_of(HERE / "session.jsonl"))
    system = {"role": "system", "content": "You run a bakery."}
    told = [system, *retold([*items[:10], *items[12:]])]
    assert check(list(log.read(main)), told) == 6
    for run in report.runs:
        assert replay(recording_of(log, run)).same


def test_what_a_session_knows_of_itself_is_kept_at_its_place() -> None:
    """Verdicts, compactions, settings that changed, what is unknown; not what an item says already."""
    log, report = imported(HERE / "session.jsonl")
    main = report.runs[0]
    assert remarks(log, main, "verdict") == [{"call": "c3", "verdict": "denied", "by": "guardian", "reason": "hot"}]
    assert remarks(log, main, "compacted") == [{"message": "It is blue."}]
    assert len(remarks(log, main, "turn_context")) == 1
    assert remarks(log, main, "exec_command_end") == [{"type": "exec_command_end", "call_id": "c1", "exit_code": 0}]
    assert remarks(log, main, "thread_rolled_back") == [{"type": "thread_rolled_back", "num_turns": 1}]
    assert remarks(log, main, "moon_phase")
    assert remarks(log, main, "star_sign")[0]["payload"] == {"sign": "crab"}
    assert not remarks(log, main, "user_message")
    extras = remarks(log, main, "extras")
    assert [one for one in extras if "exit_code" in one] == [
        {"exit_code": 0, "duration_seconds": 0.5},
        {"exit_code": 2},
    ]
    assert report.missing["what a record of an unknown type means (kept as it came)"] == 1
    compacted = "what the model was shown after a compaction (the run keeps all that was said before)"
    assert report.missing[compacted] == 1


def test_an_old_session_without_envelopes() -> None:
    """Items as they are: no times, and calls whose id stands elsewhere."""
    log, report = imported(HERE / "old.jsonl")
    (run,) = report.runs
    assert (report.calls, report.results, report.unpaired, report.grades) == (2, 1, 0, {"full": 1})
    assert report.missing["times"] == 1
    (seen,) = events(log, run, ObservationReceived)
    assert (seen.call, seen.status) == (1, "error")
    (started,) = events(log, run, RunStarted)
    assert (started.goal, started.labels) == ("List.", {"session": "s-0", "git_branch": "main"})


def test_what_codex_exec_prints() -> None:
    """Calls and their results; what was asked is not there, so it is only to look at."""
    log, report = imported(HERE / "exec.jsonl")
    (run,) = report.runs
    assert (report.calls, report.results, report.grades) == (2, 2, {"view-only": 1})
    seen = events(log, run, ObservationReceived)
    assert [(one.content, one.status) for one in seen] == [("a\n", "error"), ('{"message":"closed"}', "error")]
    assert [one.usage for one in events(log, run, ModelReplied)] == [
        None,
        None,
        Usage(input=30, cache_read=20, output=9),
    ]
    assert remarks(log, run, "todo_list")[0]["items"] == [{"text": "bake", "completed": True}]


def test_a_sub_agent_has_the_words_of_its_session_as_given() -> None:
    """What was said before it began is no reply of its own; who began it is told."""
    log, report = imported(HERE / "forked.jsonl")
    (run,) = report.runs
    (started,) = events(log, run, RunStarted)
    assert (started.agent, started.labels["parent_session"], started.labels["forked_from"]) == ("miller", "s-1", "s-1")
    assert [said["role"] for said in started.parts["prompt"].data] == ["user", "assistant", "tool"]
    assert started.parts["prompt"].data[2]["call_id"] == "c1"
    assert (report.calls, started.goal, len(events(log, run, ModelReplied))) == (0, "Mill 2 kg.", 1)
    assert report.missing["the run that began this one (it is in another file)"] == 1
    assert replay(recording_of(log, run)).same


def _forked(copied: str, fork: str) -> bytes:
    """A session that goes on from another, all lines of which were copied at one time."""
    lines = [json.loads(line) for line in (HERE / "forked.jsonl").read_bytes().splitlines()]
    head = {"id": "s-2", "timestamp": "2026-01-01T00:00:30.000Z", **({"forked_from_id": fork} if fork else {})}
    lines[0]["payload"] = head
    used = {"total_token_usage": {"input_tokens": 9}, "last_token_usage": {"input_tokens": 9, "output_tokens": 4}}
    lines.insert(4, {"type": "event_msg", "payload": {"type": "token_count", "info": used}})
    lines[2:6] = [{**line, "timestamp": copied} for line in lines[2:6]]
    return "\n".join(map(json.dumps, lines)).encode()


@pytest.mark.parametrize("fork", ["s-1", ""], ids=["as it says", "by the other's head"])
@pytest.mark.parametrize(
    ("copied", "inferred"), [("2026-01-01T00:00:05.000Z", 0), ("2026-01-01T00:00:32.100Z", 1)], ids=["kept", "copied"]
)
def test_a_fork_has_the_words_of_the_other_session_as_given(copied: str, inferred: int, fork: str) -> None:
    """So no token counts twice; the mark has the session and the place, and the two are found by it in SQL."""
    log = MemoryLog()
    report = import_bytes(_forked(copied, fork), "fork", log)
    (run,) = report.runs
    (started,) = events(log, run, RunStarted)
    assert (started.goal, len(events(log, run, ModelReplied)), report.calls) == ("Mill 2 kg.", 1, 0)
    assert [said["role"] for said in started.parts["prompt"].data] == ["user", "assistant", "tool"]
    assert [one.usage for one in events(log, run, ModelReplied)] == [None]
    by_time = "where the session that this one goes on from ends (told by when the lines were written)"
    assert (report.missing.get(by_time, 0), started.parent) == (inferred, None)
    assert remarks(log, run, "forked_from") == [{"session": "s-1", "messages": 3}]
    lines = (HERE / "forked.jsonl").read_bytes().splitlines()
    (other,) = import_bytes(b"\n".join(lines[1:5]), "other", log).runs
    query = """SELECT fork.run_id, other.run_id FROM runs AS fork JOIN runs AS other
               ON fork.labels['forked_from'] = other.labels['session']"""
    assert ask(log, query).rows == [(run, other)]
    assert replay(recording_of(log, run)).same


def test_a_session_that_keeps_only_what_was_shown() -> None:
    """It is a conversation to look at, and not what the model was asked with."""
    log, report = imported(HERE / "shown.jsonl")
    (run,) = report.runs
    assert report.grades == {"view-only": 1}
    replies = [one.content[-1].text for one in events(log, run, ModelReplied)]
    assert (replies, events(log, run, RunStarted)[0].goal) == (["Hi.", "See you."], "Hello.")


def test_sessions_behind_each_other_are_runs_of_their_own() -> None:
    """As when files are put together; a torn line lowers the grade of all."""
    data = (HERE / "session.jsonl").read_bytes()
    other = data.replace(b'"s-1"', b'"s-9"')
    report = import_bytes(data + other, "both", MemoryLog())
    assert (len(report.runs), report.calls, report.grades) == (4, 10, {"full": 4})
    torn = import_bytes(data + other[:-30], "torn", MemoryLog())
    assert (torn.grades, [one.line for one in torn.diagnostics]) == ({"view-only": 4}, [78])


def rows() -> list[dict[str, str]]:
    """What the index says of the files of this format."""
    if not SHARED.is_dir():
        return []
    with (SHARED / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file, delimiter="\t") if row["format"] == "codex"]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded traces are not at hand")
@pytest.mark.parametrize("row", rows(), ids=lambda row: row["path"])
def test_every_shared_file(row: dict[str, str]) -> None:
    """Counts are those of the index or differ for a reason, and every run is asked with the file's own items."""
    path = SHARED / row["path"]
    log, report = imported(path)
    (run,) = report.runs
    assert report.diagnostics == []
    assert replay(recording_of(log, run)).same
    assert (report.calls, report.results) == OWN_TYPES.get(path.name, (int(row["calls"]), int(row["results"])))
    lines = lines_of(path)
    if "types=event_msg,session_meta" in row["notes"] or row["notes"].endswith("types=session_meta"):
        assert report.grades == {"view-only": 1}
        return
    assert report.grades == {"full": 1}
    if path.name not in OWN_TYPES:
        told = retold(items_of(lines))
        assert check(list(log.read(run)), told) == sum(one["role"] == "assistant" for one in told)
    infos = [line["payload"].get("info") for line in lines if line.get("payload", {}).get("type") == "token_count"]
    totals = [info["total_token_usage"] for info in infos if info]
    used = [one.usage for one in events(log, run, ModelReplied) if one.usage]
    if totals:
        whole = max(totals, key=lambda one: one["total_tokens"])
        assert sum(one.input + one.cache_read for one in used) == whole["input_tokens"]
        assert sum(one.cache_read for one in used) == whole["cached_input_tokens"]
        assert sum(one.output for one in used) == whole["output_tokens"]
        assert sum(one.reasoning for one in used) == whole["reasoning_output_tokens"]
