"""What comes of calls: confirmed or in doubt, asked again where that may help, verified, and counted if it failed."""

from __future__ import annotations

from redrive_engine.loop import planning, reflecting
from redrive_engine.loop.effects import ACTING, doubted, landed, tool_called
from redrive_engine.loop.ending import handed_up
from redrive_engine.loop.follows import Follows
from redrive_engine.loop.recovering import due, judged
from redrive_engine.program import Program
from redrive_events import ObservationReceived
from redrive_projections import Call, RunState


def observed(program: Program, s: RunState, event: ObservationReceived) -> Follows:
    """An observation confirms an effect or puts it in doubt, and is verified before anything is known from it."""
    call = s.calls[event.call]
    if event.returned is not None:
        yield from planning.came_back(s, call, event.returned)
        if s.running:
            yield from handed_up(program, s, event)
        return
    match event.status:
        case "ok":
            yield from landed(program, s, call, event)
        case "timeout" | "error" if s.running and _asked_again(program, s, call, event):
            yield tool_called(program, s, call)
            return
        case "timeout" | "unknown" as why if call.effect in ACTING:
            yield from doubted(call, why)
        case _:
            pass  # a read is only told; an error says that nothing was done, and a cancelled write was never begun
    if s.watch.failures:
        yield from judged(program, s, "tool_failed", "infrastructure")
    if program.terms.reflection == "rule" and s.failures and not s.undoing:
        yield reflecting.by_rule(s, call, event)


def _asked_again(program: Program, s: RunState, call: Call, event: ObservationReceived) -> bool:
    """Whether the same read may be answered better next time: its failure is of a class that passes by itself."""
    passing = (event.status == "timeout" or event.error == "unavailable") and not due(program, s, "infrastructure")
    return passing and call.effect == "read" and call.attempt < program.terms.read_attempts
