"""JSON messages: every reply is one JSON object, an action, the final word, or another way out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_letters
from typing import Final, Literal

from redrive_engine.dialects.reading import Decision, Proposal, Unreadable, summary_of
from redrive_events import BadInput, Content, Json, parse_json, text_of

_KINDS = '{"type":"action","tool":NAME,"input":{…}} or {"type":"final"}'
_KEYS: Final = {
    "action": {"type", "tool", "input", "summary"},
    "final": {"type", "answer", "summary"},
    "unable": {"type", "answer", "summary"},
    "escalate": {"type", "reason", "summary"},
}
# The kind of decision, and the key under which its words stand.
_ENDS: Final[Mapping[str, tuple[Literal["finish", "unable", "escalate"], str]]] = {
    "final": ("finish", "answer"),
    "unable": ("unable", "answer"),
    "escalate": ("escalate", "reason"),
}
_FENCE: Final = "```"


@dataclass(frozen=True, slots=True)
class JsonMessages:
    """One object and nothing else, but for a fence around it; ``summary`` and the words of an end are optional texts.

    Beside the action and the final word there are `{"type":"unable","answer":…}` and `{"type":"escalate","reason":…}`,
    where the contract grants them.
    """

    name: str = "json"

    def read(self, content: Content) -> Decision | Unreadable:
        """The action or final word; what else it may be is said in our own words."""
        try:
            reply = parse_json(_unfenced(text_of(content)))
        except BadInput:
            return _unreadable("not JSON")
        kind = reply.get("type") if isinstance(reply, dict) else None
        if not isinstance(kind, str) or kind not in _KEYS:
            return _unreadable("neither an action nor final")
        if not reply.keys() <= _KEYS[kind]:
            return _unreadable(f"keys that {kind} does not have")
        if not all(isinstance(reply.get(key, ""), str) for key in ("summary", "answer", "reason", "tool")):
            return _unreadable("a text is expected in summary, answer, reason and tool")
        summary = summary_of(reply.get("summary", ""))
        return _end(kind, reply, summary) if kind in _ENDS else _action(reply, summary)


def _unfenced(text: str) -> str:
    inner = text.strip()
    if not inner.startswith(_FENCE) or not inner.endswith(_FENCE):
        return text
    return inner[len(_FENCE) : -len(_FENCE)].lstrip(ascii_letters).strip()


def _end(kind: str, reply: dict[str, Json], summary: str) -> Decision | Unreadable:
    decided, words = _ENDS[kind]
    if kind != "final" and not reply.get(words, "").strip():
        return _unreadable(f"{kind} needs words in {words}")
    return Decision(decided, summary, answer=reply.get(words, ""))


def _action(reply: dict[str, Json], summary: str) -> Decision | Unreadable:
    if not reply.get("tool") or not isinstance(reply.get("input"), dict):
        return _unreadable("an action needs a tool and an input object")
    return Decision("call", summary, (Proposal(reply["tool"], arguments=reply["input"]),))


def _unreadable(reason: str) -> Unreadable:
    return Unreadable(reason, f"Not understood ({reason}). Reply with one JSON object only: {_KINDS}.")
