"""An agent that refunds an order: two tools, what makes their results facts, and when it is done."""

from pathlib import Path

import redrive as rd
from refund_desk.shop import Order, Receipt, bank, orders, script


@rd.tool(effect="read", source="orders", timeout="2s")
async def find_order(order_id: str, *, call: rd.Call) -> Order:
    """One order, by its id."""  # what the model reads
    return await orders.get(order_id, tenant=call.tenant)


@rd.tool(effect="write", source="bank", object="order_id", destination="iban", fenced=True)
def refund(order_id: str, iban: str, cents: int, *, call: rd.Call) -> Receipt:
    """Pay money back for an order."""
    return bank.pay(order_id, iban, cents, key=call.key, fence=call.epoch)


@refund.reconcile  # asked before any retry; if it raises: unknown
def was_paid(call: rd.Call) -> rd.Landed[Receipt] | rd.NotLanded:
    """Whether the bank knows the payment."""
    return rd.Landed(found) if (found := bank.find(call.key, fence=call.epoch)) else rd.NotLanded()


@rd.verifier(find_order, commits=["iban"])
def right_order(call: rd.Call, seen: Order, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The account is known once the order that was asked for came back."""
    return {"iban": seen.iban} if seen.id == call.arguments["order_id"] else rd.Refused("another order")


@rd.verifier(refund, commits=["refunded"])
def right_sum(call: rd.Call, seen: Receipt, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The refund is known once the bank has paid the sum that was asked for, to the account that was."""
    asked = (call.arguments["iban"], call.arguments["cents"])
    return {"refunded": seen.cents} if (seen.iban, seen.cents) == asked else rd.Refused("another refund")


contract = rd.Contract(
    tools={"find_order": {"order_id": r"ord_\d+"}, "refund": {}},  # granted, and how far
    done={"refunded": rd.ANY},
    answer="Refunded {refunded} cents.",  # facts decide, not words
    budget=rd.Budget(steps=6, tokens=20_000, wall_time="2m", cost="0.10 USD"),
)
agent = rd.Agent(
    "refund-desk",
    "1",
    contract,
    tools=[find_order, refund],
    verifiers=[right_order, right_sum],
    policy=Path(__file__).with_name("policy.toml"),
    model=rd.ScriptedModel(script),
)
