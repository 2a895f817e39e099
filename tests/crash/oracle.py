"""What must be true of a log after a crash, whatever happened."""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from redrive.command import main
from redrive_events import EventLog, Record, RedriveError, SqliteLog, StaleAppend, damage_of, decode
from tests.crash.caller import Clock, PromiseBroken
from tests.crash.journal import NOBODY, Append, Entry, Piece, Standing, Truth, Writing
from tests.records import BEGIN


class Found(NamedTuple):
    """The lines of a log at their places."""

    lines: dict[tuple[str, int], bytes]
    order: list[tuple[str, int]]


def examine(
    path: Path, journals: Iterable[Iterable[Entry]], clock: Clock, *, durable: bool = True, leases: bool = True
) -> None:
    """Open the log anew and hold it against what its callers were told.

    Without ``durable`` the last of what was acknowledged may be lost, but never what came before what is there. Who
    has a lease is known only where nobody else asked for ``leases``.

    Raises:
        PromiseBroken: something was lost, halved, accepted twice, or made up.
    """
    try:
        _examine(path, Truth(journals), clock, durable=durable, leases=leases)
    except RedriveError as error:
        raise PromiseBroken(f"the log cannot be used: {error}") from error


def _examine(path: Path, truth: Truth, clock: Clock, *, durable: bool, leases: bool) -> None:
    with closing(SqliteLog(path)) as log:
        found = read(log)
        if not durable:
            _only_the_last_lost(found, truth)
        else:
            _nothing_lost(found, truth)
            _nothing_halved_or_made_up(found, truth)
            if leases:
                _leases(log, truth, clock)
        ends = _goes_on(log, truth if durable else Truth([]), found)
    with closing(SqliteLog(path, must_exist=True)) as log:
        if {head.run_id: head.position for head in log.runs()} != ends:
            raise PromiseBroken("what was appended after the crash is not there")


def read(log: EventLog) -> Found:
    """All there is in the log, read on both ways, after all was looked at that `redrive verify` looks at."""
    heads = list(log.runs())
    if found := [*log.flaws(), *filter(None, (damage_of(log, head) for head in heads))]:
        raise PromiseBroken(f"damaged: {found[0]}")
    lines = {(head.run_id, stored.position): stored.line for head in heads for stored in log.lines(head.run_id)}
    every = list(log.read_all())
    if [offset for offset, _ in every] != list(range(1, len(lines) + 1)):
        raise PromiseBroken("the offsets have gaps, or leave events out")
    order = [(one.run_id, one.position) for _, one in every]
    if set(order) != lines.keys():
        raise PromiseBroken("the order over all runs is not that of its events")
    return Found(lines, order)


def verified(path: Path) -> None:
    """Let the command itself look.

    Raises:
        PromiseBroken: it finds something.
    """
    with redirect_stdout(io.StringIO()) as said:
        code = main(["verify", "--log", str(path)])
    if code:
        raise PromiseBroken(f"redrive verify: {said.getvalue()}")


def _nothing_lost(found: Found, truth: Truth) -> None:
    for place, line in truth.accepted.items():
        if found.lines.get(place) != line:
            raise PromiseBroken(f"run {place[0]} position {place[1]} was acknowledged and is lost")
    offsets = {place: offset for offset, place in enumerate(found.order)}
    for order in truth.orders:
        if sorted(order, key=offsets.__getitem__) != order:
            raise PromiseBroken("an order that was acknowledged has changed")


def _only_the_last_lost(found: Found, truth: Truth) -> None:
    """One caller's log is all that it wrote up to some transaction; the last one may not have been acknowledged."""
    (order,) = truth.orders
    written = [*order, *(place for one in truth.doubtful for place in one.lines() if place not in truth.accepted)]
    if found.order != written[: len(found.order)]:
        raise PromiseBroken("something is lost, and not what came after it")
    if any(found.lines[place] != line for place, line in truth.accepted.items() if place in found.lines):
        raise PromiseBroken("something is not what was written")


def _nothing_halved_or_made_up(found: Found, truth: Truth) -> None:
    unknown = {place: line for place, line in found.lines.items() if place not in truth.accepted}
    for place in found.lines.keys() - unknown.keys():
        if found.lines[place] != truth.accepted[place]:
            raise PromiseBroken(f"run {place[0]} position {place[1]} is not what was written")
    for writing in truth.doubtful:
        fresh = {place: line for place, line in writing.lines().items() if place not in truth.accepted}
        there = [unknown.get(place) == line for place, line in fresh.items()]
        if any(there):
            if not all(there):
                raise PromiseBroken("half of a transaction is there")
            for place in fresh:
                del unknown[place]
    if unknown:
        run_id, position = min(unknown)
        raise PromiseBroken(f"run {run_id} position {position} was never to be written")


def _nothing_twice(found: Found) -> None:
    said = [_said(decode(line)) for line in found.lines.values()]
    if len(set(said)) < len(said):
        raise PromiseBroken("the same was accepted twice")


def _said(record: Record) -> object:
    return getattr(record.event, "content", None)


def _leases(log: EventLog, truth: Truth, clock: Clock) -> None:
    for run_id, standing in truth.leases.items():
        lease = log.holder(run_id)
        found = Standing(lease.worker, round((lease.until - BEGIN).total_seconds(), 3)) if lease else NOBODY
        if found not in {one if one.until_s > clock.seconds else NOBODY for one in standing}:
            raise PromiseBroken(f"the lease of run {run_id} is {found}, not one of {sorted(standing)}")


def _goes_on(log: EventLog, truth: Truth, found: Found) -> dict[str, int]:
    """What is in doubt is written once more, and then every run can be appended to; where they end."""
    for writing in truth.doubtful:
        _once_more(log, writing, found)
    ends = {}
    for run_id, position, _ in log.runs():
        last = next(log.read(run_id, after=position - 1)).at
        append = Append(f"after.{run_id}", 2, 0, (last - BEGIN).total_seconds())
        Writing((Piece(run_id, position, (append,)),)).perform(log)
        ends[run_id] = position + 2
    after = read(log)
    _nothing_twice(after)
    if after.order[: len(found.order)] != found.order:
        raise PromiseBroken("the order of what was there has changed")
    return ends


def _once_more(log: EventLog, writing: Writing, found: Found) -> None:
    try:
        writing.perform(log)
    except StaleAppend as stale:
        if writing.lines().items() <= found.lines.items():
            raise PromiseBroken("what is there already was refused") from None
        if stale.actual < stale.expected:
            raise PromiseBroken(f"what could be seen is lost: {stale}") from None
