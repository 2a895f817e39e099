"""Chat messages and completions where proxies, datasets and browsers keep them: what each becomes."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from redrive_events import AnnotationMade, MemoryLog, ModelReplied, RunStarted, ToolUse, Usage, calls_of, text_of
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes
from tests.traces.oracle import check

ASKED = {"role": "user", "content": "How many loaves are left?"}
REPLY = {"role": "assistant", "content": "Four."}
TOOL = {"type": "function", "function": {"name": "stock"}}
REQUEST = {"model": "oven-1", "messages": [ASKED]}
COMPLETION = {
    "id": "c-1",
    "object": "chat.completion",
    "created": 1770000000,
    "model": "oven-1-0613",
    "choices": [{"index": 0, "message": REPLY, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2},
}
RECORD = {
    "id": "c-1",
    "status": "success",
    "response_cost": 0.00125,
    "startTime": 1770000000.5,
    "endTime": 1770000002.25,
    "model": "oven-1",
    "messages": [ASKED],
    "response": COMPLETION,
    "model_parameters": {"temperature": 0.5, "tools": [TOOL]},
}
SPENT = {
    "request_id": "c-1",
    "spend": 0.00125,
    "startTime": "2026-02-02T02:40:00.5Z",
    "endTime": "2026-02-02T02:40:02.25Z",
    "messages": {},
    "response": json.dumps(COMPLETION),
    "proxy_server_request": json.dumps({**REQUEST, "temperature": 0.5, "tools": [TOOL]}),
}
NO_REQUEST = "the request (only its response was kept)"
CUT_REPLY = "the end of a reply (its stream breaks off)"


class Imported(NamedTuple):
    """A file in a log of its own."""

    log: MemoryLog
    report: FileReport

    def events(self, kind: type, run: int = 0) -> list[Any]:
        """The events of one kind."""
        return [one.event for one in self.log.read(self.report.runs[run]) if type(one.event) is kind]

    def remarks(self, name: str, run: int = 0) -> list[Any]:
        """What stands beside a run under a name."""
        notes = (one.event for one in self.log.read(f"{self.report.runs[run]}@notes"))
        return [one.value for one in notes if isinstance(one, AnnotationMade) and one.name == name]


def imported(value: Any, *, lines: bool = False) -> Imported:
    """A document, or a file of lines; every run of it replays."""
    text = value if isinstance(value, str) else "\n".join(map(json.dumps, value)) if lines else json.dumps(value)
    log = MemoryLog()
    found = Imported(log, import_bytes(text.encode(), "file", log))
    assert found.report.format == "openai-chat"
    for run in found.report.runs:
        assert replay(recording_of(log, run)).changed_parts == ()
    return found


def chunk(delta: dict[str, Any], finish: str | None = None, label: str = "c-1") -> dict[str, Any]:
    """A chunk of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": label, "object": "chat.completion.chunk", "model": "oven-1-0613", "choices": [choice]}


def stream(*chunks: dict[str, Any]) -> str:
    """Chunks as a server sends them."""
    return "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"


WHOLE = (chunk({"role": "assistant", "content": "Fo"}), chunk({"content": "ur."}), chunk({}, "stop"))
EXCHANGES = {
    "bodies as text": {"requestBody": json.dumps(REQUEST), "responseBody": json.dumps(COMPLETION)},
    "bodies": {"request_body": REQUEST, "response_body": COMPLETION},
    "a cassette": {
        "interactions": [
            {"request": {"body": {"string": json.dumps(REQUEST)}}, "response": {"body": {"string": stream(*WHOLE)}}}
        ]
    },
    "a browser": {
        "log": {
            "entries": [
                {
                    "request": {"postData": {"text": json.dumps(REQUEST)}},
                    "response": {"content": {"text": json.dumps(COMPLETION)}},
                }
            ]
        }
    },
    "a proxy's record": RECORD,
    "a record in a call": {"kwargs": {**REQUEST, "standard_logging_object": RECORD}},
    "a page of a proxy's log": {"data": [SPENT], "total": 1},
    "messages as text": {"messages": json.dumps([ASKED]), "response": COMPLETION},
    "a message as response": {"messages": [ASKED], "response": REPLY},
    "a response again": {"messages": [ASKED, REPLY], "response": COMPLETION},
    "a generation": {"input": [ASKED], "output": REPLY},
    "a local model's": {"request": REQUEST, "response": {"model": "oven-1", "message": REPLY, "done_reason": "stop"}},
}
LISTS = {
    "trajectory": {"instance_id": "shed-1", "trajectory": [ASKED, REPLY]},
    "messages as text": {"messages": json.dumps([ASKED, REPLY])},
    "rows": {"rows": [{"row_idx": 0, "row": {"messages": [ASKED, REPLY]}}]},
    "a list in a document": {"data": [{"messages": [ASKED, REPLY]}], "total": 1},
    "conversations": {"conversations": [[ASKED, REPLY]]},
    "stored messages": {"object": "list", "data": [ASKED, REPLY]},
}


@pytest.mark.parametrize("value", [*EXCHANGES.values(), *LISTS.values()], ids=[*EXCHANGES, *LISTS])
def test_a_conversation_is_found_where_it_stands(value: dict[str, Any]) -> None:
    """The reply once, wherever the request and the response are kept."""
    found = imported(value)
    (run,) = found.report.runs
    assert (found.report.grades, found.report.diagnostics) == ({"full": 1}, [])
    assert check(list(found.log.read(run)), [ASKED, REPLY]) == 1


