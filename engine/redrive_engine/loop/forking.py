"""How a forked run goes on: what its parent had open is judged and asked for again, by the program that takes it up."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from redrive_engine.loop.calling import acted_on
from redrive_engine.loop.ending import expiry
from redrive_engine.loop.follows import Follows
from redrive_engine.loop.judge import judge
from redrive_engine.program import Program
from redrive_events import CallIntercepted, RunForked, VerdictGiven
from redrive_projections import Call, RunState, handover

NOT_RUN_HERE: Final = (
    "Not run here: this run goes on from another one, in which the call was under way. "
    "What became of it there is not known here."
)


def gone_on(program: Program, s: RunState, fork: RunForked) -> Follows:
    """Whoever was asked is asked again; so is what only reads or waits for an approval, once it is judged anew.

    What may have acted, or is another run, is not begun a second time: it gets a response that says so.
    """
    for asked in s.people:
        told = handover(s, program.terms.done) if asked.handover is not None else None
        yield replace(asked, expires=expiry(program, s), handover=told)
    waiting = [call for call in s.calls.values() if not call.outcome]
    for call in filter(_may_have_acted, waiting):
        window = (fork.position + 1,)
        yield CallIntercepted(call=call.number, guard="forked", window=window, text=NOT_RUN_HERE)
    verdicts: dict[int, VerdictGiven] = {}
    for call in [call for call in waiting if not _may_have_acted(call)]:
        for verdict in judge(program, s, call):
            yield verdict
            verdicts[call.number] = verdict
    if verdicts:
        yield from acted_on(program, s, list(verdicts.values()))


def _may_have_acted(call: Call) -> bool:
    return call.attempt > 0 and call.effect != "read"
