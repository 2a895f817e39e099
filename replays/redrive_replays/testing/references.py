"""What the events of a run are called in a snapshot: by what they are, not by where they stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from redrive_events import FactCommitted, Record, RunEnded, RunStarted, kind_of

# What of a call each of these tells, by the call's number, which is the same in each run.
OF_CALLS: Final = {
    "verdict_given": "verdict",
    "tool_called": "call",
    "observation_received": "result",
    "observation_verified": "verified",
    "observation_refused": "refused",
    "call_intercepted": "held",
    "approval_asked": "approval-asked",
    "approval_given": "approval",
    "reconcile_asked": "reconcile",
    "effect_reconciled": "reconciled",
    "outcome_stated": "learnt",
    "effect_confirmed": "landed",
    "effect_in_doubt": "in-doubt",
    "effect_compensated": "undone",
}
OTHERS: Final = {
    "message_received": "said",
    "model_asked": "ask",
    "model_replied": "reply",
    "model_failed": "no-reply",
    "decision_made": "decision",
    "lease_granted": "lease",
    "reply_refused": "unreadable",
    "finish_refused": "not-done",
    "stop_decided": "stop",
    "budget_warned": "warning",
    "recovery_chosen": "recovery",
    "reflection_noted": "lesson",
    "plan_drawn": "plan",
    "person_asked": "person-asked",
}
_MINTED: Final = re.compile(r"[0-9a-f]{10}")


class References:
    """Names for the positions of a run, and for what was minted in it.

    Two different ids have two different names, in the order in which they are first seen.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self._seen = Counter[str]()
        self._names = {record.position: self._name(record) for record in records}
        self._ids: dict[str, str] = {}
        first = records[0] if records else None
        self._begun = first.at if first else None
        self._minted: dict[str, str] = {}
        if first is not None and isinstance(first.event, RunStarted):
            self._minted[first.event.nonce] = "<nonce>"
            if _MINTED.fullmatch(first.run_id):
                self._minted[first.run_id] = "<run>"

    def at(self, position: int) -> str:
        """The event at this position; 0 is nothing in the run."""
        return self._names.get(position, "nothing")

    def id(self, word: str) -> str:
        """An id that somebody else gave."""
        return self._ids.setdefault(word, f"id#{len(self._ids) + 1}") if word else ""

    def since(self, moment: datetime | None) -> str:
        """A moment as the time since the beginning of the run."""
        if moment is None or self._begun is None:
            return ""
        seconds = (moment - self._begun).total_seconds()
        return f"t{seconds:+.3f}".rstrip("0").rstrip(".") + "s"

    def plain(self, text: str) -> str:
        """``text`` without what was minted for this run alone."""
        for minted, name in self._minted.items():
            if len(minted) >= len("0123456789") and minted in text:
                text = text.replace(minted, name)
        return text

    def _name(self, record: Record) -> str:
        event, kind = record.event, kind_of(record.event)
        if isinstance(event, RunStarted):
            return self._again("start")
        if isinstance(event, RunEnded):
            return self._again("end")
        if isinstance(event, FactCommitted):
            return self._again(f"fact:{event.key}")
        if kind in OF_CALLS:
            return self._again(f"{OF_CALLS[kind]}#{getattr(event, 'call', 0)}")
        base = OTHERS.get(kind, kind.replace("_", "-"))
        self._seen[base] += 1
        return f"{base}#{self._seen[base]}"

    def _again(self, name: str) -> str:
        """The name, with a number from the second one on."""
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name}.{self._seen[name]}"
