"""Claude Code's sessions: split replies, rewinds, sub-agents, and nothing counted twice."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from redrive_events import (
    AnnotationMade,
    BadInput,
    MemoryLog,
    ModelReplied,
    ObservationReceived,
    RunStarted,
    Text,
    Thinking,
    ToolCalled,
    ToolUse,
    Usage,
)
from redrive_projections.history import ask
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes, import_file
from tests.traces.anthropic_words import retold
from tests.traces.oracle import check

HERE = Path(__file__).parent.parent / "fixtures" / "traces" / "claude-code"
SHARED = Path(__file__).parents[3] / "shared" / "traces"
# Files in which the index counts one run, and why there are two here.
MORE_RUNS = {
    "dag_within_fork.jsonl": "words that were taken back are a run of their own",
    "03eb5929-52b3-4b13-ada3-b93ae35806b8.jsonl": "words that were taken back are a run of their own",
    "memory_sidechain.jsonl": "a sub-agent in the same file",
    "sidechain.jsonl": "a sub-agent in the same file",
}
# Files that hold no message: records only, which can be looked at.
NO_TALK = {
    "away_summary.jsonl",
    "4e27c414-a885-46a0-b5c8-d58e1417377d.jsonl",
    "a95fea4a-b88a-4e49-ac07-4cc323d8700c.jsonl",
}
# A file with lines that are no records at all.
BROKEN = "edge_cases.jsonl"


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


def tokens(log: MemoryLog, runs: Sequence[str]) -> Usage:
    """All tokens of some runs."""
    found = [one.usage for run in runs for one in events(log, run, ModelReplied) if one.usage]
    return Usage(
        **{name: sum(getattr(one, name) for one in found) for name in ("input", "cache_read", "cache_write", "output")}
    )


def test_a_session_is_its_own_run_with_those_it_began() -> None:
    """Split replies are one, what was taken back stands apart, and a sub-agent is begun by its call."""
    log, report = imported(HERE / "session.jsonl")
    main, child, back = report.runs
    assert child == f"{main}/3"
    assert (report.calls, report.results, report.unpaired) == (4, 4, 0)
    assert (report.grades, report.diagnostics) == ({"full": 3}, [])
    (first, *_) = replies = events(log, main, ModelReplied)
    assert [one.response_id for one in replies] == ["m1", "m2", "m4", "m7", "local-1"]
    assert first == ModelReplied(
        content=(
            Thinking(text="Ovens.", signature="c2ln"),
            Text(text="Both ovens."),
            ToolUse(name="Bash", arguments='{"command":"oven 1"}', id="t1"),
            ToolUse(name="Bash", arguments='{"command":"oven 2"}', id="t2"),
        ),
        finish="tool_use",
        model="baker-2",
        response_id="m1",
        usage=Usage(input=6, cache_read=100, cache_write=10, output=40),
    )
    assert tokens(log, report.runs) == Usage(input=42, cache_read=700, cache_write=70, output=76)
    seen = events(log, main, ObservationReceived)
    assert [(one.call, one.status) for one in seen] == [(1, "ok"), (2, "error"), (3, "ok")]
    (started,), (begun,), (again,) = (events(log, run, RunStarted) for run in (main, child, back))
    assert (started.goal, started.clock, started.labels["session"]) == ("Bake for 12.", "utc", "5e55-1")
    assert (begun.goal, begun.agent, begun.parent.call) == ("How much milk?", "scout", 3)
    assert [said["role"] for said in again.parts["prompt"].data] == ["user", "assistant", "tool", "tool", "assistant"]
    assert (again.goal, again.labels["taken_back_from"]) == ("Ask the miller.", "0")
    for run in report.runs:
        assert replay(recording_of(log, run)).same


def test_what_a_session_knows_of_itself_is_kept_at_its_place() -> None:
    """Verdicts of people and hooks, the compaction, the sub-agent's totals, unknown records, a time that went back."""
    log, report = imported(HERE / "session.jsonl")
    main, child, _ = report.runs
    assert remarks(log, main, "verdict") == [
        {"call": "t2", "verdict": "deny", "by": "user", "kind": "user-rejected"},
        {"call": "t2", "verdict": "deny", "by": "PreToolUse:Bash", "at": "PreToolUse"},
    ]
    assert [one["compactMetadata"]["trigger"] for one in remarks(log, main, "compact_boundary")] == ["auto"]
    assert [one["phase"] for one in remarks(log, main, "moon-phase")] == ["full"]
    assert [one["summary"] for one in remarks(log, main, "summary")] == ["Bread"]
    (totals,) = remarks(log, main, "sub_agent")
    assert totals["totalToolUseCount"] == len(events(log, child, ToolCalled)) == 1
    kept = [one for one in remarks(log, main, "extras") if "timestamp" in one]
    assert [one["timestamp"] for one in kept] == ["2025-12-31T23:59:59.000Z"]
    assert report.missing == {
        "the system prompt and the tools' descriptions (the format does not keep them)": 3,
        "what the model was shown after a compaction (the run keeps all that was said before)": 1,
        "a reply of the model (a local text stands in its place)": 1,
        "what a record of an unknown type means (kept as it came)": 1,
        "the order of times (a clock went back; the file's order counts)": 1,
        "lines that stand there twice (taken once)": 1,
    }


