"""Where chat messages stand in a value, what stands around them, and which requests are one conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from redrive_events import BadInput, Json, parse_json
from redrive_replays.traces.chat.messages import are_messages, said_of
from redrive_replays.traces.chat.replies import completion_of, is_chunk, is_finished, reply_of
from redrive_replays.traces.exchanges import Exchange, Kin, at, entries_of
from redrive_replays.traces.lines import Entry
from redrive_replays.traces.material import Material
from redrive_replays.traces.times import Moment, moment
from redrive_replays.traces.trace import ASSISTANT, Meta

# Where the messages stand, and where the response to them.
MESSAGES: Final = (
    *("messages", "request.messages", "request.body.messages", "body.messages", "input.messages", "data.messages"),
    *("request.body.string.messages", "request.postData.text.messages", "request_body.messages"),
    *("requestBody.messages", "RequestBody.messages", "kwargs.messages"),
    *("proxy_server_request.messages", "proxy_server_request.body.messages"),
    *("trace.trace", "trace.messages", "trace", "traj", "trajectory", "conversation", "conversation.messages"),
    *("conversations", "history", "chat_history", "row.messages", "row.trajectory", "row.conversations"),
    *("input", "prompt", "data"),
)
RESPONSES: Final = (
    *("response", "response.body", "response.body.string", "response.content.text", "response_body", "responseBody"),
    *("ResponseBody", "response_obj", "completion", "output"),
)
# Lists of exchanges, or of conversations, in one document.
LISTS: Final = (
    *("data", "logs", "entries", "log.entries", "requests", "records", "results", "rows", "items", "conversations"),
    *("sessions", "traces", "trajectories", "samples", "examples", "generations", "calls"),
)
# A proxy's own record of a call, inside what it was called with.
RECORDS: Final = ("standard_logging_object", "kwargs.standard_logging_object")
COSTS: Final = ("cost", "response_cost", "spend")
BEGAN: Final = ("startTime", "start_time", "startedDateTime")
ENDED: Final = ("endTime", "end_time")
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


def entries(material: Material) -> tuple[Sequence[Entry], Mapping[str, Json]]:
    """The values of the file, and what stands beside a list of them; the chunks of one stream are one value."""
    values = entries_of(material, are_messages)
    beside: Mapping[str, Json] = {}
    if len(values) == 1 and not material.lined and found(values[0].value) is None:
        values, beside = _listed(values)
    return (list(_gathered(values)) if values and is_chunk(values[0].value) else values), beside


def _listed(values: Sequence[Entry]) -> tuple[Sequence[Entry], Mapping[str, Json]]:
    value = values[0].value
    for path in LISTS if isinstance(value, dict) else ():
        held = at(value, path)
        if isinstance(held, list) and any(found(one) is not None for one in held):
            first = path.partition(".")[0]
            return [Entry(index, one) for index, one in enumerate(held)], {
                key: one for key, one in value.items() if key != first
            }
    return values, {}


def _gathered(values: Sequence[Entry]) -> Iterator[Entry]:
    """Chunks that follow one another, and are of one response, as one value."""
    chunks: list[Json] = []
    first, label = values[0], None
    for entry in values:
        value = entry.value
        own = value.get("id") if isinstance(value, dict) and is_chunk(value) else None
        if chunks and (own is None or own != label):
            yield Entry(first.index, chunks, first.line, first.offset)
            chunks = []
        if own is None:
            yield entry
            continue
        if not chunks:
            first, label = entry, own
        chunks.append(value)
    if chunks:
        yield Entry(first.index, chunks, first.line, first.offset)


def found(value: Json, entry: int = 0) -> Exchange | None:
    """The list of messages that ``value`` is, or holds under one of the keys under which it is known to stand.

    Where there is none, the response that it is, or holds.
    """
    if isinstance(value, list) and are_messages(value):
        return Exchange(entry, value, {}, None, {})
    if not isinstance(value, dict):
        return _replied(entry, value)
    value, beside = _recorded(value)
    for path in MESSAGES:
        above, _, last = path.rpartition(".")
        request = at(value, above) if above else value
        if isinstance(request, dict) and are_messages(messages := _listing(request.get(last, ()))):
            exchange = _exchange(entry, value, path, request, messages)
            if exchange is not None and beside:
                exchange.around = {**exchange.around, **beside}
            return exchange
    return _replied(entry, value)


def _recorded(value: Mapping[str, Json]) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
    """A proxy's own record of a call, and what stands around that; else the value itself."""
    for path in RECORDS:
        record = at(value, path)
        if isinstance(record, dict):
            first, _, second = path.partition(".")
            beside = {key: one for key, one in value.items() if key != first}
            if second and isinstance(outer := value[first], dict):
                beside[first] = {key: one for key, one in outer.items() if key != second}
            return record, beside
    return value, {}


