"""A file's bytes as JSON values: a whole document first, then lines, with a note of each loss."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Sequence
from mmap import mmap

import msgspec

from redrive_events import BadInput, Json, parse_json
from redrive_replays.traces.archive import MAGIC, Archive
from redrive_replays.traces.compressed import COMPRESSED, unpacked
from redrive_replays.traces.lenient import lenient
from redrive_replays.traces.lines import LET_GO_BYTES, Bytes, Entry, Lines, let_go, split
from redrive_replays.traces.material import Diagnostic, Material, NoTrace
from redrive_replays.traces.objects import objects_in
from redrive_replays.traces.otel.protobuf import requests_of
from redrive_replays.traces.unread import told_by_bytes

# Of a file beyond this size little is in memory at a time, if it is one of lines, or an archive.
LARGE_BYTES = 32 << 20

_BYTE = re.compile(r"\(byte (\d+)\)")
# Server-sent events, kept as text; a server may begin with a comment, or with how to come back.
_EVENTS = (b"event:", b"data:", b":", b"id:", b"retry:")
# What a document may begin with; TOML and reprs have other things in brackets.
_BEGUN = re.compile(rb'\s*+[\[{][\[{\s]*+(?:["\d\-\]},]|true|false|null|NaN|\Z)')
# What stands before the next item of a list.
_NEXT = re.compile(rb"[\s,]*")
_items = msgspec.json.Decoder(list[msgspec.Raw])
# By so many items a list is told from one run's messages, spans or events, which have such names.
ROWS_LOOKED_AT = 8
_OF_ONE_RUN = frozenset(
    {"role", "type", "event", "kind", "spanId", "span_id", "spans", "attributes", "resourceSpans", "resource_spans"}
)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read(data: Bytes, name: str, *, large_bytes: int = LARGE_BYTES) -> Material:
    """``data`` as JSON: one document, else lines that are split at a line feed and nothing else.

    A line that cannot be read costs that line only. Beyond ``large_bytes``, lines are decoded when they are looked at.

    Raises:
        BadInput: empty, no JSON, or a document that breaks off.
    """
    material = Material(name, _digest(data), len(data), large_bytes)
    return _read_bytes(data, material) if isinstance(data, bytes) else _read_mapped(data, material)


def _digest(data: Bytes) -> str:
    digest = hashlib.sha256()
    for at in range(0, len(data), LET_GO_BYTES):
        digest.update(data[at : at + LET_GO_BYTES])
        let_go(data)
    return digest.hexdigest()


def _read_bytes(data: bytes, material: Material) -> Material:
    if data.startswith(COMPRESSED):
        data, notes = unpacked(data, material.name)
        material.diagnostics += map(Diagnostic, notes)
    if _read_protobuf(data, material):
        return material
    data, start = _as_utf8(data)
    bare = data.strip()
    if not bare:
        raise NoTrace("the file is empty", place=material.name)
    if bare.startswith(_EVENTS):
        material.entries = [Entry(0, bare.decode(errors="replace"))]
        return material
    if bare.startswith(MAGIC):
        material.archive = Archive(data)
        material.entries = [Entry(0, None)]
        return material
    try:
        material.entries = [Entry(0, parse_json(bare))]
    except BadInput as error:
        _lines_or_lenient(data, start, material, error)
    return material


def _read_mapped(data: mmap, material: Material) -> Material:
    """A large file of lines, a list of rows, or an archive, of which little is in memory; any other is read whole."""
    if data[:4] in MAGIC:
        material.archive = Archive(data)
        material.entries = [Entry(0, None)]
        return material
    mark = len(codecs.BOM_UTF8) if data[:3] == codecs.BOM_UTF8 else 0
    _, _, begin, end = next(split(data, begin=mark), (0, 0, 0, 0))
    if data[begin : begin + 1] == b"[" and (rows := _rows(data, begin)) is not None:
        material.lined, material.entries = True, rows
        return material
    if _line(data[begin:end]) is not None and (lines := _lines(data, 0, material, mark)) is not None:
        material.lined, material.entries = True, lines
        return material
    return _read_bytes(data[:], material)


def _rows(data: mmap, begin: int) -> Lines | None:
    """The places of a list's items, where these are rows and not themselves messages or events of one run."""
    try:
        items = _items.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    rows, at = Lines(data, _value), begin + 1
    for index, item in enumerate(items):
        at = _NEXT.match(data, at).end()  # type: ignore[union-attr]
        size = len(memoryview(item))
        if index < ROWS_LOOKED_AT and not _is_row(_value(data[at : at + size])):
            return None
        rows.add(index, 0, at, at, at + size)
        at += size
    let_go(data)
    return rows if len(rows) > 1 else None


