"""The shop's books, the carrier and the message service: what they know, and what they do when they are asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel, ConfigDict

import redrive as rd

CUSTOMER: Final = "Wang Fang"
PHONE: Final = "13800002222"


class _Seen(BaseModel):
    """What a tool brings back."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Order(_Seen):
    """An order, and the telephone number that is registered for it."""

    order_id: str
    date: str
    phone: str | None


class Orders(_Seen):
    """All orders of a customer, as they stand in the books."""

    name: str
    orders: tuple[Order, ...]


class Sms(_Seen):
    """A message that was sent: the service confirms it under the key that it was given."""

    key: str
    phone: str
    text: str


BOOKS: Final = {
    CUSTOMER: (
        Order(order_id="ord_1001", date="2026-10-02", phone=PHONE),
        Order(order_id="ord_1002", date="2026-11-18", phone=PHONE),
    )
}
WAYBILLS: Final = {"ord_1001": "SF1390001", "ord_1002": "SF1390002"}


@dataclass
class World:
    """What is known, and by key what was sent; ``down`` are the tools that fail.

    ``loses_answers`` is a message service that sends, and does not come back to say so.
    """

    books: Mapping[str, tuple[Order, ...]] = field(default_factory=lambda: BOOKS)
    scans: int = 2
    down: frozenset[str] = frozenset()
    loses_answers: bool = False
    sent: dict[str, Sms] = field(default_factory=dict)

    def query_orders(self, name: str) -> Orders:
        """The books know a customer by the exact name."""
        self._may_fail("query_orders", "The order service does not answer.")
        return Orders(name=name, orders=self.books.get(name, ()))

    def get_logistics(self, order_id: str) -> str:
        """The waybill, then each scan of the parcel, without the carrier's blanks and rulers."""
        self._may_fail("get_logistics", "The carrier does not answer.")
        if order_id not in WAYBILLS:
            raise rd.ToolError(f"No parcel for {order_id!r}. Ask for an order that query_orders has shown.")
        page = f"{order_id}\n\n  waybill   {WAYBILLS[order_id]} \n----\n"
        page += "".join(f" 2026-11-{19 + n % 9}  \t depot {n}, 转运中 \n\n" for n in range(1, self.scans + 1))
        return cleaned(page)

    def send_sms(self, phone: str, text: str, key: str) -> Sms:
        """The same key again sends nothing again."""
        self._may_fail("send_sms", "The message service refused, and nothing was sent.")
        sms = self.sent.setdefault(key, Sms(key=key, phone=digits(phone), text=text))
        if self.loses_answers:
            raise ConnectionError("the line went dead")
        return sms

    def _may_fail(self, tool: str, why: str) -> None:
        if tool in self.down:
            raise rd.ToolError(why)


def cleaned(page: str) -> str:
    """A page without empty lines, rulers and runs of blanks."""
    lines = (" ".join(line.split()) for line in page.splitlines())
    return "\n".join(line for line in lines if line.strip("-"))


def digits(phone: str) -> str:
    """A telephone number of this country, however it is written."""
    written = "".join(str(int(sign)) for sign in phone if sign.isdigit())
    return written.removeprefix("00").removeprefix("86") if len(written) > len(PHONE) else written
