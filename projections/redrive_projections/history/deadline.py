"""Until when an answer is wanted, which those who work on it look at."""

from __future__ import annotations

import time
from typing import Final


class TimeOver(Exception):
    """The time is over; whatever is complete by now is kept, and gone on with."""


class Deadline:
    """A moment so many seconds from now, or never."""

    def __init__(self, timeout_s: float | None = None) -> None:
        self._end = None if timeout_s is None else time.monotonic() + timeout_s

    def left_s(self) -> float | None:
        """How much time is left, never below 0; None if there is no end of it."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def is_over(self) -> bool:
        """Whether none is left."""
        return self.left_s() == 0

    def check(self) -> None:
        """Let there be time.

        Raises:
            TimeOver: there is none.
        """
        if self.is_over():
            raise TimeOver


NEVER: Final = Deadline()