def test_what_a_session_says_of_its_sub_agents_can_be_asked_for() -> None:
    """One query, whether they are in the same file or in others."""
    log, _ = imported(HERE / "session.jsonl")
    assert ask(log, COUNTED).rows == [(1, 1)]


def test_a_session_as_it_is_streamed() -> None:
    """A sub-agent goes by the id of its call; the end, its cost and its denials are told."""
    log, report = imported(HERE / "stream.jsonl")
    main, child = report.runs
    assert (child, report.calls, report.results, report.grades) == (f"{main}/1", 2, 2, {"full": 2})
    assert remarks(log, main, "exit_status") == ["success"]
    assert remarks(log, main, "result")[0]["total_cost_usd"] == 0.01
    assert remarks(log, main, "verdict") == [{"call": "t7", "verdict": "deny", "by": "permission"}]
    assert remarks(log, main, "init")[0]["tools"] == ["Bash", "Task"]


def test_old_sub_agents_are_found_by_their_prompts() -> None:
    """Which is said; one that nobody called is begun by no call that is known."""
    log, report = imported(HERE / "old.jsonl")
    main, *others = report.runs
    begun = [(events(log, run, RunStarted)[0].goal, events(log, run, RunStarted)[0].parent.call) for run in others]
    assert begun == [("Oat?", 2), ("Rye?", 1), ("Unasked?", 0)]
    assert (report.missing["which call began this run (found by its prompt)"], report.calls) == (2, 3)
    assert report.missing["which call began this run"] == 1
    assert [len(events(log, run, ModelReplied)) for run in report.runs] == [2, 1, 2, 1]
    assert events(log, main, ObservationReceived)[1].content == "No oat."


def test_a_document_with_the_lines_in_it() -> None:
    """As a session is handed over from the web: the same runs."""
    lines = [json.loads(line) for line in (HERE / "old.jsonl").read_bytes().splitlines()]
    report = import_bytes(json.dumps({"loglines": lines}).encode(), "whole", MemoryLog())
    assert (report.format, len(report.runs), report.calls, report.results) == ("claude-code", 4, 3, 3)


def test_a_torn_last_line_lowers_the_grade() -> None:
    """What reads is kept, and what was lost is told with its place."""
    data = (HERE / "old.jsonl").read_bytes()[:-40]
    report = import_bytes(data, "torn", MemoryLog())
    assert report.grades == {"view-only": 4}
    assert [(one.line, data[one.offset :][:1]) for one in report.diagnostics] == [(13, b"{")]


def test_a_message_that_is_none_is_told() -> None:
    """Text where the message should be: left out, and the run is only to look at."""
    lines = (HERE / "old.jsonl").read_bytes().splitlines()
    spoilt = {**json.loads(lines[0]), "message": "error"}
    report = import_bytes(b"\n".join([json.dumps(spoilt).encode(), *lines[1:]]), "spoilt", MemoryLog())
    assert [str(one) for one in report.diagnostics] == ["line 1 (byte 0): the message is no object, left out"]
    assert report.grades["view-only"] >= 1


def rows() -> list[dict[str, str]]:
    """What the index says of the files of this format."""
    if not SHARED.is_dir():
        return []
    with (SHARED / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file, delimiter="\t") if row["format"] == "claude-code"]


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The records of a shared file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        found = json.loads(text)["loglines"]
    else:
        found = [json.loads(line) for line in text.split("\n") if line.strip()]
    return [one for one in found if isinstance(one, dict) and one.get("type") in {"user", "assistant"}]


