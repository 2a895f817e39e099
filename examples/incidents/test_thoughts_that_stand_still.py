"""The smallest run in which status = 'failed'."""

from __future__ import annotations

from pathlib import Path

import redrive as rd
from weather import agent

RECORDING = Path(__file__).with_name("thoughts_that_stand_still.jsonl")


def test_thoughts_that_stand_still() -> None:
    """It is driven again as it was recorded: another outcome is a change of behaviour."""
    report = rd.replay(RECORDING, agent=agent)
    assert report.same, report.divergences[:1] or report.reason
