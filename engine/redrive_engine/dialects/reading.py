"""What a dialect makes of a reply: a decision, or the reason why it is none."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from redrive_events import Content, Json

SUMMARY_MAX = 160


class Proposal(msgspec.Struct, frozen=True):
    """A call the model wants: its arguments, or the block of the reply that holds them."""

    tool: str
    arguments: Json = None
    block: int | None = None


class Decision(msgspec.Struct, frozen=True):
    """What the model decided; an empty ``answer`` of a ``finish`` is the reply's own text.

    ``unable`` says that it cannot be done, ``escalate`` asks for a person; the reason of both is the ``answer``.
    ``dropped`` names what the reply said behind its decision, which nobody acts on.
    """

    kind: Literal["call", "finish", "unable", "escalate"]
    summary: str = ""
    calls: tuple[Proposal, ...] = ()
    answer: str = ""
    dropped: tuple[str, ...] = ()


class Unreadable(msgspec.Struct, frozen=True):
    """Why a reply is no decision, for the record and, as ``text``, for the model."""

    reason: str
    text: str


class Dialect(Protocol):
    """Reads replies; pure, and the same for the same reply for ever."""

    @property
    def name(self) -> str:
        """What a contract calls it; a part of the program, so another behaviour is given another name."""
        ...

    def read(self, content: Content) -> Decision | Unreadable:
        """The decision in a reply; whatever a model wrote, this never raises."""
        ...


def summary_of(text: str) -> str:
    """The first words of ``text`` on one line, at most `SUMMARY_MAX` characters."""
    line = " ".join(text[: 4 * SUMMARY_MAX].split(maxsplit=SUMMARY_MAX // 2 + 1))
    return line if len(line) <= SUMMARY_MAX else line[: SUMMARY_MAX - 1] + "…"
