"""The desk where something is otherwise: people, data, tools, budgets, and a model that does not do as it should."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import redrive as rd
from order_status import people
from order_status.desk import CARE_GOAL, caring
from order_status.script import Decide, call, decided, finish, look_after, look_up, results, said
from order_status.staging import Variant
from order_status.world import ACCOUNT, ORDERS, World
from redrive_events import canonical

PLAIN: Final = Variant()
CARE: Final = Variant(goal=CARE_GOAL, decide=look_after, contract=caring, person=people.grants)
VAULT: Final = rd.MemoryVault()


def first(*replies: str) -> Decide:
    """These replies come first, then the model goes on as it should."""
    return lambda request: replies[request.turn - 1] if request.turn <= len(replies) else look_up(request)


def again_and_again(request: rd.ModelRequest) -> rd.ModelReplied:
    """The model never has enough, and each of its replies has its price."""
    reply = call("I look once more to be sure.", "find_order", order_id="ord_123")
    return rd.reply(reply, usage=rd.Usage(input=4_000, output=500), cost_micros=9_000)


def twice(request: rd.ModelRequest) -> str:
    """The model looks a second time before it answers."""
    if len(results(request, "status")) == 1 and len(said(request)) == 1:
        return call("I look a second time.", "find_order", order_id="ord_123")
    return look_up(request)


def own_words(request: rd.ModelRequest) -> str:
    """The model tells a waybill that nobody knows, and leaves it out when it is told so."""
    if results(request, "status") and "bears out" not in said(request)[-1]:
        return finish("Order ord_123 is shipped, waybill SF1390001.")
    return look_up(request)


def overstepping(request: rd.ModelRequest) -> str:
    """The model wants to do what its contract does not grant."""
    if results(request, "status"):
        return call("I credit it too.", "credit", order_id="ord_123", account=ACCOUNT, cents=1)
    return look_up(request)


def masked() -> rd.Mask:
    """No address of a customer is written; the key is that of an example, and no secret."""
    return rd.Mask(b"an example, no secret", secrets=False, classes=["email"], vault=VAULT)


def endless(**budget: Any) -> Variant:
    """The model goes on until this is used up."""
    limits: dict[str, Any] = {"steps": 50, **budget}
    return PLAIN.but(decide=again_and_again, terms={"budget": rd.Budget(**limits)})


def care(**otherwise: Any) -> Variant:
    """The desk that credits and writes, but for this."""
    return CARE.but(**otherwise)


UNDECIDED: Final = (
    "I think the order is shipped.",
    canonical({"version": 2, "kind": "finish", "summary": "Done.", "answer": "Shipped."}).decode(),
    decided("finish", "Done."),
)

VARIANTS: Final[Mapping[str, Variant]] = {
    "plain": PLAIN,
    "invalid id": PLAIN.but(goal="Look up order 4711, and say how it stands."),
    "a person knows the id": PLAIN.but(
        goal="Look up order 4711, and say how it stands.",
        terms={"escalation": "wait"},
        person=people.says("They mean order ord_123."),
    ),
    "muddled": PLAIN.but(decide=first(*UNDECIDED[:2])),
    "rambling": PLAIN.but(decide=first(*UNDECIDED)),
    "hasty": PLAIN.but(decide=first(finish("Order ord_123 is shipped."))),
    "own words": PLAIN.but(decide=own_words, terms={"answer": "", "claims": "supported"}),
    "overstepping": PLAIN.but(decide=overstepping),
    "another principal": PLAIN.but(principal="mallory"),
    "another shop": PLAIN.but(tenant="other"),
    # What comes back.
    "another tenant's data": PLAIN.but(faults={"find_order": ("foreign",)}),
    "stale": PLAIN.but(faults={"find_order": ("stale",)}),
    "always stale": PLAIN.but(faults={"find_order": ("stale",) * 9}),
    "empty": PLAIN.but(faults={"find_order": ("empty",)}),
    "malformed": PLAIN.but(faults={"find_order": ("malformed",)}),
    "nested too deeply": PLAIN.but(faults={"find_order": ("huge",) * 9}),
    "permission refused": PLAIN.but(faults={"find_order": ("refused",)}),
    "contradicting": PLAIN.but(
        decide=twice,
        later={"ord_123": ORDERS["ord_123"].model_copy(update={"status": "returned"})},
        terms={"quotas": rd.FailureQuotas(refused=1)},
    ),
    "duplicate result": PLAIN.but(decide=twice),
    "unavailable for a while": PLAIN.but(faults={"find_order": ("unavailable",) * 2}),
    "unavailable": PLAIN.but(faults={"find_order": ("unavailable",) * 9}),
    # What is used up.
    "out of steps": endless(steps=3),
    "out of tokens": endless(tokens=10_000),
    "out of time": endless(wall_time="2m").but(slow_s=50),
    "out of calls": endless(tool_calls=3),
    "out of money": endless(cost="0.02 USD"),
    # People.
    "granted": CARE,
    "refused": care(person=people.refuses),
    "edited": care(person=people.edits(300)),
    "edited to another account": care(person=people.edits(300, account="acct_13")),
    "edited beyond the limit": care(person=people.edits(9_000)),
    "expired": care(person=people.sleeps),
    "greedy": care(decide=lambda request: look_after(request, cents=900)),
    "masked": care(mask=masked),
    # Effects.
    "timeout before commit": care(faults={"credit": ("lost before",)}),
    "timeout after commit": care(faults={"credit": ("lost after",)}),
    "the letter's answer is lost": care(faults={"notify": ("lost after",)}),
    "duplicate request": care(faults={"credit": ("twice",)}),
    "stated as landed": care(faults={"credit": ("lost after",)}, bank_knows=False, person=people.states("landed")),
    "stated as not landed": care(
        faults={"credit": ("lost before",)}, bank_knows=False, person=people.states("not_landed")
    ),
    "wrongly stated": care(faults={"credit": ("lost after",)}, bank_knows=False, person=people.states("not_landed")),
    "nobody knows": care(faults={"credit": ("lost after",)}, bank_knows=False, person=people.consents_and_sleeps),
    "taken back": care(faults={"notify": ("refused",) * 9}, terms={"guards": rd.Guards()}),  # where twice may be asked
    # Cancellation.
    "cancelled at a lookup": PLAIN.but(meanwhile={"find_order": people.cancel}),
    "cancelled before consent": care(person=people.cancels),
    "cancelled at a credit": care(meanwhile={"credit": people.cancel}),
}


def outcome(name: str) -> tuple[rd.Run, World]:
    """A run of this variant, and the world that it leaves."""
    variant = VARIANTS[name]
    world = variant.world(rd.StillClock())
    return variant.run(world=world), world
