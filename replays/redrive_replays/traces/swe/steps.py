"""A SWE-agent trajectory without its history: the messages that the steps tell of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from redrive_events import Json
from redrive_replays.traces.trace import ASSISTANT

# What a step was asked with: all that was said before it, as newer and older versions call it.
REQUESTS: Final = ("query", "messages")
OBSERVED: Final = "observation"
_WORDS: Final = ("response", "thought")


def are_steps(value: Json) -> bool:
    """Whether these are steps: what was done, what came of it, and what the model said."""
    return isinstance(value, list) and bool(value) and all(_is_step(one) for one in value)


def request_of(step: Json) -> Sequence[Json]:
    """The messages that a step was asked with; none where they were not kept."""
    held = (step.get(key) for key in REQUESTS) if isinstance(step, dict) else ()
    return next((one for one in held if isinstance(one, list)), ())


def retold(steps: Sequence[Mapping[str, Json]]) -> tuple[list[Json], bool]:
    """The history as the steps tell it, and whether it is whole, which takes the request of each step.

    A request goes on from the one before, so what it has more is the reply and what came of it.
    """
    requests = [request_of(step) for step in steps]
    if all(requests) and all(len(before) < len(after) for before, after in pairwise(requests)):
        added = [one for before, after in pairwise(requests) for one in after[len(before) :]]
        return [*requests[0], *added, *_messages(steps[-1])], True
    return [*requests[0], *(one for step in steps for one in _messages(step))], False


def _messages(step: Mapping[str, Json]) -> Iterator[Json]:
    """The reply of a step, and what came of it in the user's words, as runs without calls have it."""
    words = (step.get(key) for key in _WORDS)
    yield {"role": ASSISTANT, "content": next((one for one in words if one), "")}
    if step.get(OBSERVED) is not None:
        yield {"role": "user", "content": step[OBSERVED], "message_type": OBSERVED}


def _is_step(value: Json) -> bool:
    return isinstance(value, dict) and {"action", OBSERVED} <= value.keys() and not {*_WORDS}.isdisjoint(value)
