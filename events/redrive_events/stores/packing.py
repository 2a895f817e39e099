"""Lines as a file keeps them: many in one row, long content kept once, the rest packed where that pays."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from redrive_events.codec import UNREADABLE

# Puts content where it is kept once; its number there, or None where it must stay in its line.
Keep: TypeAlias = Callable[[bytes], int | None]
# The content with a number; a `LookupError` where there is none.
Find: TypeAlias = Callable[[int], bytes]

# So many lines pack to a seventh and are written as one row; more would gain little, and damage takes a row at a time.
LINES_MAX = 64
# Measured on recorded runs: content that is shorter costs more in a table of its own than its being there once saves,
# and packing what is shorter than the other takes longer than it is worth.
SHARED_BYTES_MIN = 2_048
PACKED_BYTES_MIN = 768
# SQLite holds nothing longer, so what claims to be is damaged.
SIZE_BYTES_MAX = 1_000_000_000

# What is kept as it is begins like this; what has references with a space, which no line and no frame does.
_OPEN, _REFERS, _END = b"{", b" ", b"\n"
_LIKE = b'{"$blob":'
_REFERENCE = re.compile(re.escape(_LIKE) + rb"([0-9]+)\}")
_ZSTD = b"\x28\xb5\x2f\xfd"

# What is raised by what is damaged: content that is not there, a frame that is none.
DAMAGED = (LookupError, ValueError, TypeError)


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


def packed(lines: Sequence[bytes], keep: Keep) -> list[tuple[int, bytes]]:
    """What is kept of ``lines``, row by row: of how many, and what; what ``keep`` takes is only referred to."""
    if len(lines) <= LINES_MAX:
        return _packed(lines, keep)
    parts = (lines[first : first + LINES_MAX] for first in range(0, len(lines), LINES_MAX))
    return [row for part in parts for row in _packed(part, keep)]


def _packed(lines: Sequence[bytes], keep: Keep) -> list[tuple[int, bytes]]:
    text = _END.join(lines)
    if not text.startswith(_OPEN) or text.split(_END) != list(lines):
        # What is no line could be taken for two, or for something else; in a frame of its own it is what it is.
        return [(1, _zstd.compress(line)) for line in lines]
    if len(text) < PACKED_BYTES_MIN:
        return [(len(lines), text)]
    return [(len(lines), _referring(lines, text, keep) or deflated(text))]


def unpacked(count: int, kept: bytes, find: Find) -> list[bytes]:
    """The ``count`` lines of which this is kept.

    What is damaged comes back as it is found there, which is not what was written: whoever follows the chain sees it.
    """
    try:
        text = spelled(kept, find)
    except DAMAGED:
        text = kept
    lines = text.split(_END, count - 1)
    return lines + [b""] * (count - len(lines))


def spelled(kept: bytes, find: Find) -> bytes:
    """The lines of which this is kept, with a line feed between them; where content is lost is nothing, as in no JSON.

    Raises: what is in ``DAMAGED``, if it is that.
    """
    if not kept.startswith(_REFERS):
        return inflated(kept)

    def content(found: re.Match[bytes]) -> bytes:
        try:
            return find(int(found[1]))
        except DAMAGED:
            return b""

    return _REFERENCE.sub(content, inflated(kept[len(_REFERS) :]))


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


def _referring(lines: Sequence[bytes], text: bytes, keep: Keep) -> bytes:
    """What is kept of ``lines`` where it refers to content that is kept elsewhere; empty if there is no such content.

    One that somebody wrote in a line would be taken for a reference, so such lines keep their content.
    """
    if max(map(len, lines)) < SHARED_BYTES_MIN or _LIKE in text:
        return b""
    shared = _END.join([_shared(line, keep) if len(line) >= SHARED_BYTES_MIN else line for line in lines])
    return _REFERS + deflated(shared) if len(shared) < len(text) else b""


def _shared(line: bytes, keep: Keep) -> bytes:
    """``line`` with references in place of the content that is kept elsewhere."""
    pieces, begun = list[bytes](), 0
    for content in _long_content(line):
        place = line.find(content, begun)
        number = keep(content) if place >= 0 else None
        if number is not None:
            pieces += [line[begun:place], b"%b%d}" % (_LIKE, number)]
            begun = place + len(content)
    return b"".join([*pieces, line[begun:]])


def _long_content(line: bytes) -> Iterator[bytes]:
    """The members of the event that are long, as they are spelled in ``line``; of ``parts``, each part for itself."""
    try:
        members = _contents(line).event
        parts = _members(members["parts"]) if "parts" in members else {}
    except UNREADABLE:
        return
    for name, spelled in members.items():
        for one in parts.values() if name == "parts" else (spelled,):
            if len(one) >= SHARED_BYTES_MIN:
                yield bytes(one)
