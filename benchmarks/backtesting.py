"""How many recorded verdicts a core judges again in a second: `python -m benchmarks.backtesting EVENTS`."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from benchmarks.histories import TOOLS, WRITES, fill
from redrive_engine import Program
from redrive_engine.policy import RulesPolicy
from redrive_engine.tools import Declaration
from redrive_events import SqliteLog, Terms
from redrive_projections.history import Notebook, history
from redrive_replays.backtest import judged_again

EVENTS: Final = 1_000_000
ROUNDS: Final = 5

ALL: Final = '[[rule]]\nname = "all else"\nwhen = {}\nthen = "allow"\n'
# Of each call both facts are looked at, and about every third run comes to know them.
FACTS: Final = (
    '[[rule]]\nname = "nothing new"\nthen = "deny"\n'
    'when = { facts."seen.1" = { known = true }, facts."seen.2" = { is = "$facts.\\"seen.1\\"", known = true } }\n'
)
SIMPLE: Final = (
    '[[rule]]\nname = "looking is free"\nwhen = { effect = "read" }\nthen = "allow"\n'
    '[[rule]]\nname = "not so far down"\nwhen = { tool = "edit_file", arguments.line = { at_least = 900 } }\n'
    'then = "deny"\n'
)
POLICIES: Final = {"a rule that reads two facts": FACTS + ALL, "simple rules": SIMPLE + ALL}


def figures(folder: Path, events: int = EVENTS) -> Iterator[str]:
    """By CPU time of the process, its threads included, the questions to the history with it."""
    path, program = folder / "backtesting.db", _program()
    with closing(SqliteLog(path, durability="os")) as log:
        runs, written = fill(log, events, denials=0)
    with history(path) as notebook:
        for name, text in POLICIES.items():
            each, verdicts = min(_judging(notebook, RulesPolicy.from_toml(text), program) for _ in range(ROUNDS))
            yield (
                f"judged again, {name}: {1 / each:,.0f} verdicts for a second of CPU ({1e6 * each:.2f} µs each); "
                f"{verdicts:,} verdicts of {runs:,} runs, {written:,} events"
            )


def _judging(notebook: Notebook, policy: RulesPolicy, program: Program) -> tuple[float, int]:
    """Seconds for a verdict, and how many there were."""
    began = time.process_time()
    judged = judged_again(notebook, {"new": policy}, lambda _: program)["new"]
    took = time.process_time() - began
    assert not judged.first, "else later calls are left out"
    return took / judged.verdicts, judged.verdicts


def _program() -> Program:
    """What declares the tools of the runs."""
    declared = {name: Declaration(name, "", {}, effect="write" if name in WRITES else "read") for name, *_ in TOOLS}
    return Program("clerk", "1", Terms(), tools=declared)


def main(arguments: Sequence[str]) -> None:
    """Print the figures for so many events."""
    with tempfile.TemporaryDirectory() as name:
        for figure in figures(Path(name), *map(int, arguments)):
            print(figure, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
