"""OpenAI chat transcripts: a list of messages, a request, a request with its response, or a file of lines of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from redrive_events import BadInput, Json
from redrive_replays.traces.chat.exchanges import KIN, PARAMETERS, began, cost_of, entries, found
from redrive_replays.traces.chat.messages import are_messages, said_of
from redrive_replays.traces.chat.replies import reply_of
from redrive_replays.traces.conversation import NO_ERROR_FLAG, NO_TIMES, retell
from redrive_replays.traces.exchanges import (
    Exchange,
    at,
    conversations,
    exchanges_of,
    leave_out,
    traces_of,
)
from redrive_replays.traces.lines import Entry
from redrive_replays.traces.material import Material
from redrive_replays.traces.times import Moment, clock_of, moment
from redrive_replays.traces.trace import Remark, Said, Trace

LOST_LINE: Final = "a message (its line could not be read)"
NO_REQUEST: Final = "the request (only its response was kept)"
CUT_REPLY: Final = "the end of a reply (its stream breaks off)"
TIMES_OF_REQUESTS: Final = "times of messages (only those of requests and of replies are known)"
LOOKED_AT: Final = 8
# When a message was said, by those who write it on each.
_TIMES: Final = ("timestamp", "created_at", "createdAt")
# Where proxies keep the settings of a request beside it; the last counts most.
_SET: Final = ("proxy_server_request", "proxy_server_request.body", "kwargs", "optional_params", "model_parameters")


def detect(material: Material) -> bool:
    """Whether the file is, or holds, chat messages or completions, or has a message on each line."""
    values, _ = entries(material)
    looked_at = values[:LOOKED_AT] if material.lined else values
    if any(found(entry.value) is not None for entry in looked_at):
        return True
    messages = sum(are_messages([entry.value]) for entry in looked_at)
    return material.lined and 2 * messages > len(looked_at)


def read(material: Material) -> Iterator[Trace]:
    """Each conversation of the file as a run; what stands beside a list of them is remarked on the first."""
    values, beside = entries(material)
    if all(_found(entry) is None for entry in values):
        yield _one_message_a_line(material, values)
        return
    first = True
    asked = conversations(exchanges_of(material, values, _found, "no chat messages"), KIN)
    for trace in traces_of(material, values, asked, trace_of):
        if first:
            trace.remarks += (Remark(key, one) for key, one in beside.items() if one is not None)
        first = False
        yield trace


def _found(entry: Entry) -> Exchange | None:
    return found(entry.value, entry.index)


def _one_message_a_line(material: Material, values: Sequence[Entry]) -> Trace:
    trace = Trace()
    said, times = [], []
    for entry in values:
        if are_messages([entry.value]):
            one, at = _timed(entry.value)
            said.append(one)
            times.append(at)
        else:
            leave_out(material, entry, "no chat message")
    trace.clock = clock_of(times)
    if trace.clock == "none":
        trace.lacks(NO_TIMES)
    trace.lacks(NO_ERROR_FLAG)
    if lost := material.lost + len(values) - len(said):
        trace.grade = "view-only"
        trace.missing[LOST_LINE] = lost
    return retell(trace, said)


def trace_of(exchange: Exchange) -> Trace:
    """One conversation as a run; what stands around it is remarked beside the run.

    Raises:
        BadInput: a message is not what it should be.
    """
    trace = Trace(entry=exchange.entry)
    said, times = _said(exchange)
    _clock(trace, exchange, times)
    trace.lacks(NO_ERROR_FLAG)
    response, request = exchange.response or {}, exchange.request
    if not exchange.messages:
        trace.grade = "model-only"
        trace.lacks(NO_REQUEST)
    if exchange.cut:
        trace.grade = "view-only"
        trace.lacks(CUT_REPLY)
    if isinstance(created := response.get("created"), int | float):
        trace.remarks.append(Remark("created", created))
    if exchange.requests > 1:
        trace.remarks.append(Remark("requests", exchange.requests))
    trace.remarks += (Remark(key, value) for key, value in exchange.around.items() if value is not None)
    settings = _settings(exchange)
    tools = settings.get("tools") or settings.get("functions")
    trace.told = tools if isinstance(tools, list) else ()
    model = request.get("model") or response.get("model")
    parameters: dict[str, Json] = {key: settings[key] for key in sorted(PARAMETERS & settings.keys())}
    parameters = {key: value for key, value in parameters.items() if value is not None}
    return retell(trace, said, model=model if isinstance(model, str) else "", parameters=parameters)


def _settings(exchange: Exchange) -> Mapping[str, Json]:
    """What the request was made with, also where a proxy keeps that beside it."""
    settings: dict[str, Json] = {}
    for path in _SET:
        for around in (exchange.around, exchange.request):
            given = at(around, path)
            settings |= given if isinstance(given, dict) else {}
    return {**settings, **{key: one for key, one in exchange.request.items() if one is not None}}


def _clock(trace: Trace, exchange: Exchange, times: Sequence[Moment]) -> None:
    """What is known of times: those of messages, or when a request was made and its reply came."""
    start = began(exchange)
    trace.clock = clock_of([start, *times])
    if trace.clock == "none":
        trace.lacks(NO_TIMES)
    elif len(times) <= len(exchange.replied):
        trace.lacks(TIMES_OF_REQUESTS)
    if start is not None and exchange.requests == 1:
        trace.began = start.at


def _timed(message: Mapping[str, Json]) -> tuple[Said, Moment | None]:
    """A message, and when it was said."""
    said = said_of(message)
    at = next((one for key in _TIMES if (one := moment(message.get(key))) is not None), None)
    said.at = at.at if at else None
    return said, at


def _said(exchange: Exchange) -> tuple[list[Said], list[Moment]]:
    said: list[Said] = []
    times: list[Moment | None] = []
    for index, message in enumerate(exchange.messages):
        try:
            one, at = _timed(message)
        except BadInput as error:
            raise BadInput(f"message {index}: {error.problem}") from error
        one.meta = exchange.earlier.get(index, one.meta)
        said.append(one)
        times.append(at)
    if exchange.response is not None:
        reply = reply_of(exchange.response, cost=cost_of(exchange))
        if reply is not None:
            said.append(reply)
            times.append(None)
    for index, at in exchange.replied.items():
        if index < len(said):
            said[index].at, times[index] = at.at, at
    return said, [one for one in times if one is not None]
