"""What columns there can be, and how a row class tells of its own."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, NewType, TypeAlias, get_args, get_type_hints

import msgspec

# Text that is JSON already.
JsonText = NewType("JsonText", str)

# A moment in microseconds since 1970.
Moment = NewType("Moment", int)

Labels: TypeAlias = dict[str, str]
Positions: TypeAlias = tuple[int, ...]
Names: TypeAlias = tuple[str, ...]


# By far the longest column: packed like this it takes a fourth of the room, and half the time to pack.
PACKED = frozenset({"payload"})


class Column(NamedTuple):
    """A column: its name, its type in SQL, and what stands in it."""

    name: str
    type: str
    told: str

    @property
    def stored(self) -> str:
        """The type as a table is made with it: what is long is packed well, what is short is packed fast."""
        return f"{self.type} USING COMPRESSION zstd" if self.name in PACKED else self.type


class Table(NamedTuple):
    """A table: its name, what a row of it is, and its columns in order."""

    name: str
    told: str
    columns: tuple[Column, ...]


class Row(msgspec.Struct, kw_only=True, gc=False):
    """What every row begins with; a field that is not known, or does not apply, is NULL."""

    run_id: Annotated[str, "The run."]
    run: Annotated[int, "The run as a number, for fast joins and windows: 1 is the run that began first in the log."]


_TYPES: dict[Any, str] = {
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE",
    str: "VARCHAR",
    Moment: "TIMESTAMPTZ",
    JsonText: "JSON",
    Labels: "MAP(VARCHAR, VARCHAR)",
    Positions: "BIGINT[]",
    Names: "VARCHAR[]",
}


def columns_of(row: type[Row]) -> tuple[Column, ...]:
    """The columns of a table of such rows, each with a sentence on it."""
    hints = get_type_hints(row, include_extras=True)
    return tuple(Column(name, *_told(hints[name])) for name in row.__struct_fields__)


def _told(hint: Any) -> tuple[str, str]:
    kind, told = get_args(hint)
    (plain,) = [one for one in get_args(kind) if one is not type(None)] if type(None) in get_args(kind) else [kind]
    return _TYPES[plain], told
