"""The language model's double: typed decisions, made from what it reads, and nothing remembered."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import redrive as rd
from order_status.decisions import VERSION
from redrive_events import canonical, text_of

Decide: TypeAlias = Callable[[rd.ModelRequest], str | rd.ModelReplied]

# With these words of a tool there is nothing that another call could mend.
HOPELESS: Final = ("invalid_order_id", "permission_refused", "null")


def scripted(decide: Decide) -> rd.ScriptedModel:
    """A model that decides from the request alone."""
    return rd.ScriptedModel(lambda _, request: decide(request))


def decided(kind: str, summary: str, **words: Any) -> str:
    """A decision as it is written."""
    return canonical({"version": VERSION, "kind": kind, "summary": summary, **words}).decode()


def call(summary: str, tool: str, **arguments: Any) -> str:
    """Ask for a tool."""
    return decided("tool_call", summary, tool=tool, arguments=arguments)


def finish(answer: str) -> str:
    """Say that it is done."""
    return decided("finish", "All is known, so I answer.", answer=answer)


def escalate(reason: str) -> str:
    """Ask for a person."""
    return decided("escalate", "This is nothing that I can settle, so I hand over.", reason=reason)


def said(request: rd.ModelRequest) -> list[str]:
    """What the model was told behind its goal: results, refusals, notices and people's words, in order."""
    return _told(request)[1:]


def _told(request: rd.ModelRequest) -> list[str]:
    roles = [message.role for message in request.messages]
    behind = request.messages[roles.index("user") :]
    return [text_of(message.content) for message in behind if message.role != "assistant"]


def results(request: rd.ModelRequest, name: str) -> list[dict[str, Any]]:
    """The results that have a value of this name, in order."""
    found: list[dict[str, Any]] = []
    for text in said(request):
        try:
            data = json.loads(text)
        except ValueError:
            continue
        if isinstance(data, dict) and name in data:
            found.append(data)
    return found


def wanted(request: rd.ModelRequest) -> str:
    """The order that the goal speaks of, or an operator did since."""
    found = [number for text in _told(request) for number in re.findall(r"\border (\w*\d)\b", text)]
    return str(found[-1])


def look_up(request: rd.ModelRequest) -> str:
    """Look the order up, and answer with what the book says of it."""
    orders, last = results(request, "status"), (said(request) or [""])[-1]
    if orders:
        return finish(f"Order {orders[-1]['order_id']} is {orders[-1]['status']}.")
    if last.startswith(HOPELESS):
        return escalate(last)
    return call("I know nothing of the order yet, so I look it up.", "find_order", order_id=wanted(request))


def look_after(request: rd.ModelRequest, *, cents: int = 490) -> str:
    """Look the order up, credit its postage, write to the customer, answer."""
    orders = results(request, "status")
    if not orders:
        return look_up(request)
    order, credits_, last = orders[-1], results(request, "cents"), said(request)[-1]
    of_order = {"order_id": order["order_id"]}
    if not credits_ and last.startswith("{"):
        why = f"The order is {order['status']}, so I credit its postage."
        return call(why, "credit", **of_order, account=order["account"], cents=cents)
    if not credits_:
        return escalate(last)
    if not results(request, "words"):
        words = f"We are sorry: {order['order_id']} is {order['status']}. {credits_[-1]['cents']} cents are credited."
        why = "The credit is made, so I write to the customer."
        return call(why, "notify", **of_order, address=order["address"], words=words)
    return finish(f"Order {order['order_id']} is {order['status']}, and its postage is credited.")
