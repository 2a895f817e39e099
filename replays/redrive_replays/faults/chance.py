"""Chance that is the same every time: drawn from the digest of a seed, whatever the version of Python."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import count
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """Draws, one after the other, that hang on nothing but the seed."""

    def __init__(self, seed: str) -> None:
        self._digests = (sha256(f"{seed}#{number}".encode()).hexdigest() for number in count())

    def below(self, limit: int) -> int:
        """A number from 0 on, below the limit."""
        return int(next(self._digests), 16) % limit

    def choice(self, among: Sequence[T]) -> T:
        """One of several."""
        return among[self.below(len(among))]

    def word(self) -> str:
        """A word of eight hex digits."""
        return next(self._digests)[:8]
