"""Calls of the recording that nobody could have made in a branch: with values that it was never shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from redrive_engine import occurs
from redrive_events import DecisionMade, Json, ModelReplied, ObservationReceived, Record, text_of
from redrive_projections import RunState, evolve
from redrive_replays.whatif.branch import Branch

# A value shorter than this may stand anywhere by chance.
VALUE_CHARS_MIN = 3


class Ungrounded(NamedTuple):
    """A call of the recording with a value that only observations show which the branch does not have.

    It is of a turn that the branch has not come to, or of a reply that it assumes.
    """

    call: int
    tool: str
    value: str


class _View(NamedTuple):
    """What a branch has seen by some moment: the observations, and all that is told to the model."""

    had: frozenset[str]
    told: tuple[str, ...]

    def lacks(self, value: str, shown: Sequence[str]) -> bool:
        """Whether of the observations that were ``shown`` only those have the value that are not here."""
        return any(occurs(value, words) for words in shown if words not in self.had) and not any(
            occurs(value, words) for words in self.told
        )


def ungrounded(records: Sequence[Record], branch: Branch) -> Iterator[Ungrounded]:
    """The calls of replies that are assumed or not reached, each with the values that were not here by then."""
    views, last = _views(branch)
    shown, state, view = list[str](), RunState(), None
    for record in records:
        event = record.event
        if isinstance(event, ModelReplied):
            later = last if branch.edge is not None and state.steps >= branch.state.steps else None
            view = views.get(state.steps, later)
        evolve(state, record)
        if isinstance(event, ObservationReceived):
            shown.append(text_of(event.content))
        if view is None or not isinstance(event, DecisionMade):
            continue
        for call in (state.calls[proposed.call] for proposed in event.calls):
            found = (value for value in _values(call.arguments) if view.lacks(value, shown))
            yield from (Ungrounded(call.number, call.tool, value) for value in dict.fromkeys(found))


def _views(branch: Branch) -> tuple[dict[int, _View], _View]:
    """What a branch had seen when it assumed the reply of a turn, and in the end.

    What an assumed reply said itself shows nothing to the next one.
    """
    views, had, assumed, state = dict[int, _View](), set[str](), set[str](), RunState()

    def view() -> _View:
        said = ((one.role, text_of(one.content)) for one in state.transcript())
        return _View(
            frozenset(had), tuple(words for role, words in said if role != "assistant" or words not in assumed)
        )

    for record, label in [*((one, "") for one in branch.inherited), *((one[0], one[1]) for one in branch.records)]:
        event = record.event
        if isinstance(event, ModelReplied) and label == "assumed":
            views[state.steps] = view()
            assumed.add(text_of(event.content))
        if isinstance(event, ObservationReceived):
            had.add(text_of(event.content))
        evolve(state, record)
    return views, view()


def _values(arguments: Json) -> Iterator[str]:
    if isinstance(arguments, Mapping):
        for one in arguments.values():
            yield from _values(one)
    elif isinstance(arguments, list | tuple):
        for one in arguments:
            yield from _values(one)
    elif isinstance(arguments, str | int | float) and len(str(arguments)) >= VALUE_CHARS_MIN:
        yield str(arguments)
