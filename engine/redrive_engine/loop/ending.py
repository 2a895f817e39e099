"""How a run ends: by its own decision once the criteria hold, by a person's last word, or by what stopped it."""

from __future__ import annotations

from redrive_engine.loop.follows import Follows
from redrive_engine.program import Program
from redrive_events import FinishRefused, PersonAsked, RunEnded, StopDecided
from redrive_projections import RunState, claims, missing, partly_worded, sealed, worded


def finished(program: Program, s: RunState) -> Follows:
    """The model wants to end the run: it may, once the criteria hold."""
    lacking = missing(program.terms.done, s.facts)
    if lacking:
        yield FinishRefused(missing=lacking, text=f"Not done yet. Still to be established: {', '.join(lacking)}.")
    else:
        yield done(program)


def closed(program: Program, s: RunState) -> StopDecided:
    """The end after the person's last word: what is open has been answered, and the criteria say how it ended."""
    lacking = missing(program.terms.done, s.facts)
    return StopDecided(status="failed", reason=f"not done: {', '.join(lacking)}") if lacking else done(program)


def escalated(program: Program, reason: str) -> Follows:
    """A person is to take over: the run waits for one, or ends, as the contract says."""
    if program.terms.escalation == "wait":
        yield PersonAsked(actor="operator", why="escalation", reason=reason)
    else:
        yield StopDecided(status="escalated", reason=reason)


def ended(program: Program, s: RunState, stop: StopDecided) -> RunEnded:
    """The end; there is an answer only where the run came to its own end."""
    template = program.terms.answer
    own = stop.status in {"succeeded", "finished"}
    return RunEnded(
        status=stop.status,
        reason=stop.reason,
        state=sealed(s),
        answer=(worded(template, s.facts) if template else s.answer) if own else None,
        partial=None if own else partly_worded(program.terms.partial, s.facts),
        claims=claims(template, s.facts) if own else (),
    )


def done(program: Program) -> StopDecided:
    """The end by the run's own decision: a success only where criteria could judge it."""
    return StopDecided(status="succeeded" if program.terms.done else "finished", reason="done")
