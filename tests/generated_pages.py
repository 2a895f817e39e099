"""Pages that are written from what they tell of: ``python -m tests.generated_pages`` renews them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from redrive_projections.history import LABELS, MACROS, MEASURES, TALLIES, Table, Told, View, schema, views
from redrive_replays.traces import IMPORTERS

DOCS = Path(__file__).parents[1] / "docs"

TABLES = """\
# The SQL tables

`redrive sql` asks about every run in the log, in [DuckDB's SQL](https://duckdb.org/docs/stable/sql/introduction). The
tables are computed from the log, kept beside it in a folder of their own, brought up to date whenever something is
asked, and never needed: delete the folder, and the next question builds it anew. Only what reads is allowed.

A column that is not known, or does not apply, is NULL. Times are UTC. Columns of type `JSON` are read with `->` and
`->>`. Tables are joined by `run`, a number, and `position`; `steps` has decision, verdict and observation of a call in
one row, and what is long stands apart, in `payloads`. Over the tables stand [measures, views and macros](measures.md);
the [cookbook](cookbook.md) shows both at work.

## How they are kept

DuckDB lets either one process write a file, or many read it. So the history of `redrive.db`, in `redrive.db.history/`,
is a chain of files, *segments*: each is written once, by one process under a lock, and only read from then on. What
stands behind the last segment is rendered into the memory of whoever asks, and views put both together under one name.

- **Never less than the log held when it was asked.** A segment is named by the two offsets of the log between which it
  holds all that happened; what is behind the last one is read from the log itself, whenever something is asked, and by
  `refresh` in a process that keeps its history open.
- **Nobody waits for a reader.** Whoever records only writes the log. Any number of questions, notebooks and other
  processes read the same segments; a file that was replaced stays readable for those who have it open.
- **Who writes.** When more than 4,000 records stand behind the last segment, the next who asks writes them into a new
  one, and joins it with those before that are small beside it, so that there are only ever a few. Others who would do
  the same wait for the lock, which ends with its process. A short log has no such folder at all.
- **A killed process loses little.** Rows of whole runs are committed with how far their streams have come; the file
  gets its name when it is complete. The next one goes on with what is there.
- **Nothing kept is believed unseen.** A segment of another version, of another log, of the same log put together in
  another order, or one that is damaged, is thrown away and made anew without a word. Where nothing can be written
  (another's folder, a full disk, a folder with a question mark in its name), all is built in memory.
- **The same rows, however they came.** Built at once or in any number of pieces, the tables are equal, row by row;
  tests cut histories at random to hold that.

`redrive rebuild` makes all of it anew.
"""

MEASURES_HEAD = """\
# Measures, views and macros

Over the [tables](tables.md) stand the measures of how well runs do, and views and macros for what is asked again and
again; the [cookbook](cookbook.md) shows them at work.

A measure is a share, a mean or a sum over a set of runs, and NULL where there is nothing to compute it from. `measures`
has them over all runs, `measures_by_arm` and its like by what runs have in common, `measures_by_run` for each run,
`measures_of(run_ids)` over runs of your choice. Runs that another run began count with it: what they used is added to
it, and it is the run at the top that succeeds or not.

## Measures

| measure | unit | what it says |
| --- | --- | --- |
"""

LABELS_HEAD = """\

## Labels

Some measures need somebody's word. It is a remark on the run (`rd.annotate`), `true` or `false`, or
a number, of which 1 says yes and less says no; of several on one place the last counts.

| name | what it says |
| --- | --- |
"""

TALLIES_HEAD = """\

## What is counted

Measures are computed from `tallies`, one row for each run, or from `tree_tallies`, one row for each run that no other
began. Any other set of runs is measured in the same way: `sum(succeeded) / sum(judged)` is `task_success`.

| column | what it counts |
| --- | --- |
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


def measures() -> str:
    """The page on measures, views and macros."""
    parts = [MEASURES_HEAD, *(f"| `{one.name}` | {one.unit} | {one.told} |\n" for one in MEASURES)]
    parts += [LABELS_HEAD, *_told(LABELS), TALLIES_HEAD, *_told(TALLIES)]
    parts += ["\n## Views\n\n| view | what a row is |\n| --- | --- |\n", *_told(views())]
    parts += ["\n## Macros\n\n| macro | what it gives |\n| --- | --- |\n"]
    parts += [f"| `{macro.call}` | {macro.told} |\n" for macro in MACROS]
    return "".join(parts)


def formats() -> str:
    """The page on what can be imported."""
    rows = [("redrive", "Redrive recordings"), *((importer.name, importer.reads) for importer in IMPORTERS)]
    return FORMATS + "".join(f"| `{name}` | {reads} |\n" for name, reads in rows)


PAGES: dict[str, Callable[[], str]] = {"tables.md": tables, "measures.md": measures, "formats.md": formats}


def _told(named: Iterable[Told | View]) -> list[str]:
    return [f"| `{one.name}` | {one.told} |\n" for one in named]


def _section(table: Table) -> Iterator[str]:
    yield from (f"## `{table.name}`", "", table.told, "", "| column | type | |", "| --- | --- | --- |")
    yield from (f"| `{column.name}` | `{column.type}` | {column.told} |" for column in table.columns)
    yield ""


if __name__ == "__main__":
    for name, written in PAGES.items():
        (DOCS / name).write_text(written(), encoding="utf-8")
