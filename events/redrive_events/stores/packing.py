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
_AT, _ZONE = b'{"at":"', b'Z",'
_TIME = slice(len(_AT), len(_AT) + 26)
_REST = _TIME.stop + len(_ZONE)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all times are spelled in UTC
_MICROSECOND = timedelta(microseconds=1)

# Content that is kept elsewhere; what has references begins with a space, so nothing else is ever taken for one.
_REFERENCE = re.compile(rb'\{"\$blob":([0-9]+)\}')
_OPEN, _REFERS = b"{"[0], b" "
_ZSTD = b"\x28\xb5\x2f\xfd"

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


def packed(line: bytes, run_id: bytes, position: int, keep: Keep) -> Kept:
    """What is kept of ``line`` at its place; what ``keep`` takes of it is only referred to."""
    tail = b',"position":%d,"run_id":"%b"}' % (position, run_id)
    if line[: _TIME.start] != _AT or line[_TIME.stop : _REST] != _ZONE or not line.endswith(tail, _REST):
        return None, line
    at_us, rest = _us_of(line[_TIME]), b"{%b}" % line[_REST : -len(tail)]
    if at_us is None:
        return None, line
    return at_us, rest if len(rest) < PACKED_BYTES_MIN else deflated(_shared(line, rest, keep))


def unpacked(run_id: str, kept: Iterable[tuple[int, int | None, bytes]], find: Find) -> Iterator[bytes]:
    """The lines of a run of which this is kept, each given with its position.

    What is damaged comes back as it is kept, which no line looks like: whoever follows the chain sees it.
    """
    tail = b',"run_id":"%b"}' % run_id.encode("utf-8", "surrogatepass")
    for position, at_us, rest in kept:
        line = rest
        if at_us is not None:
            with suppress(LookupError, ValueError, OverflowError, TypeError):
                spelled = rest if rest[0] == _OPEN else _spelled(rest, find)
                line = b'{"at":"%bZ",%b,"position":%d%b' % (_time_of(at_us), spelled[1:-1], position, tail)
        yield line


def _spelled(rest: bytes, find: Find) -> bytes:
    """What `packed` made shorter, as it was."""
    spelled = inflated(rest)
    if not spelled.startswith(_REFERS):
        return spelled
    return _REFERENCE.sub(lambda found: find(int(found[1])), spelled[1:])


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


# All records of an append have the same time.
@lru_cache(maxsize=64)
def _us_of(time: bytes) -> int | None:
    """None for a time that is not as `_time_of` spells it."""
    try:
        us = (datetime.fromisoformat(time.decode("ascii")) - _EPOCH) // _MICROSECOND
    except (ValueError, TypeError):
        return None
    return us if _time_of(us) == time else None


@lru_cache(maxsize=64)
def _time_of(us: int) -> bytes:
    return (_EPOCH + us * _MICROSECOND).isoformat(timespec="microseconds").encode()
