"""Agents in OpenTelemetry: which requests are one run, which agents are children, and what is said of the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive_events import MemoryLog, ModelReplied, ObservationReceived, RunStarted, ToolCalled, Usage
from redrive_projections import fold, status
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes
from tests.traces import otel_story as story

USERS = [{"role": "user", "parts": [{"type": "text", "content": f"question {index}"}]} for index in range(4)]
AGENTS = [{"role": "assistant", "parts": [{"type": "text", "content": f"answer {index}"}]} for index in range(4)]


def chat(label: str, parent: str, start: int, asked: list[Any], replied: list[Any], **more: Any) -> story.Span:
    """A request to a model."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(replied),
        **more,
    }
    return story._span(label, parent, "chat m", start, {"attributes": attributes})


def agent(label: str, parent: str, start: int, name: str, length: int = 50) -> story.Span:
    """An agent at work."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    return story._span(label, parent, f"invoke_agent {name}", start, {"attributes": attributes}, length=length)


def tool(label: str, parent: str, start: int, call: str, **more: Any) -> story.Span:
    """A tool at work."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask", "gen_ai.tool.call.id": call}
    return story._span(label, parent, "execute_tool ask", start, {"attributes": {**attributes, **more}}, length=20)


def calling(*labels: str) -> dict[str, Any]:
    """A reply that calls."""
    calls = [{"type": "tool_call", "id": one, "name": "ask", "arguments": {"of": one}} for one in labels]
    return {"role": "assistant", "parts": calls}


def answering(*labels: str) -> dict[str, Any]:
    """What came of the calls, in one message."""
    answers = [{"type": "tool_call_response", "id": one, "response": {"said": one}} for one in labels]
    return {"role": "tool", "parts": answers}


def imported(*spans: story.Span) -> tuple[MemoryLog, FileReport]:
    """Spans in a log of their own; each run replays."""
    log = MemoryLog()
    report = import_bytes(story.otlp(list(spans)), "spans", log)
    for run in report.runs:
        assert replay(recording_of(log, run)).same
    return log, report


def events(log: MemoryLog, run: str, kind: type) -> list[Any]:
    """The events of one kind."""
    return [record.event for record in log.read(run) if type(record.event) is kind]


def lineage(log: MemoryLog, report: FileReport) -> list[tuple[str, str, int]]:
    """Of each run the agent, the agent of its parent, and the call."""
    started = {run: events(log, run, RunStarted)[0] for run in report.runs}
    above = [one.parent for one in started.values()]
    names = [started[one.run_id].agent if one else "" for one in above]
    return [
        (one.agent, name, parent.call if parent else 0)
        for one, name, parent in zip(started.values(), names, above, strict=True)
    ]


def test_two_agents_begun_by_one_reply_are_two_children() -> None:
    """Though they run at the same time, say the same, and stand in the file in any order."""
    spans = [
        agent("a0", "", 1, "boss", 90),
        chat("b0", "a0", 2, [USERS[0]], [calling("p1", "p2")]),
        *(tool("c1", "a0", 10, "p1"), tool("c2", "a0", 11, "p2")),
        *(agent("d1", "c1", 12, "kid", 10), agent("d2", "c2", 13, "kid", 10)),
        *(chat("e1", "d1", 14, [USERS[1]], [AGENTS[1]]), chat("e2", "d2", 15, [USERS[1]], [AGENTS[1]])),
        chat("b1", "a0", 60, [USERS[0], calling("p1", "p2"), answering("p1", "p2")], [AGENTS[0]]),
    ]
    log, report = imported(*reversed(spans))
    assert lineage(log, report) == [("boss", "", 0), ("kid", "boss", 1), ("kid", "boss", 2)]
    assert report.runs[1:] == [f"{report.runs[0]}/1", f"{report.runs[0]}/2"]
    assert [one.content for one in events(log, report.runs[0], ObservationReceived)] == [
        '{"said":"p1"}',
        '{"said":"p2"}',
    ]
    tokens = [one.usage for run in report.runs for one in events(log, run, ModelReplied)]
    assert tokens == [Usage(output=10)] * 4


def test_an_agent_that_takes_over_is_a_child_of_the_one_before() -> None:
    """It is asked with all that was said before; that is its history, without tokens, and noted."""
    log, report = imported(
        agent("a0", "", 1, "root", 90),
        agent("a1", "a0", 2, "baker", 10),
        chat("b1", "a1", 3, [USERS[0]], [calling("h1")]),
        agent("a2", "a0", 20, "miller"),
        chat("b2", "a2", 21, [USERS[0], calling("h1"), answering("h1")], [AGENTS[0]]),
    )
    assert lineage(log, report) == [("baker", "", 0), ("miller", "baker", 1)]
    assert [one.usage for one in events(log, report.runs[1], ModelReplied)] == [None, Usage(output=10)]
    assert report.missing["what another agent said before it handed over (that run has it too)"] == 1


