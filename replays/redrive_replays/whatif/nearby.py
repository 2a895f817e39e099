"""What answers where the recording surely does not: what was given by number, or what comes nearest to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from redrive_engine.loop import ACTING
from redrive_events import (
    ApprovalAsked,
    Input,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    PersonAsked,
    ReconcileAsked,
    Request,
    ToolCalled,
)
from redrive_replays.whatif.branch import Branch
from redrive_replays.whatif.changes import Changes
from redrive_replays.whatif.course import Key, Open
from redrive_replays.whatif.recorded import Answered, Recorded

ASSUMED: Final = {
    ModelAsked: "the reply",
    ToolCalled: "the observation",
    ReconcileAsked: "the authority's word",
    PersonAsked: "the words",
    ApprovalAsked: "the approval",
}


def assumable(recorded: Recorded, request: Request, asked: Open) -> Answered | None:
    """The recorded answer that comes nearest: of the same turn, or for a call of the same call.

    A read is answered from its own write state alone, where its last answer may serve again.
    """
    match request:
        case ToolCalled(effect=effect) if effect not in ACTING:
            known = [one for one in recorded.answers if _is_call(one, request) and one.key[3] == asked.writes]
            known = [one for one in known if not one.given and one.stopped is None]
            return known[-1] if known else None
        case ToolCalled():
            known = [
                one for one in recorded.waiting() if _is_call(one, request) and not one.given and one.stopped is None
            ]
            return known[0] if known else None
        case ReconcileAsked():
            return None
        case _:
            same = (one for one in recorded.waiting() if type(one.request) is type(request))
            return next((one for one in same if one.turn == asked.turn and one.stopped is None), None)


def _is_call(one: Answered, request: ToolCalled) -> bool:
    known = one.request
    return isinstance(known, ToolCalled) and (known.tool, known.digest) == (request.tool, request.digest)


def given_to(recorded: Recorded, request: Request, asked: Open, key: Key, changes: Changes) -> Answered | None:
    """What was given for the call or the step of this number, in the place of the recorded answer if that is the same.

    It takes as long as that did, and is let in where that was.
    """
    said: Input | None = None
    if isinstance(request, ToolCalled) and (seen := changes.observations.get(request.call)) is not None:
        said = recorded.envelopes.observed(seen, request, None)
    elif isinstance(request, ModelAsked) and (words := changes.replies.get(asked.turn + 1)) is not None:
        said = ModelReplied(content=words, model=request.model)
    if said is None:
        return None
    found = Answered(request, said, key, asked.turn, timedelta(), 0, given=True)
    same = next((one for one in recorded.answers if _is_same(one, found)), None)
    if same is None:
        return found
    answer = same.answer if same.given else said
    return dataclasses.replace(
        found, answer=answer, took=same.took, position=same.position, number=same.number, overdue=same.overdue
    )


def is_of_another(recorded: Recorded, given: Answered) -> bool:
    """Whether in the recording the call of this number was another one."""
    number = number_of(given)
    calls = (one for one in recorded.answers if isinstance(one.request, ToolCalled) and number_of(one) == number)
    return isinstance(given.request, ToolCalled) and any(not _is_call(one, given.request) for one in calls)


def _is_same(one: Answered, given: Answered) -> bool:
    """Whether it was asked the same under the same number, and answered before the run was ending."""
    if one.stopped is not None or (isinstance(given.request, ToolCalled) and not _is_call(one, given.request)):
        return False
    return type(one.request) is type(given.request) and number_of(one) == number_of(given)


def number_of(answer: Answered) -> int:
    """By which number an answer is given: of its call, or of its step."""
    return answer.request.call if isinstance(answer.request, ToolCalled) else answer.turn + 1


def may_finish(request: Request) -> bool:
    """Whether the answer is waited for within a grace where the run is ending: of what acts, or may have acted."""
    return isinstance(request, ReconcileAsked) or (isinstance(request, ToolCalled) and request.effect in ACTING)


def unused(changes: Changes, branch: Branch) -> Iterator[str]:
    """What was given for a call or a step that nothing was asked for under that number."""
    given, steps = set[tuple[type, int]](), sum(isinstance(one.event, ModelReplied) for one in branch.inherited)
    for one in branch.records:
        event = one.record.event
        steps += isinstance(event, ModelReplied)
        if one.label == "given" and isinstance(event, ModelReplied | ObservationReceived):
            given.add((type(event), steps if isinstance(event, ModelReplied) else event.call))
    for call in changes.observations:
        if (ObservationReceived, call) not in given:
            yield f"--set-observation {call}"
    for step in changes.replies:
        if (ModelReplied, step) not in given:
            yield f"--set-reply {step}"
