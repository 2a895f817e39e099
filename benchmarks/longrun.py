"""A run of a million events, appended, folded, verified, sent, read back: `python -m benchmarks.longrun [EVENTS]`."""

from __future__ import annotations

import filecmp
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from redrive_events import (
    Batch,
    Event,
    LeaseGranted,
    Portable,
    Record,
    RunStarted,
    SignalsHeard,
    SqliteLog,
    Terms,
    damage_of,
    write_portable,
)
from redrive_projections import fold

RUN, BEGIN = "long", datetime(2026, 1, 1, tzinfo=UTC)
APPEND = 1_000


def batches(events: int) -> Iterator[Batch]:
    """A run that waits: what is said stays in the state of a run, so that here nothing is."""
    started = RunStarted(goal="Wait.", agent="waiting", nonce="n", contract=Terms(), rules=1)
    first: dict[int, Event] = {1: started, 2: LeaseGranted(worker="w", epoch=1)}
    for after in range(0, events, APPEND):
        places = range(after + 1, min(after + APPEND, events) + 1)
        yield Batch(RUN, [_placed(place, first.get(place) or SignalsHeard()) for place in places], after)


def _placed(position: int, event: Event) -> Record:
    at = BEGIN + timedelta(milliseconds=position)
    return Record(run_id=RUN, position=position, at=at, cause=0, left=0, event=event)


def told(what: str, events: int, work: Callable[[], object]) -> None:
    """Do it, and say how long it took and by how much the most memory that this process ever had has grown."""
    before, began = _peak_mb(), time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    print(f"{what:<8} {seconds:>8.1f} s  {1e6 * seconds / events:>6.1f} µs an event  {_peak_mb() - before:>+7.1f} MB")


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(events: int) -> None:
    """Print a line for each stage."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sent, again = folder / "long.jsonl.zst", folder / "again.jsonl.zst"
        with closing(SqliteLog(folder / "long.db")) as log, closing(SqliteLog(folder / "other.db")) as other:

            def send(source: SqliteLog, path: Path) -> None:
                with path.open("wb") as file:
                    write_portable(source, [RUN], file, compressed=True)

            told("append", events, lambda: log.append_all(batches(events)))
            told("fold", events, lambda: fold(log.read(RUN)))
            told("verify", events, lambda: damage_of(log, log.head(RUN)))
            told("export", events, lambda: send(log, sent))
            told("import", events, lambda: other.append_all(Portable(sent).batches()))
            told("again", events, lambda: send(other, again))
        kept_mb, sent_mb = ((folder / path).stat().st_size / 1e6 for path in ("long.db", sent.name))
        same = filecmp.cmp(sent, again, shallow=False)
        print(f"log {kept_mb:.0f} MB, sent {sent_mb:.0f} MB; the same bytes again: {same}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1_000_000)
