"""How a run ends: by its own decision once the criteria hold, by a person's last word, or by what stopped it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from redrive_engine.claims import stated
from redrive_engine.loop.follows import Follows
from redrive_engine.program import Program
from redrive_events import (
    SPEAKING,
    Claim,
    FinishRefused,
    ObservationReceived,
    PersonAsked,
    RunEnded,
    StopDecided,
)
from redrive_projections import Call, RunState, claims, handover, missing, partly_worded, sealed, worded

UNABLE: Final = "unable"  # the reason of a run that ended with an honest word that it cannot be done
HANDED_OVER: Final = "Handed over to a person, who has the word now."


def finished(program: Program, s: RunState, call: int | None = None) -> Follows:
    """The model wants to end the run: it may, once the criteria hold and its answer is borne out.

    ``call`` is the one by which it wants to, if it is one.
    """
    lacking, unsupported = missing(program.terms.done, s.facts), _unsupported(program, s)
    if lacking and program.terms.arm in SPEAKING:  # and nothing more can become known
        yield closed(program, s)
    elif lacking or unsupported:
        text = " ".join(filter(None, [_not_done(lacking), _not_borne_out(unsupported)]))
        yield FinishRefused(missing=lacking, unsupported=unsupported, text=text, call=call)
    else:
        yield done(program)


def closed(program: Program, s: RunState) -> StopDecided:
    """The end where nothing more can come, as after a person's last word: the criteria say how it ended."""
    lacking = missing(program.terms.done, s.facts)
    return StopDecided(status="failed", reason=f"not done: {', '.join(lacking)}") if lacking else done(program)


def escalated(program: Program, s: RunState, reason: str, *, call: int | None = None) -> Follows:
    """A person is to take over: the run waits for one, or ends, as the contract says.

    ``call`` is the one by which the model asked for a person, if it did.
    """
    if program.terms.escalation == "end":
        yield handed_over(program, s, reason)
        return
    yield PersonAsked(
        actor="operator",
        why="escalation",
        reason=reason,
        handover=handover(s, program.terms.done),
        expires=expiry(program, s),
        call=call,
        text=HANDED_OVER if call else "",
    )


def handed_over(program: Program, s: RunState, reason: str) -> StopDecided:
    """The end, from which only a person can go on."""
    return StopDecided(status="escalated", reason=reason, handover=handover(s, program.terms.done))


def handed_up(program: Program, s: RunState, event: ObservationReceived) -> Follows:
    """What ends a run for good ends it where it happened in a child, too; a child's wish for a person is its parent's.

    A child that came back ``unknown`` has a write of which nobody knows whether it landed.
    """
    assert event.returned is not None
    reason = f"step {s.begun} of the plan: {event.returned.reason}"
    if event.returned.status == "blocked":
        yield StopDecided(status="blocked", reason=reason)
    elif event.status == "unknown" and program.terms.on_doubt == "escalate":
        yield handed_over(program, s, f"step {s.begun} of the plan left an effect in doubt")
    elif event.returned.status == "escalated":
        yield from escalated(program, s, reason)


def expiry(program: Program, s: RunState) -> datetime | None:
    """Until when a person who is asked now is waited for."""
    waits_ms = program.terms.person_ms
    return None if waits_ms is None or s.now is None else s.now + timedelta(milliseconds=waits_ms)


def in_doubt(program: Program, s: RunState, call: Call) -> PersonAsked:
    """No authority knows whether an effect landed: a person is to say."""
    return PersonAsked(
        actor="operator",
        why="doubt",
        reason=f"effect of call {call.number} ({call.tool}) in doubt",
        handover=handover(s, program.terms.done),
        expires=expiry(program, s),
        effect=call.number,
    )


def unanswered(program: Program, s: RunState, asked: PersonAsked) -> StopDecided:
    """A person who was asked did not speak in time."""
    return handed_over(program, s, f"no word from the {asked.actor} in time")


def ended(program: Program, s: RunState, stop: StopDecided) -> RunEnded:
    """The end; there is an answer only where the run came to its own end."""
    template = program.terms.answer
    own = stop.status in {"succeeded", "finished"}
    unable = (stop.status, stop.reason) == ("failed", UNABLE)
    answer = worded(template, s.facts) if own and template else s.answer if own or unable else None
    return RunEnded(
        status=stop.status,
        reason=stop.reason,
        state=sealed(s),
        answer=answer,
        partial=None if own else partly_worded(program.terms.partial, s.facts),
        claims=claims(template, s.facts) if own and template else _borne_out(program, s, answer or ""),
    )


def done(program: Program) -> StopDecided:
    """The end by the run's own decision: a success only where criteria could judge it."""
    return StopDecided(status="succeeded" if program.terms.done else "finished", reason="done")


def _unsupported(program: Program, s: RunState) -> tuple[str, ...]:
    """What the model's own words claim, and nothing bears out; words that are made of facts need no bearing out."""
    if program.terms.claims == "free" or program.terms.answer:
        return ()
    return tuple(claim.text for claim in stated(s, s.answer) if not claim.evidence)


def _borne_out(program: Program, s: RunState, answer: str) -> tuple[Claim, ...]:
    """The claims of the model's own words; where nothing is ever verified there is nothing to hold them against."""
    return stated(s, answer) if program.verifiers or program.terms.claims == "supported" else ()


def _not_done(lacking: tuple[str, ...]) -> str:
    return f"Not done yet. Still to be established: {', '.join(lacking)}." if lacking else ""


def _not_borne_out(unsupported: tuple[str, ...]) -> str:
    if not unsupported:
        return ""
    quoted = ", ".join(f"“{claim}”" for claim in unsupported)
    return f"Nothing that was said or observed bears out {quoted}. Look it up, or leave it out of the answer."
