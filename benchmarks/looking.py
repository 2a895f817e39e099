"""The loop of `stepping` as a workflow of Temporal: an activity for each model ask, and one for each call."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from temporalio import workflow

LIMIT = timedelta(seconds=30)


@workflow.defn(name="Looker")
class Looker:
    """Asks and calls until the model has an answer."""

    @workflow.run
    async def run(self, goal: str) -> str:
        """The answer."""
        said = goal
        while True:
            reply: dict[str, Any] = await workflow.execute_activity("ask", said, start_to_close_timeout=LIMIT)
            if "call" not in reply:
                return str(reply["text"])
            said = await workflow.execute_activity("look", reply["call"], start_to_close_timeout=LIMIT)


@workflow.defn(name="Looker")
class Astray:
    """The same, but that it makes another call where the model says that this is the last."""

    @workflow.run
    async def run(self, goal: str) -> str:
        """The answer."""
        said = goal
        while True:
            reply: dict[str, Any] = await workflow.execute_activity("ask", said, start_to_close_timeout=LIMIT)
            if "call" not in reply:
                return str(reply["text"])
            name = "stare" if reply["last"] else "look"
            said = await workflow.execute_activity(name, reply["call"], start_to_close_timeout=LIMIT)
