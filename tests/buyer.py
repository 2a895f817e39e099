"""An agent of the shop whose model is a plain function of what it reads, so that each change of that can change it."""
# ruff: noqa: ARG001 - a tool need not look at all that it is given

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from redrive_engine import Agent, Call, Contract, Mask, Run, StillClock, Surroundings, Tool, tool
from redrive_engine.models import ModelRequest, ScriptedModel, reply, use
from redrive_engine.policy import RulesPolicy
from redrive_events import MemoryLog, ModelReplied
from tests.shop import VERIFIERS, count, price_of

READS = '[[rule]]\nname = "reads"\nwhen = { effect = "read" }\nthen = "allow"\n'
ALL = READS + '[[rule]]\nname = "writes"\nwhen = {}\nthen = "allow"\n'
ASKS = READS + '[[rule]]\nname = "a person looks"\nwhen = { tool = "pay" }\nthen = "ask"\n'

# What was really called, and under which key.
done: list[tuple[str, str]] = []


@tool(effect="write", source="bank", object="item", timeout="3s")
def pay(item: str, cents: int, *, call: Call) -> dict[str, Any]:
    """Pay for an item."""
    done.append(("pay", call.key))
    return {"item": item, "cents": cents}


@pay.reconcile
def was_paid(call: Call) -> Any:
    """The bank is not to be reached."""
    raise ConnectionError


@tool(effect="read", source="shelf", timeout="2s")
def ask_shelf(item: str, *, call: Call) -> int:
    """How many there are, for real."""
    done.append(("ask_shelf", call.key))
    return 3


def says(turn: int, request: ModelRequest) -> ModelReplied:
    """Looks, pays and is done; goes by its prompt, its name, its tools and what it is denied."""
    words = " ".join(str(one.content) for one in request.messages)
    if "not allowed" in words:
        return reply("I may not.")
    if "brief" in words or request.model == "small" or "pay" not in request.tools:
        return reply("No.")
    pays = reply("", use("pay", item="tea", cents=5))
    return [reply("", use("price_of", item="tea")), pays, reply("Bought.")][turn - 1]


def buyer(
    rules: str = ALL,
    *,
    contract: Contract | None = None,
    script: Callable[[int, ModelRequest], ModelReplied | str] | Sequence[ModelReplied | str] = says,
    tools: Sequence[Tool] = (price_of, count, pay, ask_shelf),
    mask: Mask | None = None,
) -> Agent:
    """The agent under some rules."""
    return Agent(
        "buyer",
        "1",
        contract or Contract(),
        tools=tools,
        verifiers=VERIFIERS,
        policy=RulesPolicy.from_toml(rules),
        model=ScriptedModel(script),
        mask=mask,
    )


def bought(agent: Agent, goal: str = "Buy tea") -> Run:
    """A recorded run of it."""
    run = agent.run(goal, principal="ana", log=MemoryLog(), run_id="run", surroundings=Surroundings.fixed(StillClock()))
    done.clear()
    return run
