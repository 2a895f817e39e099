"""OpenAI's chat completions: the reply in a response object, or put together again from its streamed chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from redrive_events import Json, Usage
from redrive_replays.traces.bodies import body_of, micros, text, tokens_of
from redrive_replays.traces.chat.messages import said_of
from redrive_replays.traces.trace import ASSISTANT, Meta, Said

_ADDED: Final = frozenset({"content", "reasoning_content", "reasoning", "refusal"})
_JOINED: Final = _ADDED | {"role", "function_call", "tool_calls"}
# What is kept as what it means; all else that a completion says stands beside its reply.
_READ: Final = frozenset({"id", "object", "created", "model", "choices", "usage"})
_OF_A_CHOICE: Final = frozenset({"index", "message", "delta", "finish_reason"})


def is_response(value: Json) -> bool:
    """Whether ``value`` is a chat completion, its text, or a stream of its chunks."""
    return completion_of(value) is not None


def is_chunk(value: Json) -> bool:
    """Whether ``value`` is a chunk of a streamed completion, or one that was put together of such."""
    return isinstance(value, dict) and value.get("object") == "chat.completion.chunk"


def is_finished(completion: Mapping[str, Json]) -> bool:
    """Whether a completion says why it ended."""
    return any(isinstance(one, dict) and one.get("finish_reason") for one in completion["choices"])


def completion_of(value: Json) -> Mapping[str, Json] | None:
    """A response as one completion object: as it is, from its JSON text, or from server-sent events."""
    value = body_of(value)
    if isinstance(value, list):
        chunks = [one for one in value if isinstance(one, dict) and isinstance(one.get("choices"), list)]
        return _assembled(chunks) if chunks else None
    if isinstance(value, dict) and isinstance(value.get("choices"), list):
        return value
    return None


def reply_of(completion: Mapping[str, Json], *, cost: Json = None) -> Said | None:
    """The first choice of a completion with its tokens and ids; None where it holds no message."""
    choice = next((one for one in completion["choices"] if isinstance(one, dict)), None)
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        return None
    meta = Meta(
        usage=usage_of(completion.get("usage")),
        finish=text(choice.get("finish_reason")),
        model=text(completion.get("model")),
        response_id=text(completion.get("id")),
        cost_micros=micros(cost),
    )
    said = said_of({**message, "role": ASSISTANT}, meta)
    others = [one for one in completion["choices"] if one is not choice]
    beside = {
        "choice": {key: one for key, one in choice.items() if key not in _OF_A_CHOICE and one not in (None, {}, [])},
        "choices": others,
        "response": {key: one for key, one in completion.items() if key not in _READ and one not in (None, {}, [], "")},
    }
    said.extras = {**said.extras, **{key: one for key, one in beside.items() if one}}
    return said


def usage_of(usage: Json) -> Usage | None:
    """Tokens without double counting: what a prompt's count says includes the cached ones."""
    if not isinstance(usage, dict):
        return None
    given, made = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    read = tokens_of(given, "cached_tokens") or tokens_of(usage, "cache_read_input_tokens", "prompt_cache_hit_tokens")
    write = tokens_of(usage, "cache_creation_input_tokens") or tokens_of(
        given, "cache_write_tokens", "cache_creation_tokens"
    )
    prompt = tokens_of(usage, "prompt_tokens", "input_tokens")
    return Usage(
        input=max(0, prompt - read - write),
        cache_read=read,
        cache_write=write,
        output=tokens_of(usage, "completion_tokens", "output_tokens"),
        reasoning=tokens_of(made, "reasoning_tokens"),
    )


def _assembled(chunks: Iterable[Mapping[str, Json]]) -> Mapping[str, Json] | None:
    """One completion from its chunks: words and arguments are joined, ids and names stand in a call's first chunk."""
    whole: dict[str, Json] = {}
    message: dict[str, Json] = {"role": ASSISTANT, "content": None}
    calls: dict[int, dict[str, Json]] = {}
    others: list[Json] = []
    finish = None
    for chunk in chunks:
        whole |= {key: value for key, value in chunk.items() if key != "choices" and value is not None}
        for choice in chunk["choices"]:
            if not isinstance(choice, dict):
                continue
            if choice.get("index", 0) != 0:
                others.append(choice)
                continue
            finish = choice.get("finish_reason") or finish
            if isinstance(choice.get("message"), dict):
                message |= choice["message"]
            if isinstance(delta := choice.get("delta"), dict):
                _add(message, calls, delta)
    return {**whole, "choices": [{"index": 0, "finish_reason": finish, "message": message}, *others]}


def _add(message: dict[str, Json], calls: dict[int, dict[str, Json]], delta: Mapping[str, Json]) -> None:
    for key, value in delta.items():
        if key in _ADDED and isinstance(value, str):
            message[key] = text(message.get(key)) + value
        elif key not in _JOINED and value not in (None, "", []):
            before = message.get(key)
            message[key] = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
    if isinstance(old := delta.get("function_call"), dict):
        message["function_call"] = made = dict(given) if isinstance(given := message.get("function_call"), dict) else {}
        _extend(made, old)
    parts = delta.get("tool_calls")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict):
            _call(message, calls, part)


def _call(message: dict[str, Json], calls: dict[int, dict[str, Json]], part: Mapping[str, Json]) -> None:
    """A part of a call; ``calls`` has the one that each index stands for: some give all the same, with other ids."""
    given, label = part.get("index"), part.get("id")
    index = given if isinstance(given, int) else len(calls)
    call = calls.get(index)
    if call is None or (label and call["id"] and label != call["id"]):
        call = calls[index] = {"id": None, "function": {}}
        before = message.get("tool_calls")
        message["tool_calls"] = [*(before if isinstance(before, list) else ()), call]
    call["id"] = call["id"] or label
    if isinstance(made := part.get("function"), dict):
        _extend(call["function"], made)


def _extend(call: dict[str, Json], made: Mapping[str, Json]) -> None:
    call["name"] = call.get("name") or made.get("name")
    if isinstance(more := made.get("arguments"), str):
        call["arguments"] = text(call.get("arguments")) + more
