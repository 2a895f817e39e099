"""The short form of `make effects`: payments land once, and it would be seen if they did not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.authority.rounds import Line, check_overlaps
from tests.authority.server import Authority
from tests.crash.caller import PromiseBroken
from tests.processes import ROOT, surroundings


def test_a_payment_lands_once_whoever_is_killed_frozen_or_not_answered() -> None:
    """In a process of its own, since this one has threads, and those do not go along into a fork."""
    command = [sys.executable, "-m", "tests.authority", "--seed", "7", "--rounds", "16"]
    done = subprocess.run(command, cwd=ROOT, env=surroundings(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "16 rounds" in done.stdout
    assert "0 found" in done.stdout


@pytest.mark.parametrize(
    ("honours", "epochs", "landed"),
    [
        pytest.param("key", (1, 1), 1, id="a key that it knows"),
        pytest.param("key", (2, 1), 1, id="a key, whoever comes with it"),
        pytest.param("epoch", (2, 1), 1, id="a worker of the past"),
        pytest.param("epoch", (1, 1), 2, id="the same worker again: only the engine is in the way of that"),
    ],
)
def test_the_authority_counts_what_lands(honours: str, epochs: tuple[int, int], landed: int) -> None:
    """It can count to two, so a count of one says something."""
    authority = Authority()
    for epoch in epochs:
        authority.pay({"key": "k", "epoch": epoch, "honours": honours, "cents": 5})
    assert authority.accounts["k"].landed == landed


def test_attempts_that_overlap_are_found() -> None:
    """In one epoch; another worker cannot know what one before it still does."""
    starts = [Line("starts", "k", epoch, attempt, 1, at) for epoch, attempt, at in ((1, 1, 0.0), (2, 2, 1.0))]
    check_overlaps(starts)
    with pytest.raises(PromiseBroken, match="still ran"):
        check_overlaps([*starts, Line("starts", "k", 2, 3, 1, 2.0)])
    check_overlaps([*starts, Line("ends", "k", 2, 2, 1, 2.0), Line("starts", "k", 2, 3, 1, 3.0)])
