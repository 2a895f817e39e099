"""OpenAI's Responses: calls joined by their call ids, sealed reasoning, approvals, and chains of requests."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from redrive_events import (
    AnnotationMade,
    MemoryLog,
    ModelReplied,
    ObservationReceived,
    Opaque,
    RunStarted,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from redrive_projections import fold, status
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes, import_file
from redrive_replays.traces.responses.replies import answer_of
from tests.traces.oracle import check

HERE = Path(__file__).parent.parent / "fixtures" / "traces" / "openai-responses"
SHARED = Path(__file__).parents[3] / "shared" / "traces"
NO_FLAG = "whether a result is an error (the format has no flag)"


def imported(path: Path) -> tuple[MemoryLog, FileReport]:
    """A file in a log of its own."""
    log = MemoryLog()
    return log, import_file(path, log)


def events(log: MemoryLog, run: str, kind: type) -> list[Any]:
    """The events of one kind."""
    return [record.event for record in log.read(run) if type(record.event) is kind]


def remarks(log: MemoryLog, run: str) -> list[tuple[str, Any]]:
    """What stands beside a run."""
    notes = [record.event for record in log.read(f"{run}@notes")]
    return [(note.name, note.value) for note in notes if isinstance(note, AnnotationMade)]


def retold(items: Sequence[Mapping[str, Any]], output: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """Items in the words of the oracle, by another way than the importer's."""
    told: list[dict[str, Any]] = []
    made: dict[str, Any] | None = None
    for item in [*items, *output]:
        kind = item.get("type", "message")
        if kind.endswith("_output") and item.get("call_id"):
            made = None
            told.append({"role": "tool", "content": _parts(item["output"]), "tool_call_id": item["call_id"]})
        elif (kind == "message" and item["role"] != "assistant") or kind == "additional_tools":
            made = None
            content = _parts(item["content"]) if kind == "message" else [{"type": kind}]
            told.append({"role": item["role"], "content": content})
        else:
            if made is None:
                made = {"role": "assistant", "content": [], "tool_calls": []}
                told.append(made)
            if kind == "message":
                parts = _parts(item["content"])
                made["content"] += [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
            elif kind in {"function_call", "custom_tool_call"}:
                call = {"name": item["name"], "arguments": item.get("arguments", item.get("input"))}
                made["tool_calls"].append({"id": item["call_id"], "function": call})
            elif kind != "reasoning":
                made["content"].append({"type": kind})
    return told


def _parts(content: Any) -> Any:
    if isinstance(content, str):
        return content
    texts = {"input_text", "output_text"}
    return [{"type": "text", "text": one["text"]} if one["type"] in texts else {"type": "other"} for one in content]


def test_a_request_with_its_response() -> None:
    """Whole values: the seal of the reasoning, broken arguments, other kinds of calls, and what ran at the provider."""
    log, report = imported(HERE / "request-response.json")
    (run,) = report.runs
    assert (report.format, report.calls, report.results, report.unpaired) == ("openai-responses", 4, 4, 0)
    assert (report.grades, report.diagnostics) == ({"full": 1}, [])
    # An item of a kind that nobody knows stands at the end of the request, as if the model had made it.
    went_on = {"what made the model go on after a reply without a call": 1}
    assert report.missing == {NO_FLAG: 1, "times (only responses have one)": 1, **went_on}
    (started,), (first, second, third, last) = events(log, run, RunStarted), events(log, run, ModelReplied)
    assert (started.goal, started.contract.model) == ("Bread?", "baker-2")
    assert started.contract.parameters == {"store": False, "temperature": 0.5}
    assert [said["content"] for said in started.parts["prompt"].data] == ["You run a bakery.", "Be brief."]
    assert started.parts["tools"].data[0]["name"] == "stock"
    assert first.content == (
        Thinking(text="Flour first.", signature="gAAA=é="),
        Text(text="Looking."),
        Opaque(data={"type": "refusal", "refusal": "not that"}),
        ToolUse(name="stock", arguments='{"item": "rye"}', id="c1"),
        ToolUse(name="stock", arguments='{"item": broken', id="c2"),
        ToolUse(name="apply_patch", arguments="*** Begin", id="c3"),
        ToolUse(name="local_shell", arguments='{"type":"exec","command":["ls"]}', id="c4"),
    )
    assert [block.data["type"] for block in second.content] == ["mcp_list_tools", "mcp_approval_request"]
    assert [block.data["type"] for block in third.content] == ["moon_phase"]
    assert [type(block) for block in last.content] == [Opaque, Opaque, Opaque, Text]
    assert (last.finish, last.model, last.response_id) == ("completed", "baker-2-0601", "resp_1")
    assert last.usage == Usage(input=500, cache_read=400, output=30, reasoning=12)
    seen = events(log, run, ObservationReceived)
    assert [(one.call, one.status) for one in seen] == [(2, "ok"), (3, "ok"), (1, "error"), (4, "ok")]
    assert ("verdict", {"call": "ap_1", "verdict": "deny", "by": "user", "reason": "too dear"}) in remarks(log, run)
    assert ("shop", "north") in remarks(log, run)
    assert replay(recording_of(log, run)).same


def test_a_stream_is_put_together_again() -> None:
    """The last event has it whole; cut before it, each item is as far as it came."""
    data = (HERE / "stream.txt").read_bytes()
    for cut, calls, grade in ((len(data), 1, "model-only"), (data.index(b'": 2}"'), 1, "view-only")):
        log = MemoryLog()
        report = import_bytes(data[:cut], "stream", log)
        (reply,) = events(log, report.runs[0], ModelReplied)
        assert (report.calls, report.grades) == (calls, {grade: 1})
        assert reply.content[0] == Text(text="Two loaves.")
    log, report = imported(HERE / "stream.txt")
    (reply,) = events(log, report.runs[0], ModelReplied)
    assert reply.content[1] == ToolUse(name="bake", arguments='{"loaves": 2}', id="c1")
    assert reply.usage == Usage(input=6, cache_read=4, output=5, reasoning=2)


def test_requests_that_say_what_is_new_are_put_behind_each_other() -> None:
    """By the response they go on from; a second that goes on from the same place has what was before as given."""
    log, report = imported(HERE / "chain.jsonl")
    first, forked, orphan, alone, failed = report.runs
    assert [one.response_id for one in events(log, first, ModelReplied)] == ["r1", "r2", "r4"]
    assert [one.response_id for one in events(log, forked, ModelReplied)] == ["r3"]
    assert ("requests", 3) in remarks(log, first)
    used = [one.usage for run in report.runs for one in events(log, run, ModelReplied)]
    assert sum(one.input + one.cache_read for one in used) == 10 + 20 + 21 + 30 + 10 + 10
    assert report.grades == {"full": 3, "model-only": 2}
    assert report.missing["what was said before (a response that is not in the file)"] == 1
    assert ("error", {"message": "busy", "type": "server_error"}) in remarks(log, failed)
    assert [status(fold(log.read(run))) for run in (orphan, alone, failed)] == ["finished", "finished", "unfinished"]
    assert [one.line for one in report.diagnostics] == [9, 8]
    times = [record.at for record in log.read(first) if isinstance(record.event, ModelReplied)]
    assert times[-1] == datetime(2026, 1, 1, 0, 3, tzinfo=UTC)
    for run in report.runs:
        assert replay(recording_of(log, run)).same


def test_a_conversation_that_is_kept_at_the_provider() -> None:
    """Its requests stand behind each other by its id; what came before the first, nobody can say. Costs are kept."""
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}]
    lines = [
        {
            "request": {"model": "baker-2", "input": words, "conversation": "conv_1"},
            "response": {"id": label, "object": "response", "output": output, "conversation": {"id": "conv_1"}},
            "cost": 0.25,
        }
        for label, words in (("r1", "Open?"), ("r2", "Sure?"))
    ]
    log = MemoryLog()
    report = import_bytes("\n".join(map(json.dumps, lines)).encode(), "kept", log)
    (run,) = report.runs
    assert [one.response_id for one in events(log, run, ModelReplied)] == ["r1", "r2"]
    assert [one.cost_micros for one in events(log, run, ModelReplied)] == [250_000, 250_000]
    assert report.grades == {"full": 1}
    assert report.missing["whether something was said before in the conversation"] == 1


