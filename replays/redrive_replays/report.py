"""What a replay found: the outcome, where recording and replay part, and what is still open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from redrive_events import Event, Json
from redrive_replays.causes import Cause
from redrive_replays.difference import ABSENT, Difference, is_digest
from redrive_replays.guarded import Reach

Outcome: TypeAlias = Literal["same", "same, unfinished", "diverged", "left over", "cannot replay"]

# What else names a version of what was there: of the agent, the engine's rules, and each part of a program.
_SEAL: Final = re.compile(r"/version|/rules|/parts/[^/]+/digest")

EXIT: dict[Outcome, int] = {"same": 0, "same, unfinished": 0, "diverged": 1, "left over": 1, "cannot replay": 3}


class Link(NamedTuple):
    """One event in the chain that leads to a place: where it stands, its kind, and whether it came from outside."""

    position: int
    event: str
    input: bool


@dataclass(frozen=True, slots=True)
class Divergence:
    """One place where the recording is not what follows from the inputs before it, and of which kind the cause is.

    ``recorded`` or ``replayed`` is None where only the other side has an event there. ``why`` says it in one clause.
    One that is not ``independent`` may follow from an earlier one. ``chain`` is what leads to it, the nearest first.
    """

    position: int
    input: int
    why: str
    recorded: Event | None
    replayed: Event | None
    differences: tuple[Difference, ...] = ()
    cause: Cause = "code"
    independent: bool = True
    chain: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one strict replay. Each divergence is seen from the recorded state before it."""

    run_id: str
    outcome: Outcome
    records: int
    divergences: tuple[Divergence, ...] = ()
    changed_parts: tuple[str, ...] = ()
    explained_otherwise: int = 0
    open: tuple[tuple[int, str], ...] = ()
    reason: str = ""
    reaches: tuple[Reach, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the replay was the recording, to the byte."""
        return self.outcome in {"same", "same, unfinished"}

    @property
    def exit_code(self) -> int:
        """0 the same, 1 a finding, 3 could not be replayed."""
        return max(EXIT[self.outcome], 1 if self.reaches else 0)

    def data(self) -> dict[str, Json]:
        """The report as plain data, for ``--json``; a side without a value has no key."""
        return {
            "run_id": self.run_id,
            "outcome": self.outcome,
            "records": self.records,
            "reason": self.reason,
            "changed_parts": list(self.changed_parts),
            "explained_otherwise": self.explained_otherwise,
            "open": [{"position": position, "request": name} for position, name in self.open],
            "divergences": [_divergence(one) for one in self.divergences],
            "reaches": [asdict(one) for one in self.reaches],
        }


def _divergence(one: Divergence) -> dict[str, Json]:
    sides = {"recorded": one.recorded, "replayed": one.replayed}
    data: dict[str, Json] = {"position": one.position, "input": one.input, "why": one.why, "cause": one.cause}
    data |= {"independent": one.independent, "chain": [link._asdict() for link in one.chain]}
    data |= {side: msgspec.to_builtins(event) for side, event in sides.items() if event is not None}
    data["differences"] = [_difference(each) for each in one.differences]
    return data


def _difference(one: Difference) -> dict[str, Json]:
    values = {"recorded": one.recorded, "replayed": one.replayed}
    return {"pointer": one.pointer} | {side: value for side, value in values.items() if value is not ABSENT}


def only_digests(found: Sequence[Difference]) -> bool:
    """Whether nothing but digests and versions differ, and so nothing that the run did."""
    return bool(found) and all(map(_is_seal, found))


def _is_seal(one: Difference) -> bool:
    """Whether it is a digest or a version; a fork has a whole policy under the name of one."""
    named = is_digest(one.pointer) or _SEAL.fullmatch(one.pointer)
    return bool(named) and not any(isinstance(value, dict) for value in (one.recorded, one.replayed))


def worst(reports: Sequence[Report]) -> int:
    """The exit code of several replays: the highest."""
    return max((report.exit_code for report in reports), default=0)
