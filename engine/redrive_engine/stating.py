"""What became of an effect that nobody could speak for: stated by a person while the run waits, or learnt too late."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, TypeAlias

from redrive_engine.drive import state_of
from redrive_engine.masking import Mask
from redrive_engine.signals import annotate, append
from redrive_events import (
    NOTES,
    AnnotationMade,
    BadInput,
    Content,
    EventLog,
    Json,
    OutcomeStated,
    StaleAppend,
)
from redrive_projections import LATE_OUTCOME, Effect, doubts_of, effects

Landing: TypeAlias = Literal["landed", "not_landed"]

# What the model is told of an effect that was not observed.
UNSETTLED: Final = {
    "landed": "This took effect.",
    "not_landed": "This did not take effect.",
    "unknown": "Whether this took effect is not known.",
}


def state_outcome(
    log: EventLog,
    run_id: str,
    call: int,
    outcome: Landing,
    *,
    by: str,
    at: datetime,
    content: Content | None = None,
    media_type: str = "text/plain",
    reason: str = "",
    mask: Mask | None = None,
) -> int | None:
    """A person's word on an effect in doubt; its position in the run, None where it is a remark on a run that is over.

    ``content`` is what would have been observed, which verifiers look at and the model reads.

    Raises:
        NoSuchRun: nobody began that run.
        UnknownEvent: one of its events cannot be read.
        BadInput: nobody is asked about this effect; or the run has ended, and a content is given.
    """
    while True:
        state = state_of(log, run_id)
        if state.end is not None:
            if content is not None:
                raise BadInput("has ended, and nobody observes anything in it any more", place=f"run {run_id}")
            late_outcome(log, run_id, call, outcome, by=by, at=at, reason=reason, mask=mask)
            return None
        stated = OutcomeStated(
            call=call,
            by=by,
            outcome=outcome,
            content=UNSETTLED[outcome] if content is None else content,
            media_type=media_type,
            reason=reason,
        )
        moment = max(at, state.now or at)
        if not doubts_of(state, stated, moment):
            effect = effect_of(log, run_id, call)
            raise BadInput(f"{_stands(effect)}, and the run waits for nobody's word on it", place=f"run {run_id}")
        try:
            return append(log, run_id, stated, expected=state.position, at=moment, mask=mask)
        except StaleAppend:
            continue


def late_outcome(
    log: EventLog,
    run_id: str,
    call: int,
    outcome: Landing,
    *,
    by: str,
    at: datetime,
    reason: str = "",
    mask: Mask | None = None,
) -> int:
    """Remark on an effect in doubt what became of it, when its run can no longer hear it; the remark's position.

    Raises:
        BadInput: there is no such effect, or it is in no doubt.
    """
    effect = effect_of(log, run_id, call)
    if effect.stage not in {"in doubt", "planned"}:
        raise BadInput(f"{_stands(effect)}, and in no doubt", place=f"run {run_id}")
    told: dict[str, Json] = {"call": call, "outcome": outcome} | ({"reason": reason} if reason else {})
    remark = AnnotationMade(name=LATE_OUTCOME, value=told, source=by, position=effect.position)
    return annotate(log, run_id, remark, at=at, mask=mask)


def effect_of(log: EventLog, run_id: str, call: int) -> Effect:
    """How an effect stands by the run and the remarks on it.

    Raises:
        BadInput: the run has none of that call.
    """
    remarks = (one.event for one in log.read(run_id + NOTES) if isinstance(one.event, AnnotationMade))
    found = effects(log.read(run_id), remarks)
    for effect in found:
        if effect.call == call:
            return effect
    some = ", ".join(str(effect.call) for effect in found) or "none"
    raise BadInput(f"no effect of call {call}; there are those of {some}", place=f"run {run_id}")


def _stands(effect: Effect) -> str:
    by = f" by {effect.by}" if effect.by else ""
    return f"the effect of call {effect.call} ({effect.tool}) is {effect.stage}{by}"
