"""When an authority is believed that says a write did not happen: once the attempt can no longer land."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Self

import anyio

from redrive_engine.tools import Declaration
from redrive_events import EffectReconciled
from redrive_projections import Call

# How long between two looks at whether an attempt can still land.
LOOK_S = 0.01


@dataclass(frozen=True, slots=True)
class Attempt:
    """The latest attempt of a write, as the worker of ``epoch`` sees it; ``running`` is what of it runs here.

    ``settled_s`` is the moment from when on it lands no more, by its tool's word and the clock that only goes forward.
    """

    call: Call
    declared: Declaration
    running: set[object]
    epoch: int
    settled_s: float | None

    @classmethod
    def of(cls, call: Call, declared: Declaration, running: set[object], *, epoch: int, at: datetime) -> Self:
        """How it stands ``at`` this moment of the run's own time, from which on it is waited in real time."""
        settled_s = None
        if declared.settles_ms is not None and call.asked is not None:
            settles = call.asked + timedelta(milliseconds=declared.settles_ms)
            settled_s = monotonic() + max(0.0, (settles - at).total_seconds())
        return cls(call, declared, running, epoch, settled_s)

    @property
    def is_own(self) -> bool:
        """Whether this worker made it: of another's nobody knows whether it still runs."""
        return self.call.epoch == self.epoch

    @property
    def may_land(self) -> bool:
        """Whether it can still land: a fenced authority refuses it once ``epoch`` was shown to it.

        Where the tool says how long it takes to settle, that holds for what has ended here, too: what was sent may
        still be on its way.
        """
        if not self.is_own and self.declared.fenced:
            return False
        if self.settled_s is not None:
            return monotonic() < self.settled_s
        return bool(self.running) if self.is_own else True

    @property
    def is_open_for_ever(self) -> bool:
        """Whether nobody will ever know that it can no longer land."""
        return self.may_land and not self.is_own and self.settled_s is None


async def settled(attempt: Attempt, ask: Callable[[], Awaitable[EffectReconciled]]) -> EffectReconciled | None:
    """What the authority says of it, as soon as that can be believed; None if it never can."""
    while True:
        might = attempt.may_land  # before it is asked: what it knew earlier says nothing
        answer = await ask()
        if answer.outcome != "not_landed" or not might:
            return answer
        if attempt.is_open_for_ever:
            return None
        while attempt.may_land:
            await anyio.sleep(LOOK_S)
