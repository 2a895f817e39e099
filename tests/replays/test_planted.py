"""Of hundreds of planted faults nearly all are found at the first event in which they show, and by their cause."""

from __future__ import annotations

from tests.planted.scores import pairs, shares, singles, versions

PLACE_MIN, CAUSE_MIN, CASES_MIN = 0.98, 0.95, 300


def test_planted_faults_are_found() -> None:
    """One by one, and two at once; `python -m tests.planted` tells which are not.

    Of two in one append the second is not: behind the first the recorded events are taken as they are.
    """
    scores = [*singles(), *pairs(), *versions()]
    place, cause = shares(scores)
    assert len(scores) >= CASES_MIN
    assert place >= PLACE_MIN
    assert cause >= CAUSE_MIN
