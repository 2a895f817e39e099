"""The short form of `make crash`: that the log keeps its promises, and that it would be seen if it did not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence

import pytest

from redrive_events import Batch, LogUnusable, Record, SqliteLog
from tests.crash import effects, power
from tests.crash.caller import PromiseBroken
from tests.crash.power import Setting
from tests.processes import ROOT, surroundings


def test_what_was_acknowledged_outlives_the_power() -> None:
    """Whatever the disk did with what was not synced, and whatever errors it gave before."""
    done = power.story("d", lives=1)
    assert done.power > 20
    assert done.faults > 0


def test_a_story_is_the_same_each_time() -> None:
    """So a seed is all that must be told of a failure."""
    assert power.story("short", lives=1) == power.story("short", lives=1)


def test_a_log_that_promises_less_loses_the_last_and_nothing_else() -> None:
    """Without a sync an append may be lost, but no hole is left."""
    assert power.lazy_story("short").power > 20


def test_an_agent_that_loses_its_power_goes_on_and_pays_once() -> None:
    """At whichever step of the log it happens."""
    assert effects.story("short").effects == effects.POINTS


def test_processes_that_are_killed_lose_nothing() -> None:
    """In a process of its own, since this one has threads, and those do not go along into a fork."""
    command = [sys.executable, "-m", "tests.crash", "--seed", "1", "--story", "kills:0"]
    done = subprocess.run(command, cwd=ROOT, env=surroundings(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "0 found" in done.stdout


# What is broken on purpose is found: a proof that cannot fail is none.


class Unmindful(SqliteLog):
    """It writes the batches of an import one by one."""

    def append_all(self, batches: Iterable[Batch]) -> None:
        """Each for itself."""
        for batch in batches:
            self.append(*batch[:2], expected=batch.expected)


class Forgetful(SqliteLog):
    """It says that all is written when the disk had no room."""

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Or not."""
        try:
            super().append(run_id, records, expected=expected)
        except LogUnusable:
            return


class Eager(SqliteLog):
    """It takes what it has already for something new."""

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Behind what is there, wherever the caller thought it was."""
        end = self.head(run_id).position
        moved = [
            Record(run_id=one.run_id, position=end + n, at=one.at, cause=0, left=one.left, event=one.event)
            for n, one in enumerate(records, start=1)
        ]
        super().append(run_id, moved, expected=end)


# Beside what is broken and how it shows stands a story in which it does: others are as good, and may be longer.
BROKEN: dict[str, tuple[Setting, str, int]] = {
    "a disk that says it has synced": (Setting(lying=True), "lost|cannot be used", 0),
    "SQLite that does not sync": (Setting(misheard=("synchronous = FULL", "synchronous = OFF")), "lost", 0),
    "half an import": (Setting(store=Unmindful), "half|never to be written|refused as stale|taken without", 5),
    "errors kept quiet": (Setting(store=Forgetful), "lost|refused as stale", 5),
    "the same again as something new": (Setting(store=Eager), "never to be written", 5),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_found(what: str) -> None:
    """By the same story that a sound log comes through."""
    setting, problem, number = BROKEN[what]
    with pytest.raises(PromiseBroken, match=problem):
        power.story(f"broken:{number}", setting, lives=1)
