"""Anthropic Messages: a request, a response, both, a stream, a list of messages, or a file of lines of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from redrive_events import BadInput, Json
from redrive_replays.traces.anthropic.messages import are_own, are_turns, is_turn, said_of
from redrive_replays.traces.anthropic.replies import answer_of, meta_of, reply_of
from redrive_replays.traces.anthropic.timed import Clock
from redrive_replays.traces.bodies import micros
from redrive_replays.traces.conversation import retell
from redrive_replays.traces.exchanges import (
    Answer,
    Exchange,
    Kin,
    at,
    conversations,
    entries_of,
    exchanges_of,
    leave_out,
    traces_of,
)
from redrive_replays.traces.lines import Entry
from redrive_replays.traces.material import Material
from redrive_replays.traces.recorded import REQUESTS, RESPONSES, listed
from redrive_replays.traces.trace import ASSISTANT, NO_META, Meta, Remark, Said, Trace

PARAMETERS: Final = frozenset(
    {
        *("max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "stream", "thinking", "tool_choice"),
        *("service_tier", "container", "context_management", "mcp_servers", "betas", "output_config", "output_format"),
        *("cache_control", "speed", "inference_geo", "anthropic_version", "anthropic_beta"),
    }
)
_SETTINGS: Final = PARAMETERS | {"model", "system", "messages", "tools"}
NO_REQUEST: Final = "the request (only its response was kept)"
CUT_REPLY: Final = "the end of a reply (its stream breaks off)"
LOST_LINE: Final = "a message (its line could not be read)"
LOOKED_AT: Final = 8
# Of a file with a message on each line so many are looked at for what only Anthropic's have.
LINES_LOOKED_AT: Final = 1_000


def detect(material: Material) -> bool:
    """Whether the file is, or holds, Anthropic's requests, responses or messages."""
    looked_at = _entries(material)[:LOOKED_AT]
    if _is_stream(material) or any(found(entry) is not None for entry in looked_at):
        return True
    if not material.lined or not any(is_turn(entry.value) for entry in looked_at):
        return False
    lines = islice(material.entries, LINES_LOOKED_AT)
    return any(are_own([entry.value]) for entry in lines if is_turn(entry.value))


def _entries(material: Material) -> Sequence[Entry]:
    """The values of the file, or of the list in its document."""
    entries = entries_of(material, are_turns)
    return entries if material.lined else listed(entries, found)


def read(material: Material) -> Iterator[Trace]:
    """Each conversation of the file as a run."""
    entries = _entries(material)
    stream = _is_stream(material)
    if stream:
        entries = [Entry(0, [entry.value for entry in material.entries])]
    if all(found(entry) is None for entry in entries):
        yield _one_message_a_line(material, entries)
        return
    asked = conversations(exchanges_of(material, entries, found, "no Anthropic messages"), KIN)
    yield from traces_of(material, entries, asked, trace_of, streamed=stream)


def _is_stream(material: Material) -> bool:
    """Whether each line is one event of a stream."""
    first = material.entries[0].value
    return material.lined and isinstance(first, dict) and first.get("type") == "message_start"


def _one_message_a_line(material: Material, entries: Sequence[Entry]) -> Trace:
    trace, clock = Trace(), Clock()
    said: list[Said] = []
    read = 0
    for entry in entries:
        if is_turn(entry.value) and "content" in entry.value:
            said += clock.timed(entry.value, said_of(entry.value))
            read += 1
        else:
            leave_out(material, entry, "no message")
    if lost := material.lost + len(entries) - read:
        trace.grade = "view-only"
        trace.missing[LOST_LINE] = lost
    clock.tell(trace)
    return retell(trace, said)


def found(entry: Entry) -> Exchange | None:
    """The request and the response that a value is, or holds under one of the keys where they are known to stand."""
    value = entry.value
    if are_own(value):
        return Exchange(entry.index, value, {}, None, {})
    if isinstance(value, dict):
        for path in REQUESTS:
            request = at(value, path)
            if isinstance(request, dict) and are_turns(request.get("messages")):
                return _asked(entry.index, value, path, request)
    where, answer = _response(value)
    if answer is None or answer.message is None:
        return None
    return Exchange(entry.index, (), {}, answer.message, _around(value, {where}, answer), cut=not answer.whole)


