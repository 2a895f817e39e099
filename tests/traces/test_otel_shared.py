"""Real SDKs' spans, where they are at hand: counts, tokens, every turn as the file has it, and each replays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from redrive_events import ModelReplied
from redrive_replays import recording_of, replay
from tests.traces.oracle import check
from tests.traces.shared import AT_HAND, SHARED, imported, rows

pytestmark = AT_HAND

Messages = list[dict[str, Any]]


class Expected(NamedTuple):
    """What a file holds: runs, calls, results, tokens asked with (cached ones too) and made, and the grade."""

    runs: int
    calls: int
    results: int
    asked: int
    made: int
    grade: str = "full"


OTEL, PHOENIX, VERCEL = (
    "otel/agentevals-dev+agentevals/",
    "openinference/Arize-ai+openinference/",
    "vercel-ai/Arize-ai+openinference/",
)
EXPECTED = {
    # Without content; each request is a trace by itself, so nothing says that they belong together.
    "generated/oai_v2_new.otlp.json": Expected(2, 0, 0, 100, 40, "view-only"),
    "generated/oai_v2_old.otlp.json": Expected(2, 0, 0, 100, 40, "view-only"),
    # Log records without their spans: words, and no tokens.
    "generated/oai_v2_old.logs.otlp.json": Expected(1, 2, 2, 0, 0),
    "generated/oinf_agents.otlp.json": Expected(1, 2, 2, 100, 40),
    # The SDK's own spans inside of the instrumentor's are not counted again.
    "generated/oinf_anthropic.otlp.json": Expected(1, 2, 2, 120, 40),
    "generated/oinf_langchain.otlp.json": Expected(1, 2, 2, 100, 40),
    # A conversation in chat completions, and one in responses.
    "generated/oinf_openai.otlp.json": Expected(2, 4, 4, 200, 80),
    "generated/ollm_agents.otlp.json": Expected(1, 2, 2, 100, 40),
    # The SDK's own spans side by side with the instrumentor's.
    "generated/ollm_anthropic.otlp.json": Expected(1, 2, 2, 120, 40),
    "generated/ollm_langchain.otlp.json": Expected(1, 2, 2, 100, 40),
    "generated/ollm_old_langchain.otlp.json": Expected(1, 2, 2, 100, 40),
    "generated/ollm_old_openai.otlp.json": Expected(1, 2, 2, 100, 40),
    # Two responses with one id are one span: the calls of the first are not answered.
    "generated/ollm_openai.otlp.json": Expected(2, 4, 2, 150, 60),
    **{f"generated/pydantic_ai_otel_v{version}.otlp.json": Expected(1, 4, 4, 236, 67) for version in range(2, 7)},
    f"{PHOENIX}openinference_client_span_tool_calls.json": Expected(1, 1, 1, 97, 52),
    f"{PHOENIX}otel_genai_client_span_tool_calls.json": Expected(1, 1, 1, 97, 52),
    f"{PHOENIX}otel_genai_tool_execution_span.json": Expected(1, 1, 1, 0, 0, "verdicts-only"),
    # ADK around OpenLLMetry: 1820 + 1956 tokens, once.
    f"{OTEL}helm.json": Expected(1, 1, 1, 3776, 130),
    f"{OTEL}helm_2.json": Expected(1, 0, 0, 1822, 43),
    f"{OTEL}k8s.json": Expected(1, 0, 0, 2203, 139),
    # Two spans of two traces: the index counts the file.
    f"{VERCEL}ai-generateText-doGenerate.json": Expected(2, 0, 0, 64, 29),
    f"{VERCEL}ai-generateText.json": Expected(2, 0, 0, 64, 29, "model-only"),
    f"{VERCEL}ai-streamText-doStream.json": Expected(1, 0, 0, 15, 112),
    f"{VERCEL}ai-streamText.json": Expected(1, 0, 0, 15, 112, "model-only"),
}
REFUSED = {
    f"{OTEL}eval_set_helm.json": "what is expected of an agent, not what one did",
    f"{OTEL}evalset_k8s_2026-02-20.json": "what is expected of an agent, not what one did",
    f"{VERCEL}ai-embed-doEmbed.json": r"1 spans, none of a model that was asked, nor of a tool: ai\.embed\.doEmbed",
    f"{VERCEL}ai-embed.json": r"1 spans, none of a model that was asked, nor of a tool: ai\.embed",
    f"{VERCEL}capture-results.json": "no trace that is known here",
}
# The index counts the calls of what has spans, and of a fixture only that it is one.
OTHER_RUNS = {f"{VERCEL}ai-generateText-doGenerate.json": 2, f"{VERCEL}ai-generateText.json": 2}


def _plain(value: Any) -> Any:
    """A value of OTLP, by another way than the importer's."""
    if not isinstance(value, dict):
        return value
    for kind, inner in value.items():
        if kind == "arrayValue":
            return [_plain(one) for one in inner.get("values", ())]
        if kind == "kvlistValue":
            return {one["key"]: _plain(one.get("value")) for one in inner.get("values", ())}
        return inner
    return None


