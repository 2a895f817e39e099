"""A run driven again with some of its inputs left out, or taken from another run: what then follows from the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import msgspec

from redrive_engine import Happened, Program, append_of
from redrive_events import (
    ANSWERS,
    INPUTS,
    CannotReplay,
    DecisionMade,
    Input,
    LeaseGranted,
    ModelReplied,
    Record,
    RunForked,
    RunStarted,
)
from redrive_projections import RunState, answered_by, fork_of
from redrive_replays.beginning import Beginning, beginning
from redrive_replays.replayer import appends


@dataclass(frozen=True, slots=True)
class Given:
    """An input of a recording: its turn, the number of its call there, and which calls its reply had proposed."""

    record: Record
    turn: int
    call: int = 0
    proposes: tuple[int, ...] = ()


class Place(NamedTuple):
    """Which input it is, in whatever run: its kind, its turn, and the place of its call among those of the turn."""

    kind: str
    turn: int
    nth: int


def begun_anew(records: Sequence[Record]) -> Record:
    """The start of a run that can be driven again with other inputs: all of them are its own.

    Raises:
        CannotReplay: the recording does not tell, or the run was forked from another.
    """
    if not records or not isinstance(records[0].event, RunStarted):
        raise CannotReplay("the recording does not begin with the start of a run")
    if (fork := fork_of(records)) is not None:
        why = f"it was forked from run {fork.parent} at {fork.position}, and only its own records are driven again"
        raise CannotReplay(f"run {records[-1].run_id}: {why}; ask this of run {records[0].run_id}, or fork it anew")
    return records[0]


def inputs_of(records: Sequence[Record]) -> list[Given]:
    """The inputs of a recording, in order, but for its start; of a fork its own, in turns behind those it inherits."""
    own = max((index for index, one in enumerate(records) if isinstance(one.event, RunForked)), default=0)
    found, turn = list[Given](), sum(isinstance(one.event, ModelReplied) for one in records[:own])
    for append in appends(records[own:]):
        first = append[0]
        if type(first.event) not in INPUTS or isinstance(first.event, RunStarted | RunForked):
            continue
        turn += isinstance(first.event, ModelReplied)
        decided = next((one.event for one in append if isinstance(one.event, DecisionMade)), None)
        proposes = tuple(one.call for one in decided.calls) if decided else ()
        found.append(Given(first, turn, getattr(first.event, "call", None) or 0, proposes))
    return found


Adapt: TypeAlias = Callable[[Record, Input, RunState], Input]


def redriven(
    program: Program, start: Record | Beginning, given: Iterable[Given], *, adapting: Adapt | None = None
) -> list[Record]:
    """The records of a run to which these inputs happen; an answer that nothing asks for is left out.

    Calls are numbered anew, and an answer goes to the call that took the place of its own. What a fork inherits stands
    in front, as it is. ``adapting`` is given the recorded input, the one that is about to happen, and the state, and
    has the last word on what happens.
    """
    begins = start if isinstance(start, Beginning) else beginning([start])
    state, records = begins.state(), list(begins.inherited)
    numbers: dict[int, int] = {}
    first = begins.under(program)
    records += append_of(program, state, Happened(first.event, first.at))  # type: ignore[arg-type]
    for one in given:
        if state.end is not None:
            break
        event = _renumbered(one.record.event, numbers.get(one.call, 0) if one.call else 0, state)
        event = begins.lease(event, state, program)
        event = adapting(one.record, event, state) if adapting else event
        cause = answered_by(state.requests, event) if type(event) in ANSWERS else 0
        if type(event) in ANSWERS and not cause:
            continue
        batch = append_of(program, state, Happened(event, one.record.at, cause))
        decided = next((record.event for record in batch if isinstance(record.event, DecisionMade)), None)
        if decided is not None:
            numbers |= dict(zip(one.proposes, (call.call for call in decided.calls), strict=False))
        records += batch
    return records


def _renumbered(event: Any, call: int, state: RunState) -> Input:
    if isinstance(event, LeaseGranted):
        return msgspec.structs.replace(event, epoch=state.epoch + 1)
    renumbered: Input = msgspec.structs.replace(event, call=call) if call and hasattr(event, "call") else event
    return renumbered
