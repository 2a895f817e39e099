"""What a file holds, and what of it could not be read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from redrive_events import BadInput
from redrive_replays.traces.archive import Archive
from redrive_replays.traces.lines import Entry


class NoTrace(BadInput):
    """A file that holds no recorded run at all, for this ``reason``; ``hint`` is what would."""

    def __init__(self, reason: str, *, place: str = "", hint: str = "") -> None:
        super().__init__(f"{reason}; {hint}" if hint else reason, place=place)
        self.reason = reason


class Diagnostic(NamedTuple):
    """What could not be read as it stands; ``line`` counts from 1 (0: the whole file), ``offset`` is its first byte."""

    problem: str
    line: int = 0
    offset: int = 0

    def __str__(self) -> str:
        return f"line {self.line} (byte {self.offset}): {self.problem}" if self.line else self.problem


@dataclass(slots=True)
class Material:
    """What a file holds: one entry (a document) or several (lines); ``lost`` is how many lines cannot be read.

    Of a file of lines beyond ``large_bytes`` only the places of the lines are kept. Of a zip archive, the one entry is
    empty, and ``archive`` has its members.
    """

    name: str
    sha256: str
    size_bytes: int
    large_bytes: int
    entries: Sequence[Entry] = field(default_factory=list)
    lined: bool = False
    lost: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)
    archive: Archive | None = None

    def join(self, others: Sequence[Material]) -> None:
        """What is in other files too; together they are known by the digest of all their digests, in any order."""
        if not others:
            return
        digests = sorted(one.sha256 for one in (self, *others))
        self.sha256 = hashlib.sha256("".join(digests).encode()).hexdigest()
        entries = chain.from_iterable(one.entries for one in (self, *others))
        self.entries = [replace(entry, index=index) for index, entry in enumerate(entries)]
        self.lined = self.lined or any(one.lined for one in others)
        self.lost += sum(one.lost for one in others)
        self.diagnostics += (Diagnostic(f"{one.name}: {each}") for one in others for each in one.diagnostics)
