"""A run of a million events: appended, folded, verified, sent and read, each in a process that tells its memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Figure
from redrive_events import Batch, FactCommitted, Portable, Record, SqliteLog, checked, write_portable
from redrive_projections import fold

EVENTS = 1_000_000
APPEND = 100
AT = datetime(2026, 1, 1, tzinfo=UTC)


class Work(NamedTuple):
    """The log of a run of so many events, and the file in which it is sent."""

    log: SqliteLog
    events: int
    sent: Path


def figures(folder: Path) -> Iterator[Figure]:
    """Each against the same work on a tenth of it: time a unit, and in the note the memory of both."""
    for name in WORKS:
        (few_s, few_mb), (many_s, many_mb) = (
            _elsewhere(name, folder / f"{events}.db", events) for events in (EVENTS // 10, EVENTS)
        )
        each, limit = many_s / EVENTS, few_s / (EVENTS // 10)
        note = f"{many_mb:.0f} MB of memory, and {few_mb:.0f} MB for a tenth"
        yield Figure(f"{name}, {EVENTS:,} events", f"{EVENTS // 10:,} events", 1, each, limit, each / limit, note)


def _append(it: Work) -> None:
    batches = (Batch("run", _one_append(first), first - 1) for first in range(1, it.events + 1, APPEND))
    it.log.append_all(batches)


def _fold(it: Work) -> None:
    assert fold(it.log.read("run")).position == it.events


def _verify(it: Work) -> None:
    assert sum(1 for _ in checked("run", it.log.lines("run"), head=it.log.head("run"))) == it.events


def _export(it: Work) -> None:
    with it.sent.open("wb") as file:
        write_portable(it.log, ["run"], file, compressed=True)


def _import(it: Work) -> None:
    with closing(SqliteLog(it.sent.with_suffix(".db"))) as other:
        other.append_all(Portable(it.sent).batches())
        assert other.head("run") == it.log.head("run")


WORKS: dict[str, Callable[[Work], None]] = {
    "append": _append,
    "fold": _fold,
    "verify": _verify,
    "export": _export,
    "import": _import,
}


def _one_append(first: int) -> list[Record]:
    at = AT + timedelta(milliseconds=first)
    return [
        Record(
            run_id="run",
            position=first + n,
            at=at,
            cause=0,
            left=APPEND - 1 - n,
            event=FactCommitted(
                key=f"orders.{n}", value={"seen": first, "note": "left at the door"}, verifier="v", evidence=()
            ),
        )
        for n in range(APPEND)
    ]


def _elsewhere(work: str, path: Path, events: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.million", work, str(path), str(events)]
    seconds, megabytes = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return float(seconds), float(megabytes)


if __name__ == "__main__":
    _work, _path, _events = sys.argv[1:]
    _log = SqliteLog(_path)
    _began = time.perf_counter()
    WORKS[_work](Work(_log, int(_events), Path(_path).with_suffix(".jsonl.zst")))
    _log.close()
    print(json.dumps([time.perf_counter() - _began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
