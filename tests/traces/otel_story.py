"""One invented conversation, told in each convention of attributes, and written down in each container of spans."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

Span = dict[str, Any]
Attributes = dict[str, Any]

CALLS = [("c1", "stock", '{"item":"eggs"}'), ("c2", "stock", '{"item":"rye"}')]
RESULTS = [("c1", "12"), ("c2", "no such shelf")]
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Eggs and rye?"},
    {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [{"id": label, "function": {"name": name, "arguments": made}} for label, name, made in CALLS],
    },
    *({"role": "tool", "tool_call_id": label, "content": words} for label, words in RESULTS),
    {"role": "assistant", "content": "12 eggs, no rye \u2028 ☕."},
]
# What each request was asked with, and where the reply stands.
TURNS = ((2, 2), (5, 5))
TOKENS = ((50, 10, 20, 4), (80, 40, 9, 0))
TRACE = "0af7651916cd43dd8448eb211c80319c"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parts(message: Mapping[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        parts = [{"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}]
    else:
        parts = [{"type": "text", "content": message["content"]}]
    for call in message.get("tool_calls", ()):
        made = call["function"]
        parts.append({"type": "tool_call", "id": call["id"], "name": made["name"], "arguments": made["arguments"]})
    return {"role": message["role"], "parts": parts}


def _usage(turn: int) -> Attributes:
    given, cached, made, thought = TOKENS[turn]
    return {
        "gen_ai.usage.input_tokens": given,
        "gen_ai.usage.cache_read.input_tokens": cached,
        "gen_ai.usage.output_tokens": made,
        "gen_ai.usage.reasoning.output_tokens": thought,
        "gen_ai.response.id": f"r{turn}",
        "gen_ai.response.model": "oven-1",
    }


def _chat(turn: int) -> Attributes:
    return {"gen_ai.operation.name": "chat", "gen_ai.request.model": "oven", **_usage(turn)}


def native(turn: int) -> Span:
    """Messages as JSON on the span, the system's words apart."""
    asked, reply = TURNS[turn]
    attributes = {
        **_chat(turn),
        "gen_ai.system_instructions": _json([{"type": "text", "content": "Be brief."}]),
        "gen_ai.input.messages": _json([_parts(one) for one in MESSAGES[1:asked]]),
        "gen_ai.output.messages": _json([{**_parts(MESSAGES[reply]), "finish_reason": "stop"}]),
    }
    return {"attributes": attributes}


def native_event(turn: int) -> Span:
    """The same as values of their own, on an event of the span."""
    asked, reply = TURNS[turn]
    details = {
        "gen_ai.input.messages": [_parts(one) for one in MESSAGES[:asked]],
        "gen_ai.output.messages": [_parts(MESSAGES[reply])],
    }
    event = {"name": "gen_ai.client.inference.operation.details", "attributes": details}
    return {"attributes": _chat(turn), "events": [event]}


def _event_of(message: Mapping[str, Any]) -> dict[str, Any]:
    body = {key: value for key, value in message.items() if key != "role"}
    if "tool_call_id" in body:
        body["id"] = body.pop("tool_call_id")
    return {"name": f"gen_ai.{message['role']}.message", "attributes": body}


