"""The state of a run at one position, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from rich.text import Text

from redrive.terminal import Cell, columns
from redrive_events import Dimension, Json, Request, ToolCalled, canonical, text_of
from redrive_projections import Fact, RunState, called_as, left, limits, missing, one_line, status, used

UNITS: Mapping[Dimension, str] = {"wall_time": "ms", "cost": "micros"}

_PER: Mapping[Dimension, int] = {"wall_time": 1000, "cost": 1_000_000}


def state_data(state: RunState, *, thoughts: bool = False) -> dict[str, Json]:
    """What is known, open, used up and said at this moment, as plain data."""
    return {
        "run_id": state.run_id,
        "position": state.position,
        "status": status(state),
        "facts": {key: msgspec.to_builtins(fact) for key, fact in state.facts.items()},
        "missing": list(missing(state.terms.done, state.facts)),
        "open": [{"position": place, **plain(request)} for place, request in state.requests.items()],
        "used": {_with_unit(name): value for name, value in used(state).items()},
        "left": {_with_unit(name): value for name, value in left(state.terms.budget, state).items()},
        "messages": [{**plain(one.data(), thoughts=thoughts), "of": one.of} for one in state.transcript()],
    }


def state_told(state: RunState, last: int) -> Iterator[Cell]:
    """The same in lines; ``last`` is the last position of the run."""
    rows = [
        ("run", f"{state.run_id} after event {state.position} of {last}"),
        ("status", status(state)),
        ("used", ", ".join(_budget(state)) or "nothing"),
        ("missing", ", ".join(missing(state.terms.done, state.facts))),
    ]
    yield from columns((Text(name, style="dim"), value) for name, value in rows if value)
    yield from _section("known", ((key, _fact(fact)) for key, fact in state.facts.items()))
    yield from _section("open", ((str(place), _request(request)) for place, request in state.requests.items()))
    yield from _section(
        "said", ((one.role, one_line(text_of(one.content)) or "(no words)") for one in state.transcript())
    )


def plain(value: object, *, thoughts: bool = False) -> dict[str, Json]:
    """An event or a message as plain data, without what the model thought unless that is asked for."""
    data: dict[str, Json] = msgspec.to_builtins(value)
    content = data.get("content")
    if not thoughts and isinstance(content, list | tuple):
        data["content"] = [block for block in content if block.get("type") != "thinking"]
    return data


def _with_unit(name: Dimension) -> str:
    return f"{name}_{UNITS[name]}" if name in UNITS else name


def _budget(state: RunState) -> Iterator[str]:
    allowed = limits(state.terms.budget)
    for name, value in used(state).items():
        limit = allowed[name]
        if value or limit is not None:
            of = "" if limit is None else f" of {_amount(name, limit)}"
            unit = {"wall_time": " s", "cost": f" {state.terms.budget.currency}"}.get(name, "")
            yield f"{name.replace('_', ' ')} {_amount(name, value)}{of}{unit}"


def _amount(name: Dimension, value: int) -> str:
    return f"{value / _PER[name]:,.6g}" if name in _PER else f"{value:,}"


def _section(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[Cell]:
    lines = list(columns(rows))
    if lines:
        yield ""
        yield Text(title, style="bold")
        yield from (Text.assemble("  ", line) for line in lines)


def _fact(fact: Fact) -> str:
    evidence = ", ".join(map(str, fact.evidence)) or "nothing"
    return f"{one_line(canonical(fact.value).decode())}  (committed at {fact.position}, from {evidence})"


def _request(request: Request) -> str:
    kind = str(type(request).__struct_config__.tag)
    return f"{kind}  {called_as(request.tool, request.arguments)}" if isinstance(request, ToolCalled) else kind
