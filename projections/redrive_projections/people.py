"""What people say to a run, as it grows in its state: words, approvals, and what became of an effect in doubt."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from redrive_events import ApprovalAsked, ApprovalGiven, MessageReceived, OutcomeStated, PersonAsked, Request
from redrive_projections.saying import respond, settled
from redrive_projections.state import RunState
from redrive_projections.transcript import received

# What only people answer.
OF_PEOPLE: Final = frozenset({PersonAsked, ApprovalAsked})


def message(state: RunState, event: MessageReceived, position: int) -> None:
    """Words join the transcript with the next request, and answer whom they were asked by."""
    state.unheard.append(event)
    state.last_word = state.last_word or event.last
    for asked in [place for place, request in state.requests.items() if _is_answer(request, event, state.now)]:
        del state.requests[asked]
    state.people = [asked for asked in state.people if not _is_answer(asked, event, state.now)]
    if event.content:
        # what is said while a reply or its calls are awaited stands after their responses
        state.waiting.append(received(event, position))


def _is_answer(request: Request, event: MessageReceived, at: datetime | None) -> bool:
    """Whether a person who was asked has spoken, in time: to an escalation only whom it was made to, but for an end."""
    if type(request) is not PersonAsked:
        return False
    of_them = request.why == "reply" or (request.why == "escalation" and request.actor == event.actor)
    return not expired(request, at) and (of_them or event.last)


def expired(request: Request, at: datetime | None) -> bool:
    """Whether a person is waited for no longer: from the moment that was said, not behind it."""
    until = request.expires if isinstance(request, PersonAsked | ApprovalAsked) else None
    return until is not None and at is not None and at >= until


def approval(state: RunState, event: ApprovalGiven, position: int) -> None:
    """It counts as the answer to what was shown, in time, and once; else it is no more than a record."""
    for place, request in list(state.requests.items()):
        asked = type(request) is ApprovalAsked and (request.call, request.digest) == (event.call, event.digest)
        if asked and event.call in state.calls and not expired(request, state.now):
            del state.requests[place]
            state.unheard.append(event)


def doubts_of(state: RunState, event: OutcomeStated, at: datetime | None) -> list[int]:
    """Where a person was asked what became of this effect, and is still waited for; else the word counts nothing."""
    return [
        place
        for place, request in state.requests.items()
        if type(request) is PersonAsked and request.effect == event.call and not expired(request, at)
        if event.call in state.calls  # in a recording with holes it may not be
    ]


def stated(state: RunState, event: OutcomeStated, position: int) -> None:
    """What became of an effect in doubt, if a person was asked for that, takes the place of an authority's word."""
    for place in doubts_of(state, event, state.now):
        del state.requests[place]
        state.unheard.append(event)
        settled(state, event, position)


def person_asked(state: RunState, event: PersonAsked, position: int) -> None:
    """A person is awaited; if the model asked for one by a call, that call has its response."""
    state.requests[position] = event
    if event.call is not None:
        respond(state, event.call, event.text, position, "asked")
