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
    digest, position = START, 0
    for stored in lines:
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
        record = decode(stored.line, run_id=run_id, position=stored.position)
        problem = broken or misplaced(record, run_id, stored.position)
        if problem is not None:
            event = Quarantined(line=stored.line, reason=problem.problem)
            record = msgspec.structs.replace(record, run_id=run_id, position=stored.position, event=event)
        yield stored, record


def misplaced(record: Record, run_id: str, position: int) -> BrokenChain | None:
    """What is wrong with a record that stands at ``position`` of a run, if it says itself that it belongs elsewhere."""
    if record.position == position and record.run_id == run_id:
        return None
    problem = f"out of place, run {record.run_id} position {record.position} stands here"
    return BrokenChain(run_id, position=position, problem=problem, damage="out of place")


def _changed(run_id: str, stored: StoredLine) -> BrokenChain:
    position = stored.position
    elsewhere = misplaced(decode(stored.line, run_id=run_id, position=position), run_id, position)
    return elsewhere or BrokenChain(run_id, position=position, problem="the bytes are not those that were written")


def _absent(run_id: str, position: int, problem: str, *, damage: str) -> Link:
    broken = BrokenChain(run_id, position=position, problem=problem, damage=damage)
    return Link(StoredLine(position, b"", b""), broken)
