"""OpenAI chat transcripts: a list of messages, a request, a request with its response, or a file of lines of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from redrive_events import BadInput, Json, parse_json
from redrive_replays.traces.chat_messages import are_messages, said_of
from redrive_replays.traces.chat_replies import completion_of, reply_of
from redrive_replays.traces.conversation import NO_ERROR_FLAG, NO_TIMES, retell
from redrive_replays.traces.reading import Diagnostic, Material
from redrive_replays.traces.trace import Remark, Said, Trace

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
NO_RESPONSE: Final = "the reply to the last request"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A list of messages with what stands around it: the request's settings, the response, and the rest."""

    messages: Sequence[Mapping[str, Json]]
    request: Mapping[str, Json]
    response: Mapping[str, Json] | None
    around: Mapping[str, Json]


def detect(material: Material) -> bool:
    """Whether the first value of the file is, or holds, a list of chat messages; or each line is a message."""
    first = material.entries[0].value
    if _found(first) is not None:
        return True
    return are_messages([entry.value for entry in material.entries[:8]]) or (_listed(first) and not material.lined)


def _listed(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and _found(value[0]) is not None


def read(material: Material) -> Iterator[Trace]:
    """Each conversation of the file as a run."""
    first = material.entries[0].value
    if material.lined and are_messages([entry.value for entry in material.entries]):
        yield _one_message_a_line(material)
    elif material.lined or not _listed(first):
        yield from _all(material, ((entry.index, entry.value, entry.line, entry.offset) for entry in material.entries))
    else:
        yield from _all(material, ((index, value, 0, 0) for index, value in enumerate(first)))


def _one_message_a_line(material: Material) -> Trace:
    trace = Trace(missing={NO_TIMES: 1, NO_ERROR_FLAG: 1})
    if material.lost:
        trace.grade = "view-only"
        trace.missing["a line that could not be read"] = material.lost
    return retell(trace, [said_of(entry.value) for entry in material.entries])


def _all(material: Material, values: Iterable[tuple[int, Json, int, int]]) -> Iterator[Trace]:
    for index, value, line, offset in values:
        exchange = _found(value)
        try:
            if exchange is None:
                raise BadInput("no chat messages")
            yield trace_of(exchange, index)
        except BadInput as error:
            place = "" if line else f"entry {index}: "
            material.diagnostics.append(Diagnostic(f"{place}{error.problem}, left out", line, offset))


def trace_of(exchange: Exchange, entry: int) -> Trace:
    """One conversation as a run; what stands around it is remarked beside the run.

    Raises:
        BadInput: a message is not what it should be.
    """
    trace = Trace(entry=entry, missing={NO_TIMES: 1, NO_ERROR_FLAG: 1})
    said = list(_said(exchange.messages))
    request = exchange.request
    if exchange.response is not None:
        reply = reply_of(exchange.response, cost=exchange.around.get("cost"))
        said += [reply] if reply else []
        if isinstance(created := exchange.response.get("created"), int | float):
            trace.remarks.append(Remark("created", created))
    settings = request.get("kwargs")
    settings = {**(settings if isinstance(settings, dict) else {}), **request}
    parameters = {key: value for key, value in settings.items() if key in PARAMETERS and value is not None}
    tools = settings.get("tools") or settings.get("functions")
    trace.told = tools if isinstance(tools, list) else ()
    model = request.get("model") or (exchange.response or {}).get("model")
    trace.remarks += (Remark(key, value) for key, value in exchange.around.items() if value is not None)
    return retell(trace, said, model=model if isinstance(model, str) else "", parameters=parameters)


def _said(messages: Sequence[Mapping[str, Json]]) -> Iterator[Said]:
    for index, message in enumerate(messages):
        try:
            yield said_of(message)
        except BadInput as error:
            raise BadInput(f"message {index}: {error.problem}") from error


def _found(value: Json) -> Exchange | None:
    """The list of messages in ``value``, under one of the keys it is known to stand under."""
    if isinstance(value, list) and are_messages(value):
        return Exchange(value, {}, None, {})
    if not isinstance(value, dict):
        return None
    for path in MESSAGES:
        above, _, last = path.rpartition(".")
        request = _at(value, above) if above else value
        if isinstance(request, dict) and are_messages(messages := request.get(last, ())):
            taken = {path.partition(".")[0]}
            response = None
            for where in RESPONSES:
                if (response := completion_of(_at(value, where))) is not None:
                    taken.add(where.partition(".")[0])
                    break
            known = PARAMETERS | {"model", "tools", "functions", "kwargs"} if request is value else frozenset()
            around = {key: one for key, one in value.items() if key not in taken and key not in known}
            return Exchange(messages, request, response, around)
    return None


def _at(value: Json, path: str) -> Json:
    """What stands at a path of keys; a body may be JSON text."""
    for key in path.split("."):
        if isinstance(value, str) and value.lstrip().startswith("{"):
            try:
                value = parse_json(value)
            except BadInput:
                return None
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
