"""Rows as columns, handed to DuckDB by Arrow's C interface: a cell costs a fraction of what it costs one by one."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_NULLABLE: Final = 2
_VIEW: Final = "incoming_rows"
# Two counts of pairs and bytes in front of each text: "this text is JSON already", so that nobody reads it again.
_JSON: Final = b"\x01\0\0\0\x14\0\0\0ARROW:extension:name\x0a\0\0\0arrow.json"


class Buffers(NamedTuple):
    """A column as Arrow has it: its format, its buffers with the validity first, and the columns inside it."""

    format: bytes
    length: int
    nulls: int
    buffers: tuple[Any, ...]
    children: tuple[tuple[str, Buffers], ...] = ()
    metadata: bytes | None = None


class _Schema(ctypes.Structure):
    """`struct ArrowSchema`."""


class _Array(ctypes.Structure):
    """`struct ArrowArray`."""


class _Stream(ctypes.Structure):
    """`struct ArrowArrayStream`."""


_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_Told = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)

_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", _Get),
    ("get_next", _Get),
    ("get_last_error", _Told),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


def _let_go(kind: type[Any]) -> Any:
    """Marks a structure as released, as Arrow wants it; its memory is Python's, and goes with `Incoming`."""

    def release(place: int) -> None:
        kind.from_address(place).release = None

    return _Release(release)


