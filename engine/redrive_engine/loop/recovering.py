"""What becomes of failures in a row: corrected within their quota, then another way, a stronger model, a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from redrive_engine.loop.follows import Follows
from redrive_engine.program import Program
from redrive_events import Failure, RecoveryChosen, Rung, StopDecided
from redrive_projections import RunState

# One failure of a kind, and several.
FAILURES: Final[Mapping[Failure, tuple[str, str]]] = {
    "unreadable": ("an unreadable reply", "unreadable replies"),
    "model_failed": ("a request that the model did not answer", "requests that the model did not answer"),
    "arguments": ("a call with bad arguments", "calls with bad arguments"),
    "denied": ("a denied call", "denied calls"),
    "tool_failed": ("a tool failure", "tool failures"),
    "refused": ("a refused observation", "refused observations"),
    "finish": ("a refused finish", "refused finishes"),
    "infrastructure": ("a failure of infrastructure", "failures of infrastructure"),
}


def due(program: Program, s: RunState, kind: Failure) -> bool:
    """Whether failures of a kind have reached their quota; of a run that is given up, whatever fails, none has."""
    quota: int | None = getattr(program.terms.quotas, kind)
    return quota is not None and s.running and not s.undoing and len(s.watch.pending(kind)) >= quota


def judged(program: Program, s: RunState, *kinds: Failure) -> Follows:
    """What follows where failures of these kinds have reached their quota."""
    for kind in kinds:
        if due(program, s, kind):
            count = len(s.watch.pending(kind))
            one, several = FAILURES[kind]
            yield from recovered(program, s, kind, one if count == 1 else f"{count} {several} in a row")


def recovered(program: Program, s: RunState, kind: Failure, reason: str) -> Follows:
    """The next rung of the contract's ladder that can help here; behind the last the run is given up."""
    window = s.watch.pending(kind)
    remaining = list(program.terms.recovery)
    for taken in s.watch.rungs:
        if taken in remaining:
            remaining.remove(taken)
    for rung in remaining:
        model = _stronger(program, s) if rung == "stronger_model" else ""
        if rung == "compensate" and not s.effects:
            continue
        if (rung, kind) != ("another_way", "model_failed") and (model or rung != "stronger_model"):
            text = _text(rung, reason)
            yield RecoveryChosen(failure=kind, rung=rung, reason=reason, window=window, model=model, text=text)
            return
    yield StopDecided(status="failed", reason=reason, window=window)


def _stronger(program: Program, s: RunState) -> str:
    """The next of the stronger models; empty if the last of them is asked already."""
    models = program.terms.models
    following = models.index(s.model) + 1 if s.model in models else 0
    return models[following] if following < len(models) else ""


def _text(rung: Rung, reason: str) -> str:
    if rung == "another_way":
        return f"Stop here: {reason}. This way does not work; take another one, or finish with what there is."
    if rung == "stronger_model":
        return f"You go on in place of another model, which was given up on: {reason}. Look at what it tried first."
    return ""
