"""What the live world takes from its surroundings: the clock, chance, and the names of this machine and process."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Self


def now() -> datetime:
    """The moment it is, in UTC."""
    return datetime.now(UTC)


def mint() -> str:
    """A word that nobody else has: 16 hex digits."""
    return secrets.token_hex(8)


def worker_name() -> str:
    """A name for a worker of this process, unlike that of any other."""
    return f"{platform.node()}-{os.getpid()}-{secrets.token_hex(3)}"


def environment() -> dict[str, str]:
    """What is worth knowing of where a run was begun."""
    return {"python": platform.python_version()}


class StillClock:
    """A clock that stands still until it is moved."""

    def __init__(self, moment: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._moment = moment

    def __call__(self) -> datetime:
        """The moment it shows."""
        return self._moment

    def move(self, seconds: float) -> None:
        """Go on by so much."""
        self._moment += timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a live run takes from around it into its log.

    ``now`` stamps what happens. Time-outs and leases do not go by it: who waits for something real waits in real time.
    """

    now: Callable[[], datetime] = now
    mint: Callable[[], str] = mint
    worker: Callable[[], str] = worker_name
    environment: Callable[[], Mapping[str, str]] = environment

    @classmethod
    def fixed(cls, clock: Callable[[], datetime] | None = None) -> Self:
        """The same surroundings every time, and so the same log: minted words are counted, and nothing has a name."""
        minted = count(1)
        return cls(clock or StillClock(), lambda: f"{next(minted):016x}", lambda: "worker", dict)
