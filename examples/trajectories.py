"""What tests ask of whole runs: their events, how they read, and what holds for each, however it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

import redrive as rd
from redrive_engine import Run
from redrive_events import Batch, EventLog, MemoryLog, Record, load_portable, write_portable
from redrive_projections import timeline
from redrive_replays import recording_of

Kind = TypeVar("Kind")
Make: TypeAlias = Callable[[], rd.Agent]


class RunOf(Protocol):
    """A run of a scenario, in a log of its own unless one is given."""

    def __call__(self, asked: rd.Agent, *, log: MemoryLog | rd.SqliteLog | None = None) -> Run:
        """It goes on where the log has begun it."""
        ...


def found(run: Run, kind: type[Kind]) -> list[Kind]:
    """The run's events of one kind."""
    return [record.event for record in run.records() if isinstance(record.event, kind)]


def told(log: MemoryLog) -> str:
    """All runs of a log as people read them, one event a line."""
    lines: list[str] = []
    for head in log.runs():
        lines.append(f"# {head.run_id}")
        lines += [f"{'  ' * one.level}{one.word}: {one.text}" for one in timeline(log.read(head.run_id))]
    return "\n".join(lines)


def cuts(log: MemoryLog) -> Iterator[MemoryLog]:
    """The log as it was after each of its appends but the last, in the order over all runs."""
    appends: list[list[Record]] = []
    for _, record in log.read_all():
        if not appends or appends[-1][-1].left == 0:
            appends.append([])
        appends[-1].append(record)
    for count in range(1, len(appends)):
        cut = MemoryLog()
        cut.append_all(Batch(one[0].run_id, one, one[0].position - 1) for one in appends[:count])
        yield cut


def replays_the_same(run_of: RunOf, make: Make, folder: Path) -> None:
    """From either file alone, with an agent made anew, children too."""
    log = rd.SqliteLog(folder / "redrive.db")
    run_of(make(), log=log)
    runs = [head.run_id for head in log.runs()]
    with (folder / "runs.jsonl").open("wb") as file:
        write_portable(log, runs, file)
    log.close()
    stored = rd.SqliteLog(folder / "redrive.db", must_exist=True)
    sent, portable = load_portable(folder / "runs.jsonl")
    kept: tuple[EventLog, EventLog] = (stored, sent)
    reports = [rd.replay(recording_of(one, run_id), agent=make()) for one in kept for run_id in runs]
    stored.close()
    assert {(one.outcome, one.divergences, one.changed_parts) for one in reports} == {("same", (), ())}
    assert not portable.torn


def ends_alike_wherever_it_is_cut(run_of: RunOf, make: Make) -> None:
    """Whoever takes it up behind any append goes on to the same end, in the run itself and in its children."""
    log = MemoryLog()
    whole = run_of(make(), log=log)
    for cut in cuts(log):
        again = run_of(make(), log=cut)
        assert (again.status, again.answer, again.partial) == (whole.status, whole.answer, whole.partial)
        assert values(again) == values(whole)
        assert sorted(head.run_id for head in cut.runs()) == sorted(head.run_id for head in log.runs())
        reports = {rd.replay(recording_of(cut, head.run_id), agent=make()).outcome for head in cut.runs()}
        assert reports == {"same"}


def values(run: Run) -> dict[str, object]:
    """What is known in the end, wherever it was found."""
    return {key: fact.value for key, fact in run.facts.items()}
