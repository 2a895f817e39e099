"""Every story that there is, by its kind and number."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.crash import effects, kills, power
from tests.crash.count import Count

STORIES: dict[str, tuple[int, Callable[[str], Count]]] = {
    "kills": (76, kills.story),
    "power": (56, power.story),
    "lazy": (12, power.lazy_story),
    "effects": (12, effects.story),
}


class Told(NamedTuple):
    """What was done in a story, and its ``trouble``, which is empty if it ended well."""

    name: str
    done: Count
    trouble: str


def told(name: str, seed: int) -> Told:
    """Let one story happen; all of its chance comes from its seed and its name."""
    kind, _, _ = name.partition(":")
    try:
        return Told(name, STORIES[kind][1](f"{seed}:{name}"), "")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        return Told(name, Count(), f"{type(error).__name__}: {error}")
