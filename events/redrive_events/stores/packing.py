"""A line as a file keeps it: without what its place says, long content kept once, the rest packed where that pays."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TypeAlias

import msgspec

from redrive_events.codec import UNREADABLE

# Puts content where it is kept once; its number there, or None where it must stay in its line.
Keep: TypeAlias = Callable[[bytes], int | None]
# The content with a number; a `LookupError` where there is none.
Find: TypeAlias = Callable[[int], bytes]

# Measured on recorded runs: content that is shorter costs more in a table of its own than its being there once saves,
# and packing what is left of shorter lines takes longer than it is worth.
SHARED_BYTES_MIN = 2_048
PACKED_BYTES_MIN = 768
# SQLite holds nothing longer, so what claims to be is damaged.
SIZE_BYTES_MAX = 1_000_000_000

# A line is `{"at":"<time>Z",<the rest>,"position":<position>,"run_id":"<run id>"}`, and its rest is kept.
_REST = len('{"at":"2026-01-01T00:00:00.000000Z",')
# Its minute, and the seconds in that to the millionth.
_HEAD = re.compile(rb'(\{"at":"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:)([0-5][0-9])\.([0-9]{6})Z",')
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all times are spelled in UTC
_MICROSECOND = timedelta(microseconds=1)

# What is kept as it is begins like this.
OPEN = b"{"[0]
# Content that is kept elsewhere; what has references begins with a space, so nothing else is ever taken for one.
_REFERENCE = re.compile(rb'\{"\$blob":([0-9]+)\}')
_CLOSE, _REFERS = b"}"[0], b" "
_ZSTD = b"\x28\xb5\x2f\xfd"

# What is raised by what is damaged: content that is not there, a frame that is none, a time that never was.
DAMAGED = (LookupError, ValueError, OverflowError, TypeError)
# What is kept of a line, and its time in microseconds since 1970; without a time it is the line as it is.
Kept: TypeAlias = tuple[int | None, bytes]


class _Content(msgspec.Struct):
    """A line, of which only the members of the event are told apart."""

    event: dict[str, msgspec.Raw]


class _Zstd(threading.local):
    """What packs and unpacks: loaded when it is needed, and each thread its own, since none may serve two at once."""

    def __init__(self) -> None:
        import zstandard

        self.trouble = zstandard.ZstdError
        self.size_of = zstandard.frame_content_size
        self.compress = zstandard.ZstdCompressor(level=1).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_zstd = _Zstd()
_contents = msgspec.json.Decoder(_Content).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def packed(run_id: bytes, first: int, lines: Iterable[bytes], keep: Keep) -> Iterator[Kept]:
    """What is kept of each line of a run, from position ``first`` on; what ``keep`` takes of it is only referred to."""
    end, head, at_us = b',"run_id":"%b"}' % run_id, b"", None
    for position, line in enumerate(lines, start=first):
        if line[:_REST] != head:  # all records of an append have the same time
            head = line[:_REST]
            at_us = _us_of(head)
        tail = b',"position":%d%b' % (position, end)
        if at_us is None or not line.endswith(tail, _REST):
            yield None, line
            continue
        rest = b"{%b}" % line[_REST : -len(tail)]
        yield at_us, rest if len(rest) < PACKED_BYTES_MIN else deflated(_shared(line, rest, keep))


def unpacked(run_id: str, kept: Iterable[tuple[int, int | None, bytes]], find: Find) -> Iterator[bytes]:
    """The lines of a run of which this is kept, each given with its position.

    What is damaged comes back as it is kept, which no line looks like: whoever follows the chain sees it.
    """
    end, last_us, head = b',"run_id":"%b"}' % run_id.encode("utf-8", "surrogatepass"), None, b""
    for position, at_us, rest in kept:
        line = rest
        if at_us is not None:
            with suppress(*DAMAGED):
                if at_us != last_us:
                    head, last_us = _head_of(at_us), at_us
                told = spelled(rest, find)
                if told[0] == OPEN and told[-1] == _CLOSE:  # they are put on again, so that nobody else would see
                    line = b'%b%b,"position":%d%b' % (head, told[1:-1], position, end)
        yield line


def spelled(rest: bytes, find: Find) -> bytes:
    """The rest of a line, unpacked and whole. Raises: what is in ``DAMAGED``, if it is that."""
    if rest[0] == OPEN:
        return rest
    told = inflated(rest)
    if not told.startswith(_REFERS):
        return told
    return _REFERENCE.sub(lambda found: find(int(found[1])), told[1:])


def deflated(data: bytes) -> bytes:
    """``data`` as a zstd frame where that is a tenth shorter, else as it is."""
    if len(data) < PACKED_BYTES_MIN:
        return data
    frame = _zstd.compress(data)
    return frame if len(frame) <= 0.9 * len(data) else data


def inflated(data: bytes) -> bytes:
    """What was `deflated`; no JSON begins like a frame.

    Raises:
        ValueError: it is damaged.
    """
    if not data.startswith(_ZSTD):
        return data
    try:
        if _zstd.size_of(data) > SIZE_BYTES_MAX:
            raise ValueError("longer than anything that is kept")
        return _zstd.decompress(data)
    except _zstd.trouble as error:
        raise ValueError("damaged") from error


def _shared(line: bytes, rest: bytes, keep: Keep) -> bytes:
    """``rest`` with references in place of the content that is kept elsewhere."""
    pieces, begun = [_REFERS], 0
    for content in _long_content(line):
        place = rest.find(content, begun)
        number = keep(content) if place >= 0 else None
        if number is not None:
            pieces += [rest[begun:place], b'{"$blob":%d}' % number]
            begun = place + len(content)
    left = [*pieces, rest[begun:]]
    # One that somebody wrote in a line would be taken for one of these.
    return rest if not begun or any(map(_REFERENCE.search, left[1::2])) else b"".join(left)


def _long_content(line: bytes) -> Iterator[bytes]:
    """The members of the event that are long, as they are spelled in ``line``; of ``parts``, each part for itself."""
    if len(line) < SHARED_BYTES_MIN:
        return
    try:
        members = _contents(line).event
        parts = _members(members["parts"]) if "parts" in members else {}
    except UNREADABLE:
        return
    for name, spelled in members.items():
        for one in parts.values() if name == "parts" else (spelled,):
            if len(one) >= SHARED_BYTES_MIN:
                yield bytes(one)


def _us_of(head: bytes) -> int | None:
    """The time at the head of a line; None if it is not as it is put back."""
    found = _HEAD.fullmatch(head)
    minute_us = _minute_us(found[1]) if found else None
    return None if found is None or minute_us is None else minute_us + int(found[2] + found[3])


@lru_cache
def _minute_us(head: bytes) -> int | None:
    """When the minute began with which a line begins: many lines stand in few minutes."""
    try:
        first = datetime.fromisoformat(head[len('{"at":"') :].decode("ascii") + "00")
    except ValueError:
        return None
    us = (first - _EPOCH) // _MICROSECOND
    return us if _head_of(us).startswith(head) else None


def _head_of(us: int) -> bytes:
    return b'{"at":"%bZ",' % (_EPOCH + us * _MICROSECOND).isoformat(timespec="microseconds").encode()
