"""A run to measure with: an agent that looks things up, one after the other, in a script of any length."""

from __future__ import annotations

from collections.abc import Sequence

import redrive as rd
from redrive_events import Record


@rd.tool(effect="read", source="orders")
def find_order(order_id: str) -> dict[str, str]:
    """One order, by its id."""
    return {"id": order_id, "city": "深圳", "note": "left at the door, as the customer had asked " * 6}


@rd.verifier(find_order, commits=["orders"])
def right_order(call: rd.Call, seen: dict[str, str], facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The order is the one that was asked for; how many were seen is a fact."""
    if seen["id"] != call.arguments["order_id"]:
        return rd.Refused("another order")
    seen_before = facts.get("orders", 0)
    return {"orders": rd.Supersedes(seen_before + 1)}


def clerk(turns: int) -> rd.Agent:
    """An agent that takes ``turns`` turns, a call in each."""
    script = [rd.reply(f"Looking up order {n}.", rd.use("find_order", order_id=f"ord_{n}")) for n in range(turns - 1)]
    contract = rd.Contract(tools={"find_order": {"order_id": r"ord_\d+"}}, budget=rd.Budget(steps=turns + 1))
    return rd.Agent(
        "clerk",
        "1",
        contract,
        tools=[find_order],
        verifiers=[right_order],
        model=rd.ScriptedModel([*script, "That is all."]),
        prompt="You are a clerk. Say in one sentence what you are about to do. " * 20,
    )


def recorded(turns: int) -> tuple[rd.Agent, Sequence[Record]]:
    """The agent, and the records of its run."""
    agent = clerk(turns)
    return agent, agent.run("Look the orders up.", log=rd.MemoryLog()).records()
