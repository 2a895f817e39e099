"""The files that names stand for: a file itself, what is in a directory, what fits a pattern."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from itertools import chain, takewhile
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from redrive_events import BadInput
from redrive_replays.traces.material import NoTrace
from redrive_replays.traces.report import FileReport

_WILD = frozenset("*?[")


class Found(NamedTuple):
    """A file to import; ``named`` by the caller, or come upon. ``problem`` is why there is nothing to read.

    Those ``beside`` it are read as one with it, and are themselves ``read_with`` it.
    """

    path: Path
    named: bool = True
    problem: str = ""
    beside: tuple[Path, ...] = ()
    read_with: Path | None = None

    def declined(self, error: BadInput) -> FileReport:
        """What is told of it when it is not imported: refused, or skipped if nobody asked for it and it is no trace."""
        if isinstance(error, NoTrace) and not self.named:
            return FileReport(str(self.path), skipped=error.reason)
        return FileReport(str(self.path), refused=str(error))


def files_of(names: Iterable[str | PathLike[str]]) -> Iterator[Found]:
    """The files, in the order of the names; those in a directory or of a pattern are sorted, hidden ones left out.

    What is there goes by its name, so a pattern is one only where no such file is. No link to a directory is followed,
    except one that is named.
    """
    for name in names:
        path = Path(name)
        if path.is_dir():
            yield from _inside(path) or [Found(path, problem="no file in this directory")]
        elif _WILD.isdisjoint(str(path)) or os.path.lexists(path):
            yield Found(path)
        else:
            yield from _fitting(path) or [Found(path, problem="no file fits this pattern")]


def _inside(top: Path) -> list[Found]:
    unread: list[OSError] = []
    found: list[Found] = []
    for folder, folders, files in os.walk(top, onerror=unread.append):
        here = Path(folder)
        folders[:] = [name for name in folders if not name.startswith(".")]
        links = (name for name in folders if (here / name).is_symlink())
        found += (Found(here / name, named=False) for name in chain(files, links) if not name.startswith("."))
    found += (Found(Path(error.filename), problem=f"cannot be read: {error.strerror}") for error in unread)
    return sorted(found)


def _fitting(pattern: Path) -> list[Found]:
    plain = list(takewhile(_WILD.isdisjoint, pattern.parts))
    wild = pattern.parts[len(plain) :]
    base = Path(*plain)
    dotted = [part for part in wild if part.startswith(".")]
    try:
        paths = list(base.glob("/".join(wild)))
    except (ValueError, OSError):
        return []
    seen: dict[Path, Found] = {}
    for path in paths:
        hidden = (part for part in path.parts[len(plain) :] if part.startswith("."))
        if any(not any(fnmatch(part, allowed) for allowed in dotted) for part in hidden):
            continue
        inside = _inside(path) if path.is_dir() and not path.is_symlink() else [Found(path, named=False)]
        for found in inside:
            seen.setdefault(found.path, found)
    return sorted(seen.values())
