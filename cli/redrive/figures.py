"""The figures of a log: how runs ended, how many steps they took, what they cost day by day, and where its bytes go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from redrive_events import Json, Sizes, SqliteLog
from redrive_projections.history import Questions

TOOLS_MAX = 12

_OUTCOMES = "SELECT status, count(*) FROM runs GROUP BY status ORDER BY count(*) DESC, status"
_STEPS = "SELECT steps, count(*) FROM runs GROUP BY steps ORDER BY steps"
_SPREAD = "SELECT quantile_disc(steps, 0.5), quantile_disc(steps, 0.95), max(steps) FROM runs"
_DAYS = """
    SELECT strftime(started_at AT TIME ZONE 'UTC', '%Y-%m-%d') AS day, count(*),
        count(*) FILTER (status IN ('succeeded', 'finished'))::BIGINT, sum(steps)::BIGINT, sum(tokens)::BIGINT
    FROM runs GROUP BY day ORDER BY day NULLS LAST"""
_COSTS = """
    SELECT currency, strftime(started_at AT TIME ZONE 'UTC', '%Y-%m-%d') AS day, sum(cost_micros)::BIGINT
    FROM runs WHERE cost_micros IS NOT NULL GROUP BY currency, day ORDER BY currency, day NULLS LAST"""
_TOOLS = f"""
    SELECT tool, count(*), count(*) FILTER (status IN ('error', 'timeout', 'unknown'))
    FROM tool_calls GROUP BY tool ORDER BY count(*) DESC, tool LIMIT {TOOLS_MAX}"""


class Day(NamedTuple):
    """The runs that began on one day, None if that is not known, and what they took."""

    day: str | None
    runs: int
    well: int
    steps: int
    tokens: int


class Cost(NamedTuple):
    """What the runs of one day cost, in millionths of a currency."""

    currency: str
    day: str | None
    micros: int


class Bucket(NamedTuple):
    """So many runs took from ``least`` to ``most`` steps."""

    least: int
    most: int
    runs: int

    @property
    def name(self) -> str:
        """The steps, in short."""
        return str(self.least) if self.least == self.most else f"{self.least}-{self.most}"


class ToolUse(NamedTuple):
    """How often a tool was called, further attempts included, and how often nothing good came of it."""

    tool: str
    calls: int
    failed: int


class Figures(NamedTuple):
    """All of it."""

    outcomes: tuple[tuple[str, int], ...]
    steps: tuple[Bucket, ...]
    spread: tuple[int, int, int] | None
    days: tuple[Day, ...]
    costs: tuple[Cost, ...]
    tools: tuple[ToolUse, ...]
    sizes: Sizes

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return sum(count for _, count in self.outcomes)

    def data(self) -> dict[str, Json]:
        """As plain data."""
        sizes = self.sizes
        return {
            "outcomes": dict(self.outcomes),
            "steps": None if self.spread is None else dict(zip(("p50", "p95", "max"), self.spread, strict=True)),
            "steps_of_runs": [one._asdict() for one in self.steps],
            "days": [one._asdict() for one in self.days],
            "costs": [one._asdict() for one in self.costs],
            "tools": [one._asdict() for one in self.tools],
            "streams": sizes.streams,
            "kinds": [one._asdict() for one in sizes.kinds],
            "contents": sizes.contents._asdict(),
            "file": sizes.file,
        }


def figures(log: SqliteLog, path: Path) -> Figures:
    """The figures of a log, as it is now."""
    with Questions(log, path) as questions:
        ((p50, p95, most),) = questions.ask(_SPREAD).rows
        return Figures(
            outcomes=tuple((status, count) for status, count in questions.ask(_OUTCOMES).rows),
            steps=tuple(_buckets(questions.ask(_STEPS).rows)),
            spread=None if most is None else (p50, p95, most),
            days=tuple(map(Day._make, questions.ask(_DAYS).rows)),
            costs=tuple(map(Cost._make, questions.ask(_COSTS).rows)),
            tools=tuple(map(ToolUse._make, questions.ask(_TOOLS).rows)),
            sizes=log.sizes(),
        )


def money(micros: int) -> str:
    """Millionths of a currency in whole ones; what is less than a hundredth is not lost."""
    if micros % 10_000 and abs(micros) < 1_000_000:
        return f"{micros / 1e6:.6f}".rstrip("0")
    return f"{micros / 1e6:,.2f}"


def _buckets(counted: Sequence[tuple[int, int]]) -> Iterator[Bucket]:
    """Buckets up to that of the most steps, each twice as wide as the one before."""
    if not counted:
        return
    most = max(steps for steps, _ in counted)
    bounds = [(0, 0), (1, 1), (2, 2)]
    while bounds[-1][1] < most:
        bounds.append((bounds[-1][1] + 1, bounds[-1][1] * 2))
    for least, last in bounds:
        if least <= most:
            yield Bucket(least, last, sum(runs for steps, runs in counted if least <= steps <= last))
