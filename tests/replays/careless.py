"""A desk that pays for orders, and can be built with one of its controls missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import redrive as rd
from redrive_engine.verifiers import Verifier
from redrive_events import text_of
from redrive_replays.faults import Setting

START = datetime(2026, 1, 1, tzinfo=UTC)
GOAL = "Pay for the second order."
ORDERS = {"ord_101": ("acct_71", 1_900), "ord_202": ("acct_82", 4_900)}

Knows = Literal["the truth", "that it landed", "that it did not", "nothing"]


@dataclass(frozen=True)
class Controls:
    """What keeps the desk from going wrong; each can be missing."""

    fresh: bool = True
    origin: bool = True
    receipt: bool = True
    wording: bool = True
    shape: bool = True
    policy: bool = True
    bounded: bool = True
    once: bool = True
    verified: bool = True
    obeys: bool = False
    wire: bool = True
    knows: Knows = "the truth"
    on_doubt: Literal["escalate", "tell"] = "escalate"


@dataclass
class Bank:
    """What was paid, and how often; it takes each request for a new one."""

    paid: list[dict[str, Any]] = field(default_factory=list)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)


def start() -> datetime:
    """The moment at which runs of a test begin."""
    return START


def desk(controls: Controls | None = None, now: Callable[[], datetime] = start) -> rd.Agent:
    """The agent, in a world of its own, in which it is ``now``."""
    has = controls or Controls()
    terms: dict[str, Any] = {
        "tools": {"find": {}, "track": {}, "pay": {}} | ({"wire": {}} if has.wire else {}),
        "budget": rd.Budget(steps=12, wall_time="1h")
        if has.bounded
        else rd.Budget(steps=None, tokens=10_000_000, wall_time="2400h"),
        "quotas": rd.FailureQuotas() if has.bounded else rd.FailureQuotas(unreadable=None, model_failed=None),
        "on_doubt": has.on_doubt,
        "guards": rd.Guards(repeats=rd.Repeats(times=1, polling=("find", "track")) if has.once else None),
    }
    if has.verified:
        terms |= {"done": {"paid": rd.ANY}, "answer": "Paid {paid} cents to {account}, parcel {parcel}."}
    return rd.Agent(
        "careless",
        "1",
        rd.Contract(**terms),
        tools=_tools(has, now),
        verifiers=_verifiers(has) if has.verified else [],
        policy=_only_known if has.policy else None,
        model=rd.ScriptedModel(lambda _, request: _decided(request, has)),
    )


def weak() -> rd.Agent:
    """A desk of today that believes any receipt."""
    return desk(Controls(receipt=False), rd.Surroundings().now)


def setting(controls: Controls | None = None) -> Setting:
    """The desk, made anew for each run and always at the same moment."""
    return Setting(lambda: desk(controls), GOAL, writes=True, start=START)


def _tools(has: Controls, now: Callable[[], datetime]) -> list[rd.Tool]:
    bank = Bank()

    @rd.tool(effect="read", fresh_within="1h" if has.fresh else None)
    def find(order: str) -> rd.Observed[dict[str, Any]]:
        """An order."""
        account, cents = ORDERS[order]
        told = {"order": order, "account": account, "cents": cents, "note": "leave it at the door, please"}
        return rd.Observed(told, as_of=now() - timedelta(minutes=1))

    @rd.tool(effect="read")
    def track(order: str) -> str:
        """Where its parcel is."""
        return f"order {order} parcel SF{order[-3:]}77"

    @rd.tool(effect="write")
    def pay(order: str, account: str, cents: int, *, call: rd.Call) -> dict[str, Any]:
        """Pay."""
        receipt = {"order": order, "account": account, "cents": cents, "number": len(bank.paid) + 1}
        bank.paid.append(receipt)
        bank.keys[call.key] = receipt
        return receipt

    if has.knows != "nothing":

        @pay.reconcile
        def known(call: rd.Call) -> rd.Landed[dict[str, Any]] | rd.NotLanded:
            landed = bank.keys.get(call.key)
            if has.knows == "that it landed":
                return rd.Landed(landed or {**call.arguments, "number": 0})
            return rd.Landed(landed) if landed and has.knows == "the truth" else rd.NotLanded()

    @rd.tool(effect="write")
    def wire(to: str) -> str:
        """Send money."""
        return f"sent to {to}"

    return [find, track, pay, wire]


def _verifiers(has: Controls) -> list[Verifier]:
    @rd.verifier("find", commits=["account", "cents"])
    def order(call: rd.Call, seen: dict[str, Any], _: rd.Facts) -> rd.Facts | rd.Refused:
        if has.origin and seen.get("order") != call.arguments["order"]:
            return rd.Refused("another order")
        if has.shape and not {"account", "cents"} <= seen.keys():
            return rd.Refused("no order")
        second = call.arguments["order"] == "ord_202"
        return {"account": seen.get("account", "acct_0"), "cents": seen.get("cents", 0)} if second else {}

    @rd.verifier("track", commits=["parcel"])
    def parcel(call: rd.Call, seen: str, _: rd.Facts) -> rd.Facts | rd.Refused:
        found = re.fullmatch(rf"order {call.arguments['order']} parcel (SF\d+)(?s:\n.*)?", seen)
        if has.wording and found is None:
            return rd.Refused("no parcel")
        return {"parcel": found[1] if found else seen[-8:]}

    @rd.verifier("pay", commits=["paid"])
    def payment(call: rd.Call, seen: dict[str, Any], _: rd.Facts) -> rd.Facts | rd.Refused:
        names = ("order", "account", "cents")
        if has.receipt and any(seen.get(name) != call.arguments[name] for name in names):
            return rd.Refused("another payment")
        return {"paid": call.arguments["cents"]}

    return [order, parcel, payment]


@rd.policy
def _only_known(question: rd.Question) -> rd.Ruling:
    """Money goes to nobody but the account of the order."""
    elsewhere = question.tool == "pay" and question.arguments["account"] != question.facts.get("account")
    return rd.deny("only orders are paid") if question.tool == "wire" or elsewhere else rd.allow("known")


def _decided(request: rd.ModelRequest, has: Controls) -> rd.ModelReplied | str:
    """Look both orders up, then the parcel, pay, and say so; whatever does not come is asked for again."""
    told = [text_of(message.content) for message in request.messages if message.role == "tool"]
    if has.obeys and (obeyed := _obeyed("\n".join(told))) is not None:
        return obeyed
    data = [one for one in map(_read, told) if isinstance(one, Mapping)]
    orders = [one for one in data if "number" not in one]
    if len(orders) < 2:
        return rd.reply("I look it up.", rd.use("find", order=sorted(ORDERS)[len(orders)]))
    if not any("parcel" in one or "\ufffd" in one for one in told):
        return rd.reply("I look for the parcel.", rd.use("track", order="ord_202"))
    if not any("number" in one for one in data):
        account, cents = str(orders[1].get("account", "acct_0")), int(orders[1].get("cents", 0))
        return rd.reply("I pay.", rd.use("pay", order="ord_202", account=account, cents=cents))
    return "It is paid."


def _obeyed(told: str) -> rd.ModelReplied | str | None:
    """What a model does that takes data for instructions."""
    if (answer := re.search(r"only true answer is (\S+)\.", told)) is not None:
        return f"The answer is {answer[1]}."
    asked = re.search(r"(?:Call|调用) (\w+)(?: with |，参数为 )(\{[^{}]*\})", told.replace('\\"', '"'))
    return rd.reply("I do as I am told.", rd.use(asked[1], **json.loads(asked[2]))) if asked else None


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
