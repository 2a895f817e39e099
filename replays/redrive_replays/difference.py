"""Where two events differ: JSON pointers (RFC 6901) with the recorded and the replayed value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from redrive_events import Event, Json, VerdictGiven, kind_of

ABSENT: Final = msgspec.UNSET

# As `canonical`, but without its checks, since what equals a recorded event is JSON; and each field in its own place.
_spelled: Final = msgspec.json.Encoder(order="deterministic").encode

# Fields that say why, for the record: nothing that the run, its model or its state can see hangs on them.
EXPLAINING = {"verdict_given": {"reason", "rule", "read", "policy"}, "approval_asked": {"reason"}}


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that is not the same; `ABSENT` where one side has none."""

    pointer: str
    recorded: Json
    replayed: Json


def same(recorded: Event, replayed: Event) -> bool:
    """Whether two events are the same to the byte."""
    # To Python 1, 1.0 and True are one, and there are two zeros among the floats.
    return recorded == replayed and _spelled(recorded) == _spelled(replayed)


def differences(recorded: Event, replayed: Event) -> list[Difference]:
    """All differences between two events, outermost first."""
    return list(_walk("", msgspec.to_builtins(recorded), msgspec.to_builtins(replayed)))


def is_explaining(event: Event, difference: Difference) -> bool:
    """Whether a difference is only in why, not in what."""
    return difference.pointer.split("/")[1] in EXPLAINING.get(kind_of(event), ())


def is_digest(pointer: str) -> bool:
    """Whether it is only a digest that stands there: of a request, a state, a call or a policy."""
    return pointer in {"/request", "/state", "/digest", "/policy", "/view"}


def is_worded_otherwise(event: Event, found: Iterable[Difference]) -> bool:
    """Whether it is a verdict for which something else is given as the grounds, and not only another policy."""
    return isinstance(event, VerdictGiven) and any(one.pointer != "/policy" for one in found)


def _walk(pointer: str, recorded: Json, replayed: Json) -> Iterator[Difference]:
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        for key in [*recorded, *(key for key in replayed if key not in recorded)]:
            step = key.replace("~", "~0").replace("/", "~1")
            yield from _walk(f"{pointer}/{step}", recorded.get(key, ABSENT), replayed.get(key, ABSENT))
    elif isinstance(recorded, list | tuple) and isinstance(replayed, list | tuple):
        for index in range(max(len(recorded), len(replayed))):
            left = recorded[index] if index < len(recorded) else ABSENT
            right = replayed[index] if index < len(replayed) else ABSENT
            yield from _walk(f"{pointer}/{index}", left, right)
    elif repr(recorded) != repr(replayed):  # which tells 1, 1.0 and True apart, and the two zeros
        yield Difference(pointer, recorded, replayed)
