"""Shapes that SDKs and tools give to spans, messages and tools, each of which is read as the same words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from redrive_events import MemoryLog, ModelReplied, ObservationReceived, RunStarted, Usage
from redrive_replays import recording_of, replay
from redrive_replays.traces import import_bytes
from tests.traces import otel_story as story
from tests.traces.oracle import Line, turns

BEGAN = "2026-11-18T11:06:40"
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.input.messages": json.dumps([{"role": "user", "content": "Rye?"}]),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "None."}]),
    "gen_ai.usage.input_tokens": 7,
}
ASKED: Line = ("user", "Rye?", 0, [], "")
REPLY: Line = ("assistant", "None.", 0, [], "")
IDS = {"trace_id": story.TRACE, "span_id": "6be766f137dba10e"}
FLAT = {**IDS, "name": "chat m", "start_time": f"{BEGAN}Z", "end_time": f"{BEGAN}Z", "attributes": CHAT}
OTLP = {
    **{"traceId": story.TRACE, "spanId": "6be766f137dba10e", "name": "chat m", "attributes": story.pairs(CHAT)},
    **{"startTimeUnixNano": "1795000000000000000", "endTimeUnixNano": "1795000000005000000"},
}


class Read:
    """A file imported: its runs replay, and one is looked at."""

    def __init__(self, value: Any) -> None:
        self.log = MemoryLog()
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.runs = import_bytes(data, "spans", self.log).runs
        for run in self.runs:
            assert replay(recording_of(self.log, run)).same
        self.records = list(self.log.read(self.runs[0]))
        self.turns = list(turns(self.records))

    def events(self, kind: type) -> list[Any]:
        """The events of one kind."""
        return [record.event for record in self.records if type(record.event) is kind]

    @property
    def source(self) -> Any:
        """What is said of the file."""
        return self.events(RunStarted)[0].source


def _go(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"Key": key, "Value": {"Type": type(value).__name__, "Value": value}} for key, value in attributes.items()]


GO = {
    "Name": "chat m",
    "SpanContext": {"TraceID": story.TRACE, "SpanID": "6be766f137dba10e", "TraceFlags": "01"},
    "Parent": {"TraceID": "0" * 32, "SpanID": "0" * 16},
    "StartTime": f"{BEGAN}.000000001+00:00",
    "EndTime": f"{BEGAN}.5+00:00",
    "Attributes": _go(CHAT),
    "Events": [{"Name": "note", "Attributes": _go({"a": 1}), "Time": f"{BEGAN}Z"}],
    "Status": {"Code": "Unset", "Description": ""},
    "Resource": _go({"service.name": "bakery"}),
    "InstrumentationScope": {"Name": "oven"},
}
TABLE = {
    **{"Timestamp": f"{BEGAN} ".replace("T", " ").strip() + ".000000000", "TraceId": story.TRACE, "SpanId": "b1"},
    **{"ParentSpanId": "", "SpanName": "chat m", "Duration": "5000000", "StatusCode": "Unset", "ScopeName": "oven"},
    "SpanAttributes": {key: str(value) for key, value in CHAT.items()},
    **{"Events.Name": ["note"], "Events.Timestamp": [f"{BEGAN}Z"], "Events.Attributes": [{}]},
}
ZIPKIN = {
    **{"traceId": story.TRACE, "id": "6be766f137dba10e", "name": "chat m", "duration": 5000},
    **{"timestamp": 1795000000000000, "tags": {key: str(value) for key, value in CHAT.items()}},
}
KEPT = {
    **{"_spanContext": {"traceId": story.TRACE, "spanId": "6be766f137dba10e"}, "name": "chat m", "attributes": CHAT},
    **{"startTime": [1795000000, 5], "endTime": [1795000001, 5], "status": {"code": 0}},
}
NUMBERED = {**FLAT, "context": {"trace_id": 1, "span_id": 3}, "parent": {"trace_id": 1, "span_id": 1}}
ROOT = {**FLAT, "span_id": "a1a1a1a1a1a1a1a1", "attributes": {}, "children": [FLAT]}
OBSERVED = {
    **{"trace_id": "t", "span_id": "s", "span_name": "chat m", "start_time": f"{BEGAN}Z", "attributes": {}},
    "span_attributes": {"gen_ai": {"operation": {"name": "chat"}}, **CHAT},
}


@pytest.mark.parametrize(
    "value",
    [
        *({"spans": [FLAT]}, {"data": [FLAT], "next": None}, {"traces": [{"id": 1, "spans": [FLAT]}]}),
        *([OTLP], {"data": [OTLP]}, {"resource": {}, "scopeSpans": [{"spans": [OTLP]}]}),
        {"result": {"resourceSpans": [{"scopeSpans": [{"spans": [OTLP]}]}]}},
        *(GO, [GO], TABLE, [ZIPKIN], KEPT, NUMBERED, ROOT, {"trace": {"id": 1}, "spans": [OBSERVED]}),
    ],
    ids=lambda value: ",".join(value if isinstance(value, dict) else [f"list of {'.'.join(value[0])}"])[:40],
)
def test_a_span_is_one_whatever_wraps_it_and_whoever_wrote_it(value: Any) -> None:
    """With its time, and its tokens."""
    found = Read(value)
    assert found.turns == [([ASKED], REPLY)]
    assert found.events(ModelReplied)[0].usage == Usage(input=7)
    assert found.records[0].at.isoformat().startswith(BEGAN)
    assert "times" not in found.source.missing


PARTS = [{"text": "Looking."}, {"function_call": {"name": "stock", "args": {"of": "rye"}}}]
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "Rye?"}]},
    {"role": "model", "parts": PARTS},
    {"role": "user", "parts": [{"function_response": {"name": "stock", "response": {"left": 0}}}]},
    {"role": "model", "parts": [{"text": "None."}]},
]
CALLED: Line = ("assistant", "Looking.", 0, [("", "stock", '{"of":"rye"}')], "")
TOLD = [([ASKED], CALLED), ([ASKED, CALLED, ("tool", '{"left":0}', 0, [], "")], REPLY)]


def _work(label: str, **more: Any) -> story.Span:
    attributes = {
        **{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "stock", "gen_ai.tool.call.id": f"adk-{label}"},
        "gcp.vertex.agent.tool_call_args": '{"of":"rye"}',
        "gcp.vertex.agent.tool_response": '{"left":0}',
        **more,
    }
    return story._span(label, "a0", "execute_tool stock", 20, {"attributes": attributes})


MERGED = _work("d2", **{"gen_ai.tool.name": "(merged tools)", "gcp.vertex.agent.tool_call_args": "N/A"})


def _vertex(turn: int, **more: Any) -> story.Span:
    attributes = {"gen_ai.request.model": "oven", "gen_ai.usage.output_tokens": 3, **more}
    return story._span(f"b{turn}", "a0", "call_llm", 10 + 40 * turn, {"attributes": attributes})


def _asked(turn: int) -> dict[str, str]:
    request = {"contents": GEMINI[: 1 + 2 * turn], "config": {}}
    return {
        "gcp.vertex.agent.session_id": "s1",
        "gcp.vertex.agent.llm_request": json.dumps(request),
        "gcp.vertex.agent.llm_response": json.dumps({"content": GEMINI[1 + 2 * turn]}),
    }


def test_a_tool_is_paired_though_only_its_span_has_the_id() -> None:
    """ADK takes ids out of what it asks with; its summary of several tools is the work of none."""
    found = Read(story.otlp([_vertex(0, **_asked(0)), _work("d1"), MERGED, _vertex(1, **_asked(1))]))
    assert found.turns == TOLD
    assert found.events(RunStarted)[0].labels["session"] == "s1"
    assert found.source.missing == (
        "which call a tool's span is of (no id tells; paired by name, arguments and order)",
        "which call a result answers (it names none; paired by name and order)",
    )


def test_a_summary_of_tools_is_no_call_where_words_are_not_there() -> None:
    """Nor is it without content."""
    found = Read(story.otlp([_vertex(0), _work("d1"), MERGED, _vertex(1)]))
    assert [one.call for one in found.events(ObservationReceived)] == [1]


def _records(bodies: Iterable[tuple[int, str, Any]]) -> bytes:
    spans = json.loads(story.otlp([_vertex(0), _work("d1"), _vertex(1)]))
    records = [
        {
            **{"traceId": story.TRACE, "spanId": f"b{turn}" * 8, "eventName": name, "body": story.any_value(body)},
            "observedTimeUnixNano": str(1_795_000_000_000_000_000 + 40_000_000 * turn + place),
        }
        for place, (turn, name, body) in enumerate(bodies)
    ]
    return json.dumps({**spans, "resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()


def test_a_content_that_is_a_message_is_that_message() -> None:
    """In its own role; of its parts only the keys that have something in them count."""
    empty = dict.fromkeys(("text", "thought", "function_call", "function_response", "inline_data"))
    whole: list[dict[str, Any]] = [{**one, "parts": [{**empty, **part} for part in one["parts"]]} for one in GEMINI]
    bodies: list[tuple[int, str, Any]] = [
        (turn, "gen_ai.user.message", {"content": one}) for turn in (0, 1) for one in whole[: 1 + 2 * turn]
    ]
    bodies += [(turn, "gen_ai.choice", {"index": 0, "content": whole[1 + 2 * turn]}) for turn in (0, 1)]
    assert Read(_records(bodies)).turns == TOLD


@pytest.mark.parametrize("hidden", ["<elided>", "__REDACTED__", ""])
def test_words_that_were_hidden_are_no_words(hidden: str) -> None:
    """What stands in their place is not what anybody said."""
    bodies: list[tuple[int, str, Any]] = [(turn, "gen_ai.user.message", {"content": hidden}) for turn in (0, 1)]
    bodies += [(turn, "gen_ai.choice", {"index": 0, "content": hidden}) for turn in (0, 1)]
    found = Read(_records(bodies))
    assert found.source.grade == "view-only"
    assert [line[1] for asked, reply in found.turns for line in (*asked, reply) if line[1]] == ['{"left":0}']


def test_words_of_which_some_were_hidden_cost_the_grade() -> None:
    """The others are read."""
    asked = [{"role": "system", "content": "__REDACTED__"}, {"role": "user", "content": "Rye?"}]
    found = Read({**FLAT, "attributes": {**CHAT, "gen_ai.input.messages": json.dumps(asked)}})
    assert found.source.grade == "view-only"
    assert found.turns[0][0][1:] == [ASKED]


BEDROCK = [
    [{"text": "Rye?"}],
    [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
        {"text": "Looking."},
        {"toolUse": {"toolUseId": "c1", "name": "stock", "input": {"of": "rye"}}},
    ],
    [{"toolResult": {"toolUseId": "c1", "status": "error", "content": [{"text": "no shelf"}]}}],
    [{"text": "None."}],
]
ROLES = ("user", "assistant", "tool", "assistant")
STRANDS = [
    ([ASKED], ("assistant", "Looking.", 0, [("c1", "stock", '{"of":"rye"}')], "")),
    (
        [ASKED, ("assistant", "Looking.", 0, [("c1", "stock", '{"of":"rye"}')], ""), ("tool", "no shelf", 0, [], "c1")],
        REPLY,
    ),
]


def _loop(turn: int, *, words: bool = True) -> story.Span:
    events = [
        {"name": f"gen_ai.{role}.message", "attributes": {"content": json.dumps(parts)}}
        for role, parts in zip(ROLES, BEDROCK[: 1 + 2 * turn], strict=False)
    ]
    choice = {"finish_reason": "end_turn", "message": json.dumps(BEDROCK[1 + 2 * turn])}
    events.append({"name": "gen_ai.choice", "attributes": choice})
    told = {"attributes": {"gen_ai.operation.name": "chat"}, "events": events if words else []}
    return story._span(f"b{turn}", f"e{turn}", "chat", 10 + 40 * turn, told)


def _step(turn: int) -> story.Span:
    choice = {"message": json.dumps(BEDROCK[1 + 2 * turn]), "tool.result": json.dumps(BEDROCK[2])}
    told = {"attributes": {}, "events": [{"name": "gen_ai.choice", "attributes": choice}]}
    return story._span(f"e{turn}", "", "execute_event_loop_cycle", 9 + 40 * turn, told, length=39)


def _tool_events() -> story.Span:
    asked = {"role": "tool", "content": '{"of": "rye"}', "id": "c1"}
    events = [
        {"name": "gen_ai.tool.message", "attributes": asked},
        {"name": "gen_ai.choice", "attributes": {"message": json.dumps([{"text": "no shelf"}]), "id": "c1"}},
    ]
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "stock"}
    return story._span("d1", "e0", "execute_tool stock", 20, {"attributes": attributes, "events": events})


def test_bedrocks_parts_are_read_in_events() -> None:
    """Strands writes them as JSON; the steps of its loop tell all once more, and count for nothing."""
    spans = [_loop(0), _step(0), _tool_events(), _loop(1), _step(1)]
    found = Read(story.otlp(spans))
    assert found.turns == STRANDS
    assert [one.status for one in found.events(ObservationReceived)] == ["error"]
    assert (found.source.grade, found.source.missing) == ("full", ())
    assert len(found.runs) == 1


@pytest.mark.parametrize("words", ["Be brief.", json.dumps([{"text": "Be brief."}])])
def test_the_systems_words_may_stand_on_the_agents_span_alone(words: str) -> None:
    """Strands has them there for all requests inside; that these were asked with them is inferred, and told."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk", "system_prompt": words}
    agent = story._span("a0", "", "invoke_agent clerk", 5, {"attributes": attributes}, length=200)
    steps = [{**_step(turn), "parent": agent["id"]} for turn in (0, 1)]
    found = Read(story.otlp([_loop(0), steps[0], _tool_events(), _loop(1), steps[1], agent]))
    system: Line = ("system", "Be brief.", 0, [], "")
    assert found.turns == [([system, *asked], reply) for asked, reply in STRANDS]
    assert found.source.missing == ("that the system's words were asked with (they stand on the agent's span alone)",)


