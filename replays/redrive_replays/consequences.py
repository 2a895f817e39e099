"""Which places of a replay stand for themselves, which may follow from an earlier one, and what leads to each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from redrive_events import INPUTS, FactCommitted, FinishRefused, Record, RunEnded, StopDecided, VerdictGiven, kind_of
from redrive_replays.causes import Cause, chain_of, is_of_use
from redrive_replays.report import Divergence, Link, only_digests

# What is told of a digest with the same program: by what came in last, which need not be what differs in it.
_GUESSED: Final[frozenset[Cause]] = frozenset({"tool result", "model", "clock", "environment", "code"})


def apart(found: Iterable[Divergence], records: Sequence[Record]) -> tuple[Divergence, ...]:
    """The places as they were found, each told whether it may follow from an earlier one, and what leads to it.

    A digest is of all that was before it: where nothing else differs, and something did before, that may be why, and
    then that is its cause too.
    """
    told: list[Divergence] = []
    for one in found:
        origin = _origin(one, [earlier for earlier in told if earlier.independent])
        of = origin or one
        told.append(replace(one, chain=_chain(one, records), cause=of.cause, independent=origin is None))
    return tuple(told)


def _chain(found: Divergence, records: Sequence[Record]) -> tuple[Link, ...]:
    """From the input of a place back to what began it; a place that is an input of its own follows from nothing."""
    return () if found.input == found.position else links(chain_of(records, found.input), records)


def links(positions: Iterable[int], records: Sequence[Record]) -> tuple[Link, ...]:
    """The events at these positions, in short."""
    chain = (records[position - 1] for position in positions)
    return tuple(Link(one.position, kind_of(one.event), type(one.event) in INPUTS) for one in chain)


def _origin(one: Divergence, earlier: Sequence[Divergence]) -> Divergence | None:
    """The latest of the ``earlier`` places from which this one may follow."""
    if only_digests(one.differences):
        return next(reversed(_behind_a_digest(one, earlier)), None)
    return next((each for each in reversed(earlier) if _leads(each, one)), None)


def _behind_a_digest(one: Divergence, earlier: Sequence[Divergence]) -> Sequence[Divergence]:
    """Where it is known that nothing but the use is another one, another use; where its cause is known, that one."""
    if one.cause == "model" and is_of_use(one.differences):
        return [each for each in earlier if is_of_use(each.differences)]
    alike = [each for each in earlier if each.cause == one.cause]
    return alike or (earlier if one.cause in _GUESSED else [])


def _leads(earlier: Divergence, one: Divergence) -> bool:
    """Whether it stops again for the same, or hangs on a fact that was another one."""
    match earlier.replayed, one.replayed:
        case StopDecided(reason=before), StopDecided(reason=now):
            return before == now
        case FactCommitted(key=key), VerdictGiven(read=read):
            return any(each.path.split(".")[:2] == ["facts", key] for each in read)
        case FactCommitted(), StopDecided() | FinishRefused() | RunEnded():
            return True
        case _:
            return False
