"""The one door to the outside: whatever could differ next time comes through it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from redrive_events import ApprovalAsked, Input, Limits, ModelFailed, PersonAsked, Request, RunStarted
from redrive_projections import Call, Message, RunState, left

# What there is a limit of time for.
Limit: TypeAlias = Literal["wall_time", "person", "approval"]


# Nothing that is awaited is given up.
_UNLIMITED: Final[tuple[None, Limit]] = (None, "wall_time")


class Happened(NamedTuple):
    """Something that happened outside: the event, when, and the position of the request it answers (0: none)."""

    event: Input
    at: datetime
    cause: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a run waits for: its open requests by position, the words of the model request, and until when.

    ``limit`` says which limit of time the ``deadline`` is.
    ``failures`` is how often in a row the model gave no answer, ``failure`` the last of them.
    """

    run_id: str
    position: int
    started: RunStarted
    worker: str
    epoch: int
    steps: int
    requests: Mapping[int, Request]
    calls: Mapping[int, Call]
    messages: tuple[Message, ...]
    unheard: bool
    stopping: bool
    deadline: datetime | None
    limit: Limit = "wall_time"
    failures: int = 0
    failure: ModelFailed | None = None


class World(Protocol):
    """A live world asks models, tools and people; a script reads a recording. Nothing else differs."""

    async def begin(self, state: RunState, worker: str) -> Happened:
        """The lease under which ``worker`` takes the run up.

        Raises:
            LeaseHeld: another worker drives the run.
        """
        ...

    async def answer(self, waiting: Waiting) -> Happened:
        """The next thing that happens: an answer to an open request, a deadline that passed, or a signal."""
        ...


def waiting_of(state: RunState, budget: Limits) -> Waiting:
    """What the run in ``state`` waits for; ``budget`` is that of the program which drives it now."""
    assert state.started is not None
    deadline, limit = min(_limits(state, budget), default=_UNLIMITED)
    return Waiting(
        run_id=state.run_id,
        position=state.position,
        started=state.started,
        worker=state.worker,
        epoch=state.epoch,
        steps=state.steps,
        requests=dict(state.requests),
        calls=dict(state.calls),
        messages=tuple(state.asked),
        unheard=bool(state.unheard),
        stopping=state.stop is not None,
        deadline=deadline,
        limit=limit,
        failures=state.model_failed,
        failure=state.failure,
    )


def _limits(state: RunState, budget: Limits) -> Iterator[tuple[datetime, Limit]]:
    """Until when what is awaited is awaited; wall time stands still after a stop, and while only people are awaited."""
    people = [one for one in state.requests.values() if isinstance(one, PersonAsked | ApprovalAsked)]
    for one in people:
        if one.expires is not None:
            yield one.expires, "person" if isinstance(one, PersonAsked) else "approval"
    remaining = left(budget, state)["wall_time"]
    only_people = bool(people) and len(people) == len(state.requests)
    if remaining is not None and state.counted is not None and state.stop is None and not only_people:
        yield state.counted + timedelta(milliseconds=remaining), "wall_time"