COUNTED: dict[str, dict[str, Any]] = {
    "langtrace": {"llm.token.counts": json.dumps({"input_tokens": 50, "output_tokens": 20, "total_tokens": 70})},
    "logfire, chat": {
        "request_data": json.dumps({"messages": [{"role": "user", "content": "Rye?"}]}),
        "response_data": json.dumps(
            {
                "message": {"role": "assistant", "content": "None."},
                "usage": {
                    **{"prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70},
                    "prompt_tokens_details": {"cached_tokens": 10},
                    "completion_tokens_details": {"reasoning_tokens": 4},
                },
            }
        ),
    },
    "logfire, Anthropic": {
        "request_data": json.dumps({"messages": [{"role": "user", "content": "Rye?"}]}),
        "response_data": json.dumps(
            {
                "message": {"role": "assistant", "content": "None."},
                "usage": {"input_tokens": 40, "cache_read_input_tokens": 10, "output_tokens": 20},
            }
        ),
    },
    "OpenInference": {
        **{"llm.token_count.prompt": 50, "llm.token_count.completion": 20},
        "llm.token_count.prompt_details.cache_write": 10,
    },
}
COUNTS = {
    "langtrace": Usage(input=50, output=20),
    "logfire, chat": Usage(input=40, cache_read=10, output=20, reasoning=4),
    "logfire, Anthropic": Usage(input=40, cache_read=10, output=20),
    "OpenInference": Usage(input=40, cache_write=10, output=20),
}


@pytest.mark.parametrize("writer", COUNTED)
def test_tokens_are_counted_once_whatever_holds_them(writer: str) -> None:
    """As JSON in an attribute, in the response, or by names of their own."""
    words = {} if "request_data" in COUNTED[writer] else {k: v for k, v in CHAT.items() if "usage" not in k}
    found = Read([{**FLAT, "attributes": {**words, **COUNTED[writer]}}])
    assert [one.usage for one in found.events(ModelReplied)] == [COUNTS[writer]]


def test_a_tool_says_in_events_what_it_was_asked_and_what_came_of_it() -> None:
    """Where the requests have no words."""
    found = Read(story.otlp([_loop(0, words=False), _tool_events(), _loop(1, words=False)]))
    assert found.turns[0][1][3] == [("c1", "stock", '{"of": "rye"}')]
    assert [one.content for one in found.events(ObservationReceived)] == ["no shelf"]


def test_log_records_by_themselves_are_joined_with_spans_by_themselves() -> None:
    """AWS writes a span a line, and the messages of each in a record of its own."""
    rows = [
        {**one, "attributes": {pair["key"]: next(iter(pair["value"].values())) for pair in one["attributes"]}}
        for one in map(story._otlp_span, [_loop(0, words=False), _tool_events(), _loop(1, words=False)])
    ]
    for turn in (0, 1):
        given = [
            {"role": role, "content": {"content": json.dumps(parts)}}
            for role, parts in zip(ROLES, BEDROCK[: 1 + 2 * turn], strict=False)
        ]
        made = {"message": json.dumps(BEDROCK[1 + 2 * turn]), "finish_reason": "tool_use"}
        body = {"input": {"messages": given}, "output": {"messages": [{"role": "assistant", "content": made}]}}
        record = {"traceId": story.TRACE, "spanId": f"b{turn}" * 8, "timeUnixNano": 1795000000060000000}
        rows.append({**record, "attributes": {"event.name": "tracer"}, "body": body})
    rows.append({"traceId": story.TRACE, "spanId": "b0" * 8, "body": "a line of a log", "attributes": {}})
    for value in (rows, b"\n".join(json.dumps(row).encode() for row in rows)):
        found = Read(value)
        assert found.turns == STRANDS
        assert found.events(ModelReplied)[0].finish == "tool_use"


def test_all_that_an_event_says_may_be_json_in_one_attribute() -> None:
    """So Azure does."""
    call = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"of":"rye"}'}}
    said: list[tuple[str, Any]] = [
        ("user.message", {"role": "user", "content": "Rye?"}),
        ("assistant.message", {"role": "assistant", "tool_calls": [call]}),
        ("tool.message", {"role": "tool", "content": "0", "tool_call_id": "c1"}),
        ("choice", {"index": 0, "finish_reason": "stop", "message": {"content": "None."}}),
    ]
    events = [
        {"name": f"gen_ai.{name}", "attributes": {"gen_ai.event.content": json.dumps(body)}} for name, body in said
    ]
    span = story._span("b0", "", "chat m", 1, {"attributes": {"gen_ai.operation.name": "chat"}, "events": events})
    asked, reply = Read(story.otlp([span])).turns[-1]
    assert asked == [ASKED, ("assistant", "", 0, [("c1", "stock", '{"of":"rye"}')], ""), ("tool", "0", 0, [], "c1")]
    assert reply == REPLY


