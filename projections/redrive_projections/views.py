"""The views a model may be given, and the sealed view whose digest stands in the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Final

import msgspec

from redrive_events import Json, canonical, digest
from redrive_projections.state import RunState
from redrive_projections.transcript import Message


def chat(state: RunState) -> list[Message]:
    """Everything that was said, in order."""
    return state.transcript()


def facts(state: RunState) -> list[Message]:
    """The opening, then the state view of this moment as JSON: made anew each turn, cut loose from the state.

    Between them stand the words of people, and of the engine, that no reply has answered yet.
    """
    opening = takewhile(lambda message: message.of == 1, state.messages)
    told = [message for message in state.asked if message.of] if state.failure is not None else opening
    return [*told, *state.waiting, Message("user", canonical(state_view(state)).decode(), 0)]


def state_view(state: RunState) -> dict[str, Json]:
    """What a model that is given no chat decides from: the coming step, parse errors in a row, the facts."""
    return {
        "step": state.steps + 1,
        "consecutive_parse_errors": state.unreadable,
        "facts": {key: fact.value for key, fact in state.facts.items()},
    }


# How far from what was used up it is looked for what was recorded: a digest says nothing but yes or no.
USED_AROUND: Final = 20_000


class Sealed(msgspec.Struct):
    """The view ``state.1``: facts with their positions, and all that was used up."""

    facts: dict[str, tuple[Json, int]]
    steps: int
    tokens: int
    tool_calls: int
    cost_micros: int
    wall_us: int
    unreadable: int
    model_failed: int


def sealed(state: RunState) -> str:
    """The digest of the view ``state.1``."""
    return digest(_view(state))


def used_otherwise(state: RunState, seal: str) -> bool:
    """Whether ``seal`` is that of the same state, but for the tokens or the cost that were used up by then."""
    view = _view(state)
    return any(
        digest(msgspec.structs.replace(view, **{name: used})) == seal
        for name in ("tokens", "cost_micros")
        for used in range(max(0, getattr(view, name) - USED_AROUND), getattr(view, name) + USED_AROUND)
    )


def _view(state: RunState) -> Sealed:
    watch = state.watch
    return Sealed(
        {key: (fact.value, fact.position) for key, fact in state.facts.items()},
        state.steps,
        state.tokens,
        state.tool_calls,
        state.cost_micros,
        state.wall_us,
        watch.in_a_row("unreadable") if watch.failures else 0,
        watch.in_a_row("model_failed") if watch.failures else 0,
    )


# name -> (recorded name with its version, view)
VIEWS: Mapping[str, tuple[str, Callable[[RunState], list[Message]]]] = {
    "chat": ("chat.1", chat),
    "recorded": ("recorded.1", chat),
    "facts": ("facts.1", facts),
}
