"""A fixed workflow: the calls that the contract lists, one after the other, whatever comes of the run."""

from __future__ import annotations

from collections.abc import Sequence

from redrive_engine.dialects import Decision, Proposal
from redrive_events import Json, StepTerms
from redrive_projections import GOAL, Fact, RunState, slots, spoken_of, worded


def stuck(s: RunState, steps: Sequence[StepTerms]) -> str:
    """Why the next step cannot be made: the one before has failed, or nobody knows a fact that this one speaks of."""
    tried = [*s.tried, *(call.tried() for call in s.calls.values())]  # the model may have been asked for a lesson since
    before = tried[-1] if tried else None
    if before is not None and before.outcome != "ok":
        return f"step {s.begun} of the workflow ({before.tool}): {before.outcome}"
    named = spoken_of(steps[s.begun]) if s.begun < len(steps) else ()
    lacking = [name for name in named if name not in _known(s)]
    return f"step {s.begun + 1} of the workflow speaks of {', '.join(lacking)}, not known yet" if lacking else ""


def proposed(s: RunState, steps: Sequence[StepTerms]) -> Decision:
    """The next step as a decision to call: each slot is filled with the goal or a fact."""
    step, known = steps[s.begun], _known(s)
    arguments = {name: _filled(value, known) for name, value in step.arguments.items()}
    summary = f"step {s.begun + 1} of {len(steps)} of the workflow"
    return Decision("call", summary, (Proposal(step.tool, arguments=arguments),))


def _known(s: RunState) -> dict[str, Fact]:
    goal = Fact(s.started.goal if s.started else "", 1, (), "")
    return {GOAL: goal, **s.facts}


def _filled(value: Json, known: dict[str, Fact]) -> Json:
    """A text that is one slot has the fact's own value, whatever its type; in others it is worded."""
    if not isinstance(value, str):
        return value
    names = slots(value)
    if len(names) == 1 and value == f"{{{names[0]}}}":
        return known[names[0]].value
    return worded(value, known)
