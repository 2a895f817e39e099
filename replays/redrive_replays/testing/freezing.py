"""A run as a test that can be checked in: personal data are masked in its inputs, and it is driven anew from those."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from redrive_engine import Program
from redrive_engine.masking import CLASSES, Door, Mask, SealedValueLost, masked_content, masked_event, placeholders
from redrive_events import (
    ApprovalAsked,
    ApprovalGiven,
    BadInput,
    Input,
    Json,
    LeaseGranted,
    MemoryLog,
    Record,
    RunStarted,
    canonical,
    kind_of,
)
from redrive_projections import RunState
from redrive_replays.recording import Recording, recording_of
from redrive_replays.redriving import Given, begun_anew, inputs_of, redriven
from redrive_replays.strict import started_of
from redrive_replays.testing.driven import driven
from redrive_replays.testing.recordings import KEY
from redrive_replays.testing.references import References
from redrive_replays.testing.trajectory import Trajectory

NAMES: Final = "person"
# Content of inputs that `masked_event` leaves to the world, which masks it before it is cut.
OBSERVED: Final = ("content", "returned")
# Who did something; that may be a name, or an address.
WHO: Final = ("principal", "by")
# Fields in which people, models and tools have their say.
SAID: Final = frozenset(
    {"goal", "content", "arguments", "summary", "answer", "reason", "value", "text", "by", "principal"}
)

ProgramOf: TypeAlias = Callable[[RunStarted], Program]


@dataclass(frozen=True, slots=True)
class Hidden:
    """A value that was masked: its class, what stands for it, how often, and the value itself."""

    name: str
    placeholder: str
    times: int
    value: str


@dataclass(frozen=True, slots=True)
class Frozen:
    """Runs driven anew from masked inputs, and how they go; ``parts`` says where that is not how they went before."""

    log: MemoryLog
    trajectory: Trajectory
    hidden: tuple[Hidden, ...]
    parts: str = ""


def mask_for(names: Collection[str]) -> Mask:
    """The mask of tests, which knows all classes of values, and these names.

    Raises:
        BadInput: a name is too short to be looked for, or what masking needs is not installed.
    """
    for name in names:
        if len(name.strip()) < 2:
            raise BadInput("a name has at least two characters", place=f"--mask {name!r}")
    patterns = {NAMES: "|".join(map(_pattern, sorted(names, key=len, reverse=True)))} if names else {}
    return Mask(KEY, key_id="tests", classes=list(CLASSES), patterns=patterns)


def unmasked(names: Collection[str], hidden: Sequence[Hidden]) -> list[str]:
    """Those names for which nothing was masked: perhaps they are spelt otherwise in the run."""
    found = [one.value for one in hidden if one.name == NAMES]
    return [name for name in names if not any(re.fullmatch(_pattern(name), value) for value in found)]


def _pattern(name: str) -> str:
    """A name by itself, in whatever case; scripts without spaces know no words."""
    words = r"\s+".join(re.escape(word) for word in name.split())
    alone = all(one.isascii() and one.isalnum() for one in (name[0], name[-1]))
    return rf"(?i:\b{words}\b)" if alone else f"(?i:{words})"


def frozen(runs: Mapping[str, Recording], run_id: str, name: str, program_of: ProgramOf, mask: Mask) -> Frozen:
    """The run and those it began, under another name, driven anew by today's program from masked inputs.

    Raises:
        BadInput: something is left that ought to be masked.
        CannotReplay: a recording cannot be read to the end.
    """
    log, first = MemoryLog(), started_of(runs[run_id])
    door = Door(mask, tenant=first.tenant, nonce=first.nonce)
    parts = ""
    for one, recording in runs.items():
        if one != run_id and not one.startswith(f"{run_id}/"):
            continue
        plain = _driven(recording, one, program_of, lambda event: event)
        records = _driven(recording, name + one.removeprefix(run_id), program_of, lambda event: _masked(door, event))
        parts = parts or _parted(plain, records)
        log.append(records[0].run_id, records, expected=0)
    recordings = {head.run_id: recording_of(log, head.run_id) for head in log.runs()}
    _check(recordings, mask)
    trajectory = driven(recordings, name, program_of=program_of)
    return Frozen(log, trajectory, tuple(_hidden(recordings, door)), parts)


def _driven(recording: Recording, run_id: str, program_of: ProgramOf, masked: Callable[[Any], Any]) -> list[Record]:
    started = masked(started_of(recording))
    start = msgspec.structs.replace(begun_anew(recording.records), run_id=run_id, event=started)
    given = [_with(one, masked(one.record.event)) for one in inputs_of(recording.records)]
    shown = _shown(recording.records)

    def adapting(recorded: Record, event: Input, state: RunState) -> Input:
        """Whoever answered to what they were shown answers to it as it is shown now."""
        if isinstance(event, LeaseGranted):
            return msgspec.structs.replace(event, worker="worker", parts={})
        if isinstance(event, ApprovalGiven) and recorded.position in shown:
            asked = [
                one for one in state.requests.values() if isinstance(one, ApprovalAsked) and one.call == event.call
            ]
            return msgspec.structs.replace(event, digest=asked[0].digest) if asked else event
        return event

    return redriven(program_of(started), start, given, adapting=adapting)


def _with(given: Given, event: Any) -> Given:
    return Given(msgspec.structs.replace(given.record, event=event), given.turn, given.call, given.proposes)


def _shown(records: Sequence[Record]) -> set[int]:
    """The positions of approvals that were given to what had been shown."""
    asked: dict[int, str] = {}
    found: set[int] = set()
    for record in records:
        if isinstance(record.event, ApprovalAsked):
            asked[record.event.call] = record.event.digest
        elif isinstance(record.event, ApprovalGiven) and asked.get(record.event.call) == record.event.digest:
            found.add(record.position)
    return found


def _masked(door: Door, event: Any) -> Any:
    """An input as it may be checked in: also what the world masks itself, and who did something."""
    event = masked_event(door, event)
    changes: dict[str, Json] = {}
    for field in OBSERVED:
        value = getattr(event, field, None)
        if isinstance(value, str | tuple) and not isinstance(event, RunStarted):
            changes[field] = masked_content(door, value)
        elif value is not None:
            changes[field] = msgspec.convert(door.json(msgspec.to_builtins(value)), type(value))
    changes |= {field: door.text(value) for field in WHO if (value := getattr(event, field, ""))}
    if isinstance(event, RunStarted):
        changes["environment"] = {}
        if event.source is not None:  # what an import was told stands nowhere but in its trace
            changes["parts"] = {key: _part(door, part) for key, part in event.parts.items()}
    return msgspec.structs.replace(event, **changes)


def _part(door: Door, part: Any) -> Any:
    return msgspec.structs.replace(part, data=door.json(part.data)) if part.data is not None else part


def _parted(plain: Sequence[Record], masked: Sequence[Record]) -> str:
    """Where the masked run takes another course than the plain one, by the event; empty if nowhere."""
    names = References(plain)
    for one, other in zip(plain, masked, strict=False):
        if _course(one) != _course(other):
            return names.at(one.position)
    return "" if len(plain) == len(masked) else names.at(min(len(plain), len(masked)))


def _course(record: Record) -> tuple[Json, ...]:
    fields = ("call", "tool", "verdict", "status", "guard", "kind")
    return (kind_of(record.event), *(getattr(record.event, one, None) for one in fields))


def _hidden(recordings: Mapping[str, Recording], door: Door) -> Iterator[Hidden]:
    """What stands for something in the inputs, the most frequent first."""
    found = Counter[str]()
    for recording in recordings.values():
        for given in [recording.records[0], *(one.record for one in inputs_of(recording.records))]:
            line = canonical(msgspec.to_builtins(given.event)).decode()
            found.update(line[one.start : one.end] for one in placeholders(line))
    for token, times in found.most_common():
        with suppress(SealedValueLost):  # what was masked before
            yield Hidden(next(iter(placeholders(token))).name, token, times, str(door.opened(token)))


def _check(recordings: Mapping[str, Recording], mask: Mask) -> None:
    """Nothing that the mask would find is left, but in the parts of the program, which are in the project anyway."""
    door = Door(mask)
    for recording in recordings.values():
        for record in recording.records:
            data: dict[str, Json] = msgspec.to_builtins(record.event)
            said = {key: value for key, value in data.items() if key in SAID}
            if door.finds(said):
                place = f"run {recording.run_id}: position {record.position}"
                raise BadInput("it holds something that is personal, and was not masked", place=place)
