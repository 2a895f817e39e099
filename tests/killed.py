"""A worker that is killed while it pays: each start of a tool is a line in a file, which is also the bank's memory."""
# ruff: noqa: ARG001 - a fake need not look at all that it is given

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from redrive_engine.tools import Call
from redrive_events import SqliteLog
from tests.desk import Desk


def main(log: str, starts: str) -> None:
    """Run the desk; a first payment lands and never comes back."""
    desk, file = Desk(), Path(starts)
    landed = file.exists() and "landed" in file.read_text()

    def note(line: str) -> None:
        with file.open("a") as lines:
            lines.write(line + "\n")

    async def before(tool: str, call: Call) -> None:
        note(desk.started[-1] if tool == "pay" else f"look {call.arguments['item']}")

    async def after(tool: str, call: Call) -> None:
        if tool == "pay":
            note("landed")
            await anyio.sleep_forever()

    desk.before, desk.after = before, after
    opened = SqliteLog(Path(log))
    if landed:
        (started,) = (one.event for one in opened.read("run") if one.position == 1)
        desk.paid[f"{getattr(started, 'nonce', '')}:3"] = 5
    run = desk.run(opened)
    print(f"{run.status}: {run.answer}")


if __name__ == "__main__":
    main(*sys.argv[1:])