def _spans(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The attributes of each span of a file, with its start."""
    value = json.loads((SHARED / path).read_bytes())
    if isinstance(value, list):
        yield from ((one["startTime"][0], one["attributes"]) for one in value)
        return
    if "data" in value:
        for span in value["data"][0]["spans"]:
            yield span["startTime"], {tag["key"]: tag["value"] for tag in span["tags"]}
        return
    for resource in value.get("resourceSpans", ()):
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                attributes = {one["key"]: _plain(one.get("value")) for one in span.get("attributes", ())}
                yield int(span["startTimeUnixNano"]), attributes
    if "resourceSpans" not in value and "resourceLogs" not in value:
        yield 0, value


def _flat(attributes: Mapping[str, Any], pattern: str) -> Messages:
    """Messages in attributes with numbers."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if match := re.match(rf"{pattern}\.(\d+)\.(?:message\.)?(.*)", key):
            one = found.setdefault(int(match[1]), {"calls": {}, "text": []})
            if call := re.match(r"tool_calls\.(\d+)\.(?:tool_call\.)?(?:function\.)?(\w+)$", match[2]):
                one["calls"].setdefault(int(call[1]), {})[call[2]] = value
            elif match[2].endswith("message_content.text"):
                one["text"].append(value)
            else:
                one[match[2]] = value
    return [_message(one) for _, one in sorted(found.items())]


def _message(one: Mapping[str, Any]) -> dict[str, Any]:
    calls = [{"id": call.get("id"), "function": call} for _, call in sorted(one["calls"].items())]
    content = one.get("content", "\n".join(one["text"]))
    content = "" if content == '""' else content
    return {"role": one["role"], "content": content, "tool_calls": calls, "tool_call_id": one.get("tool_call_id", "")}


def _of_parts(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    words: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in message["parts"]:
        if part["type"] == "tool_call":
            calls.append({"id": part["id"], "function": {"name": part["name"], "arguments": part["arguments"]}})
        elif part["type"] == "tool_call_response":
            answer = part.get("response", part.get("result"))
            text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
            yield {"role": "tool", "content": text, "tool_call_id": part["id"]}
        elif part["type"] == "text":
            words.append(part["content"])
    if words or calls:
        yield {"role": message["role"], "content": "\n".join(words), "tool_calls": calls}


def _told(attributes: Mapping[str, Any]) -> tuple[Messages, Messages]:
    """The messages of a request, and those of its reply."""
    if "gen_ai.output.messages" in attributes:
        asked = json.loads(attributes["gen_ai.input.messages"])
        system = json.loads(attributes.get("gen_ai.system_instructions", "[]"))
        asked = [{"role": "system", "parts": system}, *asked] if system else asked
        replied = json.loads(attributes["gen_ai.output.messages"])
        return ([said for one in each for said in _of_parts(one)] for each in (asked, replied))  # type: ignore[return-value]
    if "ai.prompt.messages" in attributes:
        given = json.loads(attributes["ai.prompt.messages"])
        return given, [{"role": "assistant", "content": attributes["ai.response.text"]}]
    if any(key.startswith("gen_ai.completion.0") for key in attributes):
        return _flat(attributes, r"gen_ai\.prompt"), _flat(attributes, r"gen_ai\.completion")
    return _flat(attributes, r"llm\.input_messages"), _flat(attributes, r"llm\.output_messages")


def _is_request(attributes: Mapping[str, Any]) -> bool:
    return bool(
        attributes.keys() & {"gen_ai.output.messages", "ai.prompt.messages"}
        or any(key.startswith(("gen_ai.completion.0", "llm.output_messages.0")) for key in attributes)
    )


def _joined(messages: Sequence[Mapping[str, Any]]) -> Messages:
    """Replies in several messages as one."""
    found: Messages = []
    for one in messages:
        if found and one["role"] == found[-1]["role"] == "assistant":
            before = found[-1]
            words = "\n".join(filter(None, (before["content"], one["content"])))
            calls = [*before.get("tool_calls", ()), *one.get("tool_calls", ())]
            found[-1] = {**before, "content": words, "tool_calls": calls}
        else:
            found.append(dict(one))
    return found


def _with_ids_of(replies: Sequence[Messages], messages: Messages) -> Messages:
    """The ids of calls as the reply had them: one SDK repeats them under the ids of its items."""
    calls = iter([one for reply in replies for one in _joined(reply)])
    for message in messages:
        if message["role"] == "assistant" and (reply := next(calls, None)) is not None:
            message["tool_calls"] = reply.get("tool_calls", [])
    return messages


def conversations(path: str) -> list[Messages]:
    """The last request of each conversation with its reply, read without the importer."""
    spans = [
        _told(attributes) for _, attributes in sorted(_spans(path), key=lambda one: one[0]) if _is_request(attributes)
    ]
    found: list[tuple[list[Messages], Messages]] = []
    for asked, replied in spans:
        whole = _joined([*asked, *replied])
        if found and len(whole) > len(found[-1][1]) and asked[: len(found[-1][1][:2])] == found[-1][1][:2]:
            found[-1] = ([*found[-1][0], replied], whole)
        else:
            found.append(([replied], whole))
    return [_with_ids_of(replies, whole) if "ollm_agents" in path else whole for replies, whole in found]


@pytest.mark.parametrize(("path", "expected"), EXPECTED.items(), ids=EXPECTED)
def test_a_file_holds_what_is_expected(path: str, expected: Expected) -> None:
    """Runs, calls, results, and the tokens of each request once."""
    log, report, refused = imported(path)
    assert refused == ""
    usages = [
        record.event.usage
        for run in report.runs
        for record in log.read(run)
        if isinstance(record.event, ModelReplied) and record.event.usage
    ]
    asked = sum(one.input + one.cache_read + one.cache_write for one in usages)
    (grade,) = report.grades
    found = (len(report.runs), report.calls, report.results, asked, sum(one.output for one in usages), grade)
    assert found == expected
    assert (report.diagnostics, report.unpaired) == ([], 0)


# Log records alone hold the words in another shape: the story in test_otel holds those.
SPANS = [path for path, one in EXPECTED.items() if one.grade == "full" and not path.endswith("logs.otlp.json")]


@pytest.mark.parametrize("path", SPANS)
def test_every_turn_is_asked_with_the_files_own_messages(path: str) -> None:
    """Role by role and text by text."""
    log, report, _ = imported(path)
    theirs = conversations(path)
    assert len(theirs) == len(report.runs)
    for run, messages in zip(report.runs, theirs, strict=True):
        assert check(list(log.read(run)), messages) == sum(one["role"] == "assistant" for one in messages)


@pytest.mark.parametrize("path", EXPECTED)
def test_every_run_replays(path: str) -> None:
    """With the program that is found from the log alone."""
    log, report, _ = imported(path)
    for run in report.runs:
        found = replay(recording_of(log, run))
        assert (found.outcome.partition(",")[0], found.changed_parts) == ("same", ())


@pytest.mark.parametrize(("path", "why"), REFUSED.items(), ids=REFUSED)
def test_what_is_no_recording_is_refused(path: str, why: str) -> None:
    """With the true reason."""
    assert re.search(why, imported(path).refused)


def test_counts_are_those_of_the_index() -> None:
    """Each of its files is known here, and the differences are."""
    indexed = rows("otel", "openinference", "vercel-ai")
    assert {row.path for row in indexed} == {path for path in {**EXPECTED, **REFUSED} if "generated" not in path}
    for row in indexed:
        if row.path in EXPECTED:
            assert EXPECTED[row.path].runs == OTHER_RUNS.get(row.path, row.runs)
            assert row.calls in {None, EXPECTED[row.path].calls}


def test_every_generated_file_is_known_here() -> None:
    """A new one is to be looked at."""
    found = {f"generated/{path.name}" for path in (SHARED / "generated").glob("*otlp.json")}
    assert found == {path for path in EXPECTED if "generated" in path}
