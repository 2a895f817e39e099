"""A warehouse whose reads depend on its writes, in a time of its own: what a changed run would really have come to."""
# ruff: noqa: ARG001 - what tools do stands in the warehouse

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from redrive_engine.drive import drive, lease_of, without_waiting
from redrive_engine.live import given_up
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_engine.program import Program
from redrive_engine.tools import tool
from redrive_engine.world import Happened, Waiting
from redrive_events import (
    Answer,
    ApprovalAsked,
    ApprovalGiven,
    Content,
    DeadlinePassed,
    EffectReconciled,
    Input,
    MemoryLog,
    MessageReceived,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    ReconcileAsked,
    Record,
    Request,
    SignalsHeard,
    Terms,
    ToolCalled,
    ToolUse,
    canonical,
)
from redrive_projections import RunState
from tests.shop import NOON, beginning, seen

PLACES = ("north", "south")
CAPACITY = 5
QUEUE = "queue"  # it changes whenever somebody looks


@tool(effect="read", timeout=None)
def look(place: str, shelf: dict[str, int] | None = None) -> int:
    """How much there is in a place."""
    return 0


@tool(effect="read", timeout=None)
def total() -> int:
    """How much there is in all places."""
    return 0


@tool(effect="write", object="place", timeout=None)
def put(place: str, amount: int) -> int:
    """Put some more into a place; what there is then."""
    return 0


TOOLS = {one.declaration.name: one.declaration for one in (look, total, put)}


def warehouse(rules: str, terms: Terms | None = None) -> Program:
    """The program that looks and puts."""
    policy = RulesPolicy.from_toml(rules)
    return Program(name="warehouse", version="1", terms=terms or Terms(), tools=TOOLS, policy=policy)


class Manner(NamedTuple):
    """How calls of a tool in a place go: how long they take, and what is heard of a write."""

    took_s: int = 1
    heard: str = "answer"  # or "landed", "not landed" by the authority, or "never"


