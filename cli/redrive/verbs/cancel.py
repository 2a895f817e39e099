"""Ask a run to stop before its next action."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from redrive.chosen import Choice
from redrive.options import LOG, JsonOption, LogOption
from redrive.speaking import spoken, target
from redrive_engine import cancel as stop


def cancel(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run id, or the beginning of one.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")] = "",
    by: Annotated[str, typer.Option("--by", metavar="ID", help="Who asks for it.")] = "operator",
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Ask a run to stop before its next action; what is under way is brought to an end first.

    Exit codes: 0 asked for, 2 the run has ended.
    """
    with Choice(log) as choice:
        to = target(choice, run)
        position = stop(to.log, to.run_id, by=by, at=datetime.now(UTC), reason=reason, mask=to.mask)
        return spoken(to, position, f"asked to stop by {by}", as_json=as_json)
