"""What guards and quotas judge by: failures in a row, what each turn brought, which calls were made."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from redrive_events import Content, Dimension, Failure, RecoveryChosen, Rung, text_of


class Made(msgspec.Struct, frozen=True, gc=False):
    """A call that was made: the how manieth it was, and where its request stands."""

    order: int
    position: int


class Turn(msgspec.Struct, gc=False):
    """A reply and what came of it: whether an action in it was new, whether something became known.

    ``excused`` is a turn that says nothing against the model: infrastructure failed in it, or a person spoke.
    """

    position: int
    said: Content
    summary: str = ""
    tools: tuple[str, ...] = ()
    acted: bool = False
    learnt: bool = False
    excused: bool = False

    @property
    def thought(self) -> str:
        """What the model thought, whole: the summary, or all that it said where that was cut, or there is none."""
        return self.summary if self.summary and not self.summary.endswith("…") else text_of(self.said)


@dataclass(slots=True)
class Watch:
    """A part of a run's state.

    ``failures`` are the positions of the failures of each kind in a row, since the last success, and ``answered`` how
    many of them have led to a recovery already; ``rungs`` are the recoveries chosen so far, ``escalating`` is one that
    is to be handed to a person once nothing is open.
    ``turns`` are those since a person last spoke; ``calls`` those that were made, by the digest of tool and arguments,
    and ``landed`` the order of the last write that landed. ``warned`` is where the end of a budget was told, ``spent``
    what had been used when the model was last asked. ``grounds`` are the words that bear out an argument, by their
    position: those of people, and of observations that were verified. ``accepted`` is the call of the last of these.
    """

    failures: dict[Failure, list[int]] = field(default_factory=dict)
    answered: dict[Failure, int] = field(default_factory=dict)
    rungs: list[Rung] = field(default_factory=list)
    escalating: RecoveryChosen | None = None
    turns: list[Turn] = field(default_factory=list)
    calls: dict[str, list[Made]] = field(default_factory=dict)
    landed: int = 0
    warned: dict[Dimension, int] = field(default_factory=dict)
    spent: dict[Dimension, int] = field(default_factory=dict)
    grounds: dict[int, Content] = field(default_factory=dict)
    accepted: int = 0

    def in_a_row(self, kind: Failure) -> int:
        """How many failures of this kind there were in a row."""
        return len(self.failures.get(kind, ()))

    def pending(self, kind: Failure) -> tuple[int, ...]:
        """Those of them that have not led to a recovery yet."""
        return tuple(self.failures.get(kind, ())[self.answered.get(kind, 0) :])
