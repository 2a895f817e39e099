"""Show the figures of the log: outcomes, steps, costs, tools, and where its bytes go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from redrive.figures import Figures, figures, money
from redrive.files import replacing
from redrive.options import LOG, JsonOption, LogOption
from redrive.page import UNKNOWN_DAY, page
from redrive.terminal import Cell, columns, counted, say, say_json
from redrive_events import KindSize, Sizes, SqliteLog
from redrive_projections import one_line

KINDS = ("KIND", "EVENTS", "BYTES", "KEPT", "RATIO")
FILE = ("FILE", "BYTES")
BAR_CELLS = 24
DAYS_MAX = 14
EIGHTHS = " ▏▎▍▌▋▊▉"


def stats(
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one page with plots in place of it.")
    ] = None,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> None:
    """Show how runs ended, their steps, what they cost day by day, which tools they called, and where bytes go.

    BYTES are those of the canonical lines, KEPT what stands of them in the table of events. The log is read from end
    to end. The page of --html holds all it needs, and loads nothing.
    """
    with closing(SqliteLog(log, must_exist=True)) as store:
        found = figures(store, log)
    if html is not None:
        with replacing(html) as file:
            file.write(page(found, log.name).encode(errors="backslashreplace"))
    if as_json:
        say_json(found.data())
    elif html is None:
        say(*_of_runs(found), *_of_bytes(found.sizes))


def _of_runs(found: Figures) -> Iterator[Cell]:
    most = max((count for _, count in found.outcomes), default=0)
    yield from _table(("STATUS", "RUNS", ""), ([name, f"{n:,}", _bar(n, most)] for name, n in found.outcomes))
    if found.spread is not None:
        most = max(one.runs for one in found.steps)
        yield from _table(("STEPS", "RUNS", ""), ([s.name, f"{s.runs:,}", _bar(s.runs, most)] for s in found.steps))
        yield "{:,} steps at the median, {:,} at 95 %, {:,} at most".format(*found.spread)
        yield ""
    yield from _of_days(found)
    most = max((one.calls for one in found.tools), default=0)
    rows = ([one_line(t.tool, 40), f"{t.calls:,}", f"{t.failed:,}", _bar(t.calls, most)] for t in found.tools)
    yield from _table(("TOOL", "CALLS", "FAILED", ""), rows)


def _of_days(found: Figures) -> Iterator[Cell]:
    days = found.days[-DAYS_MAX:]
    costs: dict[str | None, list[str]] = {}
    for cost in found.costs:
        costs.setdefault(cost.day, []).append(f"{money(cost.micros)} {cost.currency}")
    most = max((one.runs for one in days), default=0)
    rows = (
        [d.day or UNKNOWN_DAY, f"{d.runs:,}", f"{d.tokens:,}", ", ".join(costs.get(d.day, [])), _bar(d.runs, most)]
        for d in days
    )
    yield from _table(("DAY", "RUNS", "TOKENS", "COST", ""), rows)


def _of_bytes(sizes: Sizes) -> Iterator[Cell]:
    yield from columns([KINDS, *_kinds(sizes)], right={1, 2, 3, 4})
    yield ""
    yield from _contents(sizes)
    yield ""
    parts = [*sizes.file.items(), ("all", sum(sizes.file.values()))]
    yield from columns([FILE, *([name, f"{size:,}"] for name, size in parts)], right={1})


def _table(head: Sequence[str], rows: Iterator[list[str]]) -> Iterator[Cell]:
    """A table with numbers in all columns but the first and the last, and an empty line behind it; or nothing."""
    found = list(rows)
    if found:
        yield from columns([head, *found], right=set(range(1, len(head) - 1)))
        yield ""


def _bar(amount: int, most: int) -> str:
    """As long as the amount, in eighths of a cell."""
    eighths = round(BAR_CELLS * 8 * amount / most) if most else 0
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).strip() or ("▏" if amount else "")


def _kinds(sizes: Sizes) -> Iterator[list[str]]:
    total = KindSize(
        "all",
        sum(one.events for one in sizes.kinds),
        sum(one.line_bytes for one in sizes.kinds),
        sum(one.kept_bytes for one in sizes.kinds),
    )
    for kind, events, line_bytes, kept_bytes in (*sizes.kinds, total):
        ratio = f"{kept_bytes / line_bytes:.2f}" if line_bytes else ""
        yield [kind, f"{events:,}", f"{line_bytes:,}", f"{kept_bytes:,}", ratio]


def _contents(sizes: Sizes) -> Iterator[str]:
    contents = sizes.contents
    yield counted(sizes.streams, "stream")
    if contents.pieces:
        pieces, references = counted(contents.pieces, "piece"), counted(contents.references, "reference")
        yield f"{pieces} of long content, {contents.content_bytes:,} bytes, kept in {contents.kept_bytes:,}"
        yield f"{references} to them: sharing saves {max(contents.referred_bytes - contents.content_bytes, 0):,} bytes"
