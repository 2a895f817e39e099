"""The shop around the desk: orders, a bank that honours keys, and a script in the place of the language model."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel

import redrive as rd


class Order(BaseModel):
    """An order, and the account that it was paid from."""

    id: str
    item: str
    paid_cents: int
    iban: str


class Receipt(BaseModel):
    """What the bank gives for a payment."""

    payment: str
    iban: str
    cents: int


class Orders:
    """The orders of all tenants; each sees its own."""

    def __init__(self, *orders: Order) -> None:
        self._orders = {order.id: order for order in orders}

    async def get(self, order_id: str, *, tenant: str) -> Order:
        """One order; the error says what there is, so that the model can go on."""
        if tenant not in {"", "velo"} or order_id not in self._orders:
            raise rd.ToolError(f"There is no order {order_id}. There are: {', '.join(self._orders)}.")
        return self._orders[order_id]


@dataclass
class Bank:
    """An authority: a payment with a key that it has seen is not made again, nor one by a worker of the past."""

    payments: dict[str, Receipt] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)

    def pay(self, order_id: str, iban: str, cents: int, *, key: str, fence: int) -> Receipt:
        """Pay, once for each key."""
        if fence < self.epochs.get(key, 0):
            raise rd.ToolError(f"order {order_id}: another worker has taken over")
        self.epochs[key] = fence
        number = f"pay_{len(self.payments) + 1}"
        return self.payments.setdefault(key, Receipt(payment=number, iban=iban, cents=cents))

    def find(self, key: str, *, fence: int) -> Receipt | None:
        """The payment that was made with a key; who asks with a greater epoch is the one who may still pay."""
        self.epochs[key] = max(fence, self.epochs.get(key, 0))
        return self.payments.get(key)


orders = Orders(Order(id="ord_123", item="helmet", paid_cents=4_900, iban="DE89 3704 0044 0532 0130 00"))
bank = Bank()
script = [
    rd.reply("I look the order up first.", rd.use("find_order", order_id="ord_123")),
    rd.reply(
        "It was paid, so I send the money back to the account it came from.",
        rd.use("refund", order_id="ord_123", iban="DE89 3704 0044 0532 0130 00", cents=4_900),
    ),
    rd.reply("The refund is on its way."),
]
