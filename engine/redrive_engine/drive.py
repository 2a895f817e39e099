"""Driving a run: whatever happens is appended with all that follows from it, and the log decides who is right."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from redrive_engine.loop import react
from redrive_engine.program import Program
from redrive_engine.world import Happened, World, waiting_of
from redrive_events import (
    CONCLUSIONS,
    EVENTS,
    STRANGERS,
    BrokenChain,
    DecisionMade,
    Event,
    EventLog,
    LeaseGranted,
    LeaseHeld,
    NoSuchRun,
    Record,
    StaleAppend,
    UnknownEvent,
)
from redrive_projections import RunState, evolve, fold, follow

_T = TypeVar("_T")
_ABOUT_CALLS: Final = frozenset(kind for kind in EVENTS if "call" in getattr(kind, "__struct_fields__", ()))
# How an append is waited for.
Keep: TypeAlias = Callable[[Callable[[], None]], Awaitable[None]]


async def at_once(append: Callable[[], None]) -> None:
    """Append where one stands: whoever drives with a script waits for nothing, and needs no event loop."""
    append()


async def drive(
    run_id: str, *, log: EventLog, world: World, program: Program, worker: str, keep: Keep = at_once
) -> RunState:
    """Take the run up and go on until it ends; the state it ended in.

    An event loop gives a ``keep`` that appends elsewhere, in a thread: it is then free for its other runs, and those
    that append meanwhile share a commit.

    Raises:
        NoSuchRun: nobody began that run.
        UnknownEvent: one of its events cannot be read.
        LeaseHeld: another worker drives it, or has taken it over meanwhile.
    """
    s = state_of(log, run_id)
    if s.end is None:
        s = await write(log, program, s, await world.begin(s, worker), keep)
    while s.end is None:
        s = await write(log, program, s, await world.answer(waiting_of(s, program.terms.budget)), keep)
    return s


async def write(log: EventLog, program: Program, s: RunState, happened: Happened, keep: Keep = at_once) -> RunState:
    """Append what happened and what follows; where the log has moved on, on top of what came in between.

    Raises:
        LeaseHeld: what came in between is another worker's lease.
    """
    while True:
        expected, epoch, worker = s.position, s.epoch, s.worker
        batch = append_of(program, s, happened)
        try:
            await keep(partial(log.append, s.run_id, batch, expected=expected))
        except StaleAppend:
            # The batch was folded into this state, so it is thrown away: nothing is ever merged.
            s = state_of(log, s.run_id)
            event = happened.event
            revoked = s.worker != worker and not isinstance(event, LeaseGranted)
            if revoked or s.epoch != (event.epoch - 1 if isinstance(event, LeaseGranted) else epoch):
                raise LeaseHeld(s.run_id, worker=s.worker, until=happened.at) from None
            if s.end is not None or (happened.cause and happened.cause not in s.requests):
                return s
        else:
            return s


def state_of(log: EventLog, run_id: str) -> RunState:
    """The state of a run, to go on from.

    Raises:
        NoSuchRun: nobody began that run.
        UnknownEvent: one of its events cannot be read, so nobody knows how it stands.
        BrokenChain: how it was begun is missing.
    """
    s = fold(log.read(run_id))
    for position, reason in s.quarantined.items():
        raise UnknownEvent(reason, run_id=run_id, position=position)
    if s.started is None and s.position:
        raise BrokenChain(run_id, position=1, problem="the start of the run is missing", damage="missing")
    if s.started is None:
        raise NoSuchRun("nobody began this run", place=f"run {run_id}")
    return s


def append_of(program: Program, s: RunState, happened: Happened) -> list[Record]:
    """One append: what happened and all that follows from it. ``s`` is then one append further."""
    at = happened.at if s.now is None else max(happened.at, s.now)
    batch = [_place(s, happened.event, at, happened.cause)]
    evolve(s, batch[0])
    if type(happened.event) not in STRANGERS:
        for event in react(program, s, batch[0]):
            batch.append(_place(s, event, at, cause_of(batch, event)))
            follow(s, event, batch[-1].position)
    # How many are left is known only now, and nobody else has seen these records yet.
    for left, record in enumerate(reversed(batch)):
        msgspec.structs.force_setattr(record, "left", left)
    return batch


def cause_of(batch: list[Record], event: Event) -> int:
    """What a derived event follows from: the latest event about its call, the latest conclusion, or the input."""
    if type(event) in _ABOUT_CALLS and (call := event.call) is not None:  # type: ignore[union-attr]
        for record in reversed(batch):
            if _is_about(record.event, call):
                return record.position
    for record in reversed(batch):
        if type(record.event) in CONCLUSIONS:
            return record.position
    return batch[0].position


def without_waiting(steps: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine that never really waits, such as a drive with a script: no event loop is needed."""
    try:
        steps.send(None)
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]
    steps.close()
    raise ValueError("this coroutine waits for something: it needs an event loop")


def lease_of(s: RunState, worker: str, program: Program) -> LeaseGranted:
    """The event by which ``worker`` takes the run up; the program is named where it is not the one of before."""
    parts = program.digests
    return LeaseGranted(worker=worker, epoch=s.epoch + 1, parts={} if parts == s.parts else parts)


def _place(s: RunState, event: Event, at: datetime, cause: int) -> Record:
    return Record(run_id=s.run_id, position=s.position + 1, at=at, cause=cause, left=0, event=event)


def _is_about(event: Event, call: int) -> bool:
    if type(event) in _ABOUT_CALLS:
        return event.call == call  # type: ignore[union-attr]
    return type(event) is DecisionMade and call in [one.call for one in event.calls]