def _listing(messages: Json) -> Json:
    """Messages as they are, or from their JSON text."""
    if isinstance(messages, str) and messages.lstrip().startswith("["):
        try:
            return parse_json(messages)
        except BadInput:
            return None
    return messages


def _replied(entry: int, value: Json) -> Exchange | None:
    """A response whose request was not kept."""
    for where in ("", *RESPONSES) if isinstance(value, dict) else ("",):
        given = at(value, where) if where else value
        if _is_foreign(given):
            return None
        completion = completion_of(given)
        if completion is None or reply_of(completion) is None:
            continue
        first = where.partition(".")[0]
        around = {key: one for key, one in value.items() if key != first} if where else {}
        return Exchange(entry, (), {}, completion, around, cut=_is_cut(completion))
    return None


def _is_cut(completion: Mapping[str, Json]) -> bool:
    return is_chunk(completion) and not is_finished(completion)


def _exchange(
    entry: int, value: Mapping[str, Json], path: str, request: Mapping[str, Json], messages: list[Json]
) -> Exchange | None:
    taken = {path.partition(".")[0]}
    response = None
    for where in RESPONSES:
        given = at(value, where)
        if _is_foreign(given):
            return None
        if where not in taken and (response := _response(given)) is not None:
            taken.add(where.partition(".")[0])
            break
    around = {key: one for key, one in value.items() if key not in taken}
    if request is value:
        around = {key: one for key, one in around.items() if key not in _SETTINGS}
    elif rest := {key: one for key, one in request.items() if key not in _SETTINGS | {path.rpartition(".")[2]}}:
        around["request"] = rest
    if response is not None and _repeats(messages[-1], response):
        messages = messages[:-1]
    exchange = Exchange(entry, messages, request, response, around, cut=response is not None and _is_cut(response))
    if response is not None and (ended := _time(value, ENDED)) is not None:
        exchange.replied[len(messages)] = ended
    return exchange


def _response(given: Json) -> Mapping[str, Json] | None:
    """A completion, or one that a message alone stands for; Ollama's has the message in it, and its own counts."""
    if (completion := completion_of(given)) is not None:
        return completion
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if not isinstance(given, dict):
        return None
    inner = given.get("message")
    if isinstance(inner, dict) and inner.get("role") == ASSISTANT:
        usage = {"prompt_tokens": given.get("prompt_eval_count"), "completion_tokens": given.get("eval_count")}
        rest = {key: one for key, one in given.items() if key not in {"message", "done_reason"}}
        counted = {"usage": usage} if any(usage.values()) else {}
        return {**rest, **counted, "choices": [{"message": inner, "finish_reason": given.get("done_reason")}]}
    if given.get("role") == ASSISTANT and are_messages([given]):
        return {"choices": [{"message": given}]}
    return None


def _repeats(message: Json, response: Mapping[str, Json]) -> bool:
    """Whether the last message is the response again."""
    if not isinstance(message, dict) or message.get("role") != ASSISTANT:
        return False
    reply = reply_of(response)
    try:
        return reply is not None and said_of(message).content == reply.content
    except BadInput:
        return False


def _is_foreign(response: Json) -> bool:
    """Whether this is the reply of Anthropic's model, whose messages only look like these."""
    if isinstance(response, str):
        return "message_start" in response[:1000]
    return isinstance(response, dict) and response.get("type") == "message"


def _time(value: Mapping[str, Json], names: Sequence[str]) -> Moment | None:
    return next((one for name in names if (one := moment(value.get(name))) is not None), None)


def began(exchange: Exchange) -> Moment | None:
    """When the request was made."""
    return _time(exchange.around, BEGAN)


def cost_of(exchange: Exchange) -> Json:
    """What the exchange cost."""
    return next((exchange.around[key] for key in COSTS if exchange.around.get(key) is not None), None)


def _meta_of(exchange: Exchange) -> dict[int, Meta]:
    reply = reply_of(exchange.response, cost=cost_of(exchange)) if exchange.response else None
    return {len(exchange.messages): reply.meta} if reply else {}


KIN: Final = Kin(replies=lambda message: message.get("role") == ASSISTANT, meta_of=_meta_of)
