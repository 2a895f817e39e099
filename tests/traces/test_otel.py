"""OpenTelemetry: one story told in every convention and container is one and the same run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
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
    ToolCalled,
    Usage,
)
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes
from tests.traces import otel_story as story
from tests.traces.oracle import check

HERE = Path(__file__).parent.parent / "fixtures" / "traces" / "otel"
USAGES = [
    Usage(input=40, cache_read=10, output=20, reasoning=4),
    Usage(input=40, cache_read=40, output=9),
]


class Imported:
    """A file's bytes in a log of their own."""

    def __init__(self, data: bytes) -> None:
        self.log = MemoryLog()
        self.report: FileReport = import_bytes(data, "spans", self.log)

    def events(self, kind: type, run: int = 0) -> list[Any]:
        """The events of one kind."""
        return [record.event for record in self.log.read(self.report.runs[run]) if type(record.event) is kind]

    def remarks(self, name: str, run: int = 0) -> list[Any]:
        """What stands beside a run under a name."""
        notes = [record.event for record in self.log.read(f"{self.report.runs[run]}@notes")]
        return [note.value for note in notes if isinstance(note, AnnotationMade) and note.name == name]

    def replayed(self) -> list[str]:
        """How each run replays."""
        return [replay(recording_of(self.log, run)).outcome for run in self.report.runs]


def told(found: Imported) -> dict[str, Any]:
    """What the story says, as a run has it."""
    started, *others = found.events(RunStarted)
    assert others == []
    replies = found.events(ModelReplied)
    seen = found.events(ObservationReceived)
    return {
        "agent": started.agent,
        "clock": started.clock,
        "turns": check(list(found.log.read(found.report.runs[0])), story.MESSAGES),
        "usages": [one.usage for one in replies],
        "ids": [one.response_id for one in replies],
        "models": [one.model for one in replies],
        "results": [(one.call, one.status, one.content) for one in seen],
        "calls": [(one.tool, one.arguments) for one in found.events(ToolCalled)],
        "grades": found.report.grades,
        "missing": found.report.missing,
        "diagnostics": found.report.diagnostics,
        "replayed": found.replayed(),
    }


STORY: dict[str, Any] = {
    "agent": "baker",
    "clock": "utc",
    "turns": 2,
    "usages": USAGES,
    "ids": ["r0", "r1"],
    "models": ["oven-1", "oven-1"],
    "results": [(1, "ok", "12"), (2, "error", "no such shelf")],
    "calls": [("stock", {"item": "eggs"}), ("stock", {"item": "rye"})],
    "grades": {"full": 1},
    "missing": {},
    "diagnostics": [],
    "replayed": ["same"],
}


@pytest.mark.parametrize("container", story.CONTAINERS)
@pytest.mark.parametrize("convention", story.CONVENTIONS)
def test_the_story_is_one_run_however_it_is_told(convention: str, container: str) -> None:
    """The same words, tokens, ids, results and failures; the spans' order in the file does not count."""
    data = story.CONTAINERS[container](story.spans(story.CONVENTIONS[convention]))
    assert told(Imported(data)) == STORY


@pytest.mark.parametrize("tell", [story.phoenix, story.phoenix_nested])
@pytest.mark.parametrize("convention", ["open_inference", "traceloop", "native"])
def test_phoenix_has_kinds_beside_the_attributes_and_levels_in_them(
    tell: Callable[[list[story.Span]], bytes], convention: str
) -> None:
    """Both of its exports."""
    found = Imported(tell(story.spans(story.CONVENTIONS[convention])))
    assert found.report.format == "phoenix"
    assert told(found) == STORY


def test_what_javascripts_console_prints_is_read_as_it_is() -> None:
    """Names without quotes, long texts in pieces; a value it did not go into is noted, a torn end costs that only."""
    data = (HERE / "console-javascript.txt").read_bytes()
    assert told(Imported(data)) == STORY
    left_out = Imported(data.replace(b"links: []", b"links: [ [Object] ]", 1))
    assert [str(one) for one in left_out.report.diagnostics] == ["line 1 (byte 0): 1 values that the console left out"]
    torn = Imported(data[: data.rindex(b"kind: 0")])
    assert torn.report.grades == {"view-only": 1}
    assert [one.problem for one in torn.report.diagnostics] == [
        "an object that cannot be read, left out with what follows"
    ]
    assert torn.report.missing["spans (a line could not be read)"] == 1