def _choice(message: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": "gen_ai.choice", "attributes": {"index": 0, "finish_reason": "stop", "message": dict(message)}}


def span_events(turn: int) -> Span:
    """A message an event."""
    asked, reply = TURNS[turn]
    return {"attributes": _chat(turn), "events": [*map(_event_of, MESSAGES[:asked]), _choice(MESSAGES[reply])]}


def listed_events(turn: int) -> Span:
    """The events as a list in an attribute."""
    events = [{"event.name": one["name"], **one["attributes"]} for one in span_events(turn)["events"]]
    return {"attributes": {**_chat(turn), "events": _json(events)}}


def oldest(turn: int) -> Span:
    """Prompt and completion as JSON on two events; the names of tokens are those of the first conventions."""
    asked, reply = TURNS[turn]
    given, cached, made, thought = TOKENS[turn]
    attributes = {
        "gen_ai.system": "oven",
        "gen_ai.request.model": "oven",
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.prompt_tokens": given,
        "gen_ai.usage.completion_tokens": made,
        "gen_ai.usage.cache_read_input_tokens": cached,
        "gen_ai.usage.reasoning_tokens": thought,
        "gen_ai.response.id": f"r{turn}",
        "gen_ai.response.model": "oven-1",
    }
    events = [
        {"name": "gen_ai.content.prompt", "attributes": {"gen_ai.prompt": _json(MESSAGES[:asked])}},
        {"name": "gen_ai.content.completion", "attributes": {"gen_ai.completion": _json([MESSAGES[reply]])}},
    ]
    return {"attributes": attributes, "events": events}


def _open_message(prefix: str, message: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield f"{prefix}.message.role", message["role"]
    yield f"{prefix}.message.content", message["content"]
    if "tool_call_id" in message:
        yield f"{prefix}.message.tool_call_id", message["tool_call_id"]
    for index, call in enumerate(message.get("tool_calls", ())):
        at = f"{prefix}.message.tool_calls.{index}.tool_call"
        yield f"{at}.id", call["id"]
        yield f"{at}.function.name", call["function"]["name"]
        yield f"{at}.function.arguments", call["function"]["arguments"]


def open_inference(turn: int) -> Span:
    """Everything flat, with numbers in the names."""
    asked, reply = TURNS[turn]
    given, cached, made, thought = TOKENS[turn]
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "oven-1",
        "llm.token_count.prompt": given,
        "llm.token_count.prompt_details.cache_read": cached,
        "llm.token_count.completion": made,
        "llm.token_count.completion_details.reasoning": thought,
        "output.value": _json({"id": f"r{turn}"}),
    }
    for index, message in enumerate(MESSAGES[:asked]):
        attributes |= _open_message(f"llm.input_messages.{index}", message)
    attributes |= _open_message("llm.output_messages.0", MESSAGES[reply])
    return {"attributes": attributes}


def traceloop(turn: int) -> Span:
    """OpenLLMetry until 0.5x: flat, under the names of the prompt and the completion."""
    asked, reply = TURNS[turn]
    attributes: Attributes = {**oldest(turn)["attributes"], "llm.request.type": "chat"}
    del attributes["gen_ai.operation.name"]
    numbered = [(f"gen_ai.prompt.{index}", one) for index, one in enumerate(MESSAGES[:asked])]
    for prefix, message in [*numbered, ("gen_ai.completion.0", MESSAGES[reply])]:
        for key in ("role", "content", "tool_call_id"):
            if key in message:
                attributes[f"{prefix}.{key}"] = message[key]
        for index, call in enumerate(message.get("tool_calls", ())):
            attributes[f"{prefix}.tool_calls.{index}.id"] = call["id"]
            attributes[f"{prefix}.tool_calls.{index}.name"] = call["function"]["name"]
            attributes[f"{prefix}.tool_calls.{index}.arguments"] = call["function"]["arguments"]
    return {"attributes": attributes}


def _gemini(message: Mapping[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        answer = {"id": message["tool_call_id"], "name": "stock", "response": message["content"]}
        return {"role": "user", "parts": [{"function_response": answer}]}
    parts: list[dict[str, Any]] = [{"text": message["content"]}]
    for call in message.get("tool_calls", ()):
        made = call["function"]
        args = json.loads(made["arguments"])
        parts.append({"function_call": {"id": call["id"], "name": made["name"], "args": args}})
    return {"role": "model" if message["role"] == "assistant" else "user", "parts": parts}


def adk(turn: int) -> Span:
    """Google ADK: Gemini's request and response."""
    asked, reply = TURNS[turn]
    given, cached, made, thought = TOKENS[turn]
    request = {
        "model": "oven",
        "config": {"system_instruction": "Be brief."},
        "contents": [_gemini(one) for one in MESSAGES[1:asked]],
    }
    counts = {
        "prompt_token_count": given,
        "cached_content_token_count": cached,
        "candidates_token_count": made - thought,
        "thoughts_token_count": thought,
    }
    response = {"content": _gemini(MESSAGES[reply]), "finish_reason": "STOP", "usage_metadata": counts}
    attributes = {
        "gen_ai.system": "gcp.vertex.agent",
        "gen_ai.request.model": "oven",
        "gen_ai.response.id": f"r{turn}",
        "gen_ai.response.model": "oven-1",
        "gcp.vertex.agent.llm_request": _json(request),
        "gcp.vertex.agent.llm_response": _json(response),
    }
    return {"name": "call_llm", "attributes": attributes}


def _vercel(message: Mapping[str, Any]) -> dict[str, Any]:
    if message["role"] == "system":
        return dict(message)
    if message["role"] == "tool":
        output = {"type": "text", "value": message["content"]}
        part = {"type": "tool-result", "toolCallId": message["tool_call_id"], "toolName": "stock", "output": output}
        return {"role": "tool", "content": [part]}
    parts: list[dict[str, Any]] = [{"type": "text", "text": message["content"]}]
    for call in message.get("tool_calls", ()):
        made = {"toolCallId": call["id"], "toolName": "stock", "input": json.loads(call["function"]["arguments"])}
        parts.append({"type": "tool-call", **made})
    return {"role": message["role"], "content": parts}


def vercel(turn: int) -> Span:
    """Vercel AI SDK: the prompt as JSON, the reply in attributes of its own."""
    asked, reply = TURNS[turn]
    given, cached, made, thought = TOKENS[turn]
    message = _vercel(MESSAGES[reply])
    attributes = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "oven",
        "ai.prompt.messages": _json([_vercel(one) for one in MESSAGES[:asked]]),
        "ai.response.text": MESSAGES[reply]["content"],
        "ai.response.toolCalls": _json([part for part in message["content"] if part["type"] == "tool-call"]),
        "ai.response.id": f"r{turn}",
        "ai.response.model": "oven-1",
        "ai.usage.inputTokens": given,
        "ai.usage.cachedInputTokens": cached,
        "ai.usage.outputTokens": made,
        "ai.usage.reasoningTokens": thought,
    }
    return {"attributes": attributes}


CONVENTIONS: dict[str, Callable[[int], Span]] = {
    one.__name__: one
    for one in (
        *(native, native_event, span_events, listed_events, oldest, open_inference),
        *(traceloop, adk, vercel),
    )
}


def spans(tell: Callable[[int], Span], *, times: bool = True) -> list[Span]:
    """An agent, two requests and two tools between them, the inner ones first, as they are exported."""
    first, second = (_span(f"b{turn}", "a0", "chat oven", 10 + 40 * turn, tell(turn)) for turn in (0, 1))
    tools = [
        _span(f"d{index}", "a0", "execute_tool stock", 30 + index, {"attributes": attributes, "error": index == 1})
        for index, attributes in enumerate(_tools())
    ]
    agent = {"attributes": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "baker"}}
    found = [*tools, second, first, _span("a0", "", "invoke_agent baker", 1, agent, length=90)]
    return found if times else [{**one, "start": None, "end": None} for one in found]


def _tools() -> Iterator[Attributes]:
    for (label, name, made), (_, words) in zip(CALLS, RESULTS, strict=True):
        yield {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": label,
            "gen_ai.tool.call.arguments": made,
            "gen_ai.tool.call.result": words,
        }


def _span(label: str, parent: str, name: str, start: int, told: Span, length: int = 5) -> Span:
    return {
        "id": label * 8,
        "parent": parent * 8,
        "name": told.get("name", name),
        "start": 1_795_000_000_000 + start,
        "end": 1_795_000_000_000 + start + length,
        "attributes": told["attributes"],
        "events": told.get("events", []),
        "error": told.get("error", False),
    }


def any_value(value: Any) -> dict[str, Any]:
    """A value with its type."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": pairs(value)}}
    return {} if value is None else {"stringValue": value}


def pairs(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Attributes as a list of key and value."""
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def _otlp_span(span: Span, numbers: Callable[[int], Any] = str, ids: Callable[[str], str] = str) -> dict[str, Any]:
    return {
        "traceId": ids(TRACE),
        "spanId": ids(span["id"]),
        **({"parentSpanId": ids(span["parent"])} if span["parent"] else {}),
        "name": span["name"],
        "kind": 1,
        "startTimeUnixNano": numbers(span["start"] * 1_000_000),
        "endTimeUnixNano": numbers(span["end"] * 1_000_000),
        "attributes": pairs(span["attributes"]),
        "events": [{"name": one["name"], "attributes": pairs(one["attributes"])} for one in span["events"]],
        "status": {"code": 2, "message": "empty shelf"} if span["error"] else {},
    }


def _request(told: list[dict[str, Any]], name: str = "resourceSpans") -> dict[str, Any]:
    return {name: [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "story"}, "spans": told}]}]}


