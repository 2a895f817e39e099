"""A zip archive, opened so that it cannot grow: what it says it holds is weighed before anything is unpacked."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable
from typing import Final

from redrive_events import BadInput
from redrive_replays.traces.lines import Bytes

MAGIC: Final = (b"PK\x03\x04", b"PK\x05\x06")
MEMBER_BYTES_MAX: Final = 512 * 1024 * 1024
# Logs shrink by ten to fifty; what grows by more than this, beyond a size that harms nobody, is no log.
GROWTH_MAX: Final = 200
GROWTH_FREE_BYTES: Final = 64 * 1024 * 1024
_STORED: Final = 0
_DEFLATE: Final = 8
_ZSTD: Final = 93
_ENCRYPTED: Final = 1
_HEADER: Final = struct.Struct("<4s22xHH")


class Archive:
    """The members of a zip archive by name; of two with one name the later counts.

    Raises:
        BadInput: it is torn, or would unpack to far more than it is.
    """

    def __init__(self, data: Bytes) -> None:
        self._data = data
        try:
            with zipfile.ZipFile(io.BytesIO(data) if isinstance(data, bytes) else data) as found:  # type: ignore[arg-type]
                members = found.infolist()
        except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError, EOFError) as error:
            raise BadInput("a torn zip archive: its directory cannot be read") from error
        self._members = {member.filename: member for member in members}
        self.repeated = len(members) - len(self._members)
        _weigh(members, len(data))

    @property
    def names(self) -> list[str]:
        """What is in it, in the order of its directory."""
        return list(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """A member, whole and undamaged.

        Raises:
            BadInput: it is not; or it is packed in a way that is not read.
        """
        member = self._members[name]
        packed = self._packed(member)
        unpack = _UNPACKED.get(member.compress_type)
        if unpack is None or member.flag_bits & _ENCRYPTED:
            raise BadInput("packed in a way that is not read")
        content = unpack(packed, member.file_size)
        if content is None or len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise BadInput("damaged, it is not what was packed")
        return content

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        header = self._data[member.header_offset : member.header_offset + _HEADER.size]
        if len(header) < _HEADER.size or not header.startswith(MAGIC[0]):
            raise BadInput("damaged, it is not where the directory says")
        _, name, extra = _HEADER.unpack(header)
        start = member.header_offset + _HEADER.size + name + extra
        return self._data[start : start + member.compress_size]


def _weigh(members: Iterable[zipfile.ZipInfo], size: int) -> None:
    packed = unpacked = 0
    for member in members:
        packed += member.compress_size
        unpacked += member.file_size
        if member.file_size > MEMBER_BYTES_MAX:
            raise BadInput(f"{member.filename} would unpack to {member.file_size} bytes, more than {MEMBER_BYTES_MAX}")
    if packed > size:
        raise BadInput("a zip archive whose members overlap")
    if unpacked > max(GROWTH_FREE_BYTES, GROWTH_MAX * size):
        raise BadInput(f"a zip archive of {size} bytes that would unpack to {unpacked}")


def _stored(packed: bytes, size: int) -> bytes | None:
    return packed[: size + 1]


def _inflated(packed: bytes, size: int) -> bytes | None:
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)
    except zlib.error:
        return None


def _unzstd(packed: bytes, size: int) -> bytes | None:
    import zstandard  # noqa: PLC0415 - loaded when asked for

    try:
        with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed, read_across_frames=True) as stream:
            return stream.read(size + 1)
    except zstandard.ZstdError:
        return None


_UNPACKED: Final = {_STORED: _stored, _DEFLATE: _inflated, _ZSTD: _unzstd}
