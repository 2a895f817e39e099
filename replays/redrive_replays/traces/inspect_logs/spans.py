"""Who an event of a sample belongs to: the sample's own agent, a sub-agent that a call began, or a scorer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from redrive_events import Json

SCORING: Final = frozenset({"scorer", "scorers"})
AGENT: Final = "agent"
_CALLED: Final = "tool"
_HANDED: Final = "handoff"


class Owner(NamedTuple):
    """A sub-agent: its key (the span, or the event, of the call), its name, and the label of the call that began it.

    All empty for the sample's own agent.
    """

    key: str = ""
    name: str = ""
    call: str = ""


class Placed(NamedTuple):
    """An event with whom it belongs to; ``scorer`` is the name of the scorer that it is part of."""

    event: Mapping[str, Json]
    owner: Owner
    scorer: str = ""


class _Span(NamedTuple):
    key: str
    parent: str
    kind: str
    name: str


def placed(events: Sequence[Json]) -> Iterator[Placed]:
    """Every event in its order, those that stand in a tool's or a subtask's own list behind it."""
    spans = {span.key: span for span in map(_span, events) if span}
    calls = _calls_of(events, spans)
    steps: list[tuple[str, str]] = []
    for event in events:
        if not isinstance(event, dict):
            continue
        if event.get("event") == "step":
            _step(steps, event)
        above = list(_above(spans, _text(event.get("span_id"))))
        scorer = next((one.name for one in above if one.kind in SCORING), "")
        scorer = scorer or next((name for kind, name in reversed(steps) if kind in SCORING), "")
        owner = _owner(above, calls)
        yield Placed(event, owner, scorer)
        yield from _nested(event, owner, scorer)


def _nested(event: Mapping[str, Json], owner: Owner, scorer: str) -> Iterator[Placed]:
    """Events as old logs have them: inside the event of the call, or of the subtask."""
    inner = event.get("events")
    if not isinstance(inner, list):
        return
    if event.get("event") == _CALLED and (call := _text(event.get("id"))):
        owner = Owner(f"{owner.key}/{call}", _text(event.get("function")), call)
    for one in inner:
        if isinstance(one, dict):
            yield Placed(one, owner, scorer)
            yield from _nested(one, owner, scorer)


def _span(event: Json) -> _Span | None:
    if not isinstance(event, dict) or event.get("event") != "span_begin" or not isinstance(event.get("id"), str):
        return None
    return _Span(event["id"], _text(event.get("parent_id")), _text(event.get("type")), _text(event.get("name")))


def _above(spans: Mapping[str, _Span], key: str) -> Iterator[_Span]:
    """The span with ``key`` and those around it, from the inside outwards."""
    seen: set[str] = set()
    while key in spans and key not in seen:
        seen.add(key)
        yield spans[key]
        key = spans[key].parent


def _owner(above: Sequence[_Span], calls: Mapping[str, str]) -> Owner:
    """The sub-agent at work: that of the innermost call around the event."""
    inside = ""
    for span in above:
        if span.kind == _CALLED:
            return Owner(span.key, inside or span.name, calls.get(span.key, ""))
        if span.kind == AGENT:
            if span.key in calls:
                return Owner(span.key, span.name, calls[span.key])
            inside = inside or span.name
    return Owner()


def _calls_of(events: Sequence[Json], spans: Mapping[str, _Span]) -> dict[str, str]:
    """The label of the call that each tool's span, or each agent's, belongs to.

    A tool's event names the agent's span, or stands in the tool's own; else it is the next one of that name in the
    span around it, where a handoff has one more span between them.
    """
    found: dict[str, str] = {}
    waiting: list[_Span] = []
    for event in events:
        if not isinstance(event, dict):
            continue
        if event.get("event") == "span_begin" and (span := spans.get(_text(event.get("id")))) and span.kind == _CALLED:
            waiting.append(span)
        elif event.get("event") == _CALLED and (label := _text(event.get("id"))):
            if agent := _text(event.get("agent_span_id")):
                found[agent] = label
            where, name = _text(event.get("span_id")), _text(event.get("function"))
            span = next((one for one in waiting if one.key == where), None) or next(
                (one for one in waiting if one.name == name and where in (one.parent, _around(spans, one))), None
            )
            if span:
                waiting.remove(span)
                found[span.key] = label
    return found


def _around(spans: Mapping[str, _Span], span: _Span) -> str:
    """The span around that of a handoff which this one is in; empty where it is in none."""
    outer = spans.get(span.parent)
    return outer.parent if outer and outer.kind == _HANDED else ""


def _step(steps: list[tuple[str, str]], event: Mapping[str, Json]) -> None:
    """Old logs have steps that begin and end; an end closes the innermost open one."""
    if event.get("action") == "begin":
        steps.append((_text(event.get("type")), _text(event.get("name"))))
    elif event.get("action") == "end" and steps:
        steps.pop()


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
