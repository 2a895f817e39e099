"""A log in memory: the reference, and all that a test or a loaded recording needs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from redrive_events.codec import decode, decode_page, time_of
from redrive_events.log import Batch, Damage, Head, Lease, Span, StoredLine
from redrive_events.record import Record
from redrive_events.stores.inheriting import inherited
from redrive_events.stores.sealing import PAGE, UNBEGUN, Tip, granted, sealed, spelled, standing


class MemoryLog:
    """An `EventLog` that is gone with its process; it keeps the bytes that a file would keep."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams: dict[str, list[StoredLine]] = {}
        self._tips: dict[str, Tip] = {}
        self._order: list[tuple[str, int]] = []
        self._leases: dict[str, Lease] = {}

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Write all of ``records`` or none, see `EventLog.append`."""
        batch = Batch(run_id, records, expected)
        self._write([(batch, spelled(batch))])

    def append_all(self, batches: Iterable[Batch]) -> None:
        """Write all batches or none, see `EventLog.append_all`."""
        self._write([(batch, spelled(batch)) for batch in batches])

    def head(self, run_id: str) -> Head:
        """How far the run is, see `EventLog.head`."""
        tip = self._tips.get(run_id, UNBEGUN)
        return Head(run_id, tip.position, tip.digest)

    def read(self, run_id: str, *, after: int = 0) -> Iterator[Record]:
        """Records of the run in order, see `EventLog.read`."""
        after = max(after, 0)
        lines = iter([stored.line for stored in self.lines(run_id, after=after)])
        while page := list(islice(lines, PAGE)):
            yield from decode_page(run_id, page, after=after)
            after += PAGE

    def lines(self, run_id: str, *, after: int = 0) -> Iterator[StoredLine]:
        """The same records as stored bytes, see `EventLog.lines`."""
        after = max(after, 0)
        with self._lock:
            lines = self._inherited(run_id, after) + self._own(run_id, after)
        yield from lines

    def read_all(self, *, after: int = 0) -> Iterator[tuple[int, Record]]:
        """All records of all runs, see `EventLog.read_all`."""
        with self._lock:
            order = self._order[max(after, 0) :]
        for offset, (run_id, position) in enumerate(order, start=max(after, 0) + 1):
            yield offset, decode(self._own(run_id, position - 1, 1)[0].line, run_id=run_id, position=position)

    def order(self, *, after: int = 0) -> Iterator[Span]:
        """The order without the records, see `EventLog.order`."""
        with self._lock:
            order = self._order[max(after, 0) :]
        for offset, (run_id, position) in enumerate(order, start=max(after, 0) + 1):
            yield Span(offset, run_id, position, 1)

    def runs(self) -> Iterator[Head]:
        """The heads of all streams, see `EventLog.runs`."""
        with self._lock:
            tips = list(self._tips.items())
        for run_id, tip in tips:
            yield Head(run_id, tip.position, tip.digest)

    def flaws(self) -> Iterator[Damage]:
        """Nothing is kept that could part from the streams, see `EventLog.flaws`."""
        return iter(())

    def hold(self, run_id: str, worker: str, *, ttl_s: float) -> Lease:
        """Take the lease of a run, or renew it, see `EventLog.hold`."""
        with self._lock:
            lease = self._leases[run_id] = granted(run_id, worker, self._leases.get(run_id), ttl_s=ttl_s)
        return lease

    def holder(self, run_id: str) -> Lease | None:
        """The lease that stands, see `EventLog.holder`."""
        return standing(self._leases.get(run_id))

    def release(self, run_id: str, worker: str) -> None:
        """Give the lease back, see `EventLog.release`."""
        with self._lock:
            held = self._leases.get(run_id)
            if held is not None and held.worker == worker:
                del self._leases[run_id]

    def close(self) -> None:
        """Nothing is open."""

    def keep(self, run_id: str, lines: Sequence[StoredLine]) -> None:
        """Take lines that follow the run's last, as another log stored them; they are believed to be what they say."""
        with self._lock:
            self._streams.setdefault(run_id, []).extend(lines)
            self._order += [(run_id, stored.position) for stored in lines]
            last = lines[-1]
            self._tips[run_id] = Tip(last.position, last.digest, time_of(last.line))

    def _own(self, run_id: str, after: int, count: int | None = None) -> list[StoredLine]:
        """The lines of a run's own behind a position: all, or at most so many."""
        lines = self._streams.get(run_id, [])
        start = max(after - lines[0].position + 1, 0) if lines else 0
        return lines[start : None if count is None else start + count]

    def _first(self, run_id: str) -> StoredLine | None:
        return next(iter(self._streams.get(run_id, [])), None)

    def _inherited(self, run_id: str, after: int) -> list[StoredLine]:
        first = self._first(run_id)
        if first is None or first.position == after + 1:
            return []
        return [
            one._replace(owner=stretch.run_id)
            for stretch in inherited(first, self._first)
            for one in self._own(stretch.run_id, after)
            if one.position <= stretch.end
        ]

    def _write(self, batches: Iterable[tuple[Batch, list[bytes]]]) -> None:
        with self._lock:
            # Nothing that a reader can see changes before every batch was found right.
            tips: dict[str, Tip] = {}
            fresh: dict[str, list[StoredLine]] = {}
            order: list[tuple[str, int]] = []

            def stored(run_id: str, after: int, count: int) -> list[StoredLine]:
                there = self._own(run_id, after, count)
                return (there + [one for one in fresh.get(run_id, []) if one.position > after])[:count]

            for batch, lines in batches:
                run_id = batch.run_id
                new = sealed(batch, lines, tips.get(run_id) or self._tips.get(run_id, UNBEGUN), stored)
                positions = range(new.first, new.tip.position + 1)
                fresh.setdefault(run_id, []).extend(map(StoredLine, positions, new.digests, new.lines))
                order += [(run_id, position) for position in positions]
                tips[run_id] = new.tip
            for run_id, added in fresh.items():
                self._streams.setdefault(run_id, []).extend(added)
            self._tips.update(tips)
            self._order += order