def test_times_are_those_of_the_spans() -> None:
    """The run began with its agent, a reply came with the end of its span, a result with that of its tool."""
    found = Imported(story.otlp(story.spans(story.native)))
    records = list(found.log.read(found.report.runs[0]))
    start = datetime(2026, 11, 18, 11, 6, 40, tzinfo=UTC)
    at = [(type(one.event).__name__, (one.at - start).total_seconds()) for one in records]
    kept = {"RunStarted", "ModelReplied", "ObservationReceived"}
    assert [(name, round(seconds, 3)) for name, seconds in at if name in kept] == [
        ("RunStarted", 0.001),
        ("ModelReplied", 0.015),
        ("ObservationReceived", 0.035),
        ("ObservationReceived", 0.036),
        ("ModelReplied", 0.055),
    ]


NOISE = ["INFO: started", "[2026-01-01] {not a span}", '{"level": "info", "message": "asked"}', "  {", "", "Done. ☕"]


@pytest.mark.parametrize("crlf", [False, True], ids=["lf", "crlf"])
@pytest.mark.parametrize("container", ["console", "console_js", "javascript"])
def test_spans_among_other_printed_lines(container: str, crlf: bool) -> None:
    """The spans are read; the other lines are counted, and lower no grade, since nothing of a span is lost."""
    if container == "javascript":
        chunks = re.split(r"(?<=\n\})\n", (HERE / "console-javascript.txt").read_text("utf-8"))
    else:
        chunks = [story.CONTAINERS[container]([one]).decode() for one in story.spans(story.native)]
    text = "\n".join(part for chunk in chunks for part in (*NOISE, chunk.strip()))
    found = Imported((text.replace("\n", "\r\n") if crlf else text).encode())
    assert check(list(found.log.read(found.report.runs[0])), story.MESSAGES) == 2
    assert found.report.grades == {"full": 1}
    lines = 5 * len([chunk for chunk in chunks if chunk.strip()]) + (container == "javascript") * 5
    assert str(found.report.diagnostics[0]) == f"line 1 (byte 0): {lines} lines that are no span, left out"


def test_a_span_among_other_lines_may_be_torn() -> None:
    """By a line that another thread printed: that span is lost, which lowers the grade, and those behind it are not."""
    chunks = [story.console([one]).decode() for one in story.spans(story.native)]
    chunks[0] = chunks[0].replace('"attributes"', '\nINFO: torn\n"attributes"')
    found = Imported("\n".join(["INFO: started", *chunks]).encode())
    assert found.report.grades == {"view-only": 1}
    assert [one.problem for one in found.report.diagnostics] == [
        "1 lines that are no span, left out",
        "an object that cannot be read, left out",
    ]


def test_objects_in_a_page_are_no_trace() -> None:
    """Text with examples in it is text."""
    page = "# Page\n\n```json\n" + json.dumps({"messages": [{"role": "user", "content": "hi"}]}, indent=2) + "\n```\n"
    with pytest.raises(BadInput, match="not JSON"):
        Imported(page.encode())


def test_log_records_are_joined_with_their_spans() -> None:
    """In one file, before or behind the spans; records of spans that are not there are requests of their own."""
    spans = story.spans(story.span_events)
    records = [
        {
            "timeUnixNano": str(one["start"] * 1_000_000 + place),
            "traceId": story.TRACE,
            "spanId": one["id"],
            **({"eventName": event["name"]} if place % 2 else {}),
            "attributes": [] if place % 2 else story.pairs({"event.name": event["name"]}),
            "body": story.any_value(event["attributes"]),
        }
        for one in spans
        for place, event in enumerate(one["events"])
    ]
    logs = {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "story"}, "logRecords": records}]}]}
    bare = [{**one, "events": []} for one in spans]
    lines = [json.dumps(logs).encode(), story.otlp(bare)]
    assert told(Imported(b"\n".join(lines))) == STORY
    assert told(Imported(b"\r\n".join(reversed(lines)))) == STORY
    alone = Imported(lines[0])
    assert check(list(alone.log.read(alone.report.runs[0])), story.MESSAGES) == 2
    assert [one.usage for one in alone.events(ModelReplied)] == [None, None]
    assert alone.report.grades == {"full": 1}


def test_without_content_the_structure_and_the_tokens_are_left() -> None:
    """What the default of every instrumentation gives: replies, calls by their tools' spans, no words."""
    spans = story.spans(lambda turn: {"attributes": story.native(turn)["attributes"]})
    for one in spans:
        one["attributes"] = {
            key: value
            for key, value in one["attributes"].items()
            if not key.endswith(("messages", "instructions", "arguments", "result"))
        }
    found = Imported(story.otlp(spans))
    assert found.report.grades == {"view-only": 1}
    assert [one.usage for one in found.events(ModelReplied)] == USAGES
    assert [one.tool for one in found.events(ToolCalled)] == ["stock", "stock"]
    assert [one.status for one in found.events(ObservationReceived)] == ["ok", "error"]
    assert found.replayed() == ["same"]


