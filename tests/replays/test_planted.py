"""Of hundreds of planted faults nearly all are found at the first event in which they show, and by their cause."""

from __future__ import annotations

from typing import get_args

from redrive_replays import Cause
from tests.planted.scores import LATER, Score, pairs, shares, singles, versions
from tests.planted.stories import GENERATORS

PLACE_MIN, CAUSE_MIN, CASES_MIN = 0.98, 0.95, 300


def test_planted_faults_are_found() -> None:
    """One by one, and two at once; `python -m tests.planted` tells which are not.

    Of two in one append the second is not: behind the first the recorded events are taken as they are.
    """
    scores = [*singles(), *pairs(), *versions()]
    found = shares(scores)
    assert len(scores) >= CASES_MIN
    assert found.precision >= PLACE_MIN
    assert found.recall >= PLACE_MIN
    assert found.cause >= CAUSE_MIN
    assert {one.cause for one in scores} == {*get_args(Cause), None}, "each cause, and runs without a fault"
    assert 3 * len(LATER) >= len(GENERATORS), "a third was planted after the causes were told apart"


def test_what_is_told_where_there_is_none_is_no_precision() -> None:
    """And what is not told where there is one is no recall; neither makes up for the other."""
    right = Score("right", "code", 4, 4, "code")
    missed = Score("missed", "code", 4)
    too_much = Score("sound", None, 0, 7, "policy")
    silent = Score("sound", None, 0)
    assert shares([right, missed, silent]) == (1.0, 0.5, 0.5)
    assert shares([right, too_much, silent]) == (0.5, 1.0, 1.0)
    assert shares([right, Score("elsewhere", "code", 4, 5, "model")]) == (0.5, 0.5, 0.5)
