"""The same agent where something goes wrong: services that fail, a model that repeats, strays and makes things up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import redrive as rd
from orders_sms.script import DONE, Reply, answers, ask, message, newest, scripted, send, track, waybill
from orders_sms.service import make_agent
from orders_sms.world import BOOKS, CUSTOMER, World

INVENTED = ("13912345678", "+86 139-1234-5679", "13800002223")


def side_by_side() -> rd.Agent:
    """The model asks for both parcels in one reply."""
    return make_agent(model=scripted(send, {2: track("ord_1001", "ord_1002")}))


def writing(phone: str = "+86 138-0000-2222") -> rd.Agent:
    """The model writes the number in its own way."""
    return make_agent(model=scripted(lambda request: send(request, phone)))


def repeating(world: World | None = None) -> rd.Agent:
    """The model sends the message a second time, its arguments in another order."""
    text = "Your parcel is on its way. Tracking number: SF1390002"
    again = rd.reply("To be sure I send it again.", rd.use("send_sms", text=text, phone="13800002222"))
    return make_agent(model=scripted(send, {4: again}), world=world)


def slipping() -> rd.Agent:
    """The model gets arguments wrong, and a tool's name, and corrects itself."""
    wrong = rd.reply(
        "I try several things.",
        rd.use("send_sms", phone=13800002222, text="hello"),
        rd.use("get_logistics"),
        rd.use("query_orders", name="Wang Fang", limit=1),
        rd.use("send_email", to="wang@example.com"),
    )
    return make_agent(model=scripted(send, {1: wrong}))


def failing() -> rd.Agent:
    """No service answers, whatever the model tries."""
    tries = {1: ask(), 2: track("ord_1002"), 3: ask("Fang Wang")}
    return make_agent(model=scripted(send, tries), world=World(down=frozenset({"query_orders", "get_logistics"})))


def flickering() -> rd.Agent:
    """Tools fail twice, answer, and fail twice again: never three times in a row."""
    tries = {1: track("ord_1"), 2: track("ord_2"), 3: ask(), 4: track("ord_3"), 5: track("ord_4")}
    return make_agent(model=scripted(send, tries))


def inventing(world: World | None = None, *, times: int = len(INVENTED)) -> rd.Agent:
    """No phone is registered, and the model makes numbers up, one after the other."""

    def invent(request: rd.ModelRequest) -> Reply:
        order = newest(request)
        if order is None:
            return ask()
        number = waybill(request, order["order_id"])
        if not number:
            return track(order["order_id"])
        tried = sum("nobody gave" in str(one) for one in answers(request))
        return message(INVENTED[tried], number) if tried < times else send(request)

    return make_agent(model=scripted(invent), world=world or no_phone())


def contrite() -> rd.Agent:
    """The model makes one number up, is denied, and says that it cannot be done."""
    return inventing(times=1)


def honest() -> rd.Agent:
    """No phone is registered, and the model says so at once."""
    return make_agent(world=no_phone())


def unknown() -> rd.Agent:
    """The books do not know the name."""
    return make_agent(world=World(books={}))


def no_phone() -> World:
    """A world in which the newest order has no phone."""
    first, second = BOOKS[CUSTOMER]
    nobody = {CUSTOMER: (first.model_copy(update={"phone": None}), second.model_copy(update={"phone": None}))}
    return World(books=nobody)


def unanswered(world: World | None = None) -> rd.Agent:
    """The message is sent, and nobody says so: the service is asked whether it knows the key."""
    return make_agent(world=replace(world or World(), loses_answers=True))


def long_winded() -> rd.Agent:
    """The carrier's page is far longer than what a model is given of it."""
    return make_agent(world=World(scans=400))


def endless(**terms: Any) -> rd.Agent:
    """The model asks for one name after the other, and never comes to an end."""

    def wander(request: rd.ModelRequest) -> Reply:
        if len(answers(request)) < 2:
            return send(request)
        return ask(f"customer {len(answers(request))}")

    return make_agent(model=scripted(wander), **terms)


def hasty() -> rd.Agent:
    """The model says that it is done when nothing was sent."""
    return make_agent(model=scripted(send, {3: DONE}))