def _told_by(spans: list[story.Span], name: str) -> story.Span:
    return next(one for one in spans if one["name"] == name)


def test_a_request_that_two_instrumentors_tell_of_is_counted_once() -> None:
    """ADK around OpenLLMetry, the one inside of the other; the provider's own span side by side with another's."""
    spans = story.spans(story.adk)
    inner = [one for one in story.spans(story.traceloop) if one["name"] == "chat oven"]
    outer = [one for one in spans if one["name"] == "call_llm"]
    for one, around in zip(inner, outer, strict=True):
        one["id"], one["parent"] = f"e{around['id'][1]}" * 8, around["id"]
        # ADK runs the tools inside of the request that wants them.
    for one in spans:
        if one["name"] == "execute_tool stock":
            one["parent"] = outer[-1]["id"]
    assert told(Imported(story.otlp([*spans, *inner]))) == STORY

    native = [one for one in story.spans(story.native) if one["name"] == "chat oven"]
    bare = [
        {**one, "id": f"f{one['id'][1]}" * 8, "parent": "", "attributes": story._chat(place)}
        for one, place in zip(native, (1, 0), strict=True)
    ]
    request = json.loads(story.otlp(story.spans(story.native)))
    other = json.loads(story.otlp(bare))
    other["resourceSpans"][0]["scopeSpans"][0]["scope"]["name"] = "com.oven.sdk"
    assert told(Imported(json.dumps([request, other]).encode())) == STORY


def test_an_agent_inside_of_a_call_is_a_child_run() -> None:
    """Named by its parent and the number of the call; its tokens are its own."""
    spans = story.spans(story.native)
    inside = story.spans(story.open_inference)
    for one in inside:
        one["id"] = one["id"].replace("a0", "1a").replace("b", "2b").replace("d", "3d")[:16]
        one["parent"] = (one["parent"] or "")[:16].replace("a0", "1a")
        one["start"], one["end"] = one["start"] // 1, one["end"]
    agent = _told_by(inside, "invoke_agent baker")
    agent["attributes"]["gen_ai.agent.name"] = "miller"
    agent["parent"] = next(one["id"] for one in spans if one["attributes"].get("gen_ai.tool.call.id") == "c2")
    for place, one in enumerate(one for one in inside if one is not agent):
        one["id"] = f"{place + 2}c" * 8
        one["parent"] = agent["id"]
        one["start"] += 31
        one["end"] += 31
    found = Imported(story.otlp([*inside, *spans]))
    parent, child = found.report.runs
    assert child == f"{parent}/2"
    (outer,), (inner,) = found.events(RunStarted), found.events(RunStarted, 1)
    assert (outer.agent, outer.parent, inner.agent) == ("baker", None, "miller")
    assert (inner.parent.run_id, inner.parent.call) == (parent, 2)
    assert [one.usage for one in found.events(ModelReplied)] == USAGES
    assert [one.usage for one in found.events(ModelReplied, 1)] == USAGES
    assert found.replayed() == ["same", "same"]


def test_a_last_call_is_answered_by_its_tools_span() -> None:
    """Where no later request says what the model was told, and that this was inferred."""
    spans = [one for one in story.spans(story.native) if one["id"] != "b1" * 8]
    found = Imported(story.otlp(spans))
    assert found.report.missing == {"what the model was told of a result (it is the tool's own)": 2}
    seen = [(one.status, one.content) for one in found.events(ObservationReceived)]
    assert seen == [("ok", "12"), ("error", "no such shelf")]
    assert found.replayed() == ["same, unfinished"]


def test_a_tools_span_without_an_id_is_paired_by_what_it_does() -> None:
    """By name, arguments and order, which is noted; LangChain writes arguments as Python does."""
    spans = story.spans(story.native)
    for one in spans:
        if one["attributes"].pop("gen_ai.tool.call.id", None):
            made = json.loads(one["attributes"]["gen_ai.tool.call.arguments"])
            one["attributes"]["gen_ai.tool.call.arguments"] = json.dumps({"input_str": str(made), "tags": []})
    found = told(Imported(story.otlp(spans)))
    missing = {"which call a tool's span is of (no id tells; paired by name, arguments and order)": 2}
    assert found == {**STORY, "missing": missing}