def test_an_agents_span_alone_is_read_with_the_steps_that_are_missing() -> None:
    """Its request and its replies; what is not there is said."""
    call = {"type": "tool_call", "id": "c1", "name": "stock", "arguments": {"of": "rye"}}
    replies = [{"role": "assistant", "parts": [call]}, {"role": "assistant", "content": "None."}]
    attributes = {
        **CHAT,
        **{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "baker"},
        "gen_ai.output.messages": replies,
    }
    found = Read({**FLAT, "attributes": attributes})
    assert [reply for _, reply in found.turns] == [("assistant", "", 0, [("c1", "stock", '{"of":"rye"}')], ""), REPLY]
    assert found.source.grade == "model-only"
    assert found.source.missing[0] == "the steps inside (only the outer span is there)"
    assert found.events(ModelReplied)[-1].usage == Usage(input=7)


@pytest.mark.parametrize(
    "attributes",
    [
        {"openinference.span.kind": "LLM", "input.value": "Rye?", "output.value": "None."},
        {
            **{"openinference.span.kind": "LLM", "output.value": "None."},
            **{"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Rye?"},
        },
        {
            **{"langfuse.observation.type": "generation", "langfuse.observation.input": "Rye?"},
            "langfuse.observation.output": "None.",
        },
    ],
    ids=["plain", "reply", "observed"],
)
def test_plain_words_of_a_model_are_a_question_and_an_answer(attributes: dict[str, str]) -> None:
    """Where no messages are there."""
    found = Read({**FLAT, "attributes": attributes})
    assert found.turns == [([ASKED], REPLY)]
    assert found.source.grade == "full"


