"""Whether a run shows something: by an expression in SQL over it, or by a test that fails on it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import IO

from msgspec.structs import replace

from redrive_events import BadInput, MemoryLog, Record, write_portable

# In this variable a test finds the recording that it is to look at.
RECORDING = "REDRIVE_RECORDING"
# What pytest says of tests that failed, and of tests that all passed.
FAILED, PASSED = 1, 0


def showing(what: str) -> Callable[[Sequence[Record]], bool]:
    """A function that says whether a run shows ``what``: ``FILE::TEST`` fails, or an expression over ``runs`` holds."""
    return _fails(what) if "::" in what else _holds(what)


def _holds(expression: str) -> Callable[[Sequence[Record]], bool]:
    from redrive_projections.history import history

    log, numbers = MemoryLog(), count(1)
    notebook = history(log)  # one for all candidates: each joins it as one run more

    def holds(records: Sequence[Record]) -> bool:
        run_id = f"candidate-{next(numbers)}"
        log.append(run_id, [replace(record, run_id=run_id) for record in records], expected=0)
        query = f"SELECT coalesce(({expression})::BOOLEAN, false) FROM runs WHERE run_id = $1"
        (row,) = notebook.sql(query, [run_id]).fetchall()
        return bool(row[0])

    return holds


def _fails(node: str) -> Callable[[Sequence[Record]], bool]:
    def fails(records: Sequence[Record]) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "candidate.jsonl"
            with file.open("wb") as stream:
                written(records, stream)
            command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", node]
            done = subprocess.run(command, env={**os.environ, RECORDING: str(file)}, capture_output=True, check=False)
        if done.returncode not in {FAILED, PASSED}:
            lines = done.stdout.decode(errors="replace").strip().splitlines() or [""]
            raise BadInput(f"the test could not be run: {lines[-1]}", place=node)
        return done.returncode == FAILED

    return fails


def written(records: Sequence[Record], stream: IO[bytes]) -> None:
    """Write the records of one run as a portable recording."""
    log, run_id = MemoryLog(), records[0].run_id
    log.append(run_id, records, expected=0)
    write_portable(log, [run_id], stream)
