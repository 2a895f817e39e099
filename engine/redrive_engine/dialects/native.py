"""Native tool calls: the provider's call blocks are the decision, a reply without one is the answer."""

from __future__ import annotations

from dataclasses import dataclass

from redrive_engine.dialects.reading import Decision, Proposal, Unreadable, summary_of
from redrive_events import Content, calls_of, text_of


@dataclass(frozen=True, slots=True)
class NativeCalls:
    """Several calls in one reply are one decision."""

    name: str = "native"
    empty_is_answer: bool = False

    def read(self, content: Content) -> Decision | Unreadable:
        """The calls of the reply, or its words as the answer."""
        words = text_of(content)
        if calls := [Proposal(block.name, block=index) for index, block in calls_of(content)]:
            return Decision("call", summary_of(words), tuple(calls))
        if not words.strip() and not self.empty_is_answer:
            return Unreadable("empty reply", "The reply was empty. Call a tool, or answer in words.")
        return Decision("finish", summary_of(words))
