"""One commit for all who wait: whoever comes while one is on its way shares the next."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from redrive_events.errors import RedriveError
from redrive_events.stores.connections import Connections
from redrive_events.stores.pending import Pending

T = TypeVar("T")
Work: TypeAlias = Callable[[Pending], T]


class _Answer(NamedTuple):
    result: Any = None
    refused: Exception | None = None


class _Asker:
    """A thread in the line. Its gate opens when it is first, or somebody has written for it."""

    __slots__ = ("answer", "gate", "thread", "work")

    def __init__(self, work: Work[Any] | None) -> None:
        self.work = work
        self.thread = threading.get_ident()
        self.answer: _Answer | None = None
        self.gate = threading.Lock()


class Committer:
    """Writes to one log from many threads, each of which waits for its own answer.

    No thread is set apart for it: who is first in line writes for all behind, in one transaction, and calls the next.
    So the slower the disk, the more share a commit, and nobody waits longer than two.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = threading.Lock()  # over the two below, and never held while anybody waits
        self._line: list[_Asker] = []
        self._first = 0

    def do(self, work: Work[T]) -> T:
        """What ``work`` returns, when all that it did is kept; it raises before it changes anything, or not at all."""
        asker = _Asker(work)
        self._line_up(asker)
        answer = asker.answer or self._lead(work)
        if answer.refused is not None:
            raise answer.refused
        return cast("T", answer.result)

    def do_alone(self, work: Work[T]) -> T:
        """The same in a transaction of its own, for work that takes long and may break off anywhere."""
        self._line_up(_Asker(None))
        try:
            return self._connections.write(lambda db: _flushed(db, work))
        finally:
            self._call_next()

    def _line_up(self, asker: _Asker) -> None:
        self._connections.check()
        with self._lock:
            if self._first == asker.thread:
                raise RuntimeError("an append inside an append to the same log")
            if not self._first:
                self._first = asker.thread
                return
            asker.gate.acquire()
            self._line.append(asker)
        try:
            asker.gate.acquire()
        except BaseException:
            self._leave(asker)
            raise

    def _leave(self, asker: _Asker) -> None:
        """Who was interrupted in the line is nobody's turn any more; it may have been written all the same."""
        with self._lock:
            if asker in self._line:
                self._line.remove(asker)
            first = self._first == asker.thread
            asker.answer = _Answer()
        if first:
            self._call_next()

    def _lead(self, work: Work[Any]) -> _Answer:
        """Write for oneself and for all who stand behind, up to the first who wants to be alone."""
        with self._lock:
            behind = list(takewhile(lambda one: one.work, self._line))
            del self._line[: len(behind)]
        try:
            answers = self._written([work, *(one.work for one in behind if one.work)])
            for one, answer in zip(behind, answers[1:], strict=True):
                one.answer = answer
        finally:
            self._call_next(behind)
        return answers[0]

    def _call_next(self, behind: Sequence[_Asker] = ()) -> None:
        """Tell those behind, or take them back into the line if their leader broke off; then call the first."""
        with self._lock:
            self._line[:0] = [one for one in behind if one.answer is None]
            called = self._line.pop(0) if self._line else None
            self._first = called.thread if called else 0
        for one in behind:
            if one.answer is not None:
                one.gate.release()
        if called:
            called.gate.release()

    def _written(self, works: Sequence[Work[Any]]) -> Sequence[_Answer]:
        """Do all in one transaction; where one would spoil it for the others, each in its own."""
        begun = False

        def all_of_them(pending: Pending) -> Sequence[_Answer]:
            nonlocal begun
            begun = True
            return [_tried(work, pending) for work in works]

        try:
            return self._connections.write(lambda db: _flushed(db, all_of_them))
        except Exception as problem:  # noqa: BLE001 - whoever asked is told
            if begun and len(works) > 1:
                return [answer for work in works for answer in self._written([work])]
            return [_Answer(refused=problem)] * len(works)


def _flushed(db: sqlite3.Connection, work: Work[T]) -> T:
    pending = Pending(db)
    result = work(pending)
    pending.flush()
    return result


def _tried(work: Work[Any], pending: Pending) -> _Answer:
    try:
        return _Answer(work(pending))
    except (RedriveError, ValueError) as refused:
        return _Answer(refused=refused)
