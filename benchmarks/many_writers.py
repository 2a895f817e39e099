"""What many writers come to: eight runs of one process, and eight processes, each against one."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import Figure, compared
from redrive_events import FactCommitted, Record, SqliteLog

WRITERS = 8
APPENDS = 20
AT = datetime(2026, 1, 1, tzinfo=UTC)
PROCESS = """
import sys, time
from benchmarks.many_writers import placed
from redrive_events import SqliteLog
log, name, count = SqliteLog(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print(flush=True)
sys.stdin.readline()
for position in range(1, count + 1):
    one = [placed(name, position)]
    began = time.perf_counter()
    log.append(name, one, expected=position - 1)
    print(time.perf_counter() - began)
"""


def figures(folder: Path) -> Iterator[Figure]:
    """Each append is one event, durable; a unit is one append."""
    log = SqliteLog(folder / "many.db")
    made = iter(range(1_000_000))

    def write(name: str, count: int) -> None:
        for position in range(1, count + 1):
            log.append(name, [placed(name, position)], expected=position - 1)

    pool = ThreadPoolExecutor(WRITERS)  # its threads are begun once, as those of a server

    def together() -> None:
        list(pool.map(lambda name: write(name, APPENDS), [f"run-{next(made)}" for _ in range(WRITERS)]))

    def alone() -> None:
        write(f"run-{next(made)}", WRITERS * APPENDS)

    units = WRITERS * APPENDS
    found = compared(f"{WRITERS} runs of one process", together, "one run", alone, units=units, rounds=9)
    yield replace(found, note=f"{1 / found.ratio:.1f} x as many in the same time")
    pool.shutdown()
    log.close()
    waits = _waits(folder / "processes.db", WRITERS), _waits(folder / "process.db", 1)
    many, one = (sorted(each) for each in waits)
    yield Figure(
        name=f"one of {WRITERS} processes, each append",
        limit="one process",
        units=1,
        subject_s=statistics.median(many),
        limit_s=statistics.median(one),
        ratio=statistics.median(many) / statistics.median(one),
        note=f"99 % within {1e3 * many[len(many) * 99 // 100]:.0f} ms, all within {1e3 * many[-1]:.0f} ms",
    )


def placed(run_id: str, position: int) -> Record:
    """A record of usual size at its place."""
    fact = FactCommitted(
        key="note", value="left at the door, as the customer had asked " * 6, verifier="v", evidence=()
    )
    return Record(run_id=run_id, position=position, at=AT, cause=0, left=0, event=fact)


def _waits(path: Path, count: int) -> list[float]:
    """Seconds that each append took, of so many processes that do nothing else."""
    SqliteLog(path).close()
    command = [sys.executable, "-c", PROCESS, str(path)]
    writers = [
        subprocess.Popen([*command, f"run-{n}", "100"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for n in range(count)
    ]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    return [float(line) for writer in writers for line in writer.communicate()[0].split()]
