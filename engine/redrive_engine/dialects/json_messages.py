"""JSON messages: every reply is one JSON object, an action or the final word."""

from __future__ import annotations

from dataclasses import dataclass

from redrive_engine.dialects.reading import Decision, Proposal, Unreadable, summary_of
from redrive_events import BadInput, Content, Json, parse_json, text_of

_KINDS = '{"type":"action","tool":NAME,"input":{…}} or {"type":"final"}'
_KEYS = {"action": {"type", "tool", "input", "summary"}, "final": {"type", "answer", "summary"}}


@dataclass(frozen=True, slots=True)
class JsonMessages:
    """Two kinds of reply and no others; ``summary`` and, in a final word, ``answer`` are optional texts."""

    name: str = "json"

    def read(self, content: Content) -> Decision | Unreadable:
        """The action or final word; what else it may be is said in our own words."""
        try:
            reply = parse_json(text_of(content))
        except BadInput:
            return _unreadable("not JSON")
        kind = reply.get("type") if isinstance(reply, dict) else None
        if not isinstance(kind, str) or kind not in _KEYS:
            return _unreadable("neither an action nor final")
        if not reply.keys() <= _KEYS[kind]:
            return _unreadable(f"keys that {kind} does not have")
        if not all(isinstance(reply.get(key, ""), str) for key in ("summary", "answer", "tool")):
            return _unreadable("a text is expected in summary, answer and tool")
        summary = summary_of(reply.get("summary", ""))
        if kind == "final":
            return Decision("finish", summary, answer=reply.get("answer", ""))
        return _action(reply, summary)


def _action(reply: dict[str, Json], summary: str) -> Decision | Unreadable:
    if not reply.get("tool") or not isinstance(reply.get("input"), dict):
        return _unreadable("an action needs a tool and an input object")
    return Decision("call", summary, (Proposal(reply["tool"], arguments=reply["input"]),))


def _unreadable(reason: str) -> Unreadable:
    return Unreadable(reason, f"Not understood ({reason}). Reply with one JSON object only: {_KINDS}.")
