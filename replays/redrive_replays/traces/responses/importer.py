"""OpenAI Responses: a list of items, a request, a response, both, a stream, and chains of these in one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from redrive_events import Json
from redrive_replays.traces.bodies import micros
from redrive_replays.traces.conversation import NO_ERROR_FLAG, NO_TIMES, retell
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
from redrive_replays.traces.responses.items import are_items, content_of, is_item, is_own, is_replied, kind_of, said_of
from redrive_replays.traces.responses.replies import answer_of, error_of, meta_of, reply_of
from redrive_replays.traces.trace import Meta, Remark, Said, Trace

LISTS: Final = ("input", "items", "data", "messages", "input_list", "history")
PARAMETERS: Final = frozenset(
    {
        *("temperature", "top_p", "max_output_tokens", "max_tool_calls", "stream", "store", "tool_choice", "reasoning"),
        *("parallel_tool_calls", "text", "truncation", "include", "service_tier", "top_logprobs", "background"),
        *("context_management", "prompt_cache_key", "prompt_cache_retention", "stream_options"),
    }
)
_SETTINGS: Final = PARAMETERS | {"model", "instructions", "input", "tools", "previous_response_id", "conversation"}
_TELLING: Final = frozenset(
    {"instructions", "max_output_tokens", "previous_response_id", "reasoning", "store", "conversation", "include"}
)
NO_REQUEST: Final = "the request (only its response was kept)"
NO_BEFORE: Final = "what was said before (a response that is not in the file)"
TIMES_OF_REPLIES: Final = "times (only responses have one)"
MAYBE_BEFORE: Final = "whether something was said before in the conversation"
CUT_REPLY: Final = "the end of a reply (its stream breaks off)"
LOST_LINE: Final = "an item (its line could not be read)"
TURNED: Final = "in which order the items were listed (the newest stood first, so they are turned round)"
NEWEST_FIRST: Final = "newest_first"
GYM: Final = "responses_create_params"
GOES_ON: Final = "goes_on_from"
REFERRED: Final = "an item that is only referred to"
LOOKED_AT: Final = 8


def detect(material: Material) -> bool:
    """Whether the file is, or holds, requests, responses or items of this kind."""
    entries = _entries(material)
    looked_at = entries[:LOOKED_AT]
    if _is_stream(material) or any(found(entry) is not None for entry in looked_at):
        return True
    return material.lined and all(is_item(one.value) for one in looked_at) and any(is_own(one.value) for one in entries)


def _entries(material: Material) -> Sequence[Entry]:
    """The values of the file, or of the list in its document."""
    entries = entries_of(material, are_items)
    return entries if material.lined else listed(entries, found)


def read(material: Material) -> Iterator[Trace]:
    """Each conversation of the file as a run."""
    entries = _entries(material)
    stream = _is_stream(material)
    if stream:
        entries = [Entry(0, [entry.value for entry in material.entries])]
    if all(found(entry) is None for entry in entries):
        yield _one_item_a_line(material, entries)
        return
    chained = _chained(list(exchanges_of(material, entries, found, "no Responses items")))
    asked = conversations(chained, KIN)
    yield from traces_of(material, entries, asked, trace_of, streamed=stream)


def _is_stream(material: Material) -> bool:
    """Whether each line is one event of a stream."""
    first = material.entries[0].value
    return material.lined and isinstance(first, dict) and kind_of(first).startswith("response.")


def _one_item_a_line(material: Material, entries: Sequence[Entry]) -> Trace:
    trace = Trace(missing={NO_TIMES: 1, NO_ERROR_FLAG: 1})
    items = [entry.value for entry in entries if is_item(entry.value)]
    for entry in entries:
        if not is_item(entry.value):
            leave_out(material, entry, "no item")
    if lost := material.lost + len(entries) - len(items):
        trace.grade = "view-only"
        trace.missing[LOST_LINE] = lost
    return retell(trace, list(said_of(items)))


def found(entry: Entry) -> Exchange | None:
    """The request and the response that a value is, or holds under one of the keys where they are known to stand."""
    value = entry.value
    if are_items(value):
        return Exchange(entry.index, value, {}, None, {})
    where, answer = _response(value)
    if isinstance(value, dict):
        told = answer is not None or _is_sent(value)
        for path in REQUESTS if where != "" or answer is None else ():
            request = at(value, path)
            if isinstance(request, dict) and (items := _items(request, told=told or path == GYM)) is not None:
                return _asked(entry.index, value, path, request, (where, answer, items))
    if answer is None or answer.message is None:
        return None
    around = _around(value, {where}) if where else {}
    around |= {"error": answer.error} if answer.error is not None else {}
    return Exchange(entry.index, (), {}, answer.message, around, cut=not answer.whole)


def _is_sent(value: Mapping[str, Json]) -> bool:
    """Whether the address says that this was asked of the Responses API."""
    sent = [one.get("url") for one in (value, value.get("request")) if isinstance(one, dict)]
    return any(isinstance(url, str) and url.partition("?")[0].endswith("/responses") for url in sent)


def _items(request: Mapping[str, Json], *, told: bool) -> list[Mapping[str, Json]] | None:
    """The items of a request, None where it has none, or they may be another format's."""
    told = told or bool(_TELLING & request.keys())
    for key in LISTS:
        given: Json = request.get(key)
        if are_items(given):
            return list(reversed(given)) if request.get("object") == "list" and _is_turned(given) else list(given)
        if key != "input":
            continue
        if told and isinstance(given, str):
            return [{"role": "user", "content": given}]
        if told and isinstance(given, list) and all(map(is_item, given)):
            return list(given)
    return None


