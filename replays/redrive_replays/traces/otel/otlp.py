"""OTLP as JSON, spelled by any of its writers, and Grafana Tempo's: resources, scopes, spans and log records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from redrive_events import Json
from redrive_replays.traces.otel import names
from redrive_replays.traces.otel.spans import Noted, Span
from redrive_replays.traces.otel.values import Time, attributes_of, flattened, id_of, plain, time_of

NANOS: Final = 1_000_000_000
_SPANS: Final = ("resourceSpans", "resource_spans")
_TEMPO: Final = ("batches",)
_LOGS: Final = ("resourceLogs", "resource_logs")
_SCOPES: Final = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
_FAILED: Final = {2, "2", "STATUS_CODE_ERROR", "ERROR", "Error"}


class Record(Span):
    """A log record, which belongs to the span whose ids it has."""


# A span, a log record, or what is wrong with what stands there.
Found: TypeAlias = Span | str


def detect(value: Json) -> bool:
    """Whether this is a request of spans or log records, or a list of these."""
    return any(_get(one, *_SPANS, *_LOGS) is not None for one in _requests(value))


def detect_tempo(value: Json) -> bool:
    """Whether this is what Tempo's API answers."""
    return any(isinstance(_get(one, *_TEMPO), list) for one in _requests(value))


def _requests(value: Json) -> list[Mapping[str, Json]]:
    for name in ("result", "trace"):
        if isinstance(value, dict) and isinstance(value.get(name), dict):
            value = value[name]
    values = value if isinstance(value, list) else [value]
    found = [one for one in values if isinstance(one, dict)]
    # Java's console prints what belongs to a resource, a line each.
    return [{_SPANS[0]: [one]} if _get(one, *_SCOPES) is not None else one for one in found]


def _get(value: Mapping[str, Json], *names: str) -> Json:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _dicts(value: Json) -> Iterator[Mapping[str, Json] | None]:
    for one in value if isinstance(value, list) else ():
        yield one if isinstance(one, dict) else None


def read(value: Json) -> Iterator[Found]:
    """All spans and log records, in the order of the file."""
    for request in _requests(value):
        for name in (*_SPANS, *_TEMPO, *_LOGS):
            for group in _dicts(request.get(name)):
                if group is None:
                    yield "a resource that is no object"
                else:
                    yield from _of_resource(group)


def _of_resource(group: Mapping[str, Json]) -> Iterator[Found]:
    resource = group.get("resource")
    attributes = attributes_of(resource.get("attributes")) if isinstance(resource, dict) else {}
    for name in _SCOPES:
        for scope in _dicts(group.get(name)):
            if scope is None:
                yield "a scope that is no object"
                continue
            named = _get(scope, "scope", "instrumentationLibrary")
            label = named.get("name") if isinstance(named, dict) else ""
            label = label if isinstance(label, str) else ""
            for one in _dicts(scope.get("spans")):
                yield span_of(one, label, attributes) if one is not None else "a span that is no object"
            for one in _dicts(_get(scope, "logRecords", "log_records")):
                yield record_of(one, label) if one is not None else "a log record that is no object"


def moments(*times: Time | None) -> tuple[bool, list[datetime | None]]:
    """Whether all of the times that there are have a zone, and the times."""
    return all(one.known for one in times if one), [one.at if one else None for one in times]


def span_of(one: Mapping[str, Json], scope: str, resource: Mapping[str, Json]) -> Span:
    """A span as OTLP writes it, with camel or snake case names."""
    zoned, (start, end) = moments(
        time_of(_get(one, "startTimeUnixNano", "start_time_unix_nano"), NANOS),
        time_of(_get(one, "endTimeUnixNano", "end_time_unix_nano"), NANOS),
    )
    name = one.get("name")
    events = one.get("events")
    dropped = _get(one, "droppedAttributesCount", "dropped_attributes_count")
    return Span(
        seq=0,
        name=name if isinstance(name, str) else "",
        trace=id_of(_get(one, "traceId", "trace_id")),
        id=id_of(_get(one, "spanId", "span_id")),
        parent=id_of(_get(one, "parentSpanId", "parent_span_id")),
        scope=scope,
        start=start,
        end=end,
        zoned=zoned,
        attributes=flattened(attributes_of(one.get("attributes"))),
        events=[event_of(event) for event in _dicts(events) if event is not None],
        error=error_of(one.get("status")),
        dropped=dropped if isinstance(dropped, int) else 0,
        resource=resource,
    )


def error_of(status: Json) -> str | None:
    """Why a span failed; None if it did not."""
    if not isinstance(status, dict):
        return None
    code = _get(status, "code", "status_code", "statusCode")
    if not isinstance(code, int | str) or code not in _FAILED:
        return None
    message = _get(status, "message", "description")
    return message if isinstance(message, str) else ""


def event_of(event: Mapping[str, Json]) -> Noted:
    """An event of a span, whoever wrote it."""
    name = event.get("name")
    nanos = time_of(_get(event, "timeUnixNano", "time_unix_nano"), NANOS)
    when = nanos or time_of(_get(event, "time", "timestamp"))
    return Noted(
        name if isinstance(name, str) else "",
        attributes_of(event.get("attributes")),
        plain(event.get("body")),
        when.at if when else None,
    )


def record_of(one: Mapping[str, Json], scope: str) -> Record:
    """A log record as OTLP writes it; one that holds all messages of a request says so by its name."""
    attributes = attributes_of(one.get("attributes"))
    name = _get(one, "eventName", "event_name") or attributes.get("event.name")
    when = time_of(_get(one, "timeUnixNano", "time_unix_nano"), NANOS) or time_of(
        _get(one, "observedTimeUnixNano", "observed_time_unix_nano"), NANOS
    )
    at = when.at if when else None
    name = name if isinstance(name, str) else ""
    body = plain(one.get("body"))
    if isinstance(body, dict) and (whole := _messages_in(body)):
        name, attributes = names.DETAILS, {**attributes, **whole}
    record = Record(
        seq=0,
        name=name,
        trace=id_of(_get(one, "traceId", "trace_id")),
        id=id_of(_get(one, "spanId", "span_id")),
        scope=scope,
        start=at,
    )
    record.events.append(Noted(name, attributes, body, at))
    return record


def _messages_in(body: Mapping[str, Json]) -> dict[str, Json]:
    """The messages of request and reply in a body of both, as AWS collects them."""
    found: dict[str, Json] = {}
    for side, name in (("input", names.INPUT), ("output", names.OUTPUT)):
        inner = body.get(side)
        if isinstance(inner, dict) and isinstance(inner.get("messages"), list):
            found[name] = inner["messages"]
    return found