def otlp(told: list[Span]) -> bytes:
    """A request as JSON."""
    return _json(_request([_otlp_span(one) for one in told])).encode()


def otlp_lines(told: list[Span]) -> bytes:
    """A request a line, as the Collector writes them."""
    return b"\n".join(otlp([one]) for one in told)


def otlp_snake(told: list[Span]) -> bytes:
    """With the field names of protobuf."""
    text = otlp(told).decode()
    for camel in ("resourceSpans", "scopeSpans", "traceId", "spanId", "parentSpanId"):
        text = text.replace(f'"{camel}"', '"' + "".join(f"_{c.lower()}" if c.isupper() else c for c in camel) + '"')
    return text.replace("startTimeUnixNano", "start_time_unix_nano").replace("TimeUnixNano", "_time_unix_nano").encode()


def in_base64(label: str) -> str:
    """An id as protobuf in JSON has it."""
    return base64.b64encode(bytes.fromhex(label)).decode()


def otlp_base64(told: list[Span]) -> bytes:
    """As Python's dumps of protobuf are: ids in base64, names for numbers."""
    spans = [_otlp_span(one, ids=in_base64) for one in told]
    for one in spans:
        one["kind"] = "SPAN_KIND_INTERNAL"
        one["status"] = {"code": "STATUS_CODE_ERROR", "message": "empty shelf"} if one["status"] else {}
    return json.dumps(_request(spans), indent=1).encode()


