"""How a model's reply is read as a decision; a dialect is small, pure, and anybody can add one."""

from collections.abc import Mapping

from redrive_engine.dialects.json_messages import JsonMessages
from redrive_engine.dialects.native import NativeCalls
from redrive_engine.dialects.react_text import ReActText
from redrive_engine.dialects.reading import Decision, Dialect, Proposal, Unreadable

# `recorded` is for imports: what a recorded model said was taken as it was, so an empty reply is a reply.
DIALECTS: Mapping[str, Dialect] = {
    "native": NativeCalls(),
    "recorded": NativeCalls(name="recorded", empty_is_answer=True),
    "json": JsonMessages(),
    "react": ReActText(),
}

__all__ = ["DIALECTS", "Decision", "Dialect", "JsonMessages", "NativeCalls", "Proposal", "ReActText", "Unreadable"]
