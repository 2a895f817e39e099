"""What the model saw: each request rebuilt from the log, whole, and held against the digest that was recorded of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from redrive_events import (
    SPEAKING,
    BadInput,
    BrokenChain,
    CannotReplay,
    Json,
    ModelAsked,
    Purpose,
    Record,
    Terms,
    canonical,
)
from redrive_projections.folding import evolve
from redrive_projections.state import RunState
from redrive_projections.transcript import Message, request_digest

_OFFER = ("contract", "tools")  # the parts of a program that say what a model is offered


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the model was given it, at ``position``."""

    position: int
    messages: tuple[Message, ...]
    model: str
    parameters: dict[str, Json]
    tools: Json

    @property
    def digest(self) -> str:
        """What `ModelAsked.request` is of this request."""
        return request_digest(self.messages, canonical(self._rest()))

    def data(self) -> dict[str, Json]:
        """The request as plain data; its canonical JSON is the request to the byte."""
        return {"messages": [message.data() for message in self.messages], **self._rest()}

    def _rest(self) -> dict[str, Json]:
        return {"model": self.model, "parameters": self.parameters, "tools": self.tools}


def requests(records: Iterable[Record]) -> Iterator[Asked]:
    """Every request of a run, as its records from the first on say; not held against its digest."""
    return (asked for asked, _, _ in _asked(records))


def rebuilt(records: Iterable[Record], position: int) -> Asked:
    """The request at ``position`` of a run, whole, of which the recorded digest was found right.

    Raises:
        BadInput: no model was asked at this position.
        CannotReplay: a worker with another contract or other tools than the log holds had asked it.
        BrokenChain: it is not the request that was asked.
    """
    others = list[str]()
    for asked, event, state in _asked(records):
        if asked.position == position:
            if asked.digest != event.request:
                raise _unlike(state, position)
            return asked
        others.append(str(asked.position))
    raise BadInput(f"at event {position} no model was asked, but at {', '.join(others) or 'none'}")


def asked_in(state: RunState, event: ModelAsked) -> Asked:
    """The request that the last record, which holds ``event``, says was asked."""
    part = state.started.parts.get("tools") if state.started else None
    tools = offered(part.data, event.purpose, state.terms) if part else {}
    return Asked(state.position, tuple(state.asked), event.model, event.parameters, tools)


def offered(tools: Json, purpose: Purpose, terms: Terms) -> Json:
    """What of ``tools`` comes with a request: none for a plan or a lesson, the ways out where the model only speaks."""
    if purpose != "act":
        return {}
    return {way: tools[way] for way in terms.ways_out if way in tools} if terms.arm in SPEAKING else tools


def has_other_terms(state: RunState) -> bool:
    """Whether a worker has brought another contract or other tools, of which the log has only the digest."""
    began = state.started.parts if state.started else {}
    return any(state.parts.get(name) != (began[name].digest if name in began else None) for name in _OFFER)


def _asked(records: Iterable[Record]) -> Iterator[tuple[Asked, ModelAsked, RunState]]:
    state = RunState()
    for record in records:
        evolve(state, record)
        if type(record.event) is ModelAsked:
            yield asked_in(state, record.event), record.event, state


def _unlike(state: RunState, position: int) -> CannotReplay | BrokenChain:
    if has_other_terms(state):
        whose = "a worker asked it with a contract or tools of its own, of which the log has the digest alone"
        return CannotReplay(f"run {state.run_id}: position {position}: {whose}")
    return BrokenChain(state.run_id, position=position, problem="the log rebuilds another request than was asked")
