"""What spans are handed over in, told by its content: OTLP, Tempo, Jaeger, Phoenix, console dumps, bare attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from redrive_events import Json
from redrive_replays.traces.otel import otlp, plain_spans
from redrive_replays.traces.otel.rows import rows, spelled

Found = otlp.Found
_LOOKED_AT: Final = 8


class Container(NamedTuple):
    """One way to write spans down: its name, what is read in a person's words, the test, and the reading."""

    name: str
    reads: str
    detect: Callable[[Json], bool]
    read: Callable[[Json], Iterator[Found]]


def is_jaeger(value: Json) -> bool:
    """Whether this is an answer of Jaeger's API, or one trace of it."""
    return any(isinstance(one, dict) and "operationName" in one for trace in _traces(value) for one in _spans(trace))


def _traces(value: Json) -> Iterator[Mapping[str, Json]]:
    if isinstance(value, dict):
        value = next((value[name] for name in ("data", "traces", "result") if value.get(name) is not None), [value])
    data = value
    data = data if isinstance(data, list) else [data]
    yield from (trace for trace in data if isinstance(trace, dict))


def _spans(trace: Mapping[str, Json]) -> list[Json]:
    spans = trace.get("spans")
    return spans if isinstance(spans, list) else []


def read_jaeger(value: Json) -> Iterator[Found]:
    """The spans of each trace, with the service that each ran in."""
    for trace in _traces(value):
        processes = trace.get("processes")
        processes = processes if isinstance(processes, dict) else {}
        for span in _spans(trace):
            if isinstance(span, dict):
                yield plain_spans.jaeger_span(span, processes)
            else:
                yield "a span that is no object"


def _reader(read: Callable[[Mapping[str, Json]], Found]) -> Callable[[Json], Iterator[Found]]:
    def spans(value: Json) -> Iterator[Found]:
        for one in rows(value):
            yield read(spelled(one)) if isinstance(one, dict) else "a span that is no object"

    return spans


def _detector(test: Callable[[Mapping[str, Json]], bool]) -> Callable[[Json], bool]:
    def detect(value: Json) -> bool:
        return any(isinstance(one, dict) and test(spelled(one)) for one in islice(rows(value), _LOOKED_AT))

    return detect


CONTAINERS: Final = (
    Container("otlp", "OpenTelemetry OTLP (JSON, lines of it, protobuf; spans and logs)", otlp.detect, otlp.read),
    Container("tempo", "Grafana Tempo exports", otlp.detect_tempo, otlp.read),
    Container("jaeger", "Jaeger JSON", is_jaeger, read_jaeger),
    Container(
        "phoenix",
        "Phoenix (OpenInference) exports, attributes flat or nested",
        _detector(plain_spans.is_phoenix),
        _reader(plain_spans.phoenix_span),
    ),
    Container(
        "otel-console",
        "OpenTelemetry console dumps (Python, JavaScript, Go), spans and log records one by one, ClickHouse, Zipkin",
        _detector(plain_spans.is_console),
        _reader(plain_spans.console_span),
    ),
    Container(
        "span-attributes",
        "the attributes of one span (GenAI, OpenInference)",
        _detector(plain_spans.is_attributes),
        _reader(plain_spans.attributes_span),
    ),
)
