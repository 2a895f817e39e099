"""The runs that a command line names: by id, by the beginning of one, or by the file of a recording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

from redrive_events import (
    NOTES,
    RUN_ID,
    AnnotationMade,
    Durability,
    EventLog,
    Head,
    NoSuchRun,
    SqliteLog,
    load_portable,
)
from redrive_replays import Recording, recording_of

CANDIDATES_MAX = 5


class Chosen(NamedTuple):
    """A run, the log that has it, and how far it had come when it was written; in a file, so the remarks on it."""

    run_id: str
    log: EventLog
    head: Head
    noted: Head | None = None

    def streams(self) -> Iterator[Head]:
        """The heads of the run and, if there is any, of what was remarked on it."""
        yield self.head
        noted = self.noted or self.log.head(self.run_id + NOTES)
        if noted.position:
            yield noted

    def recording(self) -> Recording:
        """The run's records, as far as they can be read."""
        return recording_of(self.log, self.run_id, head=self.head)

    def remarks(self) -> list[AnnotationMade]:
        """What was remarked on the run."""
        events = (record.event for record in self.log.read(self.run_id + NOTES))
        return [event for event in events if isinstance(event, AnnotationMade)]


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
        return (Chosen(head.run_id, log, head) for head in log.runs() if not head.run_id.endswith(NOTES))

    def named(self, name: str) -> list[Chosen]:
        """The run that is called ``name``, or whose id alone begins so; of a recording file, all of its runs.

        Raises:
            NoSuchRun: there is none, or there are several.
            BadInput: it is a file, and no recording.
        """
        file = Path(name)
        if _is_file(file) and (not RUN_ID.fullmatch(name) or not self._in_log(name)):
            return list(_in_file(file))
        head = self.log.head(name)
        if head.position:
            return [Chosen(name, self.log, head)]
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

    def _in_log(self, name: str) -> bool:
        return self.path.exists() and self.log.head(name).position > 0

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


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # too long a name for any file
        return False


def _in_file(path: Path) -> Iterator[Chosen]:
    log, portable = load_portable(path)
    heads = {head.run_id: head for head in portable.runs if head.run_id not in portable.inherited}
    runs = (head for run_id, head in heads.items() if not run_id.endswith(NOTES))
    return (Chosen(head.run_id, log, head, heads.get(head.run_id + NOTES)) for head in runs)


@contextmanager
def log_to_write(path: Path, durability: Durability = "always") -> Iterator[EventLog]:
    """The log at ``path`` for the time being; it is made when it is first used, so that a bad request makes none."""
    log = _Deferred(path, durability)
    try:
        yield cast("EventLog", log)
    finally:
        log.close()


class _Deferred:
    """A log that is opened by the first use of it."""

    def __init__(self, path: Path, durability: Durability) -> None:
        self._path, self._durability = path, durability
        self._log: SqliteLog | None = None

    def __getattr__(self, verb: str) -> Any:
        if self._log is None:
            self._log = SqliteLog(self._path, durability=self._durability)
        return getattr(self._log, verb)

    def close(self) -> None:
        """Let go of what was opened."""
        if self._log is not None:
            self._log.close()
