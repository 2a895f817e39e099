"""Files of spans into runs: every entry by the container it is in, logs joined with their spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from redrive_events import Json
from redrive_replays.traces.material import Diagnostic, Material, NoTrace
from redrive_replays.traces.otel import names
from redrive_replays.traces.otel.containers import CONTAINERS, Container
from redrive_replays.traces.otel.otlp import Record
from redrive_replays.traces.otel.plain_spans import is_console
from redrive_replays.traces.otel.rows import spelled
from redrive_replays.traces.otel.runs import Runs
from redrive_replays.traces.otel.spans import Span
from redrive_replays.traces.trace import Trace

EVAL_SET: Final = "ADK evaluation sets (refused: what is expected of an agent, not what one did)"
LOST: Final = "spans (a line could not be read)"
_LOOKED_AT: Final = 8
_MESSAGES: Final = {*names.EVENT_ROLES, names.CHOICE}


class Row(NamedTuple):
    """A container as a row of the table of importers."""

    name: str
    reads: str
    detect: Callable[[Material], bool]
    read: Callable[[Material], Iterator[Trace]]


def importers() -> tuple[Row, ...]:
    """A row for each container; each reads the others' entries in the same file too."""
    return tuple(Row(one.name, one.reads, _detector(one), read) for one in CONTAINERS)


def _detector(container: Container) -> Callable[[Material], bool]:
    def detect(material: Material) -> bool:
        return any(container.detect(entry.value) for entry in material.entries[:_LOOKED_AT])

    return detect


def read(material: Material) -> Iterator[Trace]:
    """The runs of a file.

    Raises:
        BadInput: its spans are none of a model, an agent or a tool.
    """
    spans = _with_records(list(_spans(material)))
    runs = Runs(spans)
    if runs.tree.repeated:
        material.diagnostics.append(Diagnostic(f"{runs.tree.repeated} spans with the id of another: the last counts"))
    traces = runs.traces()
    if not traces and not material.diagnostics:
        kinds = ", ".join(f"{name} ({count})" for name, count in Counter(one.name for one in spans).most_common(3))
        told = f": {kinds}" if kinds else ""
        raise NoTrace(f"{len(spans)} spans, none of a model that was asked, nor of a tool{told}", place=material.name)
    for trace in traces:
        if material.lost:
            trace.grade = "view-only"
            trace.missing[LOST] = material.lost
    yield from traces


def traces_of_records(material: Material) -> set[str]:
    """The traces of a file of log records; none of one that has spans too."""
    found = list(_spans(material))
    records = {one.trace for one in found if isinstance(one, Record) and one.trace}
    return records if all(isinstance(one, Record) for one in found) else set()


def is_printed(value: Json) -> bool:
    """Whether this is a span, or a log record, as an SDK prints it."""
    return isinstance(value, dict) and is_console(spelled(value))


def holds_spans(material: Material) -> bool:
    """Whether there is a span in the file."""
    return any(not isinstance(one, Record) for one in _spans(material))


def _spans(material: Material) -> Iterator[Span]:
    count = 0
    wrong: Counter[str] = Counter()
    for entry in material.entries:
        container = next((one for one in CONTAINERS if one.detect(entry.value)), None)
        if container is None:
            material.diagnostics.append(Diagnostic("no span, left out", entry.line, entry.offset))
            continue
        for found in container.read(entry.value):
            if isinstance(found, str):
                wrong[found] += 1
                continue
            found.seq = count
            count += 1
            yield found
    material.diagnostics += (Diagnostic(f"{what}, left out ({times})") for what, times in wrong.items())


def _with_records(spans: list[Span]) -> list[Span]:
    """Log records as events of their spans; those of a span that is not there are one by themselves."""
    found = [span for span in spans if not isinstance(span, Record)]
    by_id = {(span.trace, span.id): span for span in found if span.id}
    told = {key for key, span in by_id.items() if any(event.name in _MESSAGES for event in span.events)}
    for record in spans:
        if not isinstance(record, Record) or not record.name.startswith("gen_ai."):
            continue
        key = (record.trace, record.id)
        if key in told and record.name in _MESSAGES:
            # Some write each message twice: into the span, and into the log.
            continue
        span = by_id.get(key)
        if span is None:
            span = Span(record.seq, "log records", record.trace, record.id, scope=record.scope, start=record.start)
            by_id[key] = span
            found.append(span)
        span.events += record.events
        if span.name == "log records":
            span.end = record.start
    for span in found:
        if len(times := [one.at for one in span.events if one.at]) == len(span.events):
            order = sorted(range(len(times)), key=times.__getitem__)
            span.events = [span.events[place] for place in order]
    return found


def detect_eval_set(material: Material) -> bool:
    """Whether this is a set of cases to evaluate an agent with."""
    value: Json = material.entries[0].value
    return isinstance(value, dict) and isinstance(value.get("eval_cases"), list) and "eval_set_id" in value


def refuse_eval_set(material: Material) -> Iterator[Trace]:
    """What is expected is no recording.

    Raises:
        NoTrace: always.
    """
    raise NoTrace("an ADK evaluation set: what is expected of an agent, not what one did", place=material.name)
