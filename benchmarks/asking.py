"""A history of many events, built, asked and brought up to date: `python -m benchmarks.asking EVENTS TIMES`."""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import duckdb

from benchmarks.histories import fill, more
from benchmarks.measure import Figure, compared
from benchmarks.multiplied import multiplied
from redrive_events import EventLog, SqliteLog, StoredLine, examined
from redrive_projections import RunState, evolve
from redrive_projections.history import History, beside, rebuild
from redrive_projections.history.rows import Rendering
from redrive_projections.history.segments import segments

EVENTS: Final = 1_000_000
TIMES: Final = 10
STAGED_RUNS: Final = 1_000
NEW_EVENTS: Final = 100


class Question(NamedTuple):
    """A query, and the table and columns that it has to look at."""

    name: str
    query: str
    table: str
    columns: str


QUESTIONS: Final = (
    Question("status counts", "SELECT status, count(*) FROM runs GROUP BY status", "runs", "status"),
    Question("p95 of steps", "SELECT avg(steps), quantile_disc(steps, 0.95) FROM runs", "runs", "steps"),
    Question(
        "tool error rate",
        "SELECT tool, avg((status = 'error')::INT) FROM steps WHERE attempts > 0 GROUP BY tool",
        "steps",
        "tool, status, attempts",
    ),
    Question("repeated-action rate", "SELECT avg(repeat::INT) FROM steps", "steps", "repeat"),
    Question(
        "decision, verdict, observation",
        "SELECT decision, verdict, rule, status, verified, count(*) FROM steps GROUP BY ALL",
        "steps",
        "decision, verdict, rule, status, verified",
    ),
    Question(
        "one run",
        "SELECT step, tool, arguments, verdict, status FROM steps"
        " WHERE run_id = (SELECT run_id FROM runs WHERE run = 77) ORDER BY position",
        "steps",
        "run_id",
    ),
)


def figures(folder: Path, events: int = EVENTS, times: int = TIMES) -> Iterator[Figure | str]:
    """Building, then the questions and new events over all of it and over ``times`` as much."""
    path, many = folder / f"asking-{events}.db", folder / f"asking-{events}-{times}.db"
    with closing(SqliteLog(path, durability="os")) as log:
        runs, written = fill(log, events)
        yield from _stages(log)
        yield _built(log, path, written)
        yield f"{runs:,} runs; the log has {path.stat().st_size / 1e6:,.0f} MB, its history {_size(path):,.0f} MB"
        yield from _questions(log, path, written)
    if times > 1:
        with closing(multiplied(path, times, many)) as log:
            yield from _questions(log, many, written * times)


def _questions(log: EventLog, path: Path, events: int) -> Iterator[Figure | str]:
    began = time.perf_counter()
    with History(log, path) as history, duckdb.connect() as bare:
        yield f"opened with {events:,} events: {1e3 * (time.perf_counter() - began):,.0f} ms"
        bare.execute(f"ATTACH '{segments(beside(path))[0].file}' AS kept (READ_ONLY)")
        for one in QUESTIONS:
            yield _asked(one, history.db, bare, events)
        yield _fresh(log, history)


def _asked(one: Question, db: duckdb.DuckDBPyConnection, bare: duckdb.DuckDBPyConnection, events: int) -> Figure:
    """A question beside what no query over these columns can do without."""
    columns = one.columns.split(", ")
    scan = f"SELECT {', '.join(f'max({column})' for column in columns)} FROM kept.{one.table}"
    return compared(
        f"{one.name}, {events:,} events",
        lambda: db.execute(one.query).fetchall(),
        f"scan of {len(columns)} columns",
        lambda: bare.execute(scan).fetchall(),
    )


def _stages(log: EventLog) -> Iterator[str]:
    """What each stage of a build takes, in CPU time of this process alone."""
    names = [head.run_id for head in log.runs() if "@" not in head.run_id][:STAGED_RUNS]
    began, stages = time.process_time(), list[tuple[str, float]]()

    def done(name: str) -> None:
        nonlocal began
        stages.append((name, time.process_time() - began))
        began = time.process_time()

    lines = {name: list(log.lines(name)) for name in names}
    done("read the lines")
    records = {name: [record for _, record in examined(name, lines[name])] for name in names}
    done("check the chain and decode")
    for name in names:
        state = RunState()
        for record in records[name]:
            evolve(state, record)
    done("fold the state")
    count = sum(map(len, lines.values()))
    for number, name in enumerate(names):
        for _, rows in Rendering(number, name).further(partial(_lines, lines[name]), partial(_lines, ())):
            list(rows)
    done("check, decode, fold and make rows")
    for name, seconds in stages:
        yield f"stage of building: {name:<36} {1e6 * seconds / count:>8.2f} µs an event"


def _lines(lines: Sequence[StoredLine], after: int) -> Sequence[StoredLine]:
    return lines[after:]


def _built(log: EventLog, path: Path, events: int) -> str:
    began, worked = time.perf_counter(), time.process_time()
    rebuild(log, path)
    took, worked = time.perf_counter() - began, time.process_time() - worked
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"built from {events:,} events: {events / took:,.0f} a second, {events / worked:,.0f} for a second of CPU "
        f"({1e6 * worked / events:.1f} µs each); at most {memory:,.0f} MB of memory"
    )


def _fresh(log: EventLog, history: History) -> str:
    took: list[float] = []
    for seed in range(15):
        more(log, NEW_EVENTS, seed=seed)
        began = time.perf_counter()
        history.refresh()
        history.db.execute(QUESTIONS[0].query).fetchall()
        took.append(1e3 * (time.perf_counter() - began))
    return f"{NEW_EVENTS} new events visible: median {statistics.median(took):.0f} ms, at most {max(took):.0f} ms"


def _size(path: Path) -> float:
    return sum(file.stat().st_size for file in beside(path).iterdir()) / 1e6


def main(arguments: Sequence[str]) -> None:
    """Print the figures for so many events, and for so many times as many."""
    with tempfile.TemporaryDirectory() as name:
        for figure in figures(Path(name), *map(int, arguments)):
            print(figure, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
