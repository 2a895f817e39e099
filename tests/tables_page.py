"""The page on the SQL tables, written from the tables themselves: ``python -m tests.tables_page`` renews it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redrive_projections.history import Table, schema

PAGE = Path(__file__).parents[1] / "docs" / "tables.md"

HEAD = """\
# The SQL tables

`redrive sql` asks about every run in the log, in [DuckDB's SQL](https://duckdb.org/docs/stable/sql/introduction). The
tables are computed from the log, kept beside it in a file of their own, brought up to date whenever something is asked,
and never needed: delete the file, and the next question builds it anew. Only what reads is allowed.

A column that is not known, or does not apply, is NULL. Times are UTC. Columns of type `JSON` are read with `->` and
`->>`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for table in schema() for line in _section(table))])


def _section(table: Table) -> Iterator[str]:
    yield from (f"## `{table.name}`", "", table.told, "", "| column | type | |", "| --- | --- | --- |")
    yield from (f"| `{column.name}` | `{column.type}` | {column.told} |" for column in table.columns)
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
