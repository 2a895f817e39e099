"""What responses of every provider have in common: the form they come in, counts of tokens, and a cost."""

from __future__ import annotations

from typing import Final

from redrive_events import BadInput, Json, parse_json

TOKENS_MAX: Final = 2**53
_DATA: Final = "data:"
_EVENTS: Final = (_DATA, "event:", ":")


def body_of(value: Json) -> Json:
    """A response as it is or from its JSON text, or a list of the events in which it was streamed."""
    if not isinstance(value, str):
        return value
    return _events(value) if value.lstrip().startswith(_EVENTS) else json_in(value)


def _events(text: str) -> list[Json]:
    """The data of server-sent events; what is no JSON (the last says ``[DONE]``) is left out."""
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [json_in(line.removeprefix(_DATA)) for line in lines if line.startswith(_DATA)]


def json_in(text: str) -> Json:
    """What a JSON text says, None if it is none."""
    try:
        return parse_json(text)
    except BadInput:
        return None


def text(value: Json) -> str:
    """``value`` if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def tokens_of(counts: Json, *names: str) -> int:
    """The first of these counts that is a number of tokens."""
    for name in names:
        value = counts.get(name) if isinstance(counts, dict) else None
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < TOKENS_MAX:
            return value
    return 0


def micros(cost: Json) -> int:
    """A cost in millionths, 0 where none is told."""
    return round(cost * 1_000_000) if isinstance(cost, int | float) and 0 < cost < 1_000_000 else 0
