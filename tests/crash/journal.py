"""What callers have tried and what they were told, kept apart from the log: the log is held against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from redrive_events import Batch, EventLog, MessageReceived, Record, encode
from tests.records import record


class _Data(msgspec.Struct, frozen=True, tag=True):
    """Plain data, which goes from process to process as a line of JSON."""


class Append(_Data, frozen=True):
    """One append; ``token`` is in the world once, so that what was accepted twice is seen."""

    token: str
    size: int
    width: int
    at_s: float


class Piece(_Data, frozen=True):
    """Appends to one run that follow each other behind position ``after``."""

    run_id: str
    after: int
    appends: tuple[Append, ...]

    def records(self) -> Sequence[Record]:
        """The same records each time."""
        return _records(self)

    def batch(self) -> Batch:
        """As it is given to the log."""
        return Batch(self.run_id, self.records(), self.after)

    @property
    def end(self) -> int:
        """The position it comes to."""
        return self.after + sum(one.size for one in self.appends)


@lru_cache(maxsize=1_000)
def _records(piece: Piece) -> Sequence[Record]:
    return tuple(_each(piece))


def _each(piece: Piece) -> Iterator[Record]:
    position = piece.after
    for one in piece.appends:
        for number in range(one.size):
            position += 1
            said = f"{one.token}:{number} {Random(one.token).randbytes(one.width // 2).hex()}"
            event = MessageReceived(actor="user", content=said)
            yield record(piece.run_id, position, left=one.size - 1 - number, after_s=one.at_s, event=event)


class Writing(_Data, frozen=True):
    """What is written in one transaction, all of it or nothing."""

    pieces: tuple[Piece, ...]

    def perform(self, log: EventLog) -> None:
        """Write it, as callers do."""
        if len(self.pieces) == 1:
            (piece,) = self.pieces
            log.append(piece.run_id, piece.records(), expected=piece.after)
        else:
            log.append_all(piece.batch() for piece in self.pieces)

    def lines(self) -> Mapping[tuple[str, int], bytes]:
        """Every line of it at its place."""
        return _lines(self)


@lru_cache(maxsize=1_000)
def _lines(writing: Writing) -> Mapping[tuple[str, int], bytes]:
    return {(one.run_id, one.position): encode(one) for piece in writing.pieces for one in piece.records()}


class Holding(_Data, frozen=True):
    """A lease that is taken at some time or, where ``ttl_s`` is None, given back."""

    run_id: str
    worker: str
    ttl_s: float | None
    now_s: float

    def perform(self, log: EventLog) -> None:
        """Ask for it."""
        if self.ttl_s is None:
            log.release(self.run_id, self.worker)
        else:
            log.hold(self.run_id, self.worker, ttl_s=self.ttl_s)

    def after(self, before: Standing) -> Standing:
        """Who holds the lease when it is done; only the holder can give it back."""
        if self.ttl_s is not None:
            return Standing(self.worker, round(self.now_s + self.ttl_s, 3))
        return NOBODY if before.worker == self.worker else before


class Standing(NamedTuple):
    """A lease as it stands."""

    worker: str
    until_s: float


NOBODY = Standing("", 0.0)


class Tried(_Data, frozen=True):
    """A caller is about to do it."""

    act: Writing | Holding


class Done(_Data, frozen=True):
    """The log said that it is done, and durable."""

    act: Writing | Holding


class Refused(_Data, frozen=True):
    """The log said that it is not done and why: others came first."""

    act: Writing | Holding


Entry = Tried | Done | Refused
_encode, _decode = msgspec.json.encode, msgspec.json.Decoder(Entry).decode


def kept(path: Path) -> list[Entry]:
    """The entries of a journal file; a last one without its end was not written."""
    if not path.exists():
        return []
    return [_decode(line) for line in path.read_bytes().split(b"\n")[:-1]]


def spelled(entry: Entry) -> bytes:
    """An entry as a line of a journal file."""
    return _encode(entry) + b"\n"


class Truth:
    """What a log must hold, and what it may hold, by the journals of all who wrote to it."""

    def __init__(self, journals: Iterable[Iterable[Entry]]) -> None:
        self.accepted: dict[tuple[str, int], bytes] = {}
        self.orders: list[list[tuple[str, int]]] = []
        self.doubtful: list[Writing] = []
        self.leases: dict[str, frozenset[Standing]] = {}
        self._untried: frozenset[Standing] = frozenset()
        for journal in journals:
            self.orders.append([])
            last: Entry | None = None
            for last in journal:
                if isinstance(last.act, Writing):
                    self._wrote(last, last.act)
                else:
                    self._held(last, last.act)
            if isinstance(last, Tried) and isinstance(last.act, Writing):
                self.doubtful.append(last.act)

    def _wrote(self, entry: Entry, act: Writing) -> None:
        if isinstance(entry, Done):
            lines = act.lines()
            self.orders[-1] += [place for place in lines if place not in self.accepted]
            self.accepted |= lines

    def _held(self, entry: Entry, act: Holding) -> None:
        before = self.leases.get(act.run_id, frozenset([NOBODY]))
        after = frozenset(map(act.after, before))
        if isinstance(entry, Tried):
            self._untried, self.leases[act.run_id] = before, before | after
        else:
            self.leases[act.run_id] = after if isinstance(entry, Done) else self._untried
