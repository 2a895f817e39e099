"""Files that tell of the same traces by halves: log records, and the spans that they belong to, are read as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from redrive_events import BadInput
from redrive_replays.traces import otel
from redrive_replays.traces.compressed import COMPRESSED, beginning, unpacked
from redrive_replays.traces.finding import Found
from redrive_replays.traces.reading import LARGE_BYTES, read

_LOOKED_AT: Final = 65_536
# A file of records is of the same traces as another if that has one of so many of its traces.
_TRACES_MAX: Final = 256


def joined(files: Sequence[Found]) -> list[Found]:
    """The same files; the first of those that belong together has the others beside it, which are read with it."""
    records = {place: traces for place, file in enumerate(files) if (traces := _records_only(file, len(files)))}
    groups: list[set[int]] = []
    for place, traces in records.items():
        group = {place, *(at for at, file in enumerate(files) if at not in records and _tells_of(file, traces))}
        for other in [one for one in groups if one & group]:
            groups.remove(other)
            group |= other
        groups.append(group)
    found = list(files)
    for group in groups:
        first, *rest = sorted(group)
        others = dict.fromkeys(files[at].path for at in rest if files[at].path != files[first].path)
        found[first] = files[first]._replace(beside=tuple(others))
        for at in rest:
            found[at] = files[at]._replace(read_with=files[first].path)
    return found


def _records_only(file: Found, among: int) -> set[bytes]:
    """The traces of a file that has log records and no span, as others may write their names."""
    if among < 2 or file.problem or not _may_be_records(_plain(file.path, _LOOKED_AT)):
        return set()
    try:
        material = read(_plain(file.path), str(file.path))
        traces = sorted(otel.traces_of_records(material))[:_TRACES_MAX]
    except (BadInput, RecursionError):
        return set()
    return {spelled for trace in traces for spelled in _spellings(trace)}


def _may_be_records(head: bytes) -> bool:
    """By its beginning: OTLP as JSON says so, protobuf and single records have the names that conventions give."""
    return (
        b"resourceLogs" in head
        or b"resource_logs" in head
        or (b"gen_ai." in head and (b'"body"' in head or head.lstrip()[:1] not in (b"{", b"[")))
    )


def _spellings(trace: str) -> Iterator[bytes]:
    yield trace.encode()
    yield trace.upper().encode()
    try:
        yield bytes.fromhex(trace)
    except ValueError:
        return


def _tells_of(file: Found, traces: set[bytes]) -> bool:
    """Whether a file has spans of one of these traces."""
    if file.problem:
        return False
    data = _plain(file.path)
    try:
        return any(trace in data for trace in traces) and otel.holds_spans(read(data, str(file.path)))
    except (BadInput, RecursionError):
        return False


def _plain(path: Path, size: int = LARGE_BYTES) -> bytes:
    """The beginning of a file, unpacked if it is compressed; nothing of one that is too large, or cannot be read."""
    try:
        if not path.is_file() or path.stat().st_size > LARGE_BYTES:
            return b""
        with path.open("rb") as file:
            data = file.read(size)
    except OSError:
        return b""
    if not data.startswith(COMPRESSED):
        return data
    try:
        return beginning(data, size) if size < LARGE_BYTES else unpacked(data, str(path))[0]
    except BadInput:
        return b""
