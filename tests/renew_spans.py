"""Spans that the real SDKs write, with fake models: ``python -m tests.renew_spans``, where these are installed.

They are needed for the renewal alone: ``pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-common openai
openinference-instrumentation-openai opentelemetry-instrumentation-openai pydantic-ai-slim``. Each writes into another
container: protobuf, the same as JSON, and what the console exporter prints. Ids and times are new each time; all else
is read in the diff.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Final

SPANS: Final = Path(__file__).with_name("fixtures") / "traces" / "otel"
ASKED: Final = "How much rye is there?"
ANSWER: Final = "There are 12."
RESULT: Final = "12 loaves ☕"
_TOOL: Final = {
    "type": "function",
    "function": {
        "name": "stock",
        "description": "How many of an item are in stock.",
        "parameters": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
    },
}


def provider() -> tuple[Any, Any]:
    """Where spans come from, and where they are kept."""
    trace: Any = import_module("opentelemetry.sdk.trace")
    export: Any = import_module("opentelemetry.sdk.trace.export")
    kept: Any = import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    resources: Any = import_module("opentelemetry.sdk.resources")
    made = trace.TracerProvider(resource=resources.Resource({"service.name": "clerk"}))
    made.add_span_processor(export.SimpleSpanProcessor(kept))
    return made, kept


def as_protobuf(spans: Sequence[Any]) -> bytes:
    """The request of an exporter."""
    return bytes(_request(spans).SerializeToString())


def as_json(spans: Sequence[Any]) -> bytes:
    """The same as protobuf's own JSON has it, in which ids are base64."""
    form: Any = import_module("google.protobuf.json_format")
    return json.dumps(form.MessageToDict(_request(spans)), indent=1, ensure_ascii=False).encode() + b"\n"


def as_printed(spans: Sequence[Any]) -> bytes:
    """What the console exporter prints."""
    export: Any = import_module("opentelemetry.sdk.trace.export")
    out = io.StringIO()
    export.ConsoleSpanExporter(out=out).export(spans)
    return out.getvalue().encode()


def _request(spans: Sequence[Any]) -> Any:
    return import_module("opentelemetry.exporter.otlp.proto.common.trace_encoder").encode_spans(spans)


def _replies() -> Callable[[Any], Any]:
    """What a server answers: first a call, then words."""
    httpx: Any = import_module("httpx2")
    call = {"id": "call_1", "type": "function", "function": {"name": "stock", "arguments": '{"item": "rye"}'}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": ANSWER},
    ]
    numbers = count()

    def answer(_: Any) -> Any:
        number = next(numbers)
        choice = {
            "index": 0,
            "message": messages[number],
            "finish_reason": "stop" if number else "tool_calls",
        }
        usage = {"prompt_tokens": 20 + number, "completion_tokens": 5, "total_tokens": 25 + number}
        head = {"id": f"reply-{number}", "object": "chat.completion", "created": 1, "model": "clerk-1"}
        return httpx.Response(200, json={**head, "choices": [choice], "usage": usage})

    return answer


def _talk() -> None:
    """The loop that a program has around OpenAI's client."""
    httpx: Any = import_module("httpx2")
    transport = httpx.MockTransport(_replies())
    client: Any = import_module("openai").OpenAI(
        api_key="none", base_url="https://example.test/v1", http_client=httpx.Client(transport=transport)
    )
    said: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}]
    for _ in range(2):
        reply = client.chat.completions.create(model="clerk-1", messages=said, tools=[_TOOL]).choices[0].message
        said.append(reply.model_dump(exclude_none=True))
        said += (
            {"role": "tool", "tool_call_id": call.id, "content": RESULT}
            for call in getattr(reply, "tool_calls", None) or ()
        )


def _instrumented(name: str) -> Sequence[Any]:
    """The spans of an instrumentor of OpenAI's client."""
    made, kept = provider()
    instrumentor: Any = import_module(name).OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=made)
    try:
        _talk()
    finally:
        instrumentor.uninstrument()
    return kept.get_finished_spans()  # type: ignore[no-any-return]


def openinference() -> Sequence[Any]:
    """OpenInference's."""
    return _instrumented("openinference.instrumentation.openai")


def traceloop() -> Sequence[Any]:
    """OpenLLMetry's, which tells what was said if it is let."""
    os.environ |= {"TRACELOOP_TRACE_CONTENT": "true"}
    return _instrumented("opentelemetry.instrumentation.openai")


def pydantic_ai() -> Sequence[Any]:
    """An agent's own."""
    made, kept = provider()
    agents: Any = import_module("pydantic_ai")
    messages: Any = import_module("pydantic_ai.messages")
    function: Any = import_module("pydantic_ai.models.function")
    settings: Any = import_module("pydantic_ai.models.instrumented").InstrumentationSettings(tracer_provider=made)
    instrumented: Any = import_module("pydantic_ai.models.instrumented").InstrumentedModel

    def reply(said: Sequence[Any], _: Any) -> Any:
        if len(said) == 1:
            return messages.ModelResponse([messages.ToolCallPart("stock", {"item": "rye"}, "call_1")])
        return messages.ModelResponse([messages.TextPart(ANSWER)])

    agent = agents.Agent(
        instrumented(function.FunctionModel(reply, model_name="clerk-1"), settings),
        name="clerk",
        system_prompt="Be brief.",
    )

    def stock(item: str) -> str:
        """How many of an item are in stock."""
        return RESULT if item == "rye" else "none"

    agent.tool_plain(stock)
    agent.run_sync(ASKED)
    return kept.get_finished_spans()  # type: ignore[no-any-return]


WRITTEN: Final[dict[str, tuple[Callable[[], Sequence[Any]], Callable[[Sequence[Any]], bytes]]]] = {
    "written-pydantic-ai.pb": (pydantic_ai, as_protobuf),
    "written-openinference.json": (openinference, as_json),
    "written-traceloop.txt": (traceloop, as_printed),
}


def main() -> None:
    """Write all of them anew."""
    for name, (told, written) in WRITTEN.items():
        (SPANS / name).write_bytes(written(told()))


if __name__ == "__main__":
    main()
