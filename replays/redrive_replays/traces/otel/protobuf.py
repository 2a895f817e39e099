"""OTLP as protobuf: one request, or requests each behind its length, as the JSON that the same request is."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from redrive_events import Json

# The first byte of a request (its first field is a message), and of what may stand in that message.
_REQUEST: Final = 0x0A
_RESOURCE: Final = b"\x0a\x12\x1a"
_KINDS: Final = (
    ("opentelemetry.proto.collector.trace.v1.trace_service_pb2", "ExportTraceServiceRequest", "resourceSpans"),
    ("opentelemetry.proto.collector.logs.v1.logs_service_pb2", "ExportLogsServiceRequest", "resourceLogs"),
)


def requests_of(data: bytes) -> tuple[list[Json], int] | None:
    """The requests in ``data``, and how many bytes behind the last could not be read; None if this is no OTLP."""
    if _is_request(data):
        read = _decoded(data)
        return ([read], 0) if read is not None else None
    found: list[Json] = []
    end = 0
    for start, stop in _framed(data):
        read = _decoded(data[start:stop]) if _is_request(data[start:stop]) else None
        if read is None:
            break
        found.append(read)
        end = stop
    return (found, len(data) - end) if found else None


def _is_request(data: bytes) -> bool:
    """Whether ``data`` is nothing but messages in field 1, whose content could be a resource's."""
    at = 0
    while at < len(data):
        if data[at] != _REQUEST:
            return False
        length, start = _varint(data, at + 1)
        at = start + length
        if not length or at > len(data) or data[start] not in _RESOURCE:
            return False
    return bool(data)


def _framed(data: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(data):
        length, start = _varint(data, at)
        at = start + length
        if not length or at > len(data):
            return
        yield start, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends; 0 where there is none."""
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    return 0, at


def _decoded(data: bytes) -> Json:
    """A request of spans, or of log records: what was not written as the one is read as the other."""
    json_format: Any = import_module("google.protobuf.json_format")
    message: Any = import_module("google.protobuf.message")
    for module, kind, name in _KINDS:
        try:
            request = getattr(import_module(module), kind).FromString(data)
            value = json_format.MessageToDict(request)
        except (message.DecodeError, ValueError):
            continue
        if _has_ids(value.get(name)):
            return value
    return None


def _has_ids(resources: Json) -> bool:
    return any(
        "traceId" in one or "timeUnixNano" in one or "observedTimeUnixNano" in one
        for resource in resources or ()
        for scope in resource.get("scopeSpans") or resource.get("scopeLogs") or ()
        for one in scope.get("spans") or scope.get("logRecords") or ()
    )
