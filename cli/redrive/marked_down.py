"""What a replay found, or a comparison of two runs, as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from redrive.explained import explained
from redrive.fitting import Line, laid_out
from redrive_events import Record
from redrive_projections import one_line
from redrive_replays import Cause, Comparison, Report

FENCE = "`" * 4  # texts of models often hold one of three


def as_markdown(report: Report, records: Sequence[Record]) -> Iterator[str]:
    """A heading with the outcome, what changed, and the places, or the reason, as a terminal shows them."""
    heading = f"`{one_line(report.run_id)}`: {report.outcome}"
    yield from _headed(heading, report.changed_parts, [one.cause for one in report.divergences], report.exit_code == 0)
    if report.exit_code or report.explained_otherwise or report.open:
        yield from _as_shown(explained(report, records))


def compared_as_markdown(comparison: Comparison, told: Iterable[Line]) -> Iterator[str]:
    """A heading with both runs, the parts of their programs that differ, and the places as a terminal shows them."""
    outcome = "same" if comparison.same else "part"
    heading = f"`{one_line(comparison.ours)}` and `{one_line(comparison.theirs)}`: {outcome}"
    yield from _headed(heading, comparison.changed_parts, [one.cause for one in comparison.partings], comparison.same)
    if not comparison.same:
        yield from _as_shown(told)


def _headed(heading: str, changed_parts: Sequence[str], found: Sequence[Cause], fine: bool) -> Iterator[str]:
    yield f"### {'✅' if fine else '❌'} {heading}"
    yield ""
    if changed_parts:
        yield f"Changed parts: {', '.join(f'`{name}`' for name in changed_parts)}"
        yield ""
    if causes := dict.fromkeys(found):
        yield f"Causes: {', '.join(f'**{cause}**' for cause in causes)}"
        yield ""


def _as_shown(lines: Iterable[Line]) -> Iterator[str]:
    yield f"{FENCE}text"
    yield from (line.plain for line in laid_out(lines))
    yield FENCE