ROW = {
    **{"name": "chat m", "span_kind": "LLM", "parent_id": None, "start_time": f"{BEGAN}Z", "end_time": f"{BEGAN}Z"},
    **{"context.span_id": "s", "context.trace_id": "t", "attributes.llm.token_count.prompt": 7},
    "attributes.llm.input_messages": [{"message.role": "user", "message.content": "Rye?"}],
    "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": "None."}],
}
OPEN = {"input_messages": [{"message": {"role": "user", "content": "Rye?"}}], "token_count": {"prompt": 7}}
OPEN["output_messages"] = [{"message": {"role": "assistant", "content": "None."}}]
LEVELS = {
    **{"name": "chat m", "span_kind": "LLM", "context": IDS, "start_time": f"{BEGAN}Z", "end_time": f"{BEGAN}Z"},
    "attributes": json.dumps({"llm": OPEN}),
}


@pytest.mark.parametrize(
    "value", [{name: {"0": value} for name, value in ROW.items()}, [LEVELS]], ids=["columns", "text"]
)
def test_phoenix_has_its_table_by_columns_and_attributes_as_text(value: Any) -> None:
    """The same span."""
    found = Read(value)
    assert found.turns == [([ASKED], REPLY)]
    assert found.events(ModelReplied)[0].usage == Usage(input=7)


