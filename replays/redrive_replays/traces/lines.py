"""A file of lines: split at a line feed and nothing else, and decoded again whenever a line is looked at."""

from __future__ import annotations

import mmap as mapped
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from mmap import mmap
from typing import Final, TypeAlias, overload

from redrive_events import Json

Bytes: TypeAlias = bytes | mmap
# By so many of its lines a file is told; those of a large one are kept while they are small, since all look at them.
LOOKED_AT: Final = 50
KEPT_BYTES: Final = 4 << 20
# What was looked at of a mapped file counts as this process's memory until it is let go of.
LET_GO_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A JSON value of the file: the whole document, or a line of it. ``index`` counts from 0, torn lines included."""

    index: int
    value: Json
    line: int = 0
    offset: int = 0


class Lines(Sequence[Entry]):
    """The lines of a large file that can be read, as a list of entries would be, but with one in memory at a time."""

    def __init__(self, data: Bytes, read: Callable[[bytes], Json]) -> None:
        self._data, self._read = data, read
        self._kept: dict[int, Entry] = {}
        self._room = KEPT_BYTES
        self._seen = 0
        self._places = tuple(array("Q") for _ in range(5))

    def add(self, *place: int) -> None:
        """A line more: index, number, offset in the file, and where it begins and ends in the data."""
        for column, value in zip(self._places, place, strict=True):
            column.append(value)

    def __len__(self) -> int:
        return len(self._places[0])

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> list[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | list[Entry]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if at in self._kept:
            return self._kept[at]
        index, number, offset, begin, end = (column[at] for column in self._places)
        entry = Entry(index, self._read(self._data[begin:end]), number, offset)
        self._seen += end - begin
        if self._seen > LET_GO_BYTES:
            self._seen = 0
            let_go(self._data)
        if at < LOOKED_AT and end - begin <= self._room:
            self._room -= end - begin
            self._kept[at] = entry
        return entry


def let_go(data: Bytes) -> None:
    """Leave what is in memory of a mapped file to the system, which has it at hand."""
    if not isinstance(data, bytes) and hasattr(mapped, "MADV_DONTNEED"):
        data.madvise(mapped.MADV_DONTNEED)


def split(data: Bytes, start: int = 0, begin: int = 0) -> Iterator[tuple[int, int, int, int]]:
    """The lines that are not blank: number, offset in the file, and where the line begins and ends in ``data``.

    ``start`` is the offset of the data in the file; the first line begins at ``begin``. A carriage return at the end is
    not of the line.
    """
    number, size, last = 0, len(data), begin
    while begin < size:
        number += 1
        if begin - last > LET_GO_BYTES:
            last = begin
            let_go(data)
        feed = data.find(b"\n", begin)
        end = size if feed < 0 else feed
        line = data[begin:end]
        if line.strip():
            yield number, start + begin, begin, end - line.endswith(b"\r")
        begin = end + 1