def protobuf(told: list[Span]) -> bytes:
    """A request as protobuf."""
    request: Any = ParseDict(json.loads(otlp_base64(told)), ExportTraceServiceRequest())
    data: bytes = request.SerializeToString()
    return data


def protobuf_framed(told: list[Span]) -> bytes:
    """Requests as protobuf, each behind its length."""
    found = b""
    for one in told:
        data = protobuf([one])
        length, size = len(data), b""
        while True:
            size += bytes([length & 0x7F | (0x80 if length > 0x7F else 0)])
            length >>= 7
            if not length:
                break
        found += size + data
    return found


def tempo(told: list[Span]) -> bytes:
    """Grafana Tempo: batches, the old word for a scope, times and integers as numbers."""
    text = _json(_request([_otlp_span(one, numbers=int) for one in told], "batches"))
    text = text.replace("scopeSpans", "instrumentationLibrarySpans").replace('"scope"', '"instrumentationLibrary"')
    return text.encode()


def _tag(key: str, value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"key": key, "type": "int64", "value": str(value)}
    return {"key": key, "type": "string", "value": value if isinstance(value, str) else _json(value)}


def jaeger(told: list[Span]) -> bytes:
    """Jaeger: tags, references, microseconds."""
    found = []
    for one in told:
        tags = [_tag(key, value) for key, value in one["attributes"].items()]
        if one["error"]:
            tags += [{"key": "error", "type": "bool", "value": True}, _tag("otel.status_code", "ERROR")]
        logs = [
            {"timestamp": one["start"] * 1000, "fields": [_tag(key, value) for key, value in fields.items()]}
            for fields in ({"event": event["name"], **event["attributes"]} for event in one["events"])
        ]
        references = [{"refType": "CHILD_OF", "traceID": TRACE, "spanID": one["parent"]}] if one["parent"] else []
        span = {"traceID": TRACE, "spanID": one["id"], "operationName": one["name"], "references": references}
        span |= {"startTime": one["start"] * 1000, "duration": (one["end"] - one["start"]) * 1000}
        found.append({**span, "tags": tags, "logs": logs, "processID": "p1", "warnings": None})
    processes = {"p1": {"serviceName": "shop", "tags": []}}
    return _json({"data": [{"traceID": TRACE, "spans": found, "processes": processes}], "errors": None}).encode()


