"""A guarantee, the small change of the sources that switches it off, and the tests that must miss it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What holds: ``old`` stands once in ``file``; with ``new`` in its place each of the ``tests`` fails.

    A test is named without the ids of its parameters: it is enough that it fails for one of them.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def switched_off(self, text: str) -> str:
        """The source without it.

        Raises:
            ValueError: what is to be changed does not stand there once.
        """
        if (found := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: {self.file} has what is to be changed {found} times")
        return text.replace(self.old, self.new)


def without(file: str, name: str, old: str, new: str, *tests: str) -> Guarantee:
    """A guarantee as the lists of them are written: all sources are in the engine, or in what it folds."""
    return Guarantee(name, file, old, new, tests)
