"""The runs that a command line names: by id, by the beginning of one, or by the file of a recording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from redrive_events import NOTES, EventLog, NoSuchRun, SqliteLog

CANDIDATES_MAX = 5


class Chosen(NamedTuple):
    """A run, and the log that has it."""

    run_id: str
    log: EventLog


class Choice:
    """Finds runs; the log at ``path`` is opened when the first one is looked for in it, and never made.

    Use as a context manager: what was opened is closed in the end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open = ExitStack()
        self._log: SqliteLog | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def log(self) -> EventLog:
        """The log.

        Raises:
            BadInput: there is none, or it is no log.
        """
        if self._log is None:
            self._log = SqliteLog(self.path, must_exist=True)
            self._open.callback(self._log.close)
        return self._log

    def all(self) -> Iterator[Chosen]:
        """All runs of the log, in the order of their beginning."""
        log = self.log
        return (Chosen(head.run_id, log) for head in log.runs() if not head.run_id.endswith(NOTES))

    def named(self, name: str) -> list[Chosen]:
        """The run that is called ``name``, or whose id alone begins so.

        Raises:
            NoSuchRun: there is none, or there are several.
        """
        if self.log.head(name).position:
            return [Chosen(name, self.log)]
        found = (one for one in self.all() if one.run_id.startswith(name))
        candidates = list(islice(found, CANDIDATES_MAX + 1))
        if len(candidates) == 1:
            return candidates
        place = f"run {name!r}"
        if not candidates:
            raise NoSuchRun("no run has this id, or begins with it", place=place)
        some = ", ".join(one.run_id for one in candidates[:CANDIDATES_MAX])
        more = ", …" if len(candidates) > CANDIDATES_MAX else ""
        raise NoSuchRun(f"more than one run begins with it: {some}{more}", place=place)

    def one(self, name: str) -> Chosen:
        """The one run that ``name`` stands for.

        Raises:
            NoSuchRun: there is none, or there are several.
        """
        found = self.named(name)
        if len(found) != 1:
            some = ", ".join(one.run_id for one in found[:CANDIDATES_MAX]) or "none"
            raise NoSuchRun(f"one run is wanted, and it holds {len(found)}: {some}", place=name)
        return found[0]
