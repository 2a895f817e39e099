"""What a span is: a model asked, an agent at work, a tool at work, or something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from redrive_replays.traces.otel import gemini, names
from redrive_replays.traces.otel.spans import Span
from redrive_replays.traces.otel.values import parsed

# "vercel" is an outer span of the Vercel AI SDK: an agent, or the model asked where no inner span says so.
Kind: TypeAlias = Literal["model", "agent", "tool", "vercel", "other"]

_OPEN_INFERENCE: Final[dict[str, Kind]] = {"LLM": "model", "AGENT": "agent", "TOOL": "tool"}
_TRACELOOP: Final[dict[str, Kind]] = {"workflow": "agent", "agent": "agent", "tool": "tool"}


def kind_of(span: Span) -> Kind:
    """By the convention that says most; found once."""
    if not span.kind:
        span.kind = next(filter(None, (read(span) for read in _READERS)), "other")
    return span.kind or "other"


def _by_name(span: Span) -> Kind | None:
    repeats = span.text("gen_ai.tool.name") in names.NO_WORK or span.name.startswith(names.STEPS)
    return "other" if repeats else None


def _by_observer(span: Span) -> Kind | None:
    for key, kinds in names.OBSERVED.items():
        if (found := kinds.get(span.text(key))) is not None:
            return found
    return None


def _by_operation(span: Span) -> Kind | None:
    operation = span.text(names.OPERATION)
    if operation in names.MODEL_OPERATIONS:
        return "model"
    if operation in names.AGENT_OPERATIONS:
        return "agent"
    if operation in names.TOOL_OPERATIONS:
        return "tool"
    return None


def _by_vercel(span: Span) -> Kind | None:
    operation = span.text(*names.VERCEL) or span.name
    if span.name.endswith(names.VERCEL_ASKED):
        operation = span.name
    if not operation.startswith("ai."):
        return None
    operation = operation.split(" ")[0]
    if "embed" in operation:
        return "other"
    if operation.endswith(names.VERCEL_ASKED):
        return "model"
    if operation == names.VERCEL_TOOL:
        return "tool"
    return "vercel" if operation in names.VERCEL_OUTER else None


def _by_open_inference(span: Span) -> Kind | None:
    label = span.text(names.OPEN_INFERENCE).upper()
    if label in {"", "UNKNOWN"}:
        return None
    metadata = parsed(span.attributes.get("metadata"))
    if label == "AGENT" and isinstance(metadata, dict) and "langgraph_node" in metadata:
        # LangGraph calls each step of an agent an agent.
        return "other"
    return _OPEN_INFERENCE.get(label, "other")


def _by_traceloop(span: Span) -> Kind | None:
    kind = span.text(names.TRACELOOP)
    # LlamaIndex's tools are tasks like all of its steps.
    tool = kind == "task" and span.text("traceloop.entity.name").endswith("Tool.task")
    return "tool" if tool else _TRACELOOP.get(kind)


def _by_others(span: Span) -> Kind:
    if span.name == "call_llm" or (gemini.REQUEST in span.attributes and span.text("gen_ai.request.model")):
        return "model"
    if span.text("llm.request.type") in {"chat", "completion"}:
        return "model"
    if span.text("gen_ai.tool.name") or span.name.startswith("execute_tool "):
        return "tool"
    if (
        span.name == "agent run"
        or span.name.startswith("invoke_agent ")
        or any(one in span.attributes for one in names.ALL)
    ):
        return "agent"
    return "model" if _has_words(span) else "other"


def _has_words(span: Span) -> bool:
    """Whether a span of no known kind has what only a request to a model has."""
    if span.text(names.OPERATION) or span.text(names.TRACELOOP):
        return False
    if any(event.name in names.EVENT_ROLES or event.name == names.CHOICE for event in span.events):
        return True
    if any(event.name.startswith("gen_ai.content.") or event.name == names.DETAILS for event in span.events):
        return True
    starts = (names.INPUT, names.OUTPUT, "gen_ai.prompt", "gen_ai.completion", "gen_ai.usage.", "llm.prompts.0")
    asked = any(key.startswith(starts) for key in span.attributes)
    return asked or ("request_data" in span.attributes and "response_data" in span.attributes)


_READERS: Final[Sequence[Callable[[Span], Kind | None]]] = (
    *(_by_name, _by_operation, _by_vercel, _by_open_inference, _by_traceloop, _by_observer, _by_others),
)
