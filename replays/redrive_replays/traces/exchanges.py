"""What was asked of a model with what came back, and which of such requests are one conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from redrive_events import BadInput, Json, parse_json
from redrive_replays.traces.lines import Entry
from redrive_replays.traces.material import Diagnostic, Material
from redrive_replays.traces.times import Moment
from redrive_replays.traces.trace import Meta, Trace

LOST_PIECE: Final = "a piece of a streamed reply (its line could not be read)"
# So many conversations of a file of requests may go on side by side.
SIDE_BY_SIDE_MAX: Final = 16


@dataclass(slots=True, eq=False)
class Exchange:
    """A list of messages with what stands around it: the request's settings, the response, and the rest.

    ``earlier`` is what the responses to the conversation's earlier requests say of their replies, by the reply's place
    among the messages; ``requests`` counts them all. ``cut`` is a response whose stream breaks off; the first
    ``given`` messages are those of another conversation, from which this one goes on. ``replied`` is when replies came,
    by the reply's place.
    """

    entry: int
    messages: Sequence[Mapping[str, Json]]
    request: Mapping[str, Json]
    response: Mapping[str, Json] | None
    around: Mapping[str, Json]
    earlier: dict[int, Meta] = field(default_factory=dict)
    requests: int = 1
    cut: bool = False
    given: int = 0
    replied: dict[int, Moment] = field(default_factory=dict)

    @property
    def is_request(self) -> bool:
        """Whether this was asked of a model, and is not only a list of messages."""
        return self.response is not None or "model" in self.request


@dataclass(slots=True)
class Answer:
    """What came back: the message, or an error; a stream that breaks off is not ``whole``."""

    message: Mapping[str, Json] | None = None
    error: Json = None
    whole: bool = True


def _as_it_is(message: Json) -> Json:
    return message


class Kin(NamedTuple):
    """How requests of one format are told to be of one conversation.

    ``replies`` says whether a message is the model's, ``meta_of`` what an exchange's response says of its reply, by
    its place; ``plain`` is a message without what may change from one request to the next.
    """

    replies: Callable[[Mapping[str, Json]], bool]
    meta_of: Callable[[Exchange], dict[int, Meta]]
    plain: Callable[[Json], Json] = _as_it_is


def at(value: Json, path: str) -> Json:
    """What stands at a path of keys; a body may be JSON text."""
    for key in path.split(".") if path else ():
        value = _opened(value)
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return _opened(value)


def _opened(value: Json) -> Json:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return parse_json(value)
        except BadInput:
            return None
    return value


def conversations(exchanges: Iterable[Exchange], kin: Kin) -> Iterator[Exchange]:
    """The last request of each conversation: a request repeats all that was said before it, so it stands for those.

    One that nothing went on from among the next `SIDE_BY_SIDE_MAX` is the last.
    """
    going: list[tuple[Exchange, list[Json]]] = []
    for exchange in exchanges:
        plain = [kin.plain(message) for message in exchange.messages] if exchange.is_request else []
        before = next((one for one in reversed(going) if plain and _goes_on(one[1], exchange, plain, kin)), None)
        if before is not None:
            exchange.entry, exchange.requests = before[0].entry, before[0].requests + 1
            exchange.earlier = {**before[0].earlier, **kin.meta_of(before[0])}
            exchange.replied = {**before[0].replied, **exchange.replied}
            going.remove(before)
        if len(going) > SIDE_BY_SIDE_MAX:
            yield going.pop(0)[0]
        going.append((exchange, plain))
    yield from sorted((exchange for exchange, _ in going), key=lambda one: one.entry)


def _goes_on(before: list[Json], after: Exchange, plain: list[Json], kin: Kin) -> bool:
    """Whether ``after`` asks with the messages of ``before``, and its reply."""
    length = len(before)
    return 0 < length < len(plain) and kin.replies(after.messages[length]) and plain[:length] == before


def entries_of(material: Material, are_one: Callable[[Json], bool]) -> Sequence[Entry]:
    """The values of the file; those of a list that is not one conversation are its own."""
    value = material.entries[0].value
    if material.lined:
        return material.entries
    if isinstance(value, dict) and isinstance(value.get("interactions"), list):
        value = value["interactions"]
    elif not isinstance(value, list) or are_one(value):
        return material.entries
    return [Entry(index, one) for index, one in enumerate(value)]


def exchanges_of(
    material: Material, entries: Sequence[Entry], found: Callable[[Entry], Exchange | None], lacking: str
) -> Iterator[Exchange]:
    """The exchanges in a file, one after the other; an entry that is none is left out, as ``lacking`` says."""
    for entry in entries:
        exchange = found(entry)
        if exchange is None:
            leave_out(material, entry, lacking)
        else:
            yield exchange


def traces_of(
    material: Material,
    entries: Sequence[Entry],
    exchanges: Iterable[Exchange],
    trace_of: Callable[[Exchange], Trace],
    *,
    streamed: bool = False,
) -> Iterator[Trace]:
    """Each exchange as a run; one that is none is left out. A stream with lines that are lost is only to look at."""
    for exchange in exchanges:
        try:
            trace = trace_of(exchange)
        except BadInput as error:
            leave_out(material, next(one for one in entries if one.index == exchange.entry), error.problem)
            continue
        if streamed and material.lost:
            trace.grade = "view-only"
            trace.missing[LOST_PIECE] = material.lost
        yield trace


def leave_out(material: Material, entry: Entry, problem: str) -> None:
    """Note that an entry is no run, and why."""
    place = "" if entry.line else f"entry {entry.index}: "
    material.diagnostics.append(Diagnostic(f"{place}{problem}, left out", entry.line, entry.offset))
