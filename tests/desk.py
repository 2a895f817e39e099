"""A live desk: an agent whose tools count their starts, pay into a bank, and wait where a test wants them to."""
# ruff: noqa: ARG001 - a fake need not look at all that it is given

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import anyio

from redrive_engine.agent import Agent, Run
from redrive_engine.contract import ANY, Contract
from redrive_engine.live import Patience
from redrive_engine.models import ModelRequest, reply, use
from redrive_engine.tools import Call, Landed, NotLanded, ToolError, tool
from redrive_engine.verifiers import Facts, Refused, verifier
from redrive_events import EventLog, ModelReplied, Record

# Impatient only where nothing but another worker waits: a test on a busy machine must not run out of time.
QUICK = Patience(model_s=10.0, grace_s=10.0, lease_s=0.3, look_s=0.01, pause_s=0.01)

Meanwhile: TypeAlias = Callable[[str, Call], Awaitable[None]]

SCRIPT = (
    reply("Two things to know.", use("look", item="tea"), use("look", item="milk")),
    reply("Now I pay.", use("pay", cents=5)),
    reply("Paid."),
)


async def at_once(tool: str, call: Call) -> None:
    """A tool that waits for nothing."""


class Desk:
    """``before`` and ``after`` are what a tool does around its work; ``paid`` is what the bank knows, by key.

    The bank refuses whoever comes with a smaller ``epoch`` than it has seen. ``limit`` is how long a tool may take.
    """

    def __init__(self, script: Sequence[ModelReplied] = SCRIPT, *, limit: str | None = None, **terms: Any) -> None:
        self.script, self.limit = script, limit
        self.started: list[str] = []
        self.paid: dict[str, int] = {}
        self.epoch = 0
        self.requests: list[ModelRequest] = []
        self.before: Meanwhile = at_once
        self.after: Meanwhile = at_once
        self.asked: Callable[[ModelRequest], Awaitable[None]] | None = None
        self.agent = self._agent({"done": {"paid": ANY}, "answer": "Paid {paid}."} | terms)

    def run(self, log: EventLog, *, patience: Patience = QUICK) -> Run:
        """Begin the run, or go on with it, until it ends."""
        return anyio.run(self.arun, log, patience)

    async def arun(self, log: EventLog, patience: Patience = QUICK) -> Run:
        """The same, inside an event loop; what would never end fails."""
        with anyio.fail_after(20):
            return await self.agent.arun("Buy tea", log=log, run_id="run", patience=patience)

    async def ask(self, request: ModelRequest) -> ModelReplied:
        """The desk is its own model: it says what the script has for the turn, after ``asked``."""
        self.requests.append(request)
        if self.asked is not None:
            await self.asked(request)
        return self.script[request.turn - 1]

    def _agent(self, terms: dict[str, Any]) -> Agent:
        @tool(effect="read", timeout=self.limit)
        async def look(item: str, *, call: Call) -> str:
            """What an item costs."""
            self.started.append(f"look {item}")
            await self.before("look", call)
            await self.after("look", call)
            return f"{item}: 5"

        @tool(effect="write", timeout=self.limit, fenced=True)
        async def pay(cents: int, *, call: Call) -> dict[str, int]:
            """Pay."""
            self.started.append(f"pay {call.attempt}")
            await self.before("pay", call)
            if call.epoch < self.epoch:
                raise ToolError("This worker is not the one who acts.")
            self.paid[call.key] = self.paid.get(call.key, 0) + cents
            await self.after("pay", call)
            return {"cents": cents}

        @pay.reconcile
        def was_paid(call: Call) -> Landed[dict[str, int]] | NotLanded:
            self.epoch = max(self.epoch, call.epoch)
            return Landed({"cents": self.paid[call.key]}) if call.key in self.paid else NotLanded()

        @verifier(pay, commits=["paid"])
        def right_sum(call: Call, seen: dict[str, int], facts: Facts) -> Facts | Refused:
            return {"paid": seen["cents"]} if seen["cents"] == call.arguments["cents"] else Refused("another sum")

        return Agent("desk", "1", Contract(**terms), tools=[look, pay], verifiers=[right_sum], model=self)


def kinds(records: Sequence[Record]) -> list[str]:
    """The kinds of events, in order."""
    return [type(one.event).__name__ for one in records]
