"""Rows into tables: a few by DuckDB's own appender, many as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from redrive_projections.history.arrow import append

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# A statement costs as much as so many rows do one by one.
FEW: Final = 80

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def write(
    db: DuckDBPyConnection, table: str, types: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Put rows into a table whose columns have these names and SQL types; a NULL is None."""
    if len(rows) > FEW:
        append(db, table, types, rows)
    elif rows:
        odd = [(place, _APPENDED[kind]) for place, (_, kind) in enumerate(types) if kind in _APPENDED]
        with db.appender(table) as appender:
            appender.append_rows(_appended(row, odd) for row in rows)


def _appended(row: tuple[Any, ...], odd: Sequence[tuple[int, Callable[[Any], Any]]]) -> list[Any]:
    cells = [*row]
    for place, made in odd:
        if cells[place] is not None:
            cells[place] = made(cells[place])
    return cells


# What the appender takes for a value of these types.
_APPENDED: Final[dict[str, Callable[[Any], Any]]] = {
    "TIMESTAMPTZ": lambda moment: _EPOCH + moment * _MICROSECOND,
    "JSON": lambda text: text.decode() if isinstance(text, bytes) else text,
    # A plain dict with an empty key would be none.
    "MAP(VARCHAR, VARCHAR)": lambda names: {"key": [*names], "value": [*names.values()]},
}
