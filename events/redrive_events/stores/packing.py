"""A line as a file keeps it: without what its place says, long content kept once, the rest packed where that pays."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
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

# The first byte of what is kept: of a line as it is, of one whose own first byte is another, of one without its frame.
_WHOLE, _OTHER, _FRAMED = b"{", b"\0", b"\1"
_ZSTD = b"\x28\xb5\x2f\xfd"

# A line is `{"at":"<time>Z","cause":<body>,"position":<position>,"run_id":"<run id>"}`.
_AT = b'{"at":"'
_TIME = slice(len(_AT), len(_AT) + 26)
_CAUSE = slice(_TIME.stop, _TIME.stop + len(b'Z","cause":'))
_US = slice(len(_FRAMED), len(_FRAMED) + 8)
_BEGIN = datetime(1, 1, 1)  # noqa: DTZ001 - all times are spelled in UTC
_MICROSECOND = timedelta(microseconds=1)

# In canonical JSON no byte below a space stands for itself, so that these are free to mean something else.
_MARK = b"\x01"
_REFERENCE = re.compile(rb"\x01(\d+)\x02")


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


def packed(line: bytes, run_id: bytes, position: int, keep: Keep) -> bytes:
    """How ``line`` is kept at its place; what ``keep`` takes of it is only referred to."""
    tail = b',"position":%d,"run_id":"%b"}' % (position, run_id)
    if not (line.startswith(_AT) and line[_CAUSE] == b'Z","cause":' and line.endswith(tail)):
        return line if line.startswith(_WHOLE) else _OTHER + line
    us, body = _us_of(line[_TIME]), line[_CAUSE.stop : -len(tail)]
    if us is None or body.startswith(_ZSTD):
        return line
    if len(body) < PACKED_BYTES_MIN:
        return _FRAMED + us + body
    return _FRAMED + us + deflated(_shared(line, body, keep))


def unpacked(kept: bytes, run_id: bytes, position: int, find: Find) -> bytes:
    """The line that is kept as ``kept`` at its place.

    What is damaged comes back as it is kept, which no line looks like: whoever decodes it or follows the chain sees it.
    """
    if kept.startswith(_WHOLE):
        return kept
    if kept.startswith(_OTHER):
        return kept[1:]
    if not kept.startswith(_FRAMED):
        return kept
    try:
        body = inflated(kept[_US.stop :])
        if _MARK in body:
            body = _REFERENCE.sub(lambda found: find(int(found[1])), body)
        time = _time_of(kept[_US])
    except (LookupError, ValueError, OverflowError):
        return kept
    return b'{"at":"%bZ","cause":%b,"position":%d,"run_id":"%b"}' % (time, body, position, run_id)


def deflated(data: bytes) -> bytes:
    """``data`` as a zstd frame where that is a tenth shorter, else as it is."""
    if len(data) < PACKED_BYTES_MIN:
        return data
    frame = _zstd.compress(data)
    return frame if len(frame) <= 0.9 * len(data) else data


def inflated(data: bytes) -> bytes:
    """What was `deflated`.

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


def _shared(line: bytes, body: bytes, keep: Keep) -> bytes:
    """``body`` with references in place of the content that is kept elsewhere."""
    if _MARK in body:
        return body
    pieces, begun = list[bytes](), 0
    for content in _long_content(line):
        place = body.find(content, begun)
        number = keep(content) if place >= 0 else None
        if number is not None:
            pieces += [body[begun:place], b"\x01%d\x02" % number]
            begun = place + len(content)
    return b"".join([*pieces, body[begun:]])


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
def _us_of(time: bytes) -> bytes | None:
    """Microseconds since the year 1 in 8 bytes; None for a time that is not as `_time_of` spells it."""
    try:
        us = (datetime.fromisoformat(time.decode("ascii")) - _BEGIN) // _MICROSECOND
    except (ValueError, TypeError):
        return None
    packed_time = us.to_bytes(8, "big")
    return packed_time if _time_of(packed_time) == time else None


@lru_cache(maxsize=64)
def _time_of(us: bytes) -> bytes:
    return (_BEGIN + int.from_bytes(us, "big") * _MICROSECOND).isoformat(timespec="microseconds").encode()
