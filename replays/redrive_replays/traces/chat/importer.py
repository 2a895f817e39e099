"""OpenAI chat transcripts: a list of messages, a request, a request with its response, or a file of lines of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from redrive_events import BadInput, Json
from redrive_replays.traces.chat.exchanges import KIN, PARAMETERS, found
from redrive_replays.traces.chat.messages import are_messages, said_of
from redrive_replays.traces.chat.replies import reply_of
from redrive_replays.traces.conversation import NO_ERROR_FLAG, NO_TIMES, retell
from redrive_replays.traces.exchanges import Exchange, conversations, entries_of, exchanges_of, leave_out
from redrive_replays.traces.lines import Entry
from redrive_replays.traces.material import Material
from redrive_replays.traces.trace import Remark, Said, Trace

LOST_LINE: Final = "a message (its line could not be read)"
LOOKED_AT: Final = 8


def detect(material: Material) -> bool:
    """Whether the file is, or holds, lists of chat messages, or has a message on each line."""
    looked_at = entries_of(material, are_messages)[:LOOKED_AT]
    if any(found(entry.value) is not None for entry in looked_at):
        return True
    messages = sum(are_messages([entry.value]) for entry in looked_at)
    return material.lined and 2 * messages > len(looked_at)


def read(material: Material) -> Iterator[Trace]:
    """Each conversation of the file as a run."""
    entries = entries_of(material, are_messages)
    if all(_found(entry) is None for entry in entries):
        yield _one_message_a_line(material, entries)
        return
    for exchange in conversations(exchanges_of(material, entries, _found, "no chat messages"), KIN):
        try:
            yield trace_of(exchange)
        except BadInput as error:
            leave_out(material, next(one for one in entries if one.index == exchange.entry), error.problem)


def _found(entry: Entry) -> Exchange | None:
    return found(entry.value, entry.index)


def _one_message_a_line(material: Material, entries: Sequence[Entry]) -> Trace:
    trace = Trace(missing={NO_TIMES: 1, NO_ERROR_FLAG: 1})
    said = []
    for entry in entries:
        if are_messages([entry.value]):
            said.append(said_of(entry.value))
        else:
            leave_out(material, entry, "no chat message")
    if lost := material.lost + len(entries) - len(said):
        trace.grade = "view-only"
        trace.missing[LOST_LINE] = lost
    return retell(trace, said)


def trace_of(exchange: Exchange) -> Trace:
    """One conversation as a run; what stands around it is remarked beside the run.

    Raises:
        BadInput: a message is not what it should be.
    """
    trace = Trace(entry=exchange.entry, missing={NO_TIMES: 1, NO_ERROR_FLAG: 1})
    said = list(_said(exchange))
    response, request = exchange.response or {}, exchange.request
    if isinstance(created := response.get("created"), int | float):
        trace.remarks.append(Remark("created", created))
    if exchange.requests > 1:
        trace.remarks.append(Remark("requests", exchange.requests))
    trace.remarks += (Remark(key, value) for key, value in exchange.around.items() if value is not None)
    settings = request.get("kwargs")
    settings = {**(settings if isinstance(settings, dict) else {}), **request}
    tools = settings.get("tools") or settings.get("functions")
    trace.told = tools if isinstance(tools, list) else ()
    model = request.get("model") or response.get("model")
    parameters: dict[str, Json] = {key: settings[key] for key in sorted(PARAMETERS & settings.keys())}
    parameters = {key: value for key, value in parameters.items() if value is not None}
    return retell(trace, said, model=model if isinstance(model, str) else "", parameters=parameters)


def _said(exchange: Exchange) -> Iterator[Said]:
    for index, message in enumerate(exchange.messages):
        try:
            said = said_of(message)
        except BadInput as error:
            raise BadInput(f"message {index}: {error.problem}") from error
        said.meta = exchange.earlier.get(index, said.meta)
        yield said
    if exchange.response is not None:
        reply = reply_of(exchange.response, cost=exchange.around.get("cost"))
        if reply is not None:
            yield reply
