"""`kill -9` at every boundary of an append: whoever takes the run up ends as if nothing had been, and writes once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import redrive as rd
from orders_sms import GOAL, make_agent
from redrive_engine import load_agent
from redrive_events import LeaseGranted
from redrive_replays import recording_of
from tests.processes import surroundings

DONE = "succeeded: The tracking number of Wang Fang's newest order is on its way to her phone.\n"
# The beginning, then a lease and one answer each: that many appends make the plain run.
ANSWERS = 7


def worker(folder: Path, *, kill_after: int, agent: str = "orders_sms:agent") -> subprocess.CompletedProcess[str]:
    """One process of a worker, until it is killed or the run has ended."""
    command = [sys.executable, "-m", "tests.killed_at", agent, str(kill_after)]
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


@pytest.mark.parametrize(
    ("agent", "goes_on"),
    [
        pytest.param("login_redirect:agent", 2, id="login_redirect"),
        pytest.param("weather:agent", 2, id="weather"),
        # Before anything new is written there are two leases, and a child may have to be begun.
        pytest.param("notes_analyst.variants:planned", 4, id="notes_analyst"),
    ],
)
def test_a_worker_killed_again_and_again(tmp_path: Path, agent: str, goes_on: int) -> None:
    """Each gets hardly further than the one before, and the last ends the run as it would have ended."""
    whole = load_agent(agent).run(GOAL, log=rd.MemoryLog())
    kills = 0
    while (last := worker(tmp_path, kill_after=goes_on, agent=agent)).returncode == -signal.SIGKILL:
        kills += 1
        assert kills < 40
    assert (last.returncode, last.stdout) == (0, f"{whole.status}: {whole.answer}\n")
    assert kills >= 3
    log = rd.SqliteLog(tmp_path / "runs.db", must_exist=True)
    reports = {rd.replay(recording_of(log, head.run_id), agent=load_agent(agent)).outcome for head in log.runs()}
    log.close()
    assert reports == {"same"}