def test_an_agent_inside_of_another_without_a_call_is_a_child_of_no_call() -> None:
    """The call is not known, the run is."""
    log, report = imported(
        agent("a0", "", 1, "boss", 90),
        chat("b0", "a0", 2, [USERS[0]], [AGENTS[0]]),
        agent("a1", "a0", 10, "kid"),
        chat("b1", "a1", 11, [USERS[1]], [AGENTS[1]]),
    )
    assert lineage(log, report) == [("boss", "", 0), ("kid", "boss", 0)]


def test_a_history_that_was_cut_short_is_a_run_of_its_own() -> None:
    """The engine could not have asked with it; the run says so."""
    _, report = imported(
        agent("a0", "", 1, "baker"),
        chat("b0", "a0", 2, [USERS[0]], [AGENTS[0]]),
        chat("b1", "a0", 12, [USERS[0], AGENTS[0], USERS[1]], [AGENTS[1]]),
        chat("b2", "a0", 22, [USERS[1], AGENTS[1], USERS[2]], [AGENTS[2]]),
    )
    assert (len(report.runs), report.grades) == (2, {"full": 2})
    assert report.missing["how it goes on from the same agent's run before (the request has other messages)"] == 1


def test_words_of_the_system_that_change_cost_the_grade() -> None:
    """The later requests were not what the run would ask with."""
    system = [{"role": "system", "parts": [{"type": "text", "content": f"It is {hour}."}]} for hour in (1, 2)]
    _, report = imported(
        chat("b0", "", 2, [system[0], USERS[0]], [AGENTS[0]]),
        chat("b1", "", 12, [system[1], USERS[0], AGENTS[0], USERS[1]], [AGENTS[1]]),
    )
    assert (len(report.runs), report.grades) == (1, {"view-only": 1})


def test_samples_of_one_request_are_runs_of_their_own() -> None:
    """They are the same word for word, and none goes on from another."""
    _, report = imported(*(chat(f"b{place}", "", 2 + place, [USERS[0]], [AGENTS[0]]) for place in range(3)))
    assert (len(report.runs), report.grades) == (3, {"full": 3})


def test_a_reply_that_was_not_captured_is_taken_from_the_next_request() -> None:
    """With its own tokens; where there is no next one, its words are missing."""
    first = chat("b0", "", 2, [USERS[0]], [])
    log, report = imported(first, chat("b1", "", 12, [USERS[0], AGENTS[0], USERS[1]], [AGENTS[1]]))
    assert [(one.content, one.usage) for one in events(log, report.runs[0], ModelReplied)] == [
        ("answer 0", Usage(output=10)),
        ("answer 1", Usage(output=10)),
    ]
    assert report.grades == {"full": 1}
    assert imported(first)[1].missing["the words of a reply"] == 1


def test_messages_whose_json_is_cut_off_cost_the_grade() -> None:
    """The limit of an attribute's length leaves half of them."""
    spans = [chat("b0", "", 2, [USERS[0]], [AGENTS[0]])]
    spans[0]["attributes"]["gen_ai.input.messages"] = '[{"role":"user","parts":[{"ty'
    _, report = imported(*spans)
    assert report.grades == {"model-only": 1}
    assert report.missing["messages (the JSON that held them is cut off)"] == 1


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param({"pydantic_ai.all_messages": json.dumps([USERS[0], AGENTS[0]])}, id="parts"),
        pytest.param(
            {
                "all_messages_events": json.dumps(
                    [
                        {"event.name": "gen_ai.user.message", "content": "question 0", "role": "user"},
                        {"event.name": "gen_ai.assistant.message", "content": "answer 0", "role": "assistant"},
                    ]
                )
            },
            id="events",
        ),
    ],
)
def test_an_agents_own_words_are_read_where_its_requests_are_not_there(attributes: dict[str, Any]) -> None:
    """The tokens are the sum of all replies, so no reply has them."""
    told = {"agent_name": "baker", "gen_ai.usage.output_tokens": 30, **attributes}
    log, report = imported(story._span("a0", "", "agent run", 1, {"attributes": told}))
    (started,), (reply,) = events(log, report.runs[0], RunStarted), events(log, report.runs[0], ModelReplied)
    assert (started.agent, started.goal, reply.content, reply.usage) == ("baker", "question 0", "answer 0", None)