def test_repeated_ids_and_missing_halves() -> None:
    """A result closes the oldest open call with its id; what is only referred to, and is not there, is told."""
    log, report = imported(HERE / "items.json")
    (run,) = report.runs
    seen = [(one.call, one.content, one.status) for one in events(log, run, ObservationReceived)]
    assert seen == [(1, "one", "ok"), (2, "two", "ok"), (3, None, "unknown")]
    assert (report.calls, report.results, report.unpaired) == (3, 3, 1)
    assert report.missing["an item that is only referred to"] == 1


def test_one_item_a_line() -> None:
    """The lines are one conversation; with a line lost it is only to look at."""
    items = json.loads((HERE / "items.json").read_bytes())
    lines = [json.dumps(item).encode() for item in items]
    whole = import_bytes(b"\r\n".join(lines), "lines", MemoryLog())
    assert (whole.format, whole.grades, whole.calls) == ("openai-responses", {"full": 1}, 3)
    torn = import_bytes(b"\n".join([*lines[:4], lines[4][:9], *lines[5:]]), "torn", MemoryLog())
    assert (torn.grades, torn.calls) == ({"view-only": 1}, 3)


def rows() -> list[dict[str, str]]:
    """What the index says of the files of this format."""
    if not SHARED.is_dir():
        return []
    with (SHARED / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file, delimiter="\t") if row["format"] == "openai-responses"]
    return [*found, {"path": "generated/openai_agents_input_list.json", "runs": "1", "calls": "2", "results": "2"}]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded traces are not at hand")
@pytest.mark.parametrize("row", rows(), ids=lambda row: row["path"])
def test_every_shared_file(row: dict[str, str]) -> None:
    """Counts are those of the index, each turn is asked with the file's own items, and the run replays."""
    log, report = imported(SHARED / row["path"])
    (run,) = report.runs
    value = json.loads((SHARED / row["path"]).read_bytes())
    assert report.diagnostics == []
    assert (report.grades, report.format) == ({"full": 1}, "openai-responses")
    assert (report.calls, report.results, report.unpaired) == (int(row["calls"]), int(row["results"]), 0)
    assert replay(recording_of(log, run)).same
    output: Sequence[Mapping[str, Any]] = ()
    system: list[dict[str, Any]] = []
    if isinstance(value, dict):
        answer = answer_of(value["response"])
        output = answer.message["output"] if answer and answer.message else ()
        given = value["request"].get("instructions")
        system = [{"role": "system", "content": given}] if given else []
    items = value["request"]["input"] if isinstance(value, dict) else value
    told = [*system, *retold(items, output)]
    assert check(list(log.read(run)), told) == sum(one["role"] == "assistant" for one in told)
    replies = events(log, run, ModelReplied)
    seals = [block.signature for one in replies for block in one.content if isinstance(block, Thinking)]
    assert seals == [one.get("encrypted_content") or "" for one in [*items, *output] if one.get("type") == "reasoning"]
