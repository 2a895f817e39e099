"""The shop behind the desk: its order book, its bank and its post, and what goes wrong on the way to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

import anyio
from pydantic import BaseModel, ConfigDict

import redrive as rd

TENANT: Final = "velo"
ADDRESS: Final = "wang@customers.example"
ACCOUNT: Final = "acct_77"

# What becomes of one request: `lost` are those whose answer never comes, before or after they took effect.
Fault: TypeAlias = Literal[
    "", "unavailable", "refused", "stale", "foreign", "malformed", "huge", "empty", "twice", "lost before", "lost after"
]
Meanwhile: TypeAlias = Callable[[rd.Call], Awaitable[None]]


class _Seen(BaseModel):
    """What a tool brings back."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Order(_Seen):
    """An order as the book has it; the ``note`` is the customer's own words."""

    order_id: str
    status: str
    account: str = ACCOUNT
    address: str = ADDRESS
    note: str = ""


class Credit(_Seen):
    """Money that the bank has credited, or taken back, under the key that it was given; the ``memo`` is anybody's."""

    key: str
    order_id: str
    account: str
    cents: int
    memo: str = ""


class Notice(_Seen):
    """A letter that the post has sent, under the key that it was given."""

    key: str
    order_id: str
    address: str
    words: str


ORDERS: Final = {"ord_123": Order(order_id="ord_123", status="shipped")}
LATE: Final = {"ord_125": Order(order_id="ord_125", status="delayed")}


async def nothing(_: rd.Call) -> None:
    """Nothing happens meanwhile."""


@dataclass
class World:
    """What there is, and by key what was done; ``faults`` are those of the next requests to a tool, in order.

    ``meanwhile`` is what happens while a request is under way and nothing has taken effect yet. A lookup takes
    ``slow_s`` of the time of ``clock``, if somebody moves it.
    """

    orders: Mapping[str, Order] = field(default_factory=lambda: ORDERS | LATE)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    meanwhile: Mapping[str, Meanwhile] = field(default_factory=dict)
    clock: Callable[[], datetime] = field(default_factory=lambda: rd.Surroundings().now)
    later: Mapping[str, Order] = field(default_factory=dict)
    memo: str = ""
    bank_knows: bool = True
    slow_s: float = 0.0
    credits: dict[str, Credit] = field(default_factory=dict)
    debits: dict[str, Credit] = field(default_factory=dict)
    notices: dict[str, Notice] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    lookups: int = 0

    async def find(self, order_id: str, call: rd.Call) -> rd.Observed[Any]:
        """The order, if it is the tenant's: the book looks at that itself, whatever the desk has allowed."""
        if not order_id.startswith("ord_"):
            raise rd.ToolError("invalid_order_id: the id of an order begins with ord_.")
        fault = await self._under_way("find_order", call)
        if fault == "unavailable":
            raise ConnectionError("no route to the order book")
        if fault == "refused" or call.tenant != TENANT:
            raise rd.ToolError("permission_refused: this order is not for this desk.")
        self.lookups += 1
        if isinstance(self.clock, rd.StillClock):
            self.clock.move(self.slow_s)
        book = self.orders if self.lookups == 1 else {**self.orders, **self.later}
        found = None if fault == "empty" else book.get(order_id)
        aged = timedelta(days=1) if fault == "stale" else timedelta(minutes=1)
        whose = "other" if fault == "foreign" else TENANT
        told: Any = {"malformed": '{"order_id": "ord_1', "huge": [[[[[[order_id]]]]]]}.get(fault, found)
        return rd.Observed(told, tenant=whose, as_of=self.clock() - aged, media_type="application/json")

    async def credit(self, order_id: str, account: str, cents: int, call: rd.Call) -> Credit:
        """The bank credits once for each key, and nothing for a worker of the past."""
        fault = await self._under_way("credit", call)
        self._fenced(call)
        made = Credit(key=call.key, order_id=order_id, account=account, cents=cents, memo=self.memo)
        for _ in range(2 if fault == "twice" else 1):  # the line may bring one request twice
            self.credits.setdefault(call.key, made)
        await self._on_the_way_back(fault)
        return self.credits[call.key]

    async def take_back(self, call: rd.Call) -> Credit:
        """What was credited under another key, once for each key."""
        await self._under_way("take_back", call)
        self._fenced(call)
        given = {name: call.arguments[name] for name in ("order_id", "account", "cents")}
        return self.debits.setdefault(call.key, Credit.model_validate({"key": call.key, **given}))

    def credited(self, call: rd.Call) -> Credit | None:
        """What the bank knows by a key; who asks with a greater epoch is the one who may still act."""
        if not self.bank_knows:
            raise ConnectionError("the bank does not answer")
        self._fenced(call)
        return (self.debits if call.compensates else self.credits).get(call.key)

    async def notify(self, order_id: str, address: str, words: str, call: rd.Call) -> Notice:
        """The post sends once for each key."""
        fault = await self._under_way("notify", call)
        if fault == "refused":
            raise rd.ToolError("The post takes no letters today.")
        self._fenced(call)
        self.notices.setdefault(call.key, Notice(key=call.key, order_id=order_id, address=address, words=words))
        await self._on_the_way_back(fault)
        return self.notices[call.key]

    def sent(self, call: rd.Call) -> Notice | None:
        """What the post knows by a key, like the bank."""
        self._fenced(call)
        return self.notices.get(call.key)

    def _fenced(self, call: rd.Call) -> None:
        if call.epoch < self.epochs.get(call.key, 0):
            raise rd.ToolError("Another worker has taken over.")
        self.epochs[call.key] = call.epoch

    async def _under_way(self, tool: str, call: rd.Call) -> Fault:
        await self.meanwhile.get(tool, nothing)(call)
        waiting = self.faults.get(tool)
        fault = waiting.pop(0) if waiting else ""
        if fault == "lost before":
            await anyio.sleep_forever()
        return fault

    async def _on_the_way_back(self, fault: Fault) -> None:
        if fault == "lost after":
            await anyio.sleep_forever()
