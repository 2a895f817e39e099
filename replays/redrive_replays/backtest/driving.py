"""The runs that flip, driven again under the other policy: what would have come of them, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from redrive_engine import Program
from redrive_engine.policy import Policy
from redrive_events import Record
from redrive_replays.backtest.judging import Flipped
from redrive_replays.whatif import Changes, branched, edge_report


class Consequence(NamedTuple):
    """What would have come of a run that flips, in one of five words how sure that is.

    ``turn`` is how many of the ``turns`` of the recording it is exact for; ``prevented`` are the recorded effects that
    would not have come to be, by call.
    """

    run_id: str
    first: Flipped
    sureness: str
    turn: int
    turns: int
    status: str
    recorded_status: str
    prevented: tuple[int, ...]


def consequence(
    records: list[Record], program: Program, policy: Policy, first: Flipped, *, beyond: bool = False
) -> Consequence:
    """What would have come of one run."""
    branch = branched(records, program, Changes(policy=policy, beyond=beyond))
    report = edge_report(records, branch)
    return Consequence(
        first.run_id,
        first,
        report.sureness,
        report.turn,
        report.turns,
        report.status,
        report.recorded_status,
        tuple(effect.call for effect in report.prevented),
    )


def consequences(
    flipped: Iterable[Flipped],
    records_of: Callable[[str], list[Record]],
    program_of: Callable[[str], Program | None],
    policy: Policy,
    *,
    beyond: bool = False,
) -> Iterator[Consequence]:
    """What would have come of each run that flips."""
    for first in flipped:
        program = program_of(first.run_id)
        if program is not None:
            yield consequence(records_of(first.run_id), program, policy, first, beyond=beyond)
