"""What a replay found, as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redrive.explained import explained
from redrive.fitting import laid_out
from redrive_events import Record
from redrive_replays import Report


def as_markdown(report: Report, records: Sequence[Record]) -> Iterator[str]:
    """A heading with the outcome, what changed, and the places as a terminal shows them."""
    sign = "✅" if report.exit_code == 0 else "❌"
    yield f"### {sign} `{report.run_id}`: {report.outcome}"
    yield ""
    if report.changed_parts:
        yield f"Changed parts: {', '.join(f'`{name}`' for name in report.changed_parts)}"
        yield ""
    causes = dict.fromkeys(one.cause for one in report.divergences)
    if causes:
        yield f"Causes: {', '.join(f'**{cause}**' for cause in causes)}"
        yield ""
    if report.divergences or report.reaches:
        fence = "`" * 4  # texts of models often hold one of three
        yield f"{fence}text"
        yield from (line.plain for line in laid_out(explained(report, records)))
        yield fence