_SCHEMA_RELEASE, _ARRAY_RELEASE, _STREAM_RELEASE = map(_let_go, (_Schema, _Array, _Stream))
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def append(db: DuckDBPyConnection, table: str, types: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> None:
    """Put rows into a table whose columns have these names and SQL types; a NULL is None."""
    columns = list(zip(*rows, strict=True))
    if columns:
        incoming = Incoming([(name, _KINDS[kind](values)) for (name, kind), values in zip(types, columns, strict=True)])
        db.register(_VIEW, incoming)
        try:
            db.execute(f"INSERT INTO {table} FROM {_VIEW}").fetchall()
        finally:
            db.unregister(_VIEW)
            incoming.let_go()


class Incoming:
    """Columns of one length, as whoever speaks Arrow's C interface takes them."""

    def __init__(self, columns: Sequence[tuple[str, Buffers]]) -> None:
        self._rows = Buffers(b"+s", columns[0][1].length, 0, (None,), tuple(columns))
        # What was handed out points to these.
        self._kept: list[object] = []

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream of one batch."""
        stream, left = _Stream(), [self._rows]

        def get_schema(_: int, place: int) -> int:
            self._tell(_Schema.from_address(place), "", self._rows)
            return 0

        def get_next(_: int, place: int) -> int:
            self._fill(_Array.from_address(place), left.pop() if left else None)
            return 0

        stream.get_schema, stream.get_next = _Get(get_schema), _Get(get_next)
        stream.get_last_error = _Told(lambda _: None)
        stream.release = ctypes.cast(_STREAM_RELEASE, ctypes.c_void_p)
        self._kept.append(stream)
        return _new_capsule(ctypes.addressof(stream), b"arrow_array_stream", None)

    def let_go(self) -> None:
        """Nobody reads from it any longer; without this, what was handed out and this would hold each other."""
        self._kept.clear()

    def _tell(self, told: _Schema, name: str, column: Buffers) -> None:
        children = [_Schema() for _ in column.children]
        for child, (inner, buffers) in zip(children, column.children, strict=True):
            self._tell(child, inner, buffers)
        pointers = (ctypes.POINTER(_Schema) * len(children))(*map(ctypes.pointer, children))
        metadata = ctypes.create_string_buffer(column.metadata) if column.metadata else None
        told.format, told.name, told.flags = column.format, name.encode(), _NULLABLE
        told.metadata = ctypes.cast(metadata, ctypes.c_char_p) if metadata else None
        told.n_children, told.children = len(children), pointers
        told.dictionary = told.private_data = None
        told.release = ctypes.cast(_SCHEMA_RELEASE, ctypes.c_void_p)
        self._kept += [children, pointers, metadata, told.format, told.name]

    def _fill(self, told: _Array, column: Buffers | None) -> None:
        told.release = None
        if column is None:  # there are no more
            return
        children = [_Array() for _ in column.children]
        for child, (_, inner) in zip(children, column.children, strict=True):
            self._fill(child, inner)
        pointers = (ctypes.POINTER(_Array) * len(children))(*map(ctypes.pointer, children))
        places = (ctypes.c_void_p * len(column.buffers))(*map(_place, column.buffers))
        told.length, told.null_count, told.offset = column.length, column.nulls, 0
        told.n_buffers, told.buffers = len(places), places
        told.n_children, told.children = len(children), pointers
        told.dictionary = told.private_data = None
        told.release = ctypes.cast(_ARRAY_RELEASE, ctypes.c_void_p)
        self._kept += [children, pointers, places]


def _place(buffer: array[Any] | bytes | None) -> int | None:
    if buffer is None:
        return None
    if isinstance(buffer, bytes):
        return ctypes.cast(ctypes.c_char_p(buffer), ctypes.c_void_p).value
    return buffer.buffer_info()[0]


def _bits(text: str) -> bytes:
    """A bit for each sign, 0 or 1, the first one lowest."""
    return int(text[::-1] or "0", 2).to_bytes((len(text) + 7) // 8, "little")


def _sparse(values: Sequence[Any], made: Callable[[Sequence[Any]], Buffers], blank: Any) -> Buffers:
    """The buffers of a column with gaps: something stands in each, and the validity says that it is none."""
    there = "".join(["0" if value is None else "1" for value in values])
    nulls = there.count("0")
    if nulls == len(values):
        return Buffers(b"n", nulls, nulls, ())
    full = made([blank if value is None else value for value in values])
    return full._replace(nulls=nulls, buffers=(_bits(there), *full.buffers[1:]))


def _numbers(format_: bytes, code: str) -> Callable[[Sequence[Any]], Buffers]:
    def made(values: Sequence[Any]) -> Buffers:
        try:  # faster than to look for a None first
            return Buffers(format_, len(values), 0, (None, array(code, values)))
        except TypeError:
            return _sparse(values, made, 0)

    return made


def _flags(values: Sequence[Any]) -> Buffers:
    if None in values:
        return _sparse(values, _flags, False)
    return Buffers(b"b", len(values), 0, (None, _bits("".join(["1" if value else "0" for value in values]))))


def _texts(values: Sequence[Any]) -> Buffers:
    try:
        joined = "".join(values)
    except TypeError:
        return _sparse(values, _texts, "")
    if joined.isascii():
        sizes, data = map(len, values), joined.encode()
    else:
        spelled = [text.encode() for text in values]
        sizes, data = map(len, spelled), b"".join(spelled)
    return Buffers(b"U", len(values), 0, (None, array("q", accumulate(sizes, initial=0)), data))


def _json(values: Sequence[Any]) -> Buffers:
    """JSON is text, or the bytes of text."""
    if values and type(values[0]) is bytes:
        return _blobs(values)._replace(format=b"U", metadata=_JSON)
    texts = _texts(values)
    return texts._replace(metadata=_JSON) if texts.format == b"U" else texts


def _blobs(values: Sequence[bytes]) -> Buffers:
    offsets = array("q", accumulate(map(len, values), initial=0))
    return Buffers(b"Z", len(values), 0, (None, offsets, b"".join(values)))


def _lists(inner: Callable[[Sequence[Any]], Buffers]) -> Callable[[Sequence[Any]], Buffers]:
    def made(values: Sequence[Any]) -> Buffers:
        if None in values:
            return _sparse(values, made, ())
        offsets = array("i", accumulate(map(len, values), initial=0))
        return Buffers(b"+l", len(values), 0, (None, offsets), (("item", inner([*chain.from_iterable(values)])),))

    return made


def _maps(values: Sequence[dict[str, str]]) -> Buffers:
    offsets = array("i", accumulate(map(len, values), initial=0))
    keys = _texts([key for value in values for key in value])
    told = _texts([text for value in values for text in value.values()])
    entries = Buffers(b"+s", offsets[-1], 0, (None,), (("key", keys), ("value", told)))
    return Buffers(b"+m", len(values), 0, (None, offsets), (("entries", entries),))


# How the values of a column become buffers, by its type in SQL.
_KINDS: Final[dict[str, Callable[[Sequence[Any]], Buffers]]] = {
    "BIGINT": _numbers(b"l", "q"),
    "DOUBLE": _numbers(b"g", "d"),
    "TIMESTAMPTZ": _numbers(b"tsu:UTC", "q"),
    "BOOLEAN": _flags,
    "VARCHAR": _texts,
    "JSON": _json,
    "BLOB": _blobs,
    "BIGINT[]": _lists(_numbers(b"l", "q")),
    "VARCHAR[]": _lists(_texts),
    "MAP(VARCHAR, VARCHAR)": _maps,
}
