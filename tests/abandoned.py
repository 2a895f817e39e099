"""A worker whose tool does not let go: it is cancelled, ends its run within the grace, and its process ends as well."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import Any

import anyio

from redrive_engine.agent import Agent
from redrive_engine.contract import Contract
from redrive_engine.live import Patience
from redrive_engine.models import ModelRequest, ScriptedModel, reply, use
from redrive_engine.signals import cancel
from redrive_engine.tools import tool
from redrive_events import MemoryLog, ModelReplied

FOR_EVER_S = 600.0
LOG = MemoryLog()


def stop() -> None:
    """Ask the run to end, from within its own tool."""
    cancel(LOG, "run", by="ana", at=datetime.now(UTC))


@tool(effect="write", timeout=None)
async def swallows() -> str:
    """Swallow every cancellation."""
    stop()
    while True:
        try:
            await anyio.sleep(FOR_EVER_S)
        except anyio.get_cancelled_exc_class():
            continue


@tool(effect="read", timeout="200ms")
async def ignores() -> str:
    """Swallow the time-out, then the end."""
    while True:
        try:
            await anyio.sleep(FOR_EVER_S)
        except anyio.get_cancelled_exc_class():
            continue


@tool(effect="write", timeout=None)
def blocks() -> str:
    """Block a thread."""
    stop()
    time.sleep(FOR_EVER_S)
    return "late"


class Deaf:
    """A model that does not let go either."""

    async def ask(self, request: ModelRequest) -> ModelReplied:
        """Never answer."""
        stop()
        while True:
            try:
                await anyio.sleep(FOR_EVER_S)
            except anyio.get_cancelled_exc_class():
                continue


def main(which: str) -> None:
    """Run an agent with that tool, or that model."""
    tools = {"swallows": swallows, "ignores": ignores, "blocks": blocks}
    script = (reply("", use(which)), reply("Done."))
    model: Any = Deaf() if which == "deaf" else ScriptedModel(script)
    agent = Agent("desk", "1", Contract(), tools=list(tools.values()), model=model)
    began = time.monotonic()
    run = agent.run("Go", log=LOG, run_id="run", patience=Patience(grace_s=0.5, look_s=0.01))
    assert time.monotonic() - began < FOR_EVER_S / 10
    print(run.status)


if __name__ == "__main__":
    main(*sys.argv[1:])
