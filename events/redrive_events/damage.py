"""What is wrong with a stream: the first place at which it is not what was written, and of what kind that is."""

from __future__ import annotations

from typing import NamedTuple

from redrive_events.chain import Link, links, misplaced
from redrive_events.codec import decode
from redrive_events.errors import BrokenChain, LogUnusable
from redrive_events.log import Damage, EventLog, Head
from redrive_events.quarantine import Quarantined


def damage_of(log: EventLog, head: Head) -> Damage | None:
    """The first damage of one stream, read once from its beginning; None if there is none.

    ``head`` was read from the log before; what is appended meanwhile is checked with the rest.
    """
    run_id, last = head.run_id, _Place(0, 0)
    try:
        for link in links(run_id, log.lines(run_id), head=head):
            here = _examined(run_id, link, last)
            if isinstance(here, Damage):
                return here
            last = here
        written = log.head(run_id).position
    except LogUnusable as error:
        return Damage(run_id, last.position + 1, "unreadable", error.problem)
    if last.left:
        return _torn(run_id, last)
    if last.position > written:
        return Damage(run_id, written + 1, "extra", f"extra, the head says that {written} records were written")
    return None


def check_undamaged(log: EventLog, run_id: str, *, until: int | None = None) -> None:
    """Refuse to go on from a run that is not what was written, up to a position where one is given.

    Raises:
        BrokenChain: it is damaged; what merely cannot be read is left to whoever reads it.
    """
    found = damage_of(log, log.head(run_id))
    if found is not None and found.kind != "unreadable" and (until is None or found.position <= until):
        raise BrokenChain(run_id, position=found.position, problem=found.problem, damage=found.kind)


class _Place(NamedTuple):
    """A position, and how many records of its append are still to come."""

    position: int
    left: int


def _examined(run_id: str, link: Link, last: _Place) -> Damage | _Place:
    """What is wrong with the record behind ``last``, or its place."""
    stored, broken = link
    record = decode(stored.line, run_id=stored.owner or run_id, position=stored.position)
    broken = broken or misplaced(record, run_id, stored)
    if broken is not None:
        return Damage(run_id, broken.position, broken.damage, broken.problem)
    if type(record.event) is Quarantined:
        return Damage(run_id, record.position, "unreadable", record.event.reason)
    if last.left and record.left != last.left - 1:
        return _torn(run_id, last)
    return _Place(record.position, record.left)


def _torn(run_id: str, last: _Place) -> Damage:
    return Damage(run_id, last.position, "torn", f"torn inside an append: {last.left} records are missing")
