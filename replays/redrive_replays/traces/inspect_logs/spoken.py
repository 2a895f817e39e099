"""A thread of requests as what was said: each request tells what came since the last, and the events tell when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import to_builtins

from redrive_events import BadInput, Json, calls_of
from redrive_replays.traces.inspect_logs.beside import event_of
from redrive_replays.traces.inspect_logs.messages import content_of, meta_of, said_of
from redrive_replays.traces.inspect_logs.pools import Pools
from redrive_replays.traces.inspect_logs.threads import Thread, Turn
from redrive_replays.traces.times import Moment, moment
from redrive_replays.traces.trace import ASSISTANT, RESULTS, Said

# What a tool's event says that its message does not.
_OF_A_CALL: Final = ("truncated", "working_time", "failed", "agent", "view", "metadata")


def said_in(thread: Thread, pools: Pools, final: Sequence[Json]) -> tuple[list[Said], list[Moment | None]]:
    """All messages of a conversation, and the times of its events; ``final`` is where the sample's own one ended.

    Raises:
        BadInput: a message is none, or there is more text than any log has.
    """
    said = list(_opening(thread.turns[0].request))
    times: list[Moment | None] = []
    for turn, after in zip(thread.turns, [*thread.turns[1:], None], strict=True):
        asked_at = _at(turn.event)
        done = _Done(turn.behind)
        times += [asked_at, *done.times]
        said.append(_reply(turn, after, asked_at, pools))
        came = _came(turn, after) if after else _last(turn, done, pools, final)
        for one in came:
            _marked(one, done)
            said.append(one)
    for one in said:
        pools.weigh(one.content if isinstance(one.content, str) else to_builtins(one.content))
    return said, times


def _opening(request: Sequence[Json]) -> Iterator[Said]:
    """The first request; replies in it, and what answers them, are examples or another agent's."""
    said = [_read(message, index) for index, message in enumerate(request)]
    last = max((index for index, one in enumerate(said) if one.role == ASSISTANT), default=-1)
    for index, one in enumerate(said):
        one.given = index <= last or (one.role in RESULTS and said[index - 1].given)
        yield one


def _reply(turn: Turn, after: Turn | None, at: Moment | None, pools: Pools) -> Said:
    """A reply as the next request has it; where that edited its words, the model's own stand beside."""
    reply = said_of(turn.reply)
    if after is not None:
        kept = _read(after.request[len(turn.request)], len(turn.request))
        if kept.content != reply.content:
            kept.extras = {**kept.extras, "as_replied": turn.reply}
            reply = kept
    reply.meta = meta_of(turn.event)
    reply.at = at.at if at else None
    told = {key: turn.event.get(key) for key in ("role", "retries", "cache", "working_time")}
    reply.extras = {**reply.extras, **{key: one for key, one in told.items() if one is not None}}
    found = (event_of(event, pools) for event in turn.behind)
    reply.beside = [one for one in found if one is not None]
    return reply


def _came(turn: Turn, after: Turn) -> Iterator[Said]:
    """What stands behind a reply in the next request; other agents speak there too, and call tools of their own."""
    theirs: set[str] = set()
    for index, message in enumerate(after.request[len(turn.request) + 1 :], len(turn.request) + 1):
        one = _read(message, index)
        if one.role == ASSISTANT:
            one.by = "agent"
            theirs |= {call.id for _, call in calls_of(one.content)}
        elif one.role in RESULTS and not theirs.isdisjoint(one.answers):
            one.by = "agent"
        yield one


def _last(turn: Turn, done: _Done, pools: Pools, final: Sequence[Json]) -> Iterator[Said]:
    """What came of the calls of the last reply: no request has it, so the events tell, or the messages at the end."""
    told = {
        str(one.get("tool_call_id")): one for one in final if isinstance(one, dict) and str(one.get("role")) in RESULTS
    }
    for _, call in calls_of(said_of(turn.reply).content):
        if (event := done.first(call.id)) is not None:
            extras: dict[str, Json] = {"error": event["error"]} if event.get("error") else {}
            content = content_of(pools.resolved(event.get("result")), extras)
            status = "error" if event.get("error") else "ok"
            yield Said("tool", content, (call.id,), call.name, status=status, extras=extras)  # type: ignore[arg-type]
        elif call.id in told:
            yield said_of(told[call.id])


def _marked(said: Said, done: _Done) -> None:
    """A result with what its event says of it."""
    event = None if said.by or not said.answers else done.taken(said.answers[0])
    if event is None:
        return
    at = _at(event)
    said.at = at.at if at else None
    kept = {key: event[key] for key in _OF_A_CALL if event.get(key) not in (None, {}, [])}
    said.extras = {**said.extras, **kept}


class _Done:
    """The events of the calls of one turn; labels repeat, so each is taken once."""

    def __init__(self, events: Sequence[Mapping[str, Json]]) -> None:
        tools = [event for event in events if event.get("event") == "tool" and not event.get("pending")]
        self.times = [_at(event) for event in tools]
        self._events: dict[str, list[Mapping[str, Json]]] = {}
        for event in tools:
            self._events.setdefault(str(event.get("id")), []).append(event)

    def first(self, label: str) -> Mapping[str, Json] | None:
        """The oldest event with this label that is not taken."""
        return next(iter(self._events.get(label, ())), None)

    def taken(self, label: str) -> Mapping[str, Json] | None:
        """The same, and it is taken."""
        events = self._events.get(label)
        return events.pop(0) if events else None


def _at(event: Mapping[str, Json]) -> Moment | None:
    return moment(event.get("completed")) or moment(event.get("timestamp"))


def _read(message: Json, index: int) -> Said:
    try:
        return said_of(message)
    except BadInput as error:
        raise BadInput(f"message {index}: {error.problem}") from error
