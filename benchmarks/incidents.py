"""What it costs to run a thousand recordings as tests of pytest, each against a snapshot of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Figure
from benchmarks.recorded import recorded
from redrive_events import MemoryLog, write_portable

RECORDINGS = 1_000
TURNS = 4
TEST = """
import redrive
from benchmarks.recorded import recorded

test_incident = redrive.incidents("kept", agent=recorded({turns})[0])
"""


def figures(folder: Path) -> Iterator[Figure]:
    """In one process, against as many tests that do nothing."""
    place = folder / "incidents"
    (place / "kept").mkdir(parents=True)
    log, (_, records) = MemoryLog(), recorded(TURNS)
    run_id = records[0].run_id
    log.append(run_id, records, expected=0)
    for number in range(RECORDINGS):
        with (place / "kept" / f"incident-{number}.jsonl").open("wb") as file:
            write_portable(log, [run_id], file)
    (place / "test_incidents.py").write_text(TEST.format(turns=TURNS), encoding="utf-8")
    nothing = f"import pytest\n\n@pytest.mark.parametrize('n', range({RECORDINGS}))\ndef test_nothing(n): pass\n"
    (place / "test_nothing.py").write_text(nothing, encoding="utf-8")
    _seconds(place / "test_incidents.py", "--snapshot-update")
    ours, theirs = _seconds(place / "test_incidents.py"), _seconds(place / "test_nothing.py")
    yield Figure(
        name=f"{RECORDINGS:,} recordings of {len(records)} events as tests",
        limit="as many empty tests",
        units=RECORDINGS,
        subject_s=ours,
        limit_s=theirs,
        ratio=ours / theirs,
        note=f"{ours:.1f} s in all",
    )


def _seconds(file: Path, *options: str) -> float:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(file.parent), str(file)]
    began = time.perf_counter()
    done = subprocess.run([*command, *options], cwd=Path(__file__).parents[1], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout.decode())
    return time.perf_counter() - began