def _is_turned(items: Sequence[Mapping[str, Json]]) -> bool:
    """Whether the newest of listed items stands first: an output before its call, or a reply before what was asked."""
    places: dict[Json, int] = {}
    for place, item in enumerate(items):
        label = item.get("call_id")
        if isinstance(label, str):
            first = places.setdefault(label, place)
            if first != place:
                return kind_of(items[first]).endswith("_output")
    return is_replied(items[0]) and not is_replied(items[-1])


def _asked(
    entry: int,
    value: Mapping[str, Json],
    path: str,
    request: Mapping[str, Json],
    rest: tuple[str, Answer | None, list[Mapping[str, Json]]],
) -> Exchange:
    where, answer, items = rest
    around = _around(value, {path, where} if path else {where, *_SETTINGS, *LISTS})
    if path and (others := {k: one for k, one in request.items() if k not in _SETTINGS and one is not None}):
        around["request"] = others
    if len(items) > 1 and items[0] is not items[-1] and items[::-1] == request.get("data"):
        around[NEWEST_FIRST] = True
    error = answer.error if answer else error_of(value.get("response"))
    around |= {"error": error} if error is not None else {}
    message = answer.message if answer else None
    return Exchange(entry, items, request, message, around, cut=answer is not None and not answer.whole)


def _response(value: Json) -> tuple[str, Answer | None]:
    """Where the response stands, and what it says."""
    for where in ("", *RESPONSES):
        if (answer := answer_of(at(value, where) if where else value)) is not None:
            return where, answer
    return "", None


def _around(value: Mapping[str, Json], taken: set[str]) -> dict[str, Json]:
    names = {path.partition(".")[0] for path in taken}
    return {key: one for key, one in value.items() if key not in names and one is not None}


def _before(exchange: Exchange) -> str:
    """The response, or the conversation, that a request goes on from."""
    for one in (exchange.request, exchange.response or {}):
        for key in ("previous_response_id", "conversation"):
            label = one.get(key)
            label = label.get("id") if isinstance(label, dict) else label
            if isinstance(label, str) and label:
                return label
    return ""


