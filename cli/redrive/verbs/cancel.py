"""Ask a run to stop before its next action."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated

import typer

from redrive.chosen import Choice
from redrive.options import LOG, JsonOption, LogOption
from redrive.speaking import Target, spoken, target
from redrive_engine import cancel as stop
from redrive_engine import revoke as take
from redrive_events import BadInput


def cancel(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run id, or the beginning of one.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")] = "",
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Take it from its worker as well, so that another can at once.")
    ] = False,
    by: Annotated[str, typer.Option("--by", metavar="ID", help="Who asks for it.")] = "operator",
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Ask a run to stop before its next action; what is under way is brought to an end first.

    With --revoke its worker loses the lease too, if one has it: it starts and appends nothing more, whether it hangs or
    not. Another takes the run up at once, asks what became of its open writes, and ends it.

    Exit codes: 0 asked for, 2 the run has ended.
    """
    with Choice(log) as choice:
        to = target(choice, run)
        position = stop(to.log, to.run_id, by=by, at=datetime.now(UTC), reason=reason, mask=to.mask)
        what = f"asked to stop by {by}"
        if revoke and (revoked := _revoked(to, by, reason)):
            position, what = revoked, f"{what}, and taken from its worker"
        return spoken(to, position, what, as_json=as_json)


def _revoked(to: Target, by: str, reason: str) -> int | None:
    """Where the lease of a run was revoked, if anybody had it; who has ended the run meanwhile needs no revocation."""
    with suppress(BadInput):
        return take(to.log, to.run_id, by=by, at=datetime.now(UTC), reason=reason, mask=to.mask)
    return None
