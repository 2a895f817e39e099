"""Refuse a call that waits for an approval."""

from __future__ import annotations

from redrive.approving import ByOption, CallArgument, DigestOption, Given, ReasonOption, RunArgument, answered
from redrive.options import LOG, JsonOption, LogOption


def deny(
    run: RunArgument,
    call: CallArgument,
    reason: ReasonOption = "",
    by: ByOption = "operator",
    digest: DigestOption = "",
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Refuse a call that waits for an approval: it is denied, and what that means the contract says.

    Exit codes: 0 answered, 2 there is nothing to answer.
    """
    return answered(run, call, Given("refuse", by, reason, digest), log=log, as_json=as_json)
