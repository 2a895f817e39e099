"""What stands in front of the records of a forked run: lines of the runs it was forked from, where they are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from redrive_events.codec import decode
from redrive_events.log import StoredLine
from redrive_events.vocabulary import RunForked


class Stretch(NamedTuple):
    """The own lines of a run, as far as others inherit them: up to position ``end``."""

    run_id: str
    end: int


# The first line of a run's own, if anybody began it.
First: TypeAlias = Callable[[str], StoredLine | None]


def forked_by(line: bytes) -> RunForked | None:
    """The event by which a run was forked, if that is what stands in this line."""
    event = decode(line).event
    return event if isinstance(event, RunForked) else None


def inherited(first: StoredLine | None, first_of: First) -> list[Stretch]:
    """What stands in front of the ``first`` line of a run's own, in order; nothing in front of a run begun anew.

    Each stretch lies in front of the next one, so that it comes to an end whatever a damaged log says.
    """
    found = list[Stretch]()
    while first is not None and first.position > 1 and (fork := forked_by(first.line)) is not None:
        if fork.position >= first.position:
            break
        found.append(Stretch(fork.parent, fork.position))
        first = first_of(fork.parent)
        if first is not None and first.position > fork.position:
            break
    return found[::-1]