MESSAGES = [{"role": "user", "content": "Rye?"}]


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "openinference.span.kind": "LLM",
            "input.value": json.dumps({"system": "Be brief.", "messages": MESSAGES}),
            "output.value": json.dumps({"role": "assistant", "content": [{"type": "text", "text": "None."}]}),
        },
        {
            "request_data": json.dumps({"instructions": "Be brief.", "input": MESSAGES}),
            "response_data": json.dumps({"combined_chunk_content": "None.", "chunk_count": 3}),
        },
        {
            "gen_ai.operation.name": "chat.completions",
            "llm.prompts": json.dumps([{"role": "system", "content": "Be brief."}, *MESSAGES]),
            "llm.responses": json.dumps([{"role": "assistant", "content": "None."}]),
        },
    ],
    ids=["beside", "streamed", "listed"],
)
def test_the_systems_words_beside_the_messages_are_read(attributes: dict[str, str]) -> None:
    """And a response, whatever it is written as."""
    found = Read({**FLAT, "attributes": attributes})
    assert found.turns == [([("system", "Be brief.", 0, [], ""), ASKED], REPLY)]
    assert found.source.grade == "full"


def test_a_kernels_tokens_are_counted() -> None:
    """They stand with the response."""
    counts = {"gen_ai.response.prompt_tokens": 5, "gen_ai.response.completion_tokens": 2}
    found = Read({**FLAT, "attributes": {"gen_ai.operation.name": "chat.completions", **counts}})
    assert found.events(ModelReplied)[0].usage == Usage(input=5, output=2)


