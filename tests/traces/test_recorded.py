"""Requests as recorders of HTTP, gateways and listings keep them, and what their streams and messages say besides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive_events import MemoryLog, ModelReplied, Opaque, RunStarted
from redrive_projections import fold, status
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes
from tests.traces.test_codex import events, remarks

ASKED = {"model": "claude-x", "max_tokens": 9, "system": "Bake.", "messages": [{"role": "user", "content": "Rye?"}]}
START = {"id": "m1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
REPLY = START | {"content": [{"type": "text", "text": "Rye."}], "usage": {"input_tokens": 3, "output_tokens": 4}}
ITEM = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rye."}]}
RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x", "output": [ITEM]}


def imported(*values: Any) -> tuple[MemoryLog, FileReport]:
    """Values, a line each, in a log of their own, each run of which replays."""
    log = MemoryLog()
    report = import_bytes("\n".join(map(json.dumps, values)).encode(), "inline", log)
    assert all(replay(recording_of(log, run)).same for run in report.runs)
    return log, report


def streamed(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a streamed reply."""
    end: list[dict[str, Any]] = [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    return [{"type": "message_start", "message": START}, *blocks, *end]


def text(words: str, index: int = 0) -> list[dict[str, Any]]:
    """The events of a block of text."""
    start = {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
    return [start, {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": words}}]


SSE = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in streamed(*text("Rye.")))
HAR = {"request": {"postData": {"text": json.dumps(ASKED)}}, "response": {"content": {"text": SSE}}}
SENT = {"url": "/v1/responses", "postData": {"text": json.dumps({"model": "gpt-x", "input": "Rye?"})}}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"request": {"body": ASKED}, "response": {"status_code": 200, "body_raw": SSE}}, "anthropic"),
        ({"interactions": [{"request": {"parsed_body": ASKED}, "response": {"parsed_body": REPLY}}]}, "anthropic"),
        ({"log": {"version": "1.2", "entries": [HAR]}}, "anthropic"),
        ({"path": "/v1/messages", "request_body": json.dumps(ASKED), "response_body": json.dumps(REPLY)}, "anthropic"),
        (
            {"log": {"entries": [{"request": SENT, "response": {"content": {"text": json.dumps(RESPONSE)}}}]}},
            "openai-responses",
        ),
        (
            {"responses_create_params": {"input": [{"role": "user", "content": "Rye?"}]}, "response": RESPONSE},
            "openai-responses",
        ),
    ],
)
def test_a_request_is_found_where_a_recorder_keeps_it(value: dict[str, Any], name: str) -> None:
    """With the response that came to it, however that is kept."""
    log, report = imported(value)
    (run,) = report.runs
    (reply,) = events(log, run, ModelReplied)
    assert (report.format, report.grades, events(log, run, RunStarted)[0].goal) == (name, {"full": 1}, "Rye?")
    assert reply.content[-1].text == "Rye."
    assert status(fold(log.read(run))) == "finished"


def test_requests_that_say_nothing_of_their_format_are_told_by_where_they_were_sent() -> None:
    """Each line of a batch is read, also the plainest."""
    lines = [{"custom_id": name, "url": "/v1/responses", "body": {"model": "gpt-x", "input": name}} for name in "ab"]
    _, report = imported(*lines)
    assert (report.format, len(report.runs), report.diagnostics) == ("openai-responses", 2, [])
    _, report = imported({"anthropic_version": "v", "max_tokens": 9, "messages": ASKED["messages"]})
    assert report.format == "anthropic"


def test_a_listing_of_items_that_begins_with_the_newest_is_turned_round() -> None:
    """As the API lists a conversation; that this was seen from the items is said."""
    call = {"type": "function_call", "call_id": "c1", "name": "oven", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "hot"}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rye?"}]}
    log, report = imported({"object": "list", "data": [output, call, said]})
    (run,) = report.runs
    assert (report.calls, report.results, report.unpaired) == (1, 1, 0)
    assert events(log, run, RunStarted)[0].goal == "Rye?"
    assert any("newest" in words for words in report.missing)
    _, report = imported({"object": "list", "data": [said, call, output]})
    assert not any("newest" in words for words in report.missing)


def test_times_and_marks_on_messages_are_kept() -> None:
    """The API gives no times, but those who keep messages do; a message of results has its marks too."""
    call = {"type": "tool_use", "id": "t1", "name": "oven", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "hot"}
    turns = [
        {"role": "user", "content": "Rye?", "timestamp": "2026-01-01T00:00:00Z"},
        {"role": "assistant", "content": [call], "timestamp": "2026-01-01T00:00:01Z"},
        {"role": "user", "content": [result], "timestamp": "2026-01-01T00:00:02Z", "mark": "hers"},
    ]
    log, report = imported(turns)
    (run,) = report.runs
    assert "times" not in report.missing
    assert events(log, run, RunStarted)[0].clock == "utc"
    assert remarks(log, run, "extras")[-1]["mark"] == "hers"


def test_what_was_compacted_in_a_stream_is_put_together() -> None:
    """The summary comes in pieces like any other words."""
    delta = {"type": "content_block_delta", "index": 0}
    log, report = imported(
        *streamed(
            {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": None}},
            {**delta, "delta": {"type": "compaction_delta", "content": "Rye "}},
            {**delta, "delta": {"type": "compaction_delta", "content": "was asked."}},
            *text("Rye.", 1),
        )
    )
    (reply,) = events(log, report.runs[0], ModelReplied)
    assert reply.content[0] == Opaque(data={"type": "compaction", "content": "Rye was asked."})


def test_a_stream_with_a_lost_line_is_not_whole() -> None:
    """Nobody can say what stood there."""
    lines = [json.dumps(one) for one in streamed(*text("Rye."))]
    report = import_bytes("\n".join([*lines[:3], '{"type": "content_bl', *lines[3:]]).encode(), "torn", MemoryLog())
    assert (report.format, report.grades) == ("anthropic", {"view-only": 1})
    assert report.missing["a piece of a streamed reply (its line could not be read)"] == 1
    created = {"type": "response.created", "response": RESPONSE | {"output": []}}
    torn = [json.dumps(created), '{"type": "respo', json.dumps({"type": "response.completed", "response": RESPONSE})]
    report = import_bytes("\n".join(torn).encode(), "torn", MemoryLog())
    assert (report.format, report.grades) == ("openai-responses", {"view-only": 1})


def test_a_summary_that_breaks_off_is_kept_as_far_as_it_came() -> None:
    """Reasoning is told in pieces like words."""
    item = {"type": "reasoning", "id": "rs", "summary": []}
    piece = {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0}
    log, report = imported(
        {"type": "response.created", "response": RESPONSE | {"output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({**piece, "delta": words} for words in ("Rye or ", "wheat")),
    )
    (reply,) = events(log, report.runs[0], ModelReplied)
    assert (reply.content[0].text, report.grades) == ("Rye or wheat", {"view-only": 1})
