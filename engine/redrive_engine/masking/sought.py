"""Texts that are looked for in others, of which more come to be known all the time."""

from __future__ import annotations

import re
from collections.abc import Iterator


class Sought:
    """Many texts in few patterns, each of more texts than all behind it: so that each text is compiled few times."""

    def __init__(self) -> None:
        self._new: list[str] = []
        self._patterns: list[tuple[list[str], re.Pattern[str]]] = []

    def add(self, text: str) -> None:
        """Look for ``text``, too."""
        self._new.append(text)

    def places(self, within: str) -> Iterator[tuple[int, int]]:
        """Where they stand in another text; two that overlap may both be told."""
        if self._new:
            self._compile()
        for _, pattern in self._patterns:
            yield from (found.span() for found in pattern.finditer(within))

    def _compile(self) -> None:
        texts, self._new = self._new, []
        while self._patterns and len(self._patterns[-1][0]) <= len(texts):
            texts += self._patterns.pop()[0]
        longest_first = sorted(texts, key=len, reverse=True)
        self._patterns.append((texts, re.compile("|".join(map(re.escape, longest_first)))))