def test_an_operation_is_told_by_the_spans_name_alone() -> None:
    """Vercel's, where the attribute that says so is not there."""
    attributes = {"ai.prompt.messages": json.dumps(MESSAGES), "ai.response.text": "None."}
    assert Read({**FLAT, "name": "ai.streamText.doStream", "attributes": attributes}).turns == [([ASKED], REPLY)]


def test_what_was_streamed_is_the_reply_to_the_request_before() -> None:
    """Logfire tells it in a log of its own, which is no request."""
    request = {"request_data": json.dumps({"messages": MESSAGES, "stream": True}), "gen_ai.usage.input_tokens": 7}
    reply = {"response_data": json.dumps({"combined_chunk_content": "None."}), "logfire.span_type": "log"}
    found = Read(
        [
            {**FLAT, "attributes": {**request, "gen_ai.operation.name": "chat"}},
            {**FLAT, "span_id": "b" * 16, "start_time": f"{BEGAN[:-2]}59Z", "attributes": {**request, **reply}},
        ]
    )
    assert len(found.runs) == 1
    assert found.turns == [([ASKED], REPLY)]
    assert found.events(ModelReplied)[0].usage == Usage(input=7)


def test_thoughts_that_are_counted_beside_the_words_are_added() -> None:
    """There are more of them than of the words."""
    counts = {"gen_ai.usage.output_tokens": 6, "gen_ai.usage.experimental.reasoning_tokens": 46}
    found = Read({**FLAT, "attributes": {**CHAT, **counts}})
    assert found.events(ModelReplied)[0].usage == Usage(input=7, output=52, reasoning=46)


