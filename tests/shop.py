"""A small shop: the tools, verifiers and programs that the tests of the engine share."""
# ruff: noqa: ARG001 - a tool or verifier need not look at all that it is given

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from redrive_engine.models import reply, use
from redrive_engine.policy import NOT_ALLOWED, Policy, Question, Ruling
from redrive_engine.program import RULES, Program
from redrive_engine.tools import Call, tool
from redrive_engine.verifiers import Facts, Refused, Supersedes, verifier
from redrive_engine.world import Happened
from redrive_events import (
    ApprovalGiven,
    Input,
    Json,
    LeaseGranted,
    ObservationReceived,
    Record,
    RunStarted,
    Terms,
    canonical,
    shown_digest,
)
from redrive_replays import written_down

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@tool(effect="read", source="prices", timeout="2s")
def price_of(item: str) -> dict[str, Json]:
    """The price of an item."""
    return {"item": item, "cents": 5}


@tool(effect="read", source="shelf", timeout=None)
def count(item: str) -> int:
    """How many there are."""
    return 3


@tool(effect="write", source="bank", object="item", timeout="3s")
def pay(item: str, cents: int, *, call: Call) -> dict[str, Json]:
    """Pay for an item."""
    return {"item": item, "cents": cents}


@pay.compensate
def pay_back(call: Call) -> dict[str, Json]:
    """Give the money back."""
    return {"back": call.compensates}


@tool(effect="unknown", timeout=None)
def poke() -> str:
    """Nobody knows what it does."""
    return "poked"


@verifier(price_of, commits=["price"])
def right_item(call: Call, seen: dict[str, Any], facts: Facts) -> Facts | Refused:
    """The price of the item that was asked for, and it never changes."""
    return {"price": seen["cents"]} if seen["item"] == call.arguments["item"] else Refused("another item")


@verifier(count, commits=["stock"])
def latest(call: Call, seen: int, facts: Facts) -> Facts | Refused:
    """What was counted last holds."""
    return {"stock": Supersedes(seen)}


@verifier(pay, commits=["paid", "item"])
def right_sum(call: Call, seen: dict[str, Any], facts: Facts) -> Facts | Refused:
    """The sum that was to be paid."""
    if seen["cents"] != call.arguments["cents"]:
        return Refused("another sum")
    return {"paid": Supersedes(seen["cents"]), "item": Supersedes(seen["item"])}


@verifier(pay)
def in_stock(call: Call, seen: Any, facts: Facts) -> Facts | Refused:
    """A second verifier of the same tool, which commits nothing."""
    return Refused("sold out") if facts.get("stock") == 0 else {}


TOOLS = {one.declaration.name: one for one in (price_of, count, pay, poke)}
VERIFIERS = (right_item, latest, right_sum, in_stock)


@dataclass(frozen=True)
class Asking:
    """A policy in Python: a person is asked about these ``tools``, and what is paid is brought down to ``cap``.

    ``spoils`` are sums that it makes something of that fits nowhere, or that it changes back and forth for ever.
    """

    tools: tuple[str, ...] = ("pay",)
    cap: int | None = None
    denies: int | None = None
    spoils: Mapping[int, Json] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Of what decides."""
        return canonical([self.tools, self.cap, self.denies, sorted(self.spoils)]).decode()

    wording = digest
    data = None

    def judge(self, question: Question) -> Ruling:
        """Edits come first, then what is denied, then what is asked about."""
        arguments = question.arguments if isinstance(question.arguments, dict) else {}
        cents = arguments.get("cents", 0)
        if question.tool == "pay" and cents in self.spoils:
            return Ruling("edit", "spoiled", arguments={**arguments, "cents": self.spoils[cents]})
        if question.tool == "pay" and self.cap is not None and cents > self.cap:
            return Ruling("edit", "no more than this", arguments={**arguments, "cents": self.cap})
        if question.tool == "pay" and self.denies is not None and cents >= self.denies:
            return Ruling("deny", "too much", f"{cents} cents", NOT_ALLOWED)
        return Ruling("ask", "a person looks") if question.tool in self.tools else Ruling("allow", "all else")


def answer_to_pay(
    answer: Literal["grant", "refuse", "edit"], cents: int, *, call: int = 1, **more: Any
) -> ApprovalGiven:
    """A person's answer about paying for tea, as it was shown to them."""
    shown = shown_digest("pay", {"item": "tea", "cents": cents}, "tea")
    return ApprovalGiven(call=call, digest=shown, by="bo", answer=answer, **more)


def shop(terms: Terms, *, prompt: str = "Serve.", policy: Policy | None = None) -> Program:
    """The shop's program under a contract."""
    return Program(
        name="shop",
        version="1",
        terms=terms,
        prompt=({"role": "system", "content": prompt},) if prompt else (),
        tools={name: one.declaration for name, one in TOOLS.items()},
        verifiers=VERIFIERS,
        policy=policy,
    )


def started_of(program: Program, *, goal: str = "Buy tea") -> RunStarted:
    """How a run of ``program`` begins."""
    return RunStarted(
        goal=goal,
        agent=program.name,
        version=program.version,
        nonce="n0",
        contract=program.terms,
        rules=RULES,
        principal="ana",
        parts=program.parts,
    )


def beginning(program: Program, run_id: str = "run") -> Record:
    """The first record of a run of ``program``."""
    return Record(run_id=run_id, position=1, at=NOON, cause=0, left=0, event=started_of(program))


def observed(tool: str, arguments: Mapping[str, Json]) -> Json:
    """What a tool of the shop gives when all is well."""
    usual: dict[str, Json] = {
        "price_of": {"item": arguments.get("item", ""), "cents": 5},
        "count": 3,
        "pay": {"item": arguments.get("item", ""), "cents": arguments.get("cents", 0)},
    }
    return usual.get(tool, "poked")


def recorded(program: Program, *inputs: Input, run_id: str = "run", step_s: float = 1.0) -> list[Record]:
    """The records of a run to which ``inputs`` happen, one every ``step_s``, once a worker has taken it up."""
    happened = (started_of(program), LeaseGranted(worker="w", epoch=1), *inputs)
    times = (NOON + timedelta(seconds=step_s * number) for number in range(len(happened)))
    return written_down(program, run_id, map(Happened, happened, times))


def seen(call: int, value: Json, **more: Any) -> ObservationReceived:
    """A tool's answer, as the live world gives it."""
    words = canonical(value).decode()
    return ObservationReceived(call=call, status="ok", content=words, media_type="application/json", **more)


PURCHASE: tuple[Input, ...] = (
    reply("Let me see.", use("price_of", item="tea"), use("count", item="tea")),
    seen(2, 3),
    seen(1, {"item": "tea", "cents": 5}),
    reply("It is cheap."),
    reply("", use("pay", item="tea", cents=5)),
    seen(3, {"item": "tea", "cents": 5}),
    reply("Bought."),
)
"""Two reads that finish out of order, a finish that comes too early, a write, the end."""