def _iso(millis: int) -> str:
    return f"2026-11-18T12:{millis // 60_000 % 60:02}:{millis // 1000 % 60:02}.{millis % 1000:03}000Z"


def console(told: list[Span]) -> bytes:
    """Python's console exporter: objects over several lines, one behind another."""
    found = []
    for one in told:
        context = {"trace_id": f"0x{TRACE}", "span_id": f"0x{one['id']}", "trace_state": "[]"}
        parent = f"0x{one['parent']}" if one["parent"] else None
        status = {"status_code": "ERROR", "description": "empty shelf"} if one["error"] else {"status_code": "UNSET"}
        span = {"name": one["name"], "context": context, "kind": "SpanKind.INTERNAL", "parent_id": parent}
        span |= {"start_time": _iso(one["start"]), "end_time": _iso(one["end"]), "status": status}
        events = [{**event, "timestamp": _iso(one["start"])} for event in one["events"]]
        found.append({**span, "attributes": one["attributes"], "events": events, "links": []})
    return "\n".join(json.dumps(one, indent=4) for one in found).encode()


def readable(told: list[Span]) -> bytes:
    """Spans as JavaScript holds them."""
    found = []
    for one in told:
        span = {"name": one["name"], "spanContext": {"traceId": TRACE, "spanId": one["id"]}}
        times = {key: [one[name] // 1000, one[name] % 1000 * 1_000_000] for key, name in _PAIRS}
        parent = {"parentSpanContext": {"traceId": TRACE, "spanId": one["parent"]}} if one["parent"] else {}
        status = {"code": 2, "message": "empty shelf"} if one["error"] else {"code": 0}
        events = [{**event, "time": times["startTime"]} for event in one["events"]]
        found.append({**span, **times, **parent, "attributes": one["attributes"], "status": status, "events": events})
    return _json(found).encode()


_PAIRS = (("startTime", "start"), ("endTime", "end"))


def console_js(told: list[Span]) -> bytes:
    """JavaScript's console exporter, as JSON: times and durations in microseconds."""
    found = []
    for one in told:
        span = {"traceId": TRACE, "parentId": one["parent"] or None, "name": one["name"], "id": one["id"]}
        span |= {"kind": 0, "timestamp": one["start"] * 1000, "duration": (one["end"] - one["start"]) * 1000}
        status = {"code": 2, "message": "empty shelf"} if one["error"] else {"code": 0}
        found.append({**span, "attributes": one["attributes"], "status": status, "events": one["events"], "links": []})
    return "\n".join(json.dumps(one, indent=2) for one in found).encode()


def _nested(attributes: Mapping[str, Any]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for key, value in attributes.items():
        at = root
        *path, last = key.split(".")
        for step in path:
            at = at.setdefault(step, {})
        at[last] = value
    return {key: _with_lists(value) for key, value in root.items()}


def _with_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_with_lists(one) for one in value.values()]
    return {key: _with_lists(one) for key, one in value.items()}


def phoenix(told: list[Span], *, nested: bool = False) -> bytes:
    """Phoenix: spans with their kind beside the attributes."""
    found = []
    for one in told:
        attributes = dict(one["attributes"])
        kind = attributes.pop("openinference.span.kind", "UNKNOWN")
        span = {"id": "U3Bhbjox", "name": one["name"], "span_kind": kind, "parent_id": one["parent"] or None}
        span |= {"start_time": _iso(one["start"]), "end_time": _iso(one["end"])}
        span |= {"status_code": "ERROR" if one["error"] else "OK", "status_message": ""}
        context = {"trace_id": TRACE, "span_id": one["id"]}
        nest = nested and kind != "UNKNOWN"
        found.append({**span, "context": context, "attributes": _nested(attributes) if nest else attributes})
    return _json(found).encode()


def phoenix_nested(told: list[Span]) -> bytes:
    """Phoenix, its attributes in levels and lists."""
    return phoenix(told, nested=True)


CONTAINERS: dict[str, Callable[[list[Span]], bytes]] = {
    one.__name__: one
    for one in (
        *(otlp, otlp_lines, otlp_snake, otlp_base64, protobuf, protobuf_framed, tempo, jaeger),
        *(console, console_js, readable),
    )
}
