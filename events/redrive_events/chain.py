"""The digest chain of a run: each line is sealed together with all before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from redrive_events.codec import decode
from redrive_events.errors import BrokenChain
from redrive_events.log import Head, StoredLine
from redrive_events.quarantine import Quarantined
from redrive_events.record import Record
from redrive_events.vocabulary import RunForked

START = bytes(32)


class Link(NamedTuple):
    """A line of a run, and what is wrong with its place or its bytes; of one that is missing the line is empty."""

    stored: StoredLine
    broken: BrokenChain | None = None


def link(previous: bytes, line: bytes) -> bytes:
    """SHA-256 over the digest before and the canonical line."""
    return hashlib.sha256(previous + line).digest()


def links(run_id: str, lines: Iterable[StoredLine], *, head: Head | None = None) -> Iterator[Link]:
    """``lines`` of one run from its beginning, each as soon as its place and digest are looked at.

    With ``head``, which was read before them, they must also come as far as it says, and be sealed by its digest.
    Behind what is broken it goes on from the digest that is stored there.
    """
    digest, position, owner = START, 0, ""
    for stored in lines:
        begins = stored.owner != owner and stored.position == position + 1 > 1
        joint = _joint(run_id, stored, digest) if begins else None
        owner = stored.owner
        if joint is not None:
            yield Link(stored, joint)
            digest, position = stored.digest, stored.position
            continue
        if stored.position != position + 1:
            problem = f"missing, position {stored.position} stands here"
            yield _absent(run_id, position + 1, problem, damage="missing")
            digest = stored.digest  # nothing is left that this line could be held against
        else:
            digest = link(digest, stored.line)
        position = stored.position
        if stored.digest != digest or (head and head.position == position and head.digest != digest):
            yield Link(stored, _changed(run_id, stored))
            digest = stored.digest
        else:
            yield Link(stored)
    if head and head.position > position:
        problem = f"cut off, {head.position} records were written"
        yield _absent(run_id, position + 1, problem, damage="cut off")


def checked(run_id: str, lines: Iterable[StoredLine], *, head: Head | None = None) -> Iterator[StoredLine]:
    """As `links`, but only as far as all is right.

    Raises:
        BrokenChain: a line is missing, out of place, or not the one that was written.
    """
    for stored, broken in links(run_id, lines, head=head):
        if broken is not None:
            raise broken
        yield stored


def examined(
    run_id: str, lines: Iterable[StoredLine], *, head: Head | None = None
) -> Iterator[tuple[StoredLine, Record]]:
    """As `links`, each line with its record; what is not the line that was written is quarantined, and so is a gap."""
    for stored, broken in links(run_id, lines, head=head):
        record = decode(stored.line, run_id=stored.owner or run_id, position=stored.position)
        problem = broken or misplaced(record, run_id, stored)
        if problem is not None:
            event, owner = Quarantined(line=stored.line, reason=problem.problem), stored.owner or run_id
            record = msgspec.structs.replace(record, run_id=owner, position=stored.position, event=event)
        yield stored, record


def misplaced(record: Record, run_id: str, stored: StoredLine) -> BrokenChain | None:
    """What is wrong with the record of a line, if it says itself that it belongs elsewhere.

    To another run than ``run_id`` belongs only what that one was forked from.
    """
    if record.position == stored.position and record.run_id == (stored.owner or run_id):
        return None
    problem = f"out of place, run {record.run_id} position {record.position} stands here"
    return _broken(run_id, stored, problem, damage="out of place")


def _changed(run_id: str, stored: StoredLine) -> BrokenChain:
    record = decode(stored.line, run_id=stored.owner or run_id, position=stored.position)
    elsewhere = misplaced(record, run_id, stored)
    return elsewhere or _broken(run_id, stored, "the bytes are not those that were written")


def _broken(run_id: str, stored: StoredLine, problem: str, *, damage: str = "changed") -> BrokenChain:
    inherited = f"in run {stored.owner}, which it was forked from, " if stored.owner else ""
    return BrokenChain(run_id, position=stored.position, problem=inherited + problem, damage=damage)


def _joint(run_id: str, stored: StoredLine, before: bytes) -> BrokenChain | None:
    """What is wrong where a run's own lines begin behind those of another: it names the digest it goes on from."""
    event = decode(stored.line).event
    if type(event) is RunForked and event.position == stored.position - 1 and event.digest != before.hex():
        problem = f"run {event.parent} is another up to position {event.position} than the one it was forked from"
        return _broken(run_id, stored, problem, damage="replaced")
    return None


def _absent(run_id: str, position: int, problem: str, *, damage: str) -> Link:
    broken = BrokenChain(run_id, position=position, problem=problem, damage=damage)
    return Link(StoredLine(position, b"", b""), broken)
