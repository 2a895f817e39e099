"""The runs that flip, driven again under the other policy: what would have come of them, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from redrive_engine import Program
from redrive_engine.policy import Policy
from redrive_events import BadInput, CannotReplay, Record
from redrive_replays.backtest.judging import Flipped, Judged
from redrive_replays.whatif import Changes, branched, edge_report

# How sure it is what would have come of a run.
Sureness: TypeAlias = Literal["same", "exact", "exact to turn", "under assumptions", "not judged"]


class Consequence(NamedTuple):
    """What would have come of a run that flips, in one word how sure that is.

    ``turn`` is how many of the ``turns`` of the recording it is exact for; ``prevented`` are the recorded effects that
    would not have come to be, by call. Where the run cannot be driven again, ``why`` says so.
    """

    run_id: str
    first: Flipped
    sureness: Sureness
    turn: int = 0
    turns: int = 0
    status: str = ""
    recorded_status: str = ""
    prevented: tuple[int, ...] = ()
    why: str = ""


def consequence(
    records: Sequence[Record], program: Program, policy: Policy, first: Flipped, *, beyond: bool = False
) -> Consequence:
    """What would have come of one run; with ``beyond`` also where the recording has no sure answer."""
    try:
        branch = branched(records, program, Changes(policy=policy, beyond=beyond))
    except (BadInput, CannotReplay) as error:
        return Consequence(first.run_id, first, "not judged", why=str(error))
    report = edge_report(records, branch)
    if report.turn < first.step:  # the policy has changed nothing by then
        return Consequence(first.run_id, first, "not judged", why=_parted(report.changed_parts))
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


def _parted(changed_parts: Iterable[str]) -> str:
    """Why a run takes another course before its first flip: it was recorded by another program."""
    changed = ", ".join(sorted(name for name in changed_parts if name != "policy"))
    return f"its agent is another by now, so that it parts before its first flip: {changed or 'its code'}"


def undriven(judged: Judged, first: Flipped) -> Consequence | None:
    """What is said of a run that flips and was not recorded in full, so that it cannot be driven; None of others."""
    if (grade := judged.grades.get(first.run_id)) is None:
        return None
    return Consequence(first.run_id, first, "not judged", why=f"it was imported as {grade}")


def consequences(
    judged: Judged,
    records_of: Callable[[str], Sequence[Record]],
    program_of: Callable[[str], Program],
    policy: Policy,
    *,
    beyond: bool = False,
) -> Iterator[Consequence]:
    """What would have come of each run that flips."""
    for first in judged.first.values():
        yield undriven(judged, first) or consequence(
            records_of(first.run_id), program_of(first.run_id), policy, first, beyond=beyond
        )


def in_a_word(judged: Judged, driven: Iterable[Consequence]) -> Iterator[tuple[str, Sureness, str]]:
    """Each run with how sure it is what would have come of it, and why it was not judged."""
    flipped = {one.run_id: one for one in driven}
    for run_id in judged.runs:
        one = flipped.get(run_id)
        yield (run_id, "same", "") if one is None else (run_id, one.sureness, one.why)
    for run_id, why in judged.unjudged.items():
        yield run_id, "not judged", why
