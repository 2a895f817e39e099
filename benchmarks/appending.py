"""What a durable append costs, against a write and fdatasync of the same bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.measure import Figure, compared
from benchmarks.recorded import recorded
from redrive_events import Batch, Record, SqliteLog, encode, link

APPENDS = 40


def figures(folder: Path) -> Iterator[Figure]:
    """One event, and 16 events, durable each time; then a hundred thousand at once against encode and digest alone."""
    _, records = recorded(100)
    for size in (1, 16):
        yield _durable(folder, records, size)
    yield _bulk(folder, records)


def _durable(folder: Path, records: Sequence[Record], size: int) -> Figure:
    log = SqliteLog(folder / f"append-{size}.db")
    raw = os.open(folder / f"raw-{size}", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    source, position = _again(records), 0

    def append() -> None:
        nonlocal position
        for _ in range(APPENDS):
            batch = [next(source) for _ in range(size)]
            log.append("run", [_placed(one, position + n, 0) for n, one in enumerate(batch, 1)], expected=position)
            position += size

    def write() -> None:
        for _ in range(APPENDS):
            os.write(raw, b"\n".join(encode(next(source)) for _ in range(size)))
            os.fdatasync(raw)

    found = compared(f"durable append, {size} event(s)", append, "write + fdatasync", write, units=APPENDS * size)
    os.close(raw)
    log.close()
    return found


def _bulk(folder: Path, records: Sequence[Record]) -> Figure:
    many = 100_000 // len(records) + 1
    units = many * len(records)
    made = iter(range(1_000_000))

    def append() -> None:
        log = SqliteLog(folder / f"bulk-{next(made)}.db")
        log.append_all(Batch(f"run-{n}", _renamed(records, f"run-{n}"), 0) for n in range(many))
        log.close()

    def seal() -> None:
        for n in range(many):
            digest = bytes(32)
            for record in _renamed(records, f"run-{n}"):
                digest = link(digest, encode(record))

    return compared("bulk append", append, "encode + digest alone", seal, units=units, rounds=5)


def _renamed(records: Sequence[Record], run_id: str) -> list[Record]:
    return [msgspec.structs.replace(record, run_id=run_id) for record in records]


def _placed(record: Record, position: int, left: int) -> Record:
    return msgspec.structs.replace(record, run_id="run", position=position, left=left, at=_AT)


def _again(records: Sequence[Record]) -> Iterator[Record]:
    while True:
        yield from records


_AT = recorded(1)[1][0].at
