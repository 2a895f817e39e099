"""The same replay in other processes, under other seeds of hashes: what hangs on the order of a set is found."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from redrive_events import CannotReplay, MemoryLog, write_portable
from redrive_replays import Reach, Recording, Report

SEEDS = ("1", "2")


def hashed_otherwise(report: Report, recording: Recording, agent: str | None, policy: Path | None) -> Report:
    """``report``, with a reach more if two processes that hash otherwise do not come to the same."""
    if report.outcome == "cannot replay":
        return report
    log = MemoryLog()
    log.append(recording.run_id, recording.records, expected=0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.jsonl"
        with file.open("wb") as stream:
            write_portable(log, [recording.run_id], stream)
        command = [sys.executable, "-m", "redrive", "replay", str(file), "--json"]
        command += ["--agent", agent] if agent else []
        command += ["--policy", str(policy)] if policy else []
        said = {_said(command, seed) for seed in SEEDS}
    if len(said) == 1:
        return report
    reach = Reach("program", "chance", "the order of hashes", recording.records[-1].position)
    return replace(report, reaches=(*report.reaches, reach))


def _said(command: list[str], seed: str) -> bytes:
    around = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=around, capture_output=True, check=False)
    if done.returncode not in {0, 1, 3}:
        problem = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise CannotReplay(f"another process could not drive it: {' '.join(problem)}")
    return done.stdout
