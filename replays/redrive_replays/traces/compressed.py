"""Files that were compressed as a whole (gzip, Zstandard), unpacked up to a limit and as far as they go."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final, Protocol

from redrive_events import BadInput
from redrive_replays.traces.archive import GROWTH_FREE_BYTES, GROWTH_MAX, MEMBER_BYTES_MAX

_GZIP: Final = b"\x1f\x8b\x08"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
COMPRESSED: Final = (_GZIP, _ZSTD)
CUT: Final = "the compressed file breaks off or is damaged; what came before is read"
# So little at a time that what comes of it stays small, whatever it is.
_STEP_BYTES: Final = 1024


class _Unpacking(Protocol):
    """A compressed stream while it is unpacked."""

    def decompress(self, data: bytes, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


def unpacked(data: bytes, name: str) -> tuple[bytes, list[str]]:
    """What a compressed file holds, with a note where it breaks off.

    Raises:
        BadInput: nothing of it can be unpacked, or far more would come out than went in.
    """
    room = min(MEMBER_BYTES_MAX, max(GROWTH_FREE_BYTES, GROWTH_MAX * len(data)))
    found, whole = _as_far(data, room)
    if len(found) > room:
        raise BadInput(f"would unpack to more than {room} bytes", place=name)
    if not whole and not found:
        raise BadInput("a compressed file that is cut off or damaged", place=name)
    return bytes(found), [] if whole else [CUT]


def beginning(data: bytes, size: int) -> bytes:
    """So much of what the beginning of a compressed file holds."""
    return bytes(_as_far(data, size)[0][:size])


def _as_far(data: bytes, room: int) -> tuple[bytearray, bool]:
    """What comes out until there is no more room, or the data is damaged; whether that was all."""
    import zstandard  # noqa: PLC0415 - loaded when asked for

    def gzip() -> _Unpacking:
        return zlib.decompressobj(zlib.MAX_WBITS | 16)

    def zstd() -> _Unpacking:
        return zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj()

    found = bytearray()
    try:
        return found, _unpack(data, gzip if data.startswith(_GZIP) else zstd, found, room)
    except (zlib.error, zstandard.ZstdError):
        return found, False


def _unpack(data: bytes, begin: Callable[[], _Unpacking], found: bytearray, room: int) -> bool:
    """Add to ``found`` what comes out; whether the last of the streams in ``data`` ended."""
    unpacking = begin()
    at = 0
    while at < len(data) and len(found) <= room:
        if unpacking.eof:
            unpacking = begin()
        step = data[at : at + _STEP_BYTES]
        found += unpacking.decompress(step)
        at += len(step) - (len(unpacking.unused_data) if unpacking.eof else 0)
    return unpacking.eof
