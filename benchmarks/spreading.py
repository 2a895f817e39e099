"""Replay of a whole log from the command line: on all cores, against one core."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

import redrive as rd
from benchmarks.measure import Figure, Work, compared, one_core
from benchmarks.recorded import clerk

RUNS = 1_000
TURNS = 80
agent = clerk(TURNS)


def figures(folder: Path) -> Iterator[Figure]:
    """A unit is one run; with two cores, 0.5 would be all that there is to gain, and each process has to begin."""
    path = folder / "spread.db"
    log, records = rd.SqliteLog(path), agent.run("Look the orders up.", log=rd.MemoryLog()).records()
    for number in range(RUNS):
        run_id = f"run-{number}"
        log.append(run_id, [replace(one, run_id=run_id) for one in records], expected=0)
    log.close()
    everywhere = _replaying(path)

    def alone() -> None:
        with one_core():
            everywhere()

    name = f"replay --all, {RUNS} runs of {len(records)} events"
    yield compared(name, everywhere, "on one core", alone, units=RUNS, rounds=2)


def _replaying(path: Path) -> Work:
    command = [sys.executable, "-m", "redrive", "replay", "--all", "--agent", f"{__name__}:agent", "--log", str(path)]

    def replay() -> None:
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert said.endswith(f"{RUNS:,} runs: {RUNS} same\n"), said[-200:]

    return replay
