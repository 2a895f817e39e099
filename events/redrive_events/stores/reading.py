"""Rows to records and lines: all that a row holds at once, and line by line only where something is out of order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from redrive_events.chain import START
from redrive_events.codec import UNREADABLE, decode, decode_joined
from redrive_events.log import StoredLine
from redrive_events.record import Record
from redrive_events.stores.packing import DAMAGED, Find, spelled, unpacked

# A row: the position of its last record, the digests of all of them, and what is kept of their lines.
Row: TypeAlias = tuple[int, bytes, bytes]

COLUMNS = "events.position, CAST(digests AS BLOB), CAST(lines AS BLOB)"
# The rows of a run from the one that holds what stands behind a position.
ROWS = f"""
    SELECT {COLUMNS}
    FROM runs CROSS JOIN events ON id > (runs.run << 32) + ? AND id < (runs.run + 1) << 32
    WHERE run_id = ? ORDER BY id LIMIT ?"""
# How many rows are read at once.
ROWS_MAX = 64

DIGEST_BYTES = len(START)


def records_of(run_id: str, row: Row, find: Find) -> list[Record]:
    """The records of a row; what cannot be read is quarantined."""
    last, digests, kept = row
    count = _count(digests)
    try:
        records = decode_joined(spelled(kept, find))
        if len(records) == count:
            return records
    except (*UNREADABLE, *DAMAGED):
        pass
    lines = enumerate(unpacked(count, kept, find), start=last - count + 1)
    return [decode(line, run_id=run_id, position=position) for position, line in lines]


def lines_of(row: Row, find: Find) -> Iterator[StoredLine]:
    """The lines of a row, with their digests; the last one's is as long as it is found."""
    last, digests, kept = row
    count = _count(digests)
    behind = DIGEST_BYTES * (count - 1)
    sealed = [digests[place : place + DIGEST_BYTES] for place in range(0, behind, DIGEST_BYTES)] + [digests[behind:]]
    return map(StoredLine, range(last - count + 1, last + 1), sealed, unpacked(count, kept, find))


def beginning(row: Row) -> int:
    """The position of the first record of a row."""
    last, digests, _ = row
    return last - _count(digests) + 1


def _count(digests: bytes) -> int:
    """How many records a row holds; none holds none."""
    return len(digests) // DIGEST_BYTES or 1
