"""A world that answers what it is asked, by the words of the question alone: asked the same, it answers the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from msgspec.structs import replace

from redrive_engine import Happened, Program, append_of
from redrive_engine.models import reply, use
from redrive_events import (
    ApprovalAsked,
    ApprovalGiven,
    Input,
    LeaseGranted,
    ModelAsked,
    Record,
    Request,
    SignalsHeard,
    Source,
    ToolCalled,
    ToolUse,
    canonical,
)
from redrive_projections import RunState
from tests.shop import NOON, seen, started_of

T = TypeVar("T")
TURNS_MAX = 6


class Reacting:
    """Who uses the shop: a model that plans anew when it is told something else, tools, and people who approve.

    What it says hangs on ``seed`` and on all that is in the request; what a tool gives on what was paid by then.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.paid = 0

    def of(self, options: Sequence[T], *asked: Any) -> T:
        """One of them, the same whenever the same is asked."""
        found = hashlib.sha256(canonical([self.seed, *asked])).digest()
        return options[int.from_bytes(found[:4]) % len(options)]

    def takes(self, asked: Request) -> timedelta:
        """How long it takes to answer."""
        if isinstance(asked, ToolCalled):
            return timedelta(milliseconds=self.of(range(100, 900), asked.tool, asked.arguments, "takes"))
        return timedelta(seconds=1 if isinstance(asked, ModelAsked) else 30)

    def says(self, asked: ModelAsked, turn: int) -> Input:
        """What the model says: some calls, or that it is done."""
        if turn >= TURNS_MAX or self.of([False] * 5 + [True], asked.request, "done"):
            return reply("Done.")
        calls = range(self.of([1, 1, 2, 3], asked.request, "calls"))
        return reply(self.of(["", "Let me see."], asked.request), *(self._call(asked.request, one) for one in calls))

    def _call(self, request: str, number: int) -> ToolUse:
        tool = self.of(["price_of", "count", "pay", "pay", "ghost"], request, number, "tool")
        item = self.of(["tea", "gold"], request, number, "item")
        cents = {"cents": self.of([1, 3, 5, 7, 9], request, number, "cents")} if tool == "pay" else {}
        return use(tool, item=item, **cents)

    def gives(self, call: ToolCalled) -> Input:
        """What the tool gives."""
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        asked = call.tool, arguments, self.paid
        if call.tool == "pay":
            self.paid += 1
            return seen(call.call, {"item": arguments["item"], "cents": arguments["cents"]})
        if call.tool == "count":
            return seen(call.call, self.of([0, 1, 3, 9], *asked))
        return seen(call.call, {"item": arguments.get("item", ""), "cents": self.of([3, 5], call.tool, arguments)})

    def decides(self, asked: ApprovalAsked) -> Input:
        """What a person says of a call."""
        answer = self.of(["grant", "grant", "refuse"], asked.digest)
        return ApprovalGiven(call=asked.call, digest=asked.digest, by="bo", answer=answer)  # type: ignore[arg-type]


def live(program: Program, seed: int, *, source: Source | None = None) -> list[Record]:
    """The run of a program in this world, from its start to its end; it is called by its seed."""
    world, state, records = Reacting(seed), RunState(run_id=f"run-{seed}"), list[Record]()

    def happens(event: Input, at: datetime, cause: int = 0) -> None:
        records.extend(append_of(program, state, Happened(event, at, cause)))

    happens(replace(started_of(program), source=source), NOON)
    happens(LeaseGranted(worker="w", epoch=1), NOON)
    while state.end is None:
        due = {position: records[position - 1].at + world.takes(one) for position, one in state.requests.items()}
        position = min(due, key=lambda one: (due[one], one))
        request, at = state.requests[position], due[position]
        if isinstance(request, ModelAsked):
            happens(world.says(request, state.steps), at, position)
        elif isinstance(request, ToolCalled):
            happens(world.gives(request), at, position)
        else:
            assert isinstance(request, ApprovalAsked)
            happens(world.decides(request), at)
            happens(SignalsHeard(), at)
    return records
