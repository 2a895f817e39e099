"""Where chat messages stand in a value, what stands around them, and which requests are one conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from redrive_events import Json
from redrive_replays.traces.chat.messages import are_messages
from redrive_replays.traces.chat.replies import completion_of, reply_of
from redrive_replays.traces.exchanges import Exchange, Kin, at
from redrive_replays.traces.trace import ASSISTANT, Meta

# Where the messages stand, and where the response to them.
MESSAGES: Final = (
    *("messages", "request.messages", "request.body.messages", "body.messages", "input.messages", "data.messages"),
    *("trace.trace", "trace.messages", "trace", "traj", "conversation", "conversation.messages"),
)
RESPONSES: Final = ("response", "response.body", "response.body.string", "completion", "output")
# Settings of a request that are neither its messages nor its tools.
PARAMETERS: Final = frozenset(
    {
        *("temperature", "top_p", "n", "stream", "stop", "max_tokens", "max_completion_tokens", "seed", "logit_bias"),
        *("presence_penalty", "frequency_penalty", "tool_choice", "function_call", "parallel_tool_calls"),
        *("response_format", "reasoning_effort", "logprobs", "top_logprobs", "service_tier", "modalities", "verbosity"),
        *("stream_options", "reasoning_format", "prediction", "top_k", "min_p"),
    }
)
_SETTINGS: Final = PARAMETERS | {"model", "tools", "functions", "kwargs"}


def found(value: Json, entry: int = 0) -> Exchange | None:
    """The list of messages that ``value`` is, or holds under one of the keys under which it is known to stand."""
    if isinstance(value, list):
        return Exchange(entry, value, {}, None, {}) if are_messages(value) else None
    if not isinstance(value, dict):
        return None
    for path in MESSAGES:
        above, _, last = path.rpartition(".")
        request = at(value, above) if above else value
        if isinstance(request, dict) and are_messages(messages := request.get(last, ())):
            return _exchange(entry, value, path, request, messages)
    return None


def _exchange(
    entry: int, value: Mapping[str, Json], path: str, request: Mapping[str, Json], messages: Json
) -> Exchange | None:
    taken = {path.partition(".")[0]}
    response = None
    for where in RESPONSES:
        given = at(value, where)
        if _is_foreign(given):
            return None
        if (response := completion_of(given)) is not None:
            taken.add(where.partition(".")[0])
            break
    around = {key: one for key, one in value.items() if key not in taken}
    if request is value:
        around = {key: one for key, one in around.items() if key not in _SETTINGS}
    elif rest := {key: one for key, one in request.items() if key not in _SETTINGS and one is not messages}:
        around["request"] = rest
    return Exchange(entry, messages, request, response, around)


def _is_foreign(response: Json) -> bool:
    """Whether this is the reply of Anthropic's model, whose messages only look like these."""
    if isinstance(response, str):
        return "message_start" in response[:1000]
    return isinstance(response, dict) and response.get("type") == "message"


def _meta_of(exchange: Exchange) -> dict[int, Meta]:
    reply = reply_of(exchange.response, cost=exchange.around.get("cost")) if exchange.response else None
    return {len(exchange.messages): reply.meta} if reply else {}


KIN: Final = Kin(replies=lambda message: message.get("role") == ASSISTANT, meta_of=_meta_of)
