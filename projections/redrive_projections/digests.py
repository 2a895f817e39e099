"""Digests that events hold of the state, the request and the call, each held against what is folded anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from redrive_events import ModelAsked, Quarantined, Record, RunEnded, ToolCalled, call_digest, kind_of
from redrive_projections.folding import evolve
from redrive_projections.requests import asked_in, has_other_terms
from redrive_projections.state import RunState
from redrive_projections.views import sealed


class Parting(NamedTuple):
    """A place where the digest that an event holds in ``field`` is not that of what is rebuilt."""

    position: int
    kind: str
    field: str
    problem: str
    stored: str = ""
    rebuilt: str = ""


def partings(records: Iterable[Record]) -> Iterator[Parting]:
    """Where a run does not come to what was recorded of it, up to the first event that cannot be read."""
    state = RunState()
    for record in records:
        event, position = record.event, record.position
        if type(event) is Quarantined:
            yield Parting(position, "quarantined", "", f"cannot be read: {event.reason}")
            return
        before = _BEFORE.get(type(event))
        found = [before(state, event)] if before is not None else []
        evolve(state, record)
        if type(event) is ModelAsked and not has_other_terms(state):
            found.append(("request", event.request, asked_in(state, event).digest))
        for field, stored, rebuilt in found:
            if stored != rebuilt:
                what = f"its {field} is rebuilt with another digest"
                yield Parting(position, kind_of(event), field, what, stored, rebuilt)


def _call(_: RunState, event: ToolCalled) -> tuple[str, str, str]:
    return "digest", event.digest, call_digest(event.tool, event.arguments)


# What is computed from the state that an event was derived from.
_BEFORE: Mapping[type, Callable[[RunState, Any], tuple[str, str, str]]] = {
    ModelAsked: lambda state, event: ("state", event.state, sealed(state)),
    RunEnded: lambda state, event: ("state", event.state, sealed(state)),
    ToolCalled: _call,
}