@pytest.mark.parametrize("value", [RECORD, SPENT], ids=["record", "spent"])
def test_a_proxy_tells_times_costs_and_settings(value: dict[str, Any]) -> None:
    """When it was asked and answered, what it cost, and what it was asked with."""
    found = imported([value])
    (run,) = found.report.runs
    (started,), (reply,) = found.events(RunStarted), found.events(ModelReplied)
    assert (started.clock, started.contract.parameters, reply.cost_micros) == ("utc", {"temperature": 0.5}, 1250)
    assert started.parts["tools"].data == [TOOL]
    times = [one.at.isoformat() for one in found.log.read(run) if one.event in (started, reply)]
    assert times == ["2026-02-02T02:40:00.500000+00:00", "2026-02-02T02:40:02.250000+00:00"]
    assert "times" not in found.report.missing


def test_each_reply_of_a_conversation_keeps_its_cost_and_time() -> None:
    """The second request repeats the first, and its reply."""
    again = {**RECORD, "messages": [ASKED, REPLY, ASKED], "response_cost": 0.002, "endTime": 1770000009}
    found = imported([RECORD, again], lines=True)
    assert [one.cost_micros for one in found.events(ModelReplied)] == [1250, 2000]
    replies = [one for one in found.log.read(found.report.runs[0]) if type(one.event) is ModelReplied]
    assert [one.at.second for one in replies] == [2, 9]


def test_times_of_messages_are_read() -> None:
    """Some write one on each."""
    messages = [{**ASKED, "timestamp": "2026-02-02T02:40:00Z"}, {**REPLY, "timestamp": "2026-02-02T02:40:03Z"}]
    for found in (imported(messages), imported(messages, lines=True)):
        assert (found.events(RunStarted)[0].clock, "times" in found.report.missing) == ("utc", False)


@pytest.mark.parametrize(
    ("value", "lines", "runs"),
    [
        (COMPLETION, False, 1),
        ([COMPLETION, COMPLETION], True, 2),
        ([{"custom_id": "a", "response": {"status_code": 200, "body": COMPLETION}}], True, 1),
        (stream(*WHOLE), False, 1),
        (list(WHOLE), False, 1),
        ([*WHOLE, *(chunk(one["choices"][0]["delta"], "stop", "c-2") for one in WHOLE)], True, 2),
    ],
    ids=["one", "lines", "batch", "stream", "list of chunks", "chunks of two"],
)
def test_responses_whose_requests_were_not_kept(value: Any, lines: bool, runs: int) -> None:
    """Each is a run of one reply, and says what is missing."""
    found = imported(value, lines=lines)
    assert (len(found.report.runs), found.report.grades) == (runs, {"model-only": runs})
    assert (found.report.missing[NO_REQUEST], CUT_REPLY in found.report.missing) == (runs, False)
    assert [text_of(found.events(ModelReplied, run)[0].content) for run in range(runs)] == ["Four."] * runs


def test_a_stream_that_breaks_off_is_told() -> None:
    """No chunk says why it ended."""
    found = imported(stream(*WHOLE[:1]))
    assert (found.report.grades, found.report.missing[CUT_REPLY]) == ({"view-only": 1}, 1)


def test_calls_that_are_streamed_with_one_index_are_several() -> None:
    """The id tells them apart, and what follows without one belongs to the last."""
    made = [
        {"index": 0, "id": label, "function": {"name": "stock", "arguments": start}}
        for label, start in (("a", "{}"), ("b", "{"))
    ]
    rest = {"index": 0, "function": {"arguments": "}"}}
    found = imported(stream(chunk({"tool_calls": made}), chunk({"tool_calls": [rest]}), chunk({}, "tool_calls")))
    (reply,) = found.events(ModelReplied)
    assert [one for _, one in calls_of(reply.content)] == [
        ToolUse(name="stock", arguments="{}", id="a"),
        ToolUse(name="stock", arguments="{}", id="b"),
    ]


def test_a_message_inside_a_stream_may_leave_things_open() -> None:
    """Some send the message first, with nothing in it, and then what it says."""
    first = chunk({})
    first["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": None, "function_call": None}
    call = {"index": 0, "id": "a", "function": {"name": "stock", "arguments": "{}"}}
    old = {"name": "stock", "arguments": "{}"}
    found = imported(stream(first, chunk({"content": "So.", "tool_calls": [call], "function_call": old}, "tool_calls")))
    (reply,) = found.events(ModelReplied)
    assert (text_of(reply.content), [one.id for _, one in calls_of(reply.content)]) == ("So.", ["a", ""])


def test_what_else_a_completion_says_stands_beside_its_reply() -> None:
    """Further choices, marks of the provider, and what a stream adds to a message."""
    other = {"index": 1, "message": {**REPLY, "content": "Five."}, "finish_reason": "stop"}
    value = {**COMPLETION, "choices": [*COMPLETION["choices"], other], "citations": ["a"]}  # type: ignore[misc]
    assert imported(value).remarks("extras") == [{"choices": [other], "response": {"citations": ["a"]}}]
    noted = stream(chunk({"content": "Four.", "annotations": [1]}), chunk({"annotations": [2]}, "stop"))
    assert imported(noted).remarks("extras") == [{"annotations": [1, 2]}]


def test_tokens_written_to_the_cache_are_counted_once() -> None:
    """The prompt's count has them in it, by whichever name."""
    details = {"cached_tokens": 4, "cache_creation_tokens": 5}
    value = {**COMPLETION, "usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": details}}
    (reply,) = imported(value).events(ModelReplied)
    assert reply.usage == Usage(input=1, cache_read=4, cache_write=5, output=2)
