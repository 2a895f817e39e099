"""`kill -9` at every boundary of an append: whoever takes the run up ends as if nothing had been, and writes once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import redrive as rd
from orders_sms import make_agent
from redrive_events import LeaseGranted
from redrive_replays import recording_of
from tests.processes import surroundings

DONE = "succeeded: The tracking number of Wang Fang's newest order is on its way to her phone.\n"
# The beginning, then a lease and one answer each: that many appends make the plain run.
ANSWERS = 7


def worker(folder: Path, *, kill_after: int) -> subprocess.CompletedProcess[str]:
    """One process of a worker, until it is killed or the run has ended."""
    command = [sys.executable, "-m", "tests.killed_at", "runs.db", "sent.jsonl", str(kill_after)]
    return subprocess.run(command, env=surroundings(), cwd=folder, check=False, capture_output=True, text=True)


def test_a_worker_killed_behind_every_append(tmp_path: Path) -> None:
    """Behind the first event, then behind each answer in turn, a new worker every time."""
    assert worker(tmp_path, kill_after=1).returncode == -signal.SIGKILL
    for _ in range(ANSWERS - 1):
        assert worker(tmp_path, kill_after=2).returncode == -signal.SIGKILL
    last = worker(tmp_path, kill_after=0)
    assert (last.returncode, last.stdout) == (0, DONE)
    log = rd.SqliteLog(tmp_path / "runs.db", must_exist=True)
    records = list(log.read("run"))
    report = rd.replay(recording_of(log, "run"), agent=make_agent())
    log.close()
    assert sum(isinstance(one.event, LeaseGranted) for one in records) == ANSWERS
    assert report.same
    (sent,) = (tmp_path / "sent.jsonl").read_text().splitlines()
    assert "SF1390002" in sent
