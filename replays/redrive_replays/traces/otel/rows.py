"""Rows of spans as files hold them: out of what wraps them, and in the names that a console dump has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from redrive_events import Json
from redrive_replays.traces.otel.values import time_of

# What a list of spans, or of traces of spans, stands in.
_WRAPPERS: Final = ("spans", "data", "traces", "result", "trace", "items")
_DEPTH: Final = 4
_DEEP: Final = 64


def rows(value: Json, depth: int = _DEPTH) -> Iterator[Json]:
    """The rows of a list, or of what such a list is wrapped in; anything else is a row by itself."""
    if isinstance(value, list):
        for one in value:
            yield from rows(one, depth - 1) if _wraps(one, depth) else _with_children(one, _DEEP)
    elif isinstance(value, dict) and isinstance(value.get("context.span_id"), dict):
        yield from _columns(value)
    elif isinstance(value, dict) and _wraps(value, depth):
        yield from rows(next(value[name] for name in _WRAPPERS if _holds(value.get(name))), depth - 1)
    else:
        yield from _with_children(value, _DEEP)


def _columns(table: Mapping[str, Json]) -> Iterator[Json]:
    """The rows of a table that is written column by column."""
    for row in _map(table["context.span_id"]):
        yield {name: column.get(row) for name, column in table.items() if isinstance(column, dict)}


def _wraps(value: Json, depth: int) -> bool:
    if not depth or not isinstance(value, dict) or "attributes" in value:
        return False
    return any(_holds(value.get(name)) for name in _WRAPPERS)


def _holds(value: Json) -> bool:
    if isinstance(value, dict):
        return any(_holds(value.get(name)) for name in _WRAPPERS)
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _with_children(one: Json, depth: int) -> Iterator[Json]:
    """A span, and those that stand inside of it."""
    if not isinstance(one, dict) or not isinstance(children := one.get("children"), list) or not depth:
        yield one
        return
    yield {key: value for key, value in one.items() if key != "children"}
    for child in children:
        yield from _with_children(child, depth - 1)


def spelled(one: Mapping[str, Json]) -> Mapping[str, Json]:
    """A row of Go's console, of a table of ClickHouse, of Zipkin or AgentOps in the names of Python's console."""
    if "SpanContext" in one:
        return _go(one)
    if "SpanAttributes" in one and "TraceId" in one:
        return _clickhouse(one)
    if isinstance(one.get("tags"), dict) and "traceId" in one and "attributes" not in one:
        return {**one, "attributes": one["tags"], "name": one.get("name") or "", "parent_id": one.get("parentId")}
    if isinstance(inner := one.get("span_attributes"), dict):
        own = one.get("attributes")
        return {"trace_id": "", **one, "attributes": {**(own if isinstance(own, dict) else {}), **inner}}
    return one


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _pairs(value: Json) -> dict[str, Json]:
    """Go's attributes: a list of key and typed value."""
    found: dict[str, Json] = {}
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict) and isinstance(key := one.get("Key"), str):
            found[key] = _map(one.get("Value")).get("Value")
    return found


def _go(one: Mapping[str, Json]) -> dict[str, Json]:
    context, above = _map(one["SpanContext"]), _map(one.get("Parent"))
    status = _map(one.get("Status"))
    scope = _map(one.get("InstrumentationScope") or one.get("InstrumentationLibrary"))
    events = one.get("Events")
    return {
        "name": one.get("Name"),
        "context": {"trace_id": context.get("TraceID"), "span_id": context.get("SpanID")},
        "parent_id": above.get("SpanID"),
        "start_time": one.get("StartTime"),
        "end_time": one.get("EndTime"),
        "attributes": _pairs(one.get("Attributes")),
        "events": [
            {"name": event.get("Name"), "attributes": _pairs(event.get("Attributes")), "time": event.get("Time")}
            for event in (events if isinstance(events, list) else ())
            if isinstance(event, dict)
        ],
        "status": {"code": status.get("Code"), "message": status.get("Description")},
        "droppedAttributesCount": one.get("DroppedAttributes"),
        "resource": {"attributes": _pairs(one.get("Resource"))},
        "scope": {"name": scope.get("Name")},
    }


def _clickhouse(one: Mapping[str, Json]) -> dict[str, Json]:
    begun = time_of(one.get("Timestamp"))
    length = one.get("Duration")
    nanos = int(length) if isinstance(length, int | str) and str(length).isdecimal() and len(str(length)) < 19 else None
    ended = begun.at + timedelta(microseconds=nanos // 1000) if begun and nanos is not None else None
    if ended and begun and not begun.known:
        ended = ended.replace(tzinfo=None)
    columns = [one.get(f"Events.{name}") for name in ("Name", "Timestamp", "Attributes")]
    events = zip(*columns, strict=False) if all(isinstance(column, list) for column in columns) else ()
    return {
        "name": one.get("SpanName"),
        "context": {"trace_id": one["TraceId"], "span_id": one.get("SpanId")},
        "parent_id": one.get("ParentSpanId"),
        "start_time": one.get("Timestamp"),
        "end_time": ended.isoformat() if ended else None,
        "attributes": one["SpanAttributes"],
        "events": [{"name": name, "time": at, "attributes": about} for name, at, about in events],
        "status": {"code": one.get("StatusCode"), "message": one.get("StatusMessage")},
        "resource": {"attributes": one.get("ResourceAttributes")},
        "scope": {"name": one.get("ScopeName")},
    }
