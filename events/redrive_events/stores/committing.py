"""One commit for all who wait: whoever comes while one is on its way shares the next."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from redrive_events.errors import RedriveError
from redrive_events.stores.connections import Connections
from redrive_events.stores.pending import Known, Pending

T = TypeVar("T")
Work: TypeAlias = Callable[[Pending], T]


class _Answer(NamedTuple):
    result: Any = None
    refused: Exception | None = None

    def told(self) -> Any:
        if self.refused is not None:
            raise self.refused
        return self.result


class _Asker:
    """A thread in the line. Its gate opens when it is first, or somebody has written for it."""

    __slots__ = ("answer", "gate", "thread", "work")

    def __init__(self, work: Work[Any] | None, thread: int) -> None:
        self.work = work
        self.thread = thread
        self.answer: _Answer | None = None
        self.gate = threading.Lock()
        self.gate.acquire()


class Committer:
    """Writes to one log from many threads, each of which waits for its own answer.

    No thread is set apart for it: who is first in line writes for all behind, in one transaction, and calls the next.
    So the slower the disk, the more share a commit, and nobody waits longer than two. Who has led others is back before
    them, and would write alone: so it waits for those who shared the commit, until twice its time has passed.
    """

    def __init__(self, connections: Connections) -> None:
        self._check, self._write = connections.check, connections.writer.write
        self._lock = threading.Lock()  # over the two below, and never held while anybody waits
        self._line: list[_Asker] = []
        self._first = 0
        self._arrived = threading.Condition(self._lock)
        self._followed, self._until = 0, 0.0  # how many shared the last commit with its leader, and are awaited so long
        self._known: Known = {}

    def do(self, work: Work[T]) -> T:
        """What ``work`` returns, when all that it did is kept; it raises before it changes anything, or not at all."""
        asker = self._line_up(work)
        if asker is None or asker.answer is None:
            return self._lead(work)
        return cast("T", asker.answer.told())

    def do_alone(self, work: Work[T]) -> T:
        """The same in a transaction of its own, for work that takes long and may break off anywhere."""
        self._line_up(None)
        try:
            return self._alone(work)
        finally:
            self._call_next()

    def _line_up(self, work: Work[Any] | None) -> _Asker | None:
        """Come to the front, at once if nobody is there; who has waited for that may have been answered meanwhile."""
        self._check()
        thread = threading.get_ident()
        with self._lock:
            if not self._first:
                self._first = thread
                return None
            if self._first == thread:
                raise RuntimeError("an append inside an append to the same log")
            asker = _Asker(work, thread)
            self._line.append(asker)
            if self._all_are_back():
                self._arrived.notify()
        try:
            asker.gate.acquire()
        except BaseException:
            self._leave(asker)
            raise
        return asker

    def _leave(self, asker: _Asker) -> None:
        """Who was interrupted in the line is nobody's turn any more; it may have been written all the same."""
        with self._lock:
            if asker in self._line:
                self._line.remove(asker)
            first = self._first == asker.thread
            asker.answer = _Answer()
        if first:
            self._call_next()

    def _lead(self, work: Work[T]) -> T:
        """Write for oneself and for all who stand behind, up to the first who wants to be alone."""
        behind: list[_Asker] = []
        began = 0.0
        try:
            if self._line or self._followed:
                behind = self._taken()
                began = time.monotonic()
            if not behind:
                return self._alone(work)
            answers = self._together([work, *(one.work for one in behind if one.work)])
            for one, answer in zip(behind, answers[1:], strict=True):
                one.answer = answer
        finally:
            self._followed = len(behind)
            if behind:
                now = time.monotonic()
                self._until = now + 2 * (now - began)
            self._call_next(behind)
        return cast("T", answers[0].told())

    def _taken(self) -> list[_Asker]:
        """Those who stand behind, when they are back."""
        with self._arrived:
            self._arrived.wait_for(self._all_are_back, self._until - time.monotonic())
            behind = list(takewhile(lambda one: one.work, self._line))
            del self._line[: len(behind)]
        return behind

    def _all_are_back(self) -> bool:
        return len(self._line) >= self._followed

    def _call_next(self, behind: Sequence[_Asker] = ()) -> None:
        """Tell those behind, or take them back into the line if their leader broke off; then call the first."""
        with self._lock:
            if not self._line and not behind:
                self._first = 0
                return
            self._line[:0] = [one for one in behind if one.answer is None]
            called = self._line.pop(0) if self._line else None
            self._first = called.thread if called else 0
        for one in behind:
            if one.answer is not None:
                one.gate.release()
        if called:
            called.gate.release()

    def _alone(self, work: Work[T]) -> T:
        return self._write(lambda db: self._flushed(db, work))

    def _together(self, works: Sequence[Work[Any]]) -> Sequence[_Answer]:
        """Do all in one transaction; where one would spoil it for the others, each in its own."""
        begun = False

        def all_of_them(pending: Pending) -> Sequence[_Answer]:
            nonlocal begun
            begun = True
            return [_tried(work, pending) for work in works]

        try:
            return self._alone(all_of_them)
        except Exception as problem:  # noqa: BLE001 - whoever asked is told
            if begun:
                return [_answered(self._alone, work) for work in works]
            return [_Answer(refused=problem)] * len(works)

    def _flushed(self, db: sqlite3.Connection, work: Work[T]) -> T:
        pending = Pending(db, self._known)
        result = work(pending)
        pending.flush()
        return result


def _answered(do: Callable[[Work[Any]], Any], work: Work[Any]) -> _Answer:
    try:
        return _Answer(do(work))
    except Exception as problem:  # noqa: BLE001 - whoever asked is told
        return _Answer(refused=problem)


def _tried(work: Work[Any], pending: Pending) -> _Answer:
    try:
        return _Answer(work(pending))
    except (RedriveError, ValueError) as refused:
        return _Answer(refused=refused)
