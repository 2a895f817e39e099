"""What it costs to load and fold a run, and to drive it again, against decoding its lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Figure, compared
from benchmarks.recorded import recorded
from redrive_events import SqliteLog, decode
from redrive_projections import fold
from redrive_replays import replay_records


def figures(folder: Path) -> Iterator[Figure]:
    """A run of about 100 events, and one of about 1,500."""
    for turns in (16, 220):
        agent, records = recorded(turns)
        log = SqliteLog(folder / f"replay-{turns}.db")
        run_id, program, count = records[0].run_id, agent.program, len(records)
        log.append(run_id, records, expected=0)
        lines = [stored.line for stored in log.lines(run_id)]

        def load(log: SqliteLog = log, run_id: str = run_id) -> object:
            return fold(log.read(run_id))

        def replay(run_id: str = run_id, lines: list[bytes] = lines) -> object:
            return replay_records(run_id, map(decode, lines), program)  # noqa: B023 - used within its turn

        def decoding(lines: list[bytes] = lines) -> object:
            return [decode(line) for line in lines]

        for name, work in (("load + fold", load), ("strict replay", replay)):
            yield compared(f"{name}, {count} events", work, "decode alone", decoding, units=count, computing=True)
        log.close()
