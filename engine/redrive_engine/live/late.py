"""What an abandoned tool comes to when its run waits for it no more: a remark beside the run, if anybody can use it."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from redrive_engine.stating import Landing, late_outcome
from redrive_events import EventLog, ObservationReceived, RedriveError


def noted(log: EventLog, run_id: str, seen: ObservationReceived, *, worker: str, at: datetime) -> None:
    """Note what a write came to of which nobody knows, as far as that is still possible: nobody waits for this.

    That it is `BadInput` to say so of any other is no matter, nor that the log may be closed by now.
    """
    outcomes: dict[str, Landing] = {"ok": "landed", "error": "not_landed"}
    if (outcome := outcomes.get(seen.status)) is not None:
        with suppress(RedriveError):
            late_outcome(log, run_id, seen.call, outcome, by=worker, at=at)