def test_tools_alone_are_calls_in_their_order() -> None:
    """Of one agent they are one run."""
    log, report = imported(
        agent("a0", "", 1, "baker"),
        tool("c2", "a0", 30, "k2"),
        tool("c1", "a0", 2, "k1", **{"input.value": '{"args": [], "kwargs": {"of": 1}}', "output.value": "yes"}),
    )
    assert report.grades == {"verdicts-only": 1}
    assert [one.arguments for one in events(log, report.runs[0], ToolCalled)] == [{"of": 1}, {}]
    assert [one.content for one in events(log, report.runs[0], ObservationReceived)] == ["yes", ""]


def test_anthropics_blocks_in_old_text_are_read() -> None:
    """OpenLLMetry wrote parts as JSON into the text; a failure is told by the block."""
    said: list[tuple[str, list[dict[str, Any]]]] = [
        ("user", [{"type": "text", "text": "hi"}]),
        ("assistant", [{"type": "tool_use", "id": "t1", "name": "ask", "input": {}}]),
        ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "21"}]}]),
    ]
    said[2][1][0]["is_error"] = True
    attributes: dict[str, Any] = {"llm.request.type": "chat", "gen_ai.completion.0.content": "done"}
    for place, (role, content) in enumerate(said):
        attributes |= {f"gen_ai.prompt.{place}.role": role, f"gen_ai.prompt.{place}.content": json.dumps(content)}
    log, report = imported(story._span("b0", "", "anthropic.chat", 1, {"attributes": attributes}))
    assert [(one.status, one.content) for one in events(log, report.runs[0], ObservationReceived)] == [("error", "21")]
    assert status(fold(log.read(report.runs[0]))) == "finished"


def test_logfires_rows_are_spans() -> None:
    """With its own names, and numbers as text."""
    row = {
        "span_name": "chat m",
        "trace_id": story.TRACE,
        "span_id": "b0" * 8,
        "parent_span_id": None,
        "start_timestamp": "2026-01-01T00:00:00.123456789Z",
        "end_timestamp": "2026-01-01T00:00:01Z",
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": "7",
            "gen_ai.usage.output_tokens": 2.0,
            "gen_ai.input.messages": [USERS[0]],
            "gen_ai.output.messages": [AGENTS[0]],
        },
    }
    log = MemoryLog()
    report = import_bytes(json.dumps([row]).encode(), "rows", log)
    (reply,) = events(log, report.runs[0], ModelReplied)
    assert (report.grades, reply.content, reply.usage) == ({"full": 1}, "answer 0", Usage(input=7, output=2))


def test_times_without_a_zone_are_said_to_be_so() -> None:
    """Nobody knows which zone they are of."""
    data = story.phoenix(story.spans(story.open_inference)).replace(b'000Z"', b'000"')
    log = MemoryLog()
    report = import_bytes(data, "rows", log)
    assert [one.clock for one in events(log, report.runs[0], RunStarted)] == ["naive"]


def test_results_under_other_ids_than_their_calls_are_paired_by_order() -> None:
    """OpenLLMetry tells of the calls of responses by the ids of the items."""
    said = [USERS[0], calling("fc_1", "fc_2"), answering("call_a", "call_b")]
    log, report = imported(chat("b0", "", 2, said, [AGENTS[0]]))
    assert [(one.call, one.content) for one in events(log, report.runs[0], ObservationReceived)] == [
        (1, '{"said":"call_a"}'),
        (2, '{"said":"call_b"}'),
    ]
    assert report.missing["which call a result answers (it names none; paired by name and order)"] == 2
    assert report.unpaired == 0


def test_a_limit_on_attributes_may_cost_the_last_messages() -> None:
    """Numbered messages of a span that dropped attributes are not all; messages in one attribute are."""
    for tell, grade in ((story.open_inference, "view-only"), (story.native, "full")):
        request = json.loads(story.otlp(story.spans(tell)))
        for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            span["droppedAttributesCount"] = 3
        report = import_bytes(json.dumps(request).encode(), "spans", MemoryLog())
        assert report.grades == {grade: 1}


def test_a_span_that_was_exported_twice_is_one() -> None:
    """Collectors try again; nothing is counted twice, and it is noted."""
    data = story.otlp_lines(story.spans(story.native))
    report = import_bytes(b"\n".join([data, data]), "spans", MemoryLog())
    assert (len(report.runs), report.calls, report.results, report.grades) == (1, 2, 2, {"full": 1})
    assert [one.problem for one in report.diagnostics] == ["5 spans with the id of another: the last counts"]


def test_a_completion_without_roles_is_a_question_and_an_answer() -> None:
    """The oldest kind of request: a prompt of text."""
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.prompts.0.prompt.text": "Two and two?",
        "llm.choices.0.completion.text": "Four.",
    }
    log, report = imported(story._span("b0", "", "completion", 1, {"attributes": attributes}))
    (started,), (reply,) = events(log, report.runs[0], RunStarted), events(log, report.runs[0], ModelReplied)
    assert (started.goal, reply.content) == ("Two and two?", "Four.")
