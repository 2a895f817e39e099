"""How a forked run goes on: what its parent had open is judged and asked for again, by the program that takes it up."""

from __future__ import annotations

from msgspec.structs import replace

from redrive_engine.loop.calling import acted_on
from redrive_engine.loop.ending import expiry
from redrive_engine.loop.follows import Follows
from redrive_engine.loop.judge import judge
from redrive_engine.program import Program
from redrive_events import VerdictGiven
from redrive_projections import RunState


def gone_on(program: Program, s: RunState) -> Follows:
    """Whoever was asked is asked again, and calls that have no response are judged anew, and made or asked about."""
    for asked in s.people:
        yield replace(asked, expires=expiry(program, s))
    verdicts: dict[int, VerdictGiven] = {}
    for call in [call for call in s.calls.values() if not call.outcome]:
        for verdict in judge(program, s, call):
            yield verdict
            verdicts[call.number] = verdict
    if verdicts:
        yield from acted_on(program, s, list(verdicts.values()))
