"""What is said to a provider's model and what it says, in our blocks and in pydantic-ai's parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_ai import messages as theirs
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from redrive_engine.models.port import ModelTrouble
from redrive_events import (
    Block,
    Content,
    Json,
    ModelReplied,
    Opaque,
    Text,
    Thinking,
    ToolUse,
    Usage,
    blocks_of,
    text_of,
)
from redrive_projections import Message

# Beside our blocks a reply has what the provider needs to recognize it when it comes back: the ids of its parts, who
# signed them. That is kept in one last block of this kind, where there is any.
REST: Final = "pydantic_ai.rest"
PART: Final = "pydantic_ai.part"  # a part that none of our blocks can hold, whole

_RESPONSE: Final = TypeAdapter(theirs.ModelResponse)
_OF_RESPONSE: Final = ("provider_name", "canonical_system", "model_name", "provider_response_id")
# What of a part our own blocks hold.
_OURS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("content",),
    "thinking": ("content", "signature"),
    "tool-call": ("tool_name", "args", "tool_call_id"),
}


def offered(tools: Mapping[str, Json]) -> ModelRequestParameters:
    """The tools a model is told of, with their schemas as the log has them."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=name, description=tool["description"], parameters_json_schema=tool["schema"], strict=False
            )
            for name, tool in tools.items()
        ]
    )


def to_theirs(messages: Sequence[Message], *, inline_system: bool) -> list[theirs.ModelMessage]:
    """A request's messages. System words behind others go as a user's where the model takes none there."""
    found: list[theirs.ModelMessage] = []
    parts: list[theirs.ModelRequestPart] = []
    tools: dict[str, str] = {}
    for message in messages:
        if message.role == "assistant":
            if parts:
                found.append(theirs.ModelRequest(parts=parts))
                parts = []
            tools |= {block.id: block.name for block in blocks_of(message.content) if type(block) is ToolUse}
            found.append(_response(message.content))
        else:
            standing = not found and all(isinstance(part, theirs.SystemPromptPart) for part in parts)
            parts.append(_part(message, tools, system=standing or inline_system))
    return [*found, theirs.ModelRequest(parts=parts)] if parts else found


def _part(message: Message, tools: Mapping[str, str], *, system: bool) -> theirs.ModelRequestPart:
    if any(type(block) is not Text for block in blocks_of(message.content)):
        raise ModelTrouble("refused")  # rather than left out without a word
    words = text_of(message.content)
    if message.role == "tool":
        name = tools.get(message.call_id, "")
        return theirs.ToolReturnPart(tool_name=name, content=words, tool_call_id=message.call_id)
    if message.role == "system" and system:
        return theirs.SystemPromptPart(content=words)
    return theirs.UserPromptPart(content=words)


def _response(content: Content) -> theirs.ModelResponse:
    """A reply of the past, as its provider gave it."""
    blocks = blocks_of(content)
    rest: dict[str, Json] = {}
    if blocks and type(blocks[-1]) is Opaque and _kind(blocks[-1]) == REST:
        rest, blocks = blocks[-1].data, blocks[:-1]
    beside = rest.get("parts") or [{}] * len(blocks)
    parts = [_their_part(block, more) for block, more in zip(blocks, beside, strict=True)]
    return _RESPONSE.validate_python({**(rest.get("response") or {}), "kind": "response", "parts": parts})


def _their_part(block: Block, more: Mapping[str, Json]) -> dict[str, Json]:
    match block:
        case Text():
            own: dict[str, Json] = {"part_kind": "text", "content": block.text}
        case Thinking():
            own = {"part_kind": "thinking", "content": block.text, "signature": block.signature or None}
        case ToolUse():
            own = {
                "part_kind": "tool-call",
                "tool_name": block.name,
                "args": block.arguments,
                "tool_call_id": block.id,
            }
        case Opaque() if _kind(block) == PART:
            own = block.data["part"]
        case _:
            raise ModelTrouble("refused")  # a block of another provider's, of which this one can know nothing
    return {**own, **more}


def _kind(block: Opaque) -> str:
    return str(block.data.get("type", "")) if isinstance(block.data, dict) else ""


def to_ours(response: theirs.ModelResponse) -> ModelReplied:
    """A reply, word for word: arguments as the provider wrote them, thinking with its signature, tokens counted."""
    data = _RESPONSE.dump_python(response, mode="json")
    details = response.provider_details or {}
    return ModelReplied(
        content=_content(response, data),
        finish=str(details.get("finish_reason") or response.finish_reason or ""),
        model=response.model_name or "",
        response_id=response.provider_response_id or "",
        usage=_usage(response.usage),
    )


def _content(response: theirs.ModelResponse, data: Mapping[str, Any]) -> Content:
    parts = list(zip(response.parts, data["parts"], strict=True))
    blocks = [_block(part, plain) for part, plain in parts]
    beside = [_beside(plain) for _, plain in parts]
    if any(beside):
        of_response = {key: data[key] for key in _OF_RESPONSE if data.get(key)}
        blocks.append(Opaque(data={"type": REST, "response": of_response, "parts": beside}))
    elif not blocks or (len(blocks) == 1 and type(blocks[0]) is Text):
        return text_of(tuple(blocks))
    return tuple(blocks)


def _block(part: theirs.ModelResponsePart, plain: Json) -> Block:
    match part:
        case theirs.TextPart():
            return Text(text=part.content)
        case theirs.ThinkingPart():
            return Thinking(text=part.content, signature=part.signature or "")
        case theirs.ToolCallPart():
            arguments = part.args if isinstance(part.args, str) else part.args_as_json_str()
            return ToolUse(name=part.tool_name, arguments=arguments, id=part.tool_call_id)
        case _:
            return Opaque(data={"type": PART, "part": plain})


def _beside(plain: Mapping[str, Json]) -> dict[str, Json]:
    kind = plain["part_kind"]
    if kind not in _OURS:
        return {}
    ours = {*_OURS[kind], "part_kind", "metadata"}
    return {key: value for key, value in plain.items() if key not in ours and value not in (None, {}, [])}


def _usage(usage: RequestUsage) -> Usage | None:
    """The layer counts cached tokens in ``input``, we count them beside it; None is that the provider said nothing."""
    if usage.unmeasured_requests:
        return None
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return Usage(
        input=max(0, usage.input_tokens - cached),
        cache_read=usage.cache_read_tokens,
        cache_write=usage.cache_write_tokens,
        output=usage.output_tokens,
        reasoning=usage.output_reasoning_tokens or usage.details.get("reasoning_tokens", 0),
    )
