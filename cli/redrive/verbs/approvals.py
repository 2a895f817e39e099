"""List what waits for a person's approval, in all runs of the log, with what would happen."""

from __future__ import annotations

from datetime import UTC, datetime

from redrive.chosen import Choice
from redrive.masking import UnmaskedOption
from redrive.options import LOG, JsonOption, LogOption
from redrive.questions import approval_data, approval_told, waiting_in
from redrive.terminal import say, say_json
from redrive_projections.history import ask

# Only runs that ask something are folded, however many have ended or never did.
_QUERY = "SELECT DISTINCT run_id FROM approvals WHERE answer IS NULL"


def approvals(log: LogOption = LOG, unmasked: UnmaskedOption = False, as_json: JsonOption = False) -> None:
    """List what waits for a person's approval, the longest waiting first, with all that would happen.

    `redrive approve` and `redrive deny` answer. What is asked beyond its time is listed until whoever drives the run
    has noted that: it cannot be answered any more. Credentials are shown as [masked] unless --unmasked is given.
    """
    with Choice(log) as choice:
        runs = ask(choice.log, _QUERY, path=log).rows
        found = [one for (run_id,) in runs for one in waiting_in(choice.log, run_id, unmasked=unmasked)]
    found.sort(key=lambda one: (one.asked_at, one.run_id, one.call))
    at = datetime.now(UTC)
    if as_json:
        say_json([approval_data(one, at) for one in found])
    elif not found:
        say("nothing waits for an approval")
    for one in () if as_json else found:
        say(*approval_told(one, at), "", whole=True)
