"""What every store does before it writes: check, spell, compare with what is there, and chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from redrive_events.chain import START, link
from redrive_events.codec import decode, encode, time_of
from redrive_events.errors import BadInput, LeaseHeld, StaleAppend
from redrive_events.log import Batch, Lease, StoredLine, check_batch
from redrive_events.record import check_run_id
from redrive_events.vocabulary import RunForked

# How many records are read at once.
PAGE = 512


class Tip(NamedTuple):
    """The end of a run: all that the next append is held against. ``at`` is the last time, as it is spelled."""

    position: int
    digest: bytes
    at: str


UNBEGUN = Tip(0, START, "")


# The lines of a run's own behind a position, at most so many.
Stored: TypeAlias = Callable[[str, int, int], list[StoredLine]]


class Sealed(NamedTuple):
    """The lines of a batch that are new, each with its digest; ``tip`` is the run's end when they are written."""

    first: int
    digests: Sequence[bytes]
    lines: Sequence[bytes]
    tip: Tip


def spelled(batch: Batch) -> list[bytes]:
    """The canonical lines of ``batch``; needs no lock.

    Raises:
        ValueError: the records do not follow each other.
        BadInput: one of them holds what canonical JSON has no spelling for.
    """
    check_batch(batch.run_id, batch.records, expected=batch.expected)
    return list(batch.lines) or [encode(record) for record in batch.records]


def sealed(batch: Batch, lines: list[bytes], tip: Tip, stored: Stored) -> Sealed:
    """What of ``lines`` is to be written behind ``tip``; to be called, and its outcome written, under one lock.

    ``stored`` gives the lines that stand where these would, and is asked only when the run is further than expected:
    where they are the same, byte for byte, they are taken as written by an earlier attempt.

    Raises:
        StaleAppend: the run is not where the batch expects it, or other records stand there.
        BadInput: it is a fork of what is not there, or under the id of another run.
        ValueError: the time falls.
    """
    fork = batch.records[0].event
    if isinstance(fork, RunForked) and tip.position <= batch.expected:
        tip = _forked(batch.run_id, fork, tip, stored)
    if tip.position != batch.expected:
        behind = tip.position > batch.expected
        known = [one.line for one in stored(batch.run_id, batch.expected, len(lines))] if behind else []
        if not known or known != lines[: len(known)]:
            raise StaleAppend(batch.run_id, expected=batch.expected, actual=tip.position)
        lines = lines[len(known) :]
    first = tip.position + 1
    if not lines:
        return Sealed(first, (), (), tip)
    at = time_of(lines[0])
    if at < tip.at:
        raise ValueError(f"position {first}: the time falls")
    digests = list(accumulate(lines, link, initial=tip.digest))
    last = Tip(tip.position + len(lines), digests[-1], at if len(lines) == 1 else time_of(lines[-1]))
    return Sealed(first, digests[1:], lines, last)


def _forked(run_id: str, fork: RunForked, tip: Tip, stored: Stored) -> Tip:
    """The end of what a run that nobody has begun is forked from."""
    place = f"run {run_id}"
    if tip.position:
        raise BadInput("the id is taken by another run", place=place)
    joint = next(iter(stored(fork.parent, fork.position - 1, 1)), None)
    if joint is None or joint.position != fork.position:
        raise BadInput(f"run {fork.parent} has no event {fork.position} of its own to go on from", place=place)
    if joint.digest.hex() != fork.digest:
        raise BadInput(f"event {fork.position} of run {fork.parent} is not the one to go on from", place=place)
    if decode(joint.line).left:
        raise BadInput(f"event {fork.position} of run {fork.parent} is not the last of an append", place=place)
    return Tip(joint.position, joint.digest, time_of(joint.line))


def granted(run_id: str, worker: str, held: Lease | None, *, ttl_s: float) -> Lease:
    """The lease that ``worker`` gets while ``held`` stands; the clock is the machine's, since a lease is no event.

    Raises:
        LeaseHeld: ``held`` is another worker's, and has not run out.
    """
    check_run_id(run_id)
    stands = standing(held)
    if stands is not None and stands.worker != worker:
        raise LeaseHeld(run_id, worker=stands.worker, until=stands.until)
    return Lease(run_id, worker, datetime.now(UTC) + timedelta(seconds=ttl_s))


def standing(lease: Lease | None) -> Lease | None:
    """``lease``, unless it has run out."""
    return lease if lease is not None and lease.until > datetime.now(UTC) else None
