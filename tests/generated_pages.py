"""Pages that are written from what they tell of: ``python -m tests.generated_pages`` renews them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from redrive_projections.history import Table, schema
from redrive_replays.traces import IMPORTERS

DOCS = Path(__file__).parents[1] / "docs"

TABLES = """\
# The SQL tables

`redrive sql` asks about every run in the log, in [DuckDB's SQL](https://duckdb.org/docs/stable/sql/introduction). The
tables are computed from the log, kept beside it in a file of their own, brought up to date whenever something is asked,
and never needed: delete the file, and the next question builds it anew. Only what reads is allowed.

A column that is not known, or does not apply, is NULL. Times are UTC. Columns of type `JSON` are read with `->` and
`->>`.
"""


FORMATS = """\
# What can be imported

`redrive import` tells a format by the content of a file, never by its name; the first in this list that recognises a
file reads it. See [traces and grades](traces.md) for what becomes of it.

| format | what is read |
| --- | --- |
"""


def tables() -> str:
    """The page on the SQL tables."""
    return "\n".join([TABLES, *(line for table in schema() for line in _section(table))])


def formats() -> str:
    """The page on what can be imported."""
    rows = [("redrive", "Redrive recordings"), *((importer.name, importer.reads) for importer in IMPORTERS)]
    return FORMATS + "".join(f"| `{name}` | {reads} |\n" for name, reads in rows)


PAGES: dict[str, Callable[[], str]] = {"tables.md": tables, "formats.md": formats}


def _section(table: Table) -> Iterator[str]:
    yield from (f"## `{table.name}`", "", table.told, "", "| column | type | |", "| --- | --- | --- |")
    yield from (f"| `{column.name}` | `{column.type}` | {column.told} |" for column in table.columns)
    yield ""


if __name__ == "__main__":
    for name, written in PAGES.items():
        (DOCS / name).write_text(written(), encoding="utf-8")
