"""A history of many more events than its log has: the runs of one segment, again and again under new names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from redrive_events import Head, Span, SqliteLog
from redrive_projections.history import beside, schema
from redrive_projections.history.segments import segments


class Multiplied(SqliteLog):
    """A log that says it holds what a history does, and really holds what was appended since."""

    def __init__(self, path: Path, heads: list[Head], offset: int) -> None:
        super().__init__(path, durability="os")
        self._before, self._offset = heads, offset

    def runs(self) -> Iterator[Head]:
        """Those of the history, and the new ones."""
        yield from self._before
        yield from super().runs()

    def order(self, *, after: int = 0) -> Iterator[Span]:
        """What was appended since."""
        for span in super().order(after=max(0, after - self._offset)):
            yield span._replace(offset=span.offset + self._offset)


def multiplied(path: Path, times: int, into: Path) -> Multiplied:
    """Write the history of the log at ``path`` beside ``into``, ``times`` over; a log that fits it."""
    (only,) = segments(beside(path))
    offset = only.watermark * times
    beside(into).mkdir(mode=0o700)
    with duckdb.connect(beside(into) / f"{0:020}-{offset:020}.duckdb") as db:
        db.execute(f"ATTACH '{only.file}' AS one (READ_ONLY)")
        db.execute("CREATE SCHEMA inside")
        for table in schema():
            columns = ", ".join(f"{column.name} {column.stored}" for column in table.columns)
            db.execute(f"CREATE TABLE {table.name} ({columns})")
        db.execute("CREATE TABLE inside.streams AS FROM one.inside.streams LIMIT 0")
        ((last,),) = db.execute("SELECT max(run) FROM one.inside.streams").fetchall()
        for number in range(times):
            renamed = f"SELECT * REPLACE ('x{number}-' || run_id AS run_id, run + {number * last} AS run) FROM one"
            for name in ("inside.streams", *(table.name for table in schema())):
                db.execute(f"INSERT INTO {name} {renamed}.{name if '.' in name else f'main.{name}'}")
        db.execute("CREATE TABLE inside.progress AS FROM one.inside.progress")
        db.execute("UPDATE inside.progress SET watermark = ?, records = records * ?", [offset, times])
        streams = db.execute("SELECT run_id, position, digest FROM inside.streams").fetchall()
    return Multiplied(into, [Head(*stream) for stream in streams], offset)