def test_instructions_are_read_where_nothing_else_was_asked() -> None:
    """The request has no messages."""
    system = json.dumps([{"type": "text", "content": "Be brief."}])
    empty = {"gen_ai.input.messages": "[]", "gen_ai.system_instructions": system}
    assert Read({**FLAT, "attributes": {**CHAT, **empty}}).turns == [([("system", "Be brief.", 0, [], "")], REPLY)]


def test_a_tool_may_say_in_messages_what_it_was_asked() -> None:
    """One event as it begins and one as it ends; it failed as it says."""
    call = {"type": "tool_call", "id": "c1", "name": "stock", "arguments": {"of": "rye"}}
    answer = {"type": "tool_call_response", "id": "c1", "response": [{"text": "no shelf"}]}
    name = "gen_ai.client.inference.operation.details"
    events = [
        {"name": name, "attributes": {"gen_ai.input.messages": json.dumps([{"role": "tool", "parts": [call]}])}},
        {"name": name, "attributes": {"gen_ai.output.messages": json.dumps([{"role": "tool", "parts": [answer]}])}},
    ]
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "stock", "gen_ai.tool.status": "error"}
    work = story._span("d1", "e0", "execute_tool stock", 20, {"attributes": attributes, "events": events})
    found = Read(story.otlp([_loop(0, words=False), work, _loop(1, words=False)]))
    assert found.turns[0][1][3] == [("c1", "stock", '{"of":"rye"}')]
    assert [(one.content, one.status) for one in found.events(ObservationReceived)] == [("no shelf", "error")]


def test_values_that_are_json_each_are_read() -> None:
    """So MLflow has them."""
    attributes = {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.spanInputs": json.dumps({"messages": MESSAGES}),
        "mlflow.spanOutputs": json.dumps({"choices": [{"message": {"role": "assistant", "content": "None."}}]}),
        "mlflow.chat.tokenUsage": json.dumps({"input_tokens": 7, "output_tokens": 2}),
    }
    found = Read({"info": {"state": "OK"}, "data": {"spans": [{**FLAT, "attributes": attributes}]}})
    assert found.turns == [([ASKED], REPLY)]
    assert found.events(ModelReplied)[0].usage == Usage(input=7, output=2)


def test_a_tool_that_is_a_task_is_a_tool() -> None:
    """LlamaIndex names it in what came of it."""
    attributes = {
        **{"traceloop.span.kind": "task", "traceloop.entity.name": "FunctionTool.task"},
        "traceloop.entity.input": json.dumps({"kwargs": {"of": "rye"}}),
        "traceloop.entity.output": json.dumps({"blocks": [{"block_type": "text", "text": "0"}], "tool_name": "stock"}),
    }
    work = story._span("d1", "", "FunctionTool.task", 20, {"attributes": attributes})
    found = Read(story.otlp([_loop(0, words=False), work, _loop(1, words=False)]))
    assert [call[1:] for call in found.turns[0][1][3]] == [("stock", '{"of":"rye"}')]
    assert [one.content for one in found.events(ObservationReceived)] == ["0"]
