"""Runs of the refund desk that tests look at: the plain one, and others that went another way."""

from __future__ import annotations

import redrive as rd
from redrive.testing import Trajectory
from redrive_events import ModelReplied
from refund_desk import agent, desk
from refund_desk.shop import Bank, script

IBAN = "DE89 3704 0044 0532 0130 00"
LOOK = rd.use("find_order", order_id="ord_123")


def fresh_bank() -> None:
    """A bank that has paid nothing yet."""
    desk.bank = Bank()  # type: ignore[attr-defined]


def course(*replies: ModelReplied | str, run_id: str = "refund-1", goal: str = "Refund ord_123") -> Trajectory:
    """The run in which the model says this; without replies the plain one."""
    fresh_bank()
    model = rd.ScriptedModel(replies or script)
    around = rd.Surroundings.fixed()
    run = agent.run(goal, principal="ana", log=rd.MemoryLog(), run_id=run_id, surroundings=around, model=model)
    return Trajectory(tuple(run.records()))


def paying(cents: int, iban: str = IBAN) -> ModelReplied:
    """A reply that pays so much back."""
    return rd.reply("", rd.use("refund", order_id="ord_123", iban=iban, cents=cents))
