"""The smallest run in which 'repeated' in (select intercepted from steps where steps.run = runs.run)."""

from __future__ import annotations

from pathlib import Path

import redrive as rd
from orders_sms import agent

RECORDING = Path(__file__).with_name("message_sent_twice.jsonl")


def test_message_sent_twice() -> None:
    """It is driven again as it was recorded: another outcome is a change of behaviour."""
    report = rd.replay(RECORDING, agent=agent)
    assert report.same, report.divergences[:1] or report.reason
