"""Anthropic's messages: sealed words byte for byte, results as they came, and nothing counted twice."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from redrive_events import (
    AnnotationMade,
    MemoryLog,
    MessageReceived,
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
from redrive_replays.traces.anthropic.replies import answer_of
from tests.traces.anthropic_words import retold
from tests.traces.oracle import check

HERE = Path(__file__).parent.parent / "fixtures" / "traces" / "anthropic"
SHARED = Path(__file__).parents[3] / "shared" / "traces"
# The index counted no call in a file that is a response alone.
RESPONSES_ALONE = "Arize-ai+openinference/"


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


def test_a_request_with_its_response() -> None:
    """Whole values: thinking with its seal, results in their order with their error flags, what ran at the provider."""
    log, report = imported(HERE / "request-response.json")
    (run,) = report.runs
    value = json.loads((HERE / "request-response.json").read_bytes())
    request, response = value["request"], value["response"]
    assert (report.format, report.calls, report.results, report.unpaired) == ("anthropic", 4, 4, 0)
    assert (report.grades, report.missing, report.diagnostics) == ({"full": 1}, {"times": 1}, [])
    (started,), (first, second, third) = events(log, run, RunStarted), events(log, run, ModelReplied)
    assert (started.goal, started.contract.model) == ("Bread for 12?", "baker-2")
    assert started.contract.parameters == {"max_tokens": 500, "temperature": 0.5}
    assert started.parts["prompt"].data == [{"role": "system", "content": "You run a bakery."}]
    assert started.parts["tools"].data == request["tools"]
    assert first.content == (
        Thinking(text="Flour first,  then eggs.\n", signature="c2ln+/=é"),
        Opaque(data={"type": "redacted_thinking", "data": "sealed=="}),
        Text(text="Looking."),
        ToolUse(name="stock", arguments='{"item":"rye","kg":1.0}', id="t1"),
        ToolUse(name="stock", arguments='{"item":"eggs"}', id="t2"),
        ToolUse(name="book", arguments="{}", id="t3"),
    )
    assert [type(block) for block in second.content] == [Opaque, Opaque, Text, ToolUse]
    assert third == ModelReplied(
        content=(Text(text="Take oat."),),
        finish="end_turn",
        model="baker-2-0601",
        response_id="msg_1",
        usage=Usage(input=7, cache_read=400, cache_write=30, output=9, reasoning=4),
    )
    seen = events(log, run, ObservationReceived)
    assert [(one.call, one.status) for one in seen] == [(2, "ok"), (1, "error"), (3, "ok"), (4, "ok")]
    assert [one.before for one in events(log, run, MessageReceived)] == [2, 0]
    said = dict(remarks(log, run))
    assert said["shop"] == "north"
    assert said["extras"]["usage"]["server_tool_use"] == {"web_search_requests": 1}
    assert check(list(log.read(run)), retold([*request["messages"], response], request["system"])) == 3
    assert replay(recording_of(log, run)).outcome == "same"


def test_a_stream_is_put_together_again() -> None:
    """Arguments stay the text that was sent; tokens count from the start; the request is not there, and it is told."""
    log, report = imported(HERE / "stream.txt")
    (reply,) = events(log, report.runs[0], ModelReplied)
    assert reply == ModelReplied(
        content=(
            Thinking(text="Two loaves.", signature="c2ln=="),
            Text(text="Sure: now."),
            ToolUse(name="bake", arguments='{"loaves": 2}', id="t1"),
            ToolUse(name="ring", arguments="{}", id="t2"),
        ),
        finish="tool_use",
        model="baker-2",
        response_id="msg_s",
        usage=Usage(input=11, cache_read=5, output=40),
    )
    assert (report.grades, report.calls) == ({"model-only": 1}, 2)
    assert dict(remarks(log, report.runs[0]))["extras"] == {"block 1": {"citations": [{"cited_text": "loaf"}]}}


def test_a_stream_that_breaks_off_is_only_to_look_at() -> None:
    """What came is kept; nobody says that it is the reply."""
    data = (HERE / "stream.txt").read_bytes()
    log = MemoryLog()
    report = import_bytes(data[: data.index(b': 2}"')], "cut", log)
    assert report.grades == {"view-only": 1}
    assert report.missing["the end of a reply (its stream breaks off)"] == 1
    (reply,) = events(log, report.runs[0], ModelReplied)
    assert reply.content[-1] == ToolUse(name="bake", arguments='{"loaves"', id="t1")


def test_requests_that_repeat_a_conversation_are_one_run() -> None:
    """Though marks for the cache move; an error is no reply, a response stands alone, and a torn line is told."""
    log, report = imported(HERE / "log.jsonl")
    first, failed, alone = report.runs
    assert [(one.response_id, one.usage) for one in events(log, first, ModelReplied)] == [
        ("m1", Usage(input=10, output=5)),
        ("m2", Usage(input=3, cache_read=10, output=2)),
    ]
    assert ("requests", 2) in remarks(log, first)
    assert ("error", {"type": "overloaded_error", "message": "busy"}) in remarks(log, failed)
    assert events(log, failed, ModelReplied) == []
    assert [status(fold(log.read(run))) for run in report.runs] == ["finished", "unfinished", "finished"]
    assert ("custom_id", "b1") in remarks(log, alone)
    assert report.grades == {"full": 2, "model-only": 1}
    assert [(one.line, one.problem) for one in report.diagnostics] == [
        (6, "not a JSON object, left out"),
        (5, "no Anthropic messages, left out"),
    ]


def test_repeated_ids_and_missing_halves() -> None:
    """A result closes the oldest open call with its id; one whose call is not there is kept; what is open stays so."""
    log, report = imported(HERE / "messages.json")
    (run,) = report.runs
    seen = [(one.call, one.content, one.status) for one in events(log, run, ObservationReceived)]
    assert seen == [(1, "one", "ok"), (2, "two", "ok"), (3, None, "unknown")]
    assert (report.calls, report.results, report.unpaired) == (3, 3, 1)
    turns = json.loads((HERE / "messages.json").read_bytes())
    assert check(list(log.read(run)), retold(turns)) == 3


def test_one_message_a_line() -> None:
    """The lines are one conversation; with a line lost it is only to look at."""
    turns = json.loads((HERE / "messages.json").read_bytes())
    lines = [json.dumps(turn).encode() for turn in turns]
    log = MemoryLog()
    whole = import_bytes(b"\r\n".join(lines), "lines", log)
    assert (whole.format, whole.grades, whole.calls, len(whole.runs)) == ("anthropic", {"full": 1}, 3, 1)
    torn = import_bytes(b"\n".join([*lines[:4], lines[4][:9], *lines[5:]]), "torn", log)
    assert (torn.grades, torn.calls) == ({"view-only": 1}, 3)


def rows() -> list[dict[str, str]]:
    """What the index says of the files of this format."""
    if not SHARED.is_dir():
        return []
    with (SHARED / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file, delimiter="\t") if row["format"] == "anthropic"]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded traces are not at hand")
@pytest.mark.parametrize("row", rows(), ids=lambda row: row["path"])
def test_every_shared_file(row: dict[str, str]) -> None:
    """Counts are those of the index, each turn is asked with the file's own messages, and the run replays."""
    log, report = imported(SHARED / row["path"])
    (run,) = report.runs
    value = json.loads((SHARED / row["path"]).read_bytes())
    records = list(log.read(run))
    assert report.diagnostics == []
    assert replay(recording_of(log, run)).same
    if RESPONSES_ALONE in row["path"]:
        assert report.grades == {"model-only": 1}
        assert report.calls == value["body"].count("toolu_")
        answer = answer_of(value["body"])
        assert answer is not None
        assert answer.message is not None
        turns, system = [answer.message], None
    else:
        assert report.grades == {"full": 1}
        assert (report.calls, report.results, report.unpaired) == (int(row["calls"]), int(row["results"]), 0)
        turns, system = [*value["request"]["messages"], value["response"]], value["request"].get("system")
    told = retold(turns, system)
    assert check(records, told) == sum(one["role"] == "assistant" for one in told)
    sealed = [
        (block["thinking"], block["signature"])
        for turn in turns
        for block in (turn["content"] if isinstance(turn["content"], list) else ())
        if block["type"] == "thinking"
    ]
    replies = [record.event for record in records if isinstance(record.event, ModelReplied)]
    kept = [(block.text, block.signature) for one in replies for block in one.content if isinstance(block, Thinking)]
    assert kept == sealed
