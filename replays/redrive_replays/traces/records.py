"""A trace as records: the run that the engine derives from its inputs, and the remarks beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate
from typing import Final

from redrive_engine import RULES, Happened, Program
from redrive_events import INPUTS, NOTES, AnnotationMade, Lineage, Record, RunStarted, Source
from redrive_replays.script import written_down
from redrive_replays.traces.trace import Trace

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def run_id_of(format: str, sha256: str, entry: int | None) -> str:  # noqa: A002 - it is called so everywhere
    """The id of an imported run: the same file gives the same ids; ``entry`` is None in a file of one run."""
    return f"{format}-{sha256[:10]}" + ("" if entry is None else f"-{entry:03d}")


def records_of(
    trace: Trace,
    run_id: str,
    *,
    format: str,  # noqa: A002
    sha256: str,
    parent: Lineage | None = None,
) -> tuple[list[Record], list[Record]]:
    """The records of the run, and those of its notes."""
    source = Source(
        format=format,
        sha256=sha256,
        entry=trace.entry,
        grade=trace.grade,
        missing=tuple(what if times == 1 else f"{what}: {times}" for what, times in trace.missing.items()),
    )
    program = Program(trace.agent or format, "", trace.terms, prompt=tuple(trace.prompt), told=trace.told)
    started = RunStarted(
        goal=trace.goal,
        agent=trace.agent or format,
        nonce=f"{sha256[:32]}-{trace.entry}",
        contract=trace.terms,
        rules=RULES,
        parts=program.parts,
        clock=trace.clock,
        labels=trace.labels,
        parent=parent,
        source=source,
    )
    times = accumulate((trace.began or next(filter(None, trace.times), EPOCH), *trace.times), _later)
    happened = map(Happened, (started, *trace.inputs), times)
    records = written_down(program, run_id, happened)
    return records, list(_notes(trace, run_id + NOTES, records, format))


def _later(before: datetime, at: datetime | None) -> datetime:
    """What has no time happened when the thing before it did; a clock that went back is held."""
    return before if at is None else max(before, at)


def _notes(trace: Trace, stream: str, records: list[Record], source: str) -> Iterator[Record]:
    inputs = [record.position for record in records if type(record.event) in INPUTS]
    for position, remark in enumerate(trace.remarks, start=1):
        about = None if remark.input is None else inputs[remark.input]
        event = AnnotationMade(name=remark.name, value=remark.value, source=source, position=about)
        yield Record(run_id=stream, position=position, at=records[0].at, cause=0, left=0, event=event)
