"""Requests in their order as conversations: each request goes on with the messages and the reply of an earlier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec

from redrive_events import Json
from redrive_replays.traces.inspect_logs.messages import reply_of
from redrive_replays.traces.inspect_logs.pools import Pools
from redrive_replays.traces.inspect_logs.spans import Owner, Placed
from redrive_replays.traces.trace import ASSISTANT

# Conversations of one agent that may go on side by side.
SIDE_BY_SIDE_MAX: Final = 64
# A message as it is compared: ids and other marks of the framework do not count.
Key: TypeAlias = tuple[str, Json, tuple[str, ...], str]


@dataclass(slots=True)
class Turn:
    """A request, its reply, and the events that came until the next."""

    event: Mapping[str, Json]
    request: Sequence[Json]
    reply: Mapping[str, Json]
    behind: list[Mapping[str, Json]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Thread:
    """One conversation with a model: its turns, and the events before the first of them."""

    owner: Owner
    before: list[Mapping[str, Json]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    asked: list[Key] = field(default_factory=list)


@dataclass(slots=True)
class Told:
    """All that the events of a sample tell: conversations, what scorers asked, and failed requests in their place."""

    threads: list[Thread] = field(default_factory=list)
    grading: list[tuple[str, Mapping[str, Json], Sequence[Json]]] = field(default_factory=list)
    loose: list[Mapping[str, Json]] = field(default_factory=list)


def told(events: Sequence[Placed], pools: Pools) -> Told:
    """The conversations of a sample in the order in which they began, the longest of its own agent first.

    Raises:
        BadInput: a request is none.
    """
    found = Told()
    keys: dict[int, Key] = {}
    for event, owner, scorer in events:
        if event.get("event") != "model":
            _beside(found, event, owner)
        elif scorer:
            found.grading.append((scorer, event, pools.request(event)))
        elif (reply := reply_of(event)) is None or event.get("error") or event.get("pending"):
            _beside(found, event, owner)
        else:
            _turn(found, Turn(event, pools.request(event), pools.resolved(reply)), owner, keys)
    own = [thread for thread in found.threads if not thread.owner.key]
    if own:
        main = max(own, key=lambda thread: len(thread.turns))
        found.threads.remove(main)
        found.threads.insert(0, main)
    return found


def _turn(found: Told, turn: Turn, owner: Owner, keys: dict[int, Key]) -> None:
    pooled = not turn.event.get("input")
    asked = [_known(message, keys) if pooled else _key(message) for message in turn.request]
    mine = [thread for thread in found.threads if thread.owner == owner][-SIDE_BY_SIDE_MAX:]
    thread = next((one for one in reversed(mine) if _goes_on(one, asked)), None)
    if thread is None:
        thread = Thread(owner)
        found.threads.append(thread)
    else:
        before = thread.turns[-1].request
        turn.request = [*before, *turn.request[len(before) :]]  # a long history is in memory once
    thread.turns.append(turn)
    thread.asked = asked


def _goes_on(thread: Thread, asked: Sequence[Key]) -> bool:
    """Whether a request repeats all that the last one had, and then its reply; the reply's words may be edited."""
    length = len(thread.asked)
    if len(asked) <= length or asked[length][0] != ASSISTANT:
        return False
    return asked[length][2] == _labels(thread.turns[-1].reply) and asked[:length] == thread.asked


def _beside(found: Told, event: Mapping[str, Json], owner: Owner) -> None:
    """What is no request stands behind the last turn of its agent."""
    thread = next((one for one in reversed(found.threads) if one.owner == owner), None)
    if thread is None:
        found.loose.append(event)
    else:
        thread.turns[-1].behind.append(event)


def _known(message: Json, keys: dict[int, Key]) -> Key:
    """The key of a message of the pool, which lives as long as ``keys`` do."""
    found = keys.get(id(message))
    if found is None:
        found = keys[id(message)] = _key(message)
    return found


def _key(message: Json) -> Key:
    if not isinstance(message, dict):
        return ("", message, (), "")
    content = message.get("content")
    if isinstance(content, list):
        texts = [one.get("text") if isinstance(one, dict) and one.get("type") == "text" else None for one in content]
        content = texts[0] if len(texts) == 1 and isinstance(texts[0], str) else msgspec.json.encode(content)
    return (str(message.get("role")), content or "", _labels(message), str(message.get("tool_call_id") or ""))


def _labels(message: Mapping[str, Json]) -> tuple[str, ...]:
    calls = message.get("tool_calls")
    return tuple(str(one.get("id")) for one in calls if isinstance(one, dict)) if isinstance(calls, list) else ()
