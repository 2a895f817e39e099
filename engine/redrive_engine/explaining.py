"""Why a call was judged as it was: each rule that was looked at, up to the one that decided."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from redrive_engine.loop.judge import by_form
from redrive_engine.policy import APPROVAL, COMPENSATION, EDITED_OVER, EXPIRED, NOT_APPROVED, RuleLook, Ruling, looks_of
from redrive_engine.program import Program
from redrive_events import Json, Record, VerdictGiven
from redrive_projections import Call, RunState, evolve

# Verdicts that follow from something else than a question: from what a person said, or did not say.
_UNASKED: Final = frozenset({NOT_APPROVED, EXPIRED, EDITED_OVER, COMPENSATION})


class Judging(NamedTuple):
    """One verdict as it was recorded, and how a program comes to one on the same call at the same moment.

    ``form`` is what schema, contract and grounds say: only where they allow is a policy asked. ``ruling`` is what comes
    of it all; None where the verdict followed from something else than a question.
    """

    position: int
    tool: str
    arguments: Json
    recorded: VerdictGiven
    form: Ruling | None = None
    looks: tuple[RuleLook, ...] = ()
    ruling: Ruling | None = None


def judgings(program: Program, records: Iterable[Record], call: int) -> list[Judging]:
    """Every verdict on a call, each with what led to it, from the state as recorded before it."""
    state = RunState()
    found = []
    for record in records:
        event = record.event
        if isinstance(event, VerdictGiven) and event.call == call and call in state.calls:
            found.append(_judging(program, state, state.calls[call], record.position, event))
        evolve(state, record)
    return found


def _judging(program: Program, state: RunState, call: Call, position: int, recorded: VerdictGiven) -> Judging:
    judging = Judging(position, call.tool, call.arguments, recorded)
    if recorded.rule in _UNASKED or (recorded.rule == APPROVAL and recorded.verdict == "edit"):
        return judging
    form, question = by_form(program, state, call)
    if question is None or program.policy is None:
        return judging._replace(form=form, ruling=form)
    looks = tuple(looks_of(program.policy, question))
    return judging._replace(form=form, looks=looks, ruling=program.policy.judge(question))
