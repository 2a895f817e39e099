"""A request for a model, and what becomes of it."""

from __future__ import annotations

from typing import Any

import anyio

import redrive as rd
from redrive_events import Content, Json, ModelReplied
from redrive_projections import Message

FIND: Json = {
    "description": "Find an order.",
    "schema": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
}


def said(role: str, content: Content, *, call_id: str = "") -> Message:
    """One message of a request."""
    return Message(role, content, 1, call_id=call_id)


GO = (said("system", "You find orders."), said("user", "Where is 王芳's order? 🚚"))


def request(*messages: Message, model: str = "", **parameters: Json) -> rd.ModelRequest:
    """A request with one tool."""
    return rd.ModelRequest(1, messages or GO, {"find": FIND}, model, parameters)


def ask(model: rd.Model, asked: rd.ModelRequest | None = None) -> ModelReplied:
    """The reply of a model."""
    return anyio.run(model.ask, asked or request())


def trouble(model: rd.Model, asked: rd.ModelRequest | None = None) -> dict[str, Any]:
    """What goes wrong with a request, as it would be recorded."""
    try:
        reply = ask(model, asked)
    except rd.ModelTrouble as error:
        return vars(error)
    raise AssertionError(f"there was a reply: {reply}")