def _is_row(value: Json) -> bool:
    return isinstance(value, dict) and _OF_ONE_RUN.isdisjoint(value)


def _lines_or_lenient(data: bytes, start: int, material: Material, problem: BadInput) -> None:
    lines = _lines(data, start, material)
    if lines is None:
        material.diagnostics.clear()
        material.lost = 0
        lines = objects_in(data, start, material)
    if lines is not None:
        material.lined = True
        material.entries = lines
        return
    read = lenient(data)
    if read is None:
        if _BEGUN.match(data):
            raise BadInput(_torn(problem), place=material.name) from problem
        what = told_by_bytes(data.lstrip())
        raise NoTrace(f"{what}, which is not read" if what else "not JSON", place=material.name) from problem
    value, notes = read
    material.entries = [Entry(0, value)]
    material.diagnostics += map(Diagnostic, notes)


def _torn(problem: BadInput) -> str:
    if isinstance(problem.__cause__, RecursionError):
        return "nested too deeply"
    where = _BYTE.search(str(problem.__cause__))
    if where is None:
        return "a JSON document that is cut off"
    return f"a torn JSON document: it breaks at byte {where[1]}"


def _lines(data: Bytes, start: int, material: Material, mark: int = 0) -> Sequence[Entry] | None:
    """The lines that hold an object each; None if this is no file of lines."""
    large = Lines(data, _value) if len(data) > material.large_bytes else None
    found: list[Entry] = []
    count, first = 0, False
    for index, (number, offset, begin, end) in enumerate(split(data, start, mark)):
        count = index + 1
        read = _line(data[begin:end])
        first = first or (index == 0 and read is not None)
        if read is None:
            material.diagnostics.append(Diagnostic("not a JSON object, left out", number, offset))
            continue
        value, notes = read
        if large is None:
            found.append(Entry(index, value, number, offset))
        else:
            large.add(index, number, offset, begin, end)
        material.diagnostics += (Diagnostic(note, number, offset) for note in notes)
    entries = found if large is None else large
    material.lost = count - len(entries)
    # In a document of many lines that is torn, few lines are objects, and the first is none.
    if count < 2 or not entries or not (first or len(entries) > material.lost):
        return None
    return entries


def _read_protobuf(data: bytes, material: Material) -> bool:
    """Whether ``data`` is OTLP in protobuf, which is then read as the JSON that it stands for."""
    read = requests_of(data)
    if read is None:
        return False
    values, lost = read
    material.entries = [Entry(index, value) for index, value in enumerate(values)]
    material.lined = len(values) > 1
    if lost:
        material.lost = 1
        material.diagnostics.append(Diagnostic(f"cut off: the last {lost} bytes could not be read"))
    return True


def _value(line: bytes) -> Json:
    read = _line(line)
    return read[0] if read else None


def _line(line: bytes) -> tuple[Json, list[str]] | None:
    try:
        value = parse_json(line)
    except BadInput:
        read = lenient(line) if line.lstrip()[:1] == b"{" else None
        return read if read is not None and isinstance(read[0], dict) else None
    return (value, []) if isinstance(value, dict) else None


def _as_utf8(data: bytes) -> tuple[bytes, int]:
    """The text without its mark, and how long the mark is."""
    if data.startswith(_UTF16):
        return data.decode("utf-16", errors="replace").encode(), 0
    bare = data.removeprefix(codecs.BOM_UTF8)
    return bare, len(data) - len(bare)
