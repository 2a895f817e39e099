"""Spans whose attributes are plain: Jaeger's, console dumps, JavaScript's own, Phoenix's, and attributes alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from redrive_events import Json
from redrive_replays.traces.otel.otlp import NANOS, error_of, event_of, moments, record_of
from redrive_replays.traces.otel.spans import Noted, Span
from redrive_replays.traces.otel.values import attributes_of, flattened, id_of, parsed, time_of

_MICROS: Final = 1_000_000
_TELLING: Final = ("gen_ai.", "llm.", "ai.", "openinference.", "traceloop.", "gcp.vertex.agent.")
# What OpenTelemetry calls who made a span: its name of today, then the one of before.
_SCOPES: Final = ("scope", "library")


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def jaeger_span(one: Mapping[str, Json], processes: Mapping[str, Json]) -> Span:
    """A span of Jaeger: times in microseconds, its parent a reference, its status a tag."""
    attributes = attributes_of(one.get("tags"))
    attributes = {key: _array(value) for key, value in attributes.items()}
    process = _map(processes.get(_text(one.get("processID")))) or _map(one.get("process"))
    parents = [_map(each) for each in _list(one.get("references"))]
    parent = next((each for each in parents if each.get("refType") == "CHILD_OF"), parents[0] if parents else {})
    start, length = one.get("startTime"), one.get("duration")
    whole = [each for each in (start, length) if isinstance(each, int | float)]
    zoned, (begun, ended) = moments(time_of(start, _MICROS), time_of(sum(whole), _MICROS) if len(whole) == 2 else None)
    failed = attributes.get("otel.status_code") == "ERROR" or attributes.get("error") in (True, "true")
    dropped = attributes.get("otel.dropped_attributes_count")
    return Span(
        seq=0,
        name=_text(one.get("operationName")),
        trace=id_of(one.get("traceID")),
        id=id_of(one.get("spanID")),
        parent=id_of(parent.get("spanID") or one.get("parentSpanID")),
        scope=next(filter(None, (_text(attributes.get(f"otel.{kind}.name")) for kind in _SCOPES)), ""),
        start=begun,
        end=ended,
        zoned=zoned,
        attributes=attributes,
        events=[_log(_map(each)) for each in _list(one.get("logs"))],
        error=_text(attributes.get("otel.status_description")) if failed else None,
        dropped=dropped if isinstance(dropped, int) else 0,
        resource={"service.name": _text(process.get("serviceName")), **attributes_of(process.get("tags"))},
    )


def _array(value: Json) -> Json:
    """Jaeger has no lists: they are JSON text. A list of texts is one again, any other JSON stays text."""
    if isinstance(value, str) and value.startswith("[") and len(value) < 1000:
        read = parsed(value)
        return read if isinstance(read, list) and all(isinstance(each, str) for each in read) else value
    return value


def _log(one: Mapping[str, Json]) -> Noted:
    fields = attributes_of(one.get("fields"))
    when = time_of(one.get("timestamp"), _MICROS)
    return Noted(_text(fields.get("event") or fields.get("name")), fields, None, when.at if when else None)


def is_console(one: Mapping[str, Json]) -> bool:
    """Whether this is a span as an SDK prints it: Python's has a context, JavaScript's its ids or a span context."""
    if is_record(one):
        return True
    if "attributes" not in one or not isinstance(one.get("name", one.get("span_name")), str):
        return False
    context = one.get("context") or one.get("spanContext") or one.get("_spanContext")
    if isinstance(context, dict):
        return bool(context.keys() & {"trace_id", "traceId", "span_id", "spanId"})
    return ("traceId" in one or "trace_id" in one) and bool(
        one.keys() & {"timestamp", "startTime", "start_time", "start_timestamp", "id", "spanId", "span_id"}
    )


def is_record(one: Mapping[str, Json]) -> bool:
    """Whether this is a log record by itself, of a span that it names."""
    return "body" in one and "name" not in one and bool(one.get("traceId")) and bool(one.get("spanId"))


def console_span(one: Mapping[str, Json]) -> Span:
    """A span as an SDK prints or holds it, or a log record by itself."""
    if is_record(one):
        return record_of(one, _text(_map(one.get("scope")).get("name")))
    context = _map(one.get("context") or one.get("spanContext") or one.get("_spanContext"))
    begun = _first(one, "start_time", "startTime", "start_timestamp")
    ended = _first(one, "end_time", "endTime", "end_timestamp")
    if begun is None and "timestamp" in one:
        begun = one.get("timestamp")
        length = one.get("duration")
        ended = begun + length if isinstance(begun, int | float) and isinstance(length, int | float) else None
    if begun is None:
        nanos = (_first(one, f"{name}TimeUnixNano", f"{name}_time_unix_nano") for name in ("start", "end"))
        zoned, (start, end) = moments(*(time_of(each, NANOS) for each in nanos))
    else:
        zoned, (start, end) = moments(time_of(begun), time_of(ended))
    above = _map(one.get("parentSpanContext") or one.get("parent"))
    parent = _span_id(above) or _first(one, "parent_id", "parentId", "parentSpanId", "parent_span_id")
    scope = _map(one.get("instrumentationScope") or one.get("instrumentationLibrary") or one.get("scope"))
    status = one.get("status", one.get("otel_status_code"))
    resource = _map(one.get("resource"))
    dropped = one.get("droppedAttributesCount")
    return Span(
        seq=0,
        name=_text(one.get("name") or one.get("span_name")),
        trace=id_of(context.get("trace_id") or context.get("traceId") or one.get("traceId") or one.get("trace_id")),
        id=id_of(_span_id(context) or _span_id(one) or one.get("id")),
        parent=id_of(parent),
        scope=_text(scope.get("name") or one.get("otel_scope_name")),
        start=start,
        end=end,
        zoned=zoned,
        attributes=flattened(attributes_of(parsed(one.get("attributes")))),
        events=[event_of(_map(each)) for each in _list(one.get("events") or one.get("otel_events"))],
        error=error_of(status if isinstance(status, dict) else {"code": status}),
        dropped=dropped if isinstance(dropped, int) else 0,
        resource=attributes_of(resource.get("attributes")),
    )


def _first(one: Mapping[str, Json], *names: str) -> Json:
    return next((one[name] for name in names if one.get(name) is not None), None)


def _span_id(one: Mapping[str, Json]) -> Json:
    return one.get("span_id") or one.get("spanId")


def is_phoenix(one: Mapping[str, Json]) -> bool:
    """Whether this is a span of Phoenix, or a row of its table of spans."""
    return isinstance(one.get("name"), str) and (
        ("span_kind" in one and ("attributes" in one or "context" in one))
        or "context.trace_id" in one
        or "context.span_id" in one
    )


def phoenix_span(one: Mapping[str, Json]) -> Span:
    """A span of Phoenix: the kind stands beside the attributes, which may be nested or columns of a table."""
    columns = {key: value for key, value in one.items() if key.startswith("attributes.") and value is not None}
    attributes = flattened({**attributes_of(parsed(one.get("attributes"))), **columns})
    context = _map(one.get("context"))
    zoned, (start, end) = moments(time_of(one.get("start_time")), time_of(one.get("end_time")))
    if _text(one.get("span_kind")):
        attributes.setdefault("openinference.span.kind", one["span_kind"])
    events = parsed(one.get("events"))
    return Span(
        seq=0,
        name=_text(one.get("name")),
        trace=id_of(context.get("trace_id") or one.get("context.trace_id") or one.get("trace_id")),
        id=id_of(context.get("span_id") or one.get("context.span_id") or one.get("span_id")),
        parent=id_of(one.get("parent_id")),
        scope="phoenix",
        start=start,
        end=end,
        zoned=zoned,
        attributes=attributes,
        events=[event_of(_map(each)) for each in _list(events)],
        error=error_of({"code": one.get("status_code"), "message": one.get("status_message")}),
    )


def is_attributes(one: Mapping[str, Json]) -> bool:
    """Whether this is the attributes of a span, without the span."""
    return sum(key.startswith(_TELLING) for key in one) >= 2


def attributes_span(one: Mapping[str, Json]) -> Span:
    """A span of which only the attributes are there."""
    return Span(seq=0, name=_text(one.get("gen_ai.operation.name")), attributes=flattened(attributes_of(one)))