def test_attributes_that_were_dropped_cost_the_grade() -> None:
    """A number that is skipped is a message that is not there."""
    spans = story.spans(story.open_inference)
    for one in spans:
        if one["id"] == "b1" * 8:
            kept = one["attributes"].items()
            one["attributes"] = {key: value for key, value in kept if ".input_messages.0" not in key}
    found = Imported(story.otlp(spans))
    assert found.report.grades == {"view-only": 1}
    assert found.report.missing["messages (attributes of the span were dropped or cut off)"] == 1


def test_a_request_that_failed_stands_beside_the_one_that_did_not() -> None:
    """It is no reply, and its words are not said twice."""
    spans = story.spans(story.native)
    failed = dict(_told_by(spans, "chat oven"))
    failed |= {"id": "9e" * 8, "error": True, "start": failed["start"] - 8, "end": failed["end"] - 8}
    failed["attributes"] = {
        key: value
        for key, value in failed["attributes"].items()
        if not key.startswith(("gen_ai.output", "gen_ai.usage", "gen_ai.response"))
    }
    found = Imported(story.otlp([*spans, failed]))
    assert [one["error"] for one in found.remarks("model_failed")] == ["empty shelf"]
    missing = {"a reply of the model (the request failed)": 1}
    assert told(found) == {**STORY, "missing": missing}


def test_what_is_not_read_is_kept_beside_the_run() -> None:
    """Other spans of the trace, unknown attributes, scores, and the agent's sums, which are not added."""
    spans = story.spans(story.native)
    _told_by(spans, "invoke_agent baker")["attributes"]["gen_ai.usage.input_tokens"] = 130
    noise = {**spans[0], "id": "7f" * 8, "name": "GET", "attributes": {"http.method": "GET"}, "error": False}
    score = {"gen_ai.evaluation.name": "taste", "gen_ai.evaluation.score.value": 0.5}
    noise["events"] = [{"name": "gen_ai.evaluation.result", "attributes": score}]
    _told_by(spans, "chat oven")["attributes"]["oven.heat"] = 200
    found = Imported(story.otlp([*spans, noise]))
    assert [one["name"] for one in found.remarks("span")] == ["GET"]
    assert found.remarks("evaluation") == [{"name": "taste", "score.value": 0.5}]
    assert [one["attributes"] for one in found.remarks("extras") if "attributes" in one] == [{"oven.heat": 200}]
    assert [one.usage for one in found.events(ModelReplied)] == USAGES


def test_the_outer_span_of_vercel_is_read_where_it_is_alone() -> None:
    """What happened inside of it is not known; where the inner ones are there, it counts the same tokens again."""
    outer = {
        "ai.operationId": "ai.generateText",
        "ai.model.id": "oven",
        "ai.telemetry.functionId": "baker",
        "ai.prompt": json.dumps({"system": "Be brief.", "prompt": "Eggs?"}),
        "ai.response.text": "12.",
        "ai.usage.promptTokens": 7,
        "ai.usage.completionTokens": 2,
    }
    spans = [one for one in story.spans(story.vercel) if "invoke_agent" not in one["name"]]
    around = story._span("a0", "", "ai.generateText", 1, {"attributes": outer}, length=90)
    found = Imported(story.readable([around]))
    assert found.report.grades == {"model-only": 1}
    assert [(one.content, one.usage) for one in found.events(ModelReplied)] == [("12.", Usage(input=7, output=2))]
    assert told(Imported(story.readable([*spans, around]))) == STORY


def test_a_tool_alone_is_a_call_without_the_request_it_came_from() -> None:
    """Graded so; the attributes of one span are enough."""
    found = Imported(json.dumps({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "stock"}).encode())
    assert (found.report.format, found.report.grades) == ("span-attributes", {"verdicts-only": 1})
    assert [one.tool for one in found.events(ToolCalled)] == ["stock"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param({"resourceSpans": []}, "0 spans, none of a model", id="no span"),
        pytest.param([{"name": "ai.embed", "spanContext": {"spanId": "1"}, "attributes": {}}], "1 spans, none", id="1"),
        pytest.param({"eval_set_id": "e", "eval_cases": []}, "an ADK evaluation set: what is expected", id="adk"),
        pytest.param({"resourceSpans": [7]}, "no run in this otlp file: a resource that is no object", id="wrong"),
    ],
)
def test_what_holds_no_run_is_refused(value: Any, problem: str) -> None:
    """With the reason, and nothing kept."""
    log = MemoryLog()
    with pytest.raises(BadInput, match=problem):
        import_bytes(json.dumps(value).encode(), "spans", log)
    assert list(log.runs()) == []