def turns_of(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages of a run, those of one id put together where the first stands."""
    turns: list[dict[str, Any]] = []
    at: dict[str, int] = {}
    for line in lines:
        message = line["message"]
        if not isinstance(message, dict) or "content" not in message:
            continue
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        blocks = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
        label = message.get("id") if line["type"] == "assistant" else None
        if label in at:
            turns[at[label]]["content"] += blocks
            continue
        if label:
            at[label] = len(turns)
        turns.append({"role": line["type"], "content": [_labelled(one) for one in blocks]})
    return turns


def _labelled(block: dict[str, Any]) -> dict[str, Any]:
    """Some of the files' makers left out the ids of calls, or the content of a result."""
    if block["type"] == "tool_use":
        return {"id": "", **block}
    return {"tool_use_id": "", "content": None, **block} if block["type"] == "tool_result" else block


def branches(path: Path) -> list[list[dict[str, Any]]]:
    """The lines of each run of a shared file, told by other means than the importer's."""
    lines = lines_of(path)
    if path.name not in MORE_RUNS:
        sessions = dict.fromkeys(line.get("sessionId") for line in lines)
        return [[line for line in lines if line.get("sessionId") == session] for session in sessions]
    if "sub-agent" in MORE_RUNS[path.name]:
        return [[line for line in lines if line["isSidechain"] is aside] for aside in (False, True)]
    every = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    above = {line["uuid"]: line["parentUuid"] for line in every if "uuid" in line}
    place, kept = lines[-1]["uuid"], set()
    while place:
        kept.add(place)
        place = above[place]
    return [[line for line in lines if line["uuid"] in kept], [line for line in lines if line["uuid"] not in kept]]


# Each sub-agent's run, also one from another file, with the count of tools that its session tells.
COUNTED = """
SELECT CAST(told.value ->> 'totalToolUseCount' AS INT),
       (SELECT count(*) FROM tool_calls WHERE tool_calls.run = agent.run)
FROM annotations AS told JOIN runs AS agent ON agent.labels['agent_id'] = told.value ->> 'agentId'
WHERE told.name = 'sub_agent'
"""


needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded traces are not at hand")


@needs_shared
@pytest.mark.parametrize("row", rows(), ids=lambda row: row["path"])
def test_every_shared_file(row: dict[str, str]) -> None:
    """Counts are those of the index or differ for a reason, and every run is asked with the file's own messages."""
    path = SHARED / row["path"]
    if path.name.endswith(".meta.json"):
        with pytest.raises(BadInput, match="no messages, so no run"):
            import_file(path, MemoryLog())
        return
    log, report = imported(path)
    assert len(report.runs) == int(row["runs"]) + (path.name in MORE_RUNS)
    assert (report.calls, report.results) == (int(row["calls"]), int(row["results"]))
    assert report.missing.get("the result of a call", 0) == int(row["calls_without_result"])
    assert report.unpaired == int(row["results_without_call"])
    low = path.name in NO_TALK or path.name == BROKEN
    assert report.grades == {"view-only" if low else "full": len(report.runs)}
    assert bool(report.diagnostics) == (path.name == BROKEN)
    for run in report.runs:
        assert replay(recording_of(log, run)).same
    if low:
        return
    for run, lines in zip(report.runs, branches(path), strict=True):
        records = list(log.read(run))
        (started,) = events(log, run, RunStarted)
        told = retold(turns_of(lines), joined=False)
        before = len(started.parts["prompt"].data) if "prompt" in started.parts else 0
        if before:
            told = [*retold(turns_of(branches(path)[0]), joined=False)[:before], *told]
            assert len(events(log, run, ModelReplied)) == sum(one["role"] == "assistant" for one in told[before:])
            continue
        assert check(records, told) == sum(one["role"] == "assistant" for one in told)


@needs_shared
def test_tokens_are_counted_once() -> None:
    """The last line of each response counts, over every shared session."""
    for row in rows():
        path = SHARED / row["path"]
        if path.name.endswith((".meta.json", BROKEN)):
            continue
        last: dict[str, dict[str, Any]] = {}
        for number, line in enumerate(lines_of(path)):
            if line["type"] == "assistant" and isinstance(usage := line["message"].get("usage"), dict):
                last[line["message"].get("id") or str(number)] = usage
        log, report = imported(path)
        assert tokens(log, report.runs) == Usage(
            input=sum(one.get("input_tokens") or 0 for one in last.values()),
            cache_read=sum(one.get("cache_read_input_tokens") or 0 for one in last.values()),
            cache_write=sum(one.get("cache_creation_input_tokens") or 0 for one in last.values()),
            output=sum(one.get("output_tokens") or 0 for one in last.values()),
        )


@needs_shared
def test_a_real_sub_agent_called_as_many_tools_as_its_session_says() -> None:
    """24, counted in the sub-agent's own file; a hand-made pair says 3 and has 1."""
    folder = SHARED / "claude-code" / "iansherr+claude-code-log" / "real_projects" / "-src-experiments-claude_p"
    name = "29ccd257-68b1-427f-ae5f-6524b7cb6f20"
    made = SHARED / "claude-code" / "meridianlabs-ai+inspect_scout"
    pairs = [
        (folder / f"{name}.jsonl", folder / name / "subagents" / "agent-a2271d1.jsonl"),
        (made / "agent_session.jsonl", made / "agent-atest01.jsonl"),
    ]
    both = MemoryLog()
    for file in pairs[0]:
        import_file(file, both)
    assert ask(both, COUNTED).rows == [(24, 24)]
    found = []
    for session, agent in pairs:
        log, report = imported(session)
        (totals,) = remarks(log, report.runs[0], "sub_agent")
        child, its = imported(agent)
        (started,) = events(child, its.runs[0], RunStarted)
        # One of them goes by the name of its file only.
        assert started.labels.get("agent_id", agent.stem.removeprefix("agent-")) == totals["agentId"]
        found.append((totals["totalToolUseCount"], its.calls))
    assert found == [(24, 24), (3, 1)]