def _chained(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Requests that say only what is new, each behind what it goes on from."""
    ends: dict[str, Exchange] = {}
    whole: dict[int, Exchange] = {}
    for one in exchanges:
        label = _before(one)
        before = ends.get(label)
        exchange = one if before is None else _behind(before, one, forked=id(before) not in whole)
        if before is not None and exchange.given == before.given:
            whole.pop(id(before), None)
        elif before is None and label:
            exchange.around = {**exchange.around, GOES_ON: label}
        whole[id(exchange)] = exchange
        ends |= {name: exchange for name in (label if label.startswith("conv") else "", _id(exchange)) if name}
    return list(whole.values())


def _behind(before: Exchange, after: Exchange, *, forked: bool) -> Exchange:
    """A request with all that was said before it; where another went on from there already, that is only given."""
    output = _list((before.response or {}).get("output"))
    items = [*before.messages, *(one for one in output if isinstance(one, dict))]
    return replace(
        after,
        messages=[*items, *after.messages],
        earlier={} if forked else {**before.earlier, **_earlier(before)},
        entry=after.entry if forked else before.entry,
        requests=1 if forked else before.requests + 1,
        given=len(items) if forked else before.given,
        around={**before.around, **after.around},
        request={**before.request, **after.request},
    )


def _id(exchange: Exchange) -> str:
    label = (exchange.response or {}).get("id")
    return label if isinstance(label, str) else ""


def _earlier(exchange: Exchange) -> dict[int, Meta]:
    if exchange.response is None:
        return {}
    cost = micros(exchange.around.get("cost"))
    return {len(exchange.messages): meta_of(exchange.response)._replace(cost_micros=cost)}


def _plain(item: Json) -> Json:
    """An item without what is sent back in another way than it came."""
    if not isinstance(item, dict):
        return item
    return {key: one for key, one in item.items() if key not in {"id", "status", "type"}}


KIN: Final = Kin(replies=is_replied, meta_of=_earlier, plain=_plain)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def trace_of(exchange: Exchange) -> Trace:
    """One conversation as a run; what stands around it is remarked beside the run.

    Raises:
        BadInput: an item is not what it should be.
    """
    trace = Trace(entry=exchange.entry, missing={NO_ERROR_FLAG: 1})
    request, response = exchange.request, exchange.response or {}
    if not exchange.messages:
        trace.grade = "model-only"
        trace.lacks(NO_REQUEST)
    if label := exchange.around.get(GOES_ON):
        # A conversation may begin with this request; a response was there before it.
        trace.grade = trace.grade if label.startswith("conv") else "model-only"
        trace.lacks(MAYBE_BEFORE if label.startswith("conv") else NO_BEFORE)
    if exchange.around.get(NEWEST_FIRST) is True:
        trace.lacks(TURNED)
    if exchange.cut:
        trace.grade = "view-only"
        trace.lacks(CUT_REPLY)
    if exchange.requests > 1:
        trace.remarks.append(Remark("requests", exchange.requests))
    if response.get("error") is not None:
        trace.remarks.append(Remark("error", response["error"]))
    trace.remarks += (Remark(key, value) for key, value in exchange.around.items())
    tools = request.get("tools") or response.get("tools")
    trace.told = _list(tools)
    parameters = {key: request[key] for key in sorted(PARAMETERS & request.keys()) if request[key] is not None}
    model = request.get("model") or response.get("model")
    said = list(_said(exchange, trace))
    trace.clock = "utc" if any(one.at for one in said) else "none"
    trace.lacks(NO_TIMES if trace.clock == "none" else TIMES_OF_REPLIES)
    return retell(trace, said, model=model if isinstance(model, str) else "", parameters=parameters)


def _said(exchange: Exchange, trace: Trace) -> Iterator[Said]:
    instructions = exchange.request.get("instructions") or (exchange.response or {}).get("instructions")
    if isinstance(instructions, list) and all(map(is_item, instructions)):
        yield from said_of(instructions)
    elif instructions:
        yield Said("system", content_of(instructions, {}))
    known = {item["id"]: item for item in exchange.messages if isinstance(item.get("id"), str) and len(item) > 2}
    items = [_meant(item, known, trace) for item in exchange.messages]
    for said in said_of(items[: exchange.given]):
        said.given = True
        yield said
    metas = {index - exchange.given: meta for index, meta in exchange.earlier.items()}
    yield from said_of(items[exchange.given :], metas)
    if exchange.response is not None and (reply := reply_of(exchange.response)) is not None:
        reply.meta = reply.meta._replace(cost_micros=micros(exchange.around.get("cost")))
        yield reply


def _meant(item: Mapping[str, Json], known: Mapping[str, Mapping[str, Json]], trace: Trace) -> Mapping[str, Json]:
    """The item that one refers to, where it is there."""
    if kind_of(item) != "item_reference":
        return item
    label = item.get("id")
    meant = known.get(label) if isinstance(label, str) else None
    if meant is None:
        trace.lacks(REFERRED)
    return meant or item
