"""List the runs in the log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from redrive.chosen import Choice
from redrive.options import LOG, JsonOption, LogOption
from redrive.terminal import columns, counted, say, say_json
from redrive_projections import one_line
from redrive_projections.history import ask

_QUERY = """
    SELECT run_id, agent, status, steps, grade, CASE WHEN clock <> 'none' THEN started_at END AS started, goal,
        count(*) OVER () AS total
    FROM runs ORDER BY run DESC LIMIT $count"""
_SHOWN = ("run_id", "agent", "status", "steps", "grade", "started", "goal")


def runs(
    log: LogOption = LOG,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many at most.")] = 1000,
    as_json: JsonOption = False,
) -> None:
    """List the runs in the log, the latest first.

    For anything more than a list, ask in SQL: the table is called runs.
    """
    with Choice(log) as choice:
        found = ask(choice.log, _QUERY, path=log, parameters={"count": count})
        rows = [dict(zip(_SHOWN, row, strict=False)) for row in found.rows]
        for row in rows:
            if row["status"] == "unfinished" and choice.log.holder(row["run_id"]) is not None:
                row["status"] = "running"
    if as_json:
        say_json(rows)
        return
    head = ["RUN", *(name.upper() for name in _SHOWN[1:])]
    say(*columns([head, *([_cell(value) for value in row.values()] for row in rows)], right={3}))
    earlier = (found.rows[0][-1] if found.rows else 0) - len(rows)
    if earlier:
        say(f"… and {counted(earlier, 'earlier run')}; -n says how many are listed")


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return "" if value is None else one_line(str(value), 200)
