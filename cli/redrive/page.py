"""The figures of a log as one page for a browser: nothing is loaded, nothing runs, and it follows light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from redrive.figures import Figures, money
from redrive.plots import Mark, bars, columns, mark
from redrive.terminal import counted
from redrive_projections import harmless

UNKNOWN_DAY = "unknown"

_STYLE = """\
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #fff; --soft: #5a6068; --line: #d5d9de; --mark: #2f6fb0;
  --bad: #b3372b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --paper: #16181b; --soft: #a2a9b1; --line: #3a3f45;
  --mark: #6aa7e0; --bad: #f08a7e; } }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; } p { color: var(--soft); margin: .25rem 0; }
figure { margin: 0; } svg { width: 100%; height: auto; font-size: 13px; } svg text { fill: var(--ink); }
svg .value { fill: var(--soft); } svg .mark { fill: var(--mark); } svg .bad { fill: var(--bad); }
svg .axis { stroke: var(--line); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } summary { color: var(--soft); }
th, td { text-align: left; padding: .1rem 1rem .1rem 0; border-bottom: 1px solid var(--line); }
td + td, th + th { text-align: right; }"""

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{caption}</p>
"""


def page(found: Figures, name: str) -> str:
    """The page about the log of this name."""
    caption = f"{counted(found.runs, 'run')}, {counted(sum(kind.events for kind in found.sizes.kinds), 'event')}"
    title = escape(harmless(f"Redrive: {name}"))
    parts = [_HEAD.format(title=title, style=_STYLE, caption=caption), *_sections(found), "</main>\n</body>\n</html>\n"]
    return "".join(parts)


def _sections(found: Figures) -> Iterator[str]:
    outcomes = [mark(status, count, f"{count:,}") for status, count in found.outcomes]
    yield _section("How runs ended", "", bars(outcomes, "Runs by status"), ("status", "runs"), outcomes)
    steps = [mark(one.name, one.runs, f"{one.runs:,}") for one in found.steps]
    spread = ""
    if found.spread is not None:
        half, most, all_of_them = found.spread
        spread = f"half took {half:,} or fewer, 95 of a hundred {most:,}, none more than {all_of_them:,}"
    yield _section("Steps of a run", spread, bars(steps, "Runs by steps"), ("steps", "runs"), steps)
    days = [mark(one.day or UNKNOWN_DAY, one.runs, f"{one.runs:,}") for one in found.days]
    yield _section("Runs by day", "in UTC", columns(days, "Runs by day"), ("day", "runs"), days)
    for currency in dict.fromkeys(cost.currency for cost in found.costs):
        costs = [
            mark(cost.day or UNKNOWN_DAY, cost.micros, money(cost.micros))
            for cost in found.costs
            if cost.currency == currency
        ]
        title = f"Cost by day, in {harmless(currency)}"
        yield _section(title, "of the replies that told theirs", columns(costs, title), ("day", "cost"), costs)
    tools = [mark(one.tool, one.calls, _of_tool(one.calls, one.failed), one.failed) for one in found.tools]
    told = "set apart in each bar: those that came to an error, a time-out, or nothing that is known"
    yield _section("Calls of tools", told, bars(tools, "Calls by tool"), ("tool", "calls"), tools)
    kinds = [mark(one.kind, one.kept_bytes, f"{one.kept_bytes:,}") for one in found.sizes.kinds]
    yield _section("Bytes by kind of event", "as kept", bars(kinds, "Bytes by kind"), ("kind", "bytes"), kinds)
    file = [mark(part, size, f"{size:,}") for part, size in found.sizes.file.items()]
    yield _section("Bytes of the file", "", bars(file, "Bytes by part of the file"), ("part", "bytes"), file)


def _of_tool(calls: int, failed: int) -> str:
    return f"{calls:,}, {failed:,} failed" if failed else f"{calls:,}"


def _section(title: str, told: str, drawn: str, heads: tuple[str, str], marks: Sequence[Mark]) -> str:
    """A plot, and below it the same as a table."""
    if not marks:
        return ""
    rows = "".join(f"<tr><td>{escape(one.name)}</td><td>{escape(one.said)}</td></tr>" for one in marks)
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    return (
        f"<section>\n<h2>{escape(title)}</h2>\n" + (f"<p>{escape(told)}</p>\n" if told else "") + f"<figure>{drawn}\n"
        f"<figcaption><details><summary>as a table</summary><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></details></figcaption></figure>\n</section>\n"
    )