@dataclass
class Warehouse:
    """A live world without any clock: each call takes its time, and has its effect when that is over.

    The model says a reply a turn, whatever it reads. A person grants what they are asked about, after ``approval_s``.
    At the beginning of the turn ``message`` somebody says something. Calls with a number in ``forced`` go as is
    said there: a write that fails has no effect.
    """

    script: Sequence[Content]
    manners: Mapping[tuple[str, str], Manner] = field(default_factory=dict)
    approval_s: int = 3
    message: int | None = None
    forced: Mapping[int, ObservationReceived] = field(default_factory=dict)
    has: Counter[str] = field(default_factory=Counter)
    looked: Counter[str] = field(default_factory=Counter)
    now: datetime = NOON
    coming: dict[int, tuple[datetime, Request]] = field(default_factory=dict)
    tried: Counter[int] = field(default_factory=Counter)
    landed: dict[int, int] = field(default_factory=dict)

    async def begin(self, state: RunState, worker: str) -> Happened:
        """A worker takes the run up."""
        return Happened(msgspec.structs.replace(lease_of(state, worker, PLAIN), parts={}), self.now)

    async def answer(self, waiting: Waiting) -> Happened:
        """What comes first: an answer, words, or a limit of time."""
        if waiting.unheard:
            return Happened(SignalsHeard(), self.now)
        if waiting.steps == self.message:
            self.message = None
            return Happened(MessageReceived(actor="user", content="Be quick."), self.now)
        for position, request in waiting.requests.items():
            if position not in self.coming:
                self.coming[position] = self.now + self._took(request), request
        for position, request in waiting.requests.items():
            if waiting.stopping and isinstance(request, ModelAsked | ToolCalled) and not _writes(request):
                return Happened(given_up(request, stopping=True), self.now, position)
        due = [(self.coming[position][0], position) for position in waiting.requests]
        at, position = min(due)
        if waiting.deadline is not None and waiting.deadline <= at:
            self.now = waiting.deadline
            return Happened(DeadlinePassed(which=waiting.limit), self.now)
        self.now = max(at, self.now)
        request = self.coming.pop(position)[1]
        said = self._said(request, waiting)
        return Happened(said, self.now, 0 if isinstance(said, ApprovalGiven) else position)

    def _took(self, request: Request) -> timedelta:
        """How long it takes; no two calls but equal ones take the same time, so that nothing hangs on chance."""
        match request:
            case ModelAsked():
                return timedelta()
            case ToolCalled(tool=name, arguments=arguments):
                own_ms = crc32(canonical([name, arguments])) % 997
                return timedelta(seconds=self._manner(name, arguments).took_s, milliseconds=own_ms)
            case ApprovalAsked():
                return timedelta(seconds=self.approval_s)
            case _:
                return timedelta(seconds=2)

    def _manner(self, name: str, arguments: Mapping[str, Any]) -> Manner:
        return self.manners.get((name, arguments.get("place", "")), Manner())

    def _said(self, request: Request, waiting: Waiting) -> Input:
        match request:
            case ModelAsked():
                return reply_of(self.script, waiting.steps)
            case ToolCalled():
                return self._called(request)
            case ApprovalAsked():
                return ApprovalGiven(call=request.call, digest=request.digest, by="bo", answer="grant")
            case ReconcileAsked():
                return self._settled(request.call, waiting)
            case _:
                raise AssertionError(request)

    def _called(self, request: ToolCalled) -> ObservationReceived:
        name, arguments, call = request.tool, request.arguments, request.call
        if (said := self.forced.get(call)) is not None:
            if name == "put" and said.status == "ok":
                self.has[arguments["place"]] += arguments["amount"]
            return said
        return self._put(request) if name == "put" else seen(call, self._read(name, arguments))

    def _read(self, name: str, arguments: Mapping[str, Any]) -> int:
        place = arguments.get("place", "")
        self.looked[place] += 1
        if place == QUEUE:
            return self.looked[place]
        shelf = arguments.get("shelf") or {}
        return self.has[place] * int(shelf.get("size", 1)) if name == "look" else self.has.total()

    def _put(self, request: ToolCalled) -> ObservationReceived:
        call, place, amount = request.call, request.arguments["place"], request.arguments["amount"]
        heard = self._manner("put", request.arguments).heard
        self.tried[call] += 1
        if self.has[place] + amount > CAPACITY:
            return ObservationReceived(call=call, status="error", content="full", error="refused")
        again = self.tried[call] > 1
        if heard != "not landed" or again:
            self.has[place] += amount
            self.landed[call] = self.has[place]
        if heard == "answer" or (heard == "not landed" and again):
            return seen(call, self.has[place])
        return ObservationReceived(call=call, status="unknown", content="Nobody knows.")

    def _settled(self, call: int, waiting: Waiting) -> Answer:
        heard = self._manner("put", waiting.calls[call].arguments).heard
        if heard == "never":
            return EffectReconciled(call=call, outcome="unknown", content="Nobody knows.")
        if call not in self.landed:
            return EffectReconciled(call=call, outcome="not_landed", content="It did not happen.")
        return EffectReconciled(
            call=call, outcome="landed", content=str(self.landed[call]), media_type="application/json"
        )


def _writes(request: Request) -> bool:
    return isinstance(request, ToolCalled) and request.effect == "write"


PLAIN = warehouse('[[rule]]\nname = "all"\nwhen = {}\nthen = "allow"\n')


def reply_of(script: Sequence[Content], turn: int) -> Input:
    """What the model says in a turn; behind its script it is done."""
    return ModelReplied(content=script[turn] if turn < len(script) else "Done.")


def said(*calls: ToolUse) -> Content:
    """A reply of calls, as its content."""
    return reply("", *calls).content


def lived(program: Program, world: Warehouse) -> list[Record]:
    """The records of a run of ``program`` in a warehouse."""
    log = MemoryLog()
    log.append("run", [beginning(program)], expected=0)
    without_waiting(drive("run", log=log, world=world, program=program, worker="w"))
    return list(log.read("run"))


def looks(place: str, **more: Any) -> ToolUse:
    """A look at a place."""
    return use("look", place=place, **more)


def puts(place: str, amount: int) -> ToolUse:
    """Some more in a place."""
    return use("put", place=place, amount=amount)
