"""What answers where the recording surely does not: what was given by number, or what comes nearest to it."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Final

import msgspec

from redrive_engine.loop import ACTING
from redrive_events import (
    ApprovalAsked,
    BadInput,
    Content,
    Input,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    PersonAsked,
    ReconcileAsked,
    Request,
    ToolCalled,
    parse_json,
)
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
            return known[-1] if known else None
        case ToolCalled():
            return next((one for one in recorded.waiting() if _is_call(one, request)), None)
        case ReconcileAsked():
            return None
        case _:
            same = (one for one in recorded.waiting() if type(one.request) is type(request))
            return next((one for one in same if one.turn == asked.turn), None)


def _is_call(one: Answered, request: ToolCalled) -> bool:
    known = one.request
    return isinstance(known, ToolCalled) and (known.tool, known.digest) == (request.tool, request.digest)


def given_at_the_edge(
    recorded: Recorded, request: Request, asked: Open, key: Key, changes: Changes
) -> Answered | None:
    """What was given for the call or the step of this number; it takes as long as the recorded answer did, if any."""
    said: Input | None = None
    if isinstance(request, ToolCalled) and (seen := changes.observations.get(request.call)) is not None:
        said = observation_of(seen, request.call)
    elif isinstance(request, ModelAsked) and (words := changes.replies.get(asked.turn + 1)) is not None:
        said = ModelReplied(content=words, model=request.model)
    if said is None:
        return None
    found = Answered(request, said, key, asked.turn, timedelta(), 0, given=True)
    took = (one.took for one in recorded.answers if _is_same(one, found))
    return dataclasses.replace(found, took=next(took, timedelta()))


def _is_same(one: Answered, given: Answered) -> bool:
    """Whether it was asked the same under the same number."""
    if isinstance(given.request, ToolCalled) and not _is_call(one, given.request):
        return False
    return type(one.request) is type(given.request) and number_of(one) == number_of(given)


def number_of(answer: Answered) -> int:
    """By which number an answer is given: of its call, or of its step."""
    return answer.request.call if isinstance(answer.request, ToolCalled) else answer.turn + 1


def observation_of(given: Content | ObservationReceived, call: int) -> ObservationReceived:
    """What was given as the answer to a call; content alone is that of one that went well."""
    if isinstance(given, ObservationReceived):
        return msgspec.structs.replace(given, call=call)
    kind = "text/plain"
    if isinstance(given, str):
        try:
            parse_json(given)
            kind = "application/json"
        except BadInput:
            pass
    return ObservationReceived(call=call, status="ok", content=given, media_type=kind)
