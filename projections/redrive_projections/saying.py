"""What the model is to read, as it grows in a run's state: responses to calls, notices, and what a request names."""

from __future__ import annotations

from collections.abc import Sequence

from redrive_events import Content, EffectReconciled, OutcomeStated, OwnWords
from redrive_projections.state import RunState
from redrive_projections.transcript import Message


def respond(state: RunState, number: int, content: Content | None, position: int, outcome: str = "") -> None:
    """Give a call its one response; a later one (a refusal, a reconciliation) takes its place."""
    call = state.calls.get(number)
    if call is None:  # a recording with an answer too many: the replayer says so, the fold goes on
        return
    call.observed, call.outcome = position, outcome
    if content is None or call.compensates is not None:
        call.response = None
    elif call.native:
        call.response = Message("tool", content, position, call_id=call.id)
    else:
        call.response = Message("user", content, position)


def settled(state: RunState, event: EffectReconciled | OutcomeStated, position: int) -> None:
    """What became of an effect in doubt is the response to its call."""
    respond(state, event.call, event.content, position, "ok" if event.outcome == "landed" else event.outcome)


def notice(state: RunState, text: str, position: int) -> None:
    """The engine's words to the model stand behind the responses to the calls of the last reply."""
    if text:
        state.waiting.append(Message("user", text, position))


def settle(state: RunState) -> None:
    """The calls of the last reply have their responses: they and what was said meanwhile join the transcript.

    Only where a recording lacks an answer is a call still open; it stays, for what else is recorded of it.
    """
    state.messages += state.coming()
    state.waiting = []
    if not state.calls:
        return
    awaited = [getattr(request, "call", 0) for request in state.requests.values()] if state.requests else ()
    calls, state.calls = state.calls, {}
    for number, call in calls.items():
        if number in awaited:
            state.calls[number] = call
        else:
            state.tried.append(call.tried())


def referred(state: RunState, new: Sequence[int | OwnWords]) -> list[Message]:
    """The new messages of a request, from how they are recorded."""
    if not new:
        return []
    count = len(new)
    last, before = state.messages[-count:], state.messages[-count - 1 : -count]
    if [message.of for message in last] == list(new) and not (before and before[0].of == new[0]):
        return last  # the common case: what is new is what was said last, a message from each place
    said = _said(state, {one for one in new if isinstance(one, int)})
    messages: list[Message] = []
    for one in new:
        if isinstance(one, int):
            messages += reversed(said.get(one, ()))
        else:
            messages.append(Message(one.role, one.text, 0))
    return messages


def _said(state: RunState, positions: set[int]) -> dict[int, list[Message]]:
    """The messages that come from ``positions``, the last first: what is new is what was said last."""
    said: dict[int, list[Message]] = {}
    for message in reversed(state.messages):
        if message.of in positions:
            said.setdefault(message.of, []).append(message)
        elif len(said) == len(positions):
            break
    return said