def _asked(entry: int, value: Mapping[str, Json], path: str, request: Mapping[str, Json]) -> Exchange | None:
    """A request, if it is Anthropic's, with its response where there is one."""
    where, answer = _response(value)
    if (answer is None and not _is_own(request)) or isinstance(value.get("choices"), list):
        return None
    around = _around(value, {path, where} if path else {where, *_SETTINGS}, answer)
    if path and (rest := {key: one for key, one in request.items() if key not in _SETTINGS and one is not None}):
        around["request"] = rest
    message = answer.message if answer else None
    return Exchange(entry, request["messages"], request, message, around, cut=answer is not None and not answer.whole)


def _is_own(request: Mapping[str, Json]) -> bool:
    """Whether a request without a response is Anthropic's: its messages, tools or system prompt say so."""
    tools = request.get("tools")
    if "anthropic_version" in request or are_own(request["messages"]):
        return True
    if any(isinstance(one, dict) and "input_schema" in one for one in _list(tools)):
        return True
    plain = not any("tool_calls" in turn or turn["role"] == "system" for turn in request["messages"])
    return plain and "max_tokens" in request and ("system" in request or "thinking" in request)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _response(value: Json) -> tuple[str, Answer | None]:
    """Where the response stands, and what it says."""
    for where in ("", *RESPONSES):
        if (answer := answer_of(at(value, where) if where else value)) is not None:
            return where, answer
    return "", None


def _around(value: Json, taken: set[str], answer: Answer | None) -> dict[str, Json]:
    """What stands beside the request and the response; the error of a failed one too."""
    names = {path.partition(".")[0] for path in taken}
    whole = not isinstance(value, dict) or value.get("type") in {"message", "error"}
    around = {} if whole else {key: one for key, one in value.items() if key not in names and one is not None}
    return around | ({"error": answer.error} if answer and answer.error is not None else {})


def _plain(value: Json) -> Json:
    """A message without the marks for the cache, which move from one request to the next."""
    if not isinstance(value, dict):
        return value
    content = value.get("content")
    blocks = [
        {key: one for key, one in block.items() if key != "cache_control"} if isinstance(block, dict) else block
        for block in _list(content)
    ]
    return {**value, "content": blocks} if blocks else value


def _earlier(exchange: Exchange) -> dict[int, Meta]:
    if exchange.response is None:
        return {}
    cost = micros(exchange.around.get("cost"))
    return {len(exchange.messages): meta_of(exchange.response)._replace(cost_micros=cost)}


KIN: Final = Kin(replies=lambda turn: turn.get("role") == ASSISTANT, meta_of=_earlier, plain=_plain)


def trace_of(exchange: Exchange) -> Trace:
    """One conversation as a run; what stands around it is remarked beside the run.

    Raises:
        BadInput: a message is not what it should be.
    """
    trace, clock = Trace(entry=exchange.entry), Clock()
    request, response = exchange.request, exchange.response or {}
    if not exchange.messages:
        trace.grade = "model-only"
        trace.lacks(NO_REQUEST)
    if exchange.cut:
        trace.grade = "view-only"
        trace.lacks(CUT_REPLY)
    if exchange.requests > 1:
        trace.remarks.append(Remark("requests", exchange.requests))
    trace.remarks += (Remark(key, value) for key, value in exchange.around.items())
    trace.told = _list(request.get("tools"))
    parameters = {key: request[key] for key in sorted(PARAMETERS & request.keys()) if request[key] is not None}
    model = request.get("model") or response.get("model")
    said = list(_said(exchange, clock))
    clock.tell(trace)
    return retell(trace, said, model=model if isinstance(model, str) else "", parameters=parameters)


def _said(exchange: Exchange, clock: Clock) -> Iterator[Said]:
    system = exchange.request.get("system")
    if system:
        yield from said_of({"role": "system", "content": system})
    for index, turn in enumerate(exchange.messages):
        try:
            yield from clock.timed(turn, said_of(turn, exchange.earlier.get(index, NO_META)))
        except BadInput as error:
            raise BadInput(f"message {index}: {error.problem}") from error
    if exchange.response is not None:
        (reply,) = clock.timed(exchange.response, (reply_of(exchange.response),))
        reply.meta = reply.meta._replace(cost_micros=micros(exchange.around.get("cost")))
        yield reply
