"""Put faults into an agent's world, or into a recorded run, and say which promises hold all the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.text import Text

from redrive.agents import agent_named, tools_named
from redrive.answering import ModelOption, PricesOption, StreamOption, UrlOption, answering
from redrive.chosen import Choice
from redrive.driving import agent_and_program
from redrive.files import replacing
from redrive.fitting import Line, Rows
from redrive.options import (
    LOG,
    AgentOption,
    BeyondOption,
    JsonOption,
    LogOption,
    PrincipalOption,
    TenantOption,
    text,
)
from redrive.terminal import Cell, counted, say, say_json
from redrive_engine import Agent
from redrive_events import BadInput, write_portable
from redrive_replays.faults import CHECKS, Hit, Recorded, Round, Row, Setting, Table, faulted, slices_named

Answer = Literal["none", "grant", "refuse"]

# How much is told of one thing.
ASSUMED_MAX: Final = 12
HITS_MAX: Final = 5
_WORDS: Final[dict[str, Cell]] = {
    "held": "held",
    "broken": Text("BROKEN", style="red"),
    "not reached": Text("open", style="yellow"),
    "nothing to fault": "",
}
_NOTHING: Final = Text("nothing to fault", style="dim")

What = Annotated[
    str, typer.Argument(metavar="RUN|MODULE:ATTR", help="A recorded run, or an agent (or a function that returns one).")
]
SliceOption = Annotated[
    str, typer.Option("--slice", metavar="NAMES", help="Which kinds of faults: all, or names with commas between them.")
]
RoundsOption = Annotated[int, typer.Option("--rounds", min=1, max=1000, help="How many runs a kind.")]
GoalOption = Annotated[
    str, typer.Option("--goal", metavar="TEXT", help="What the agent's runs are for.", callback=text)
]
WritesOption = Annotated[
    bool, typer.Option("--call-writes", help="Call the agent's own tools that may act, as they are.")
]
StandInOption = Annotated[
    list[str] | None,
    typer.Option("--stand-in", metavar="MODULE:ATTR", help="A tool, or tools, called in place of those so named."),
]
ApprovalsOption = Annotated[Answer, typer.Option("--approvals", help="What becomes of a call a person is asked about.")]
KeepOption = Annotated[
    Path | None, typer.Option("--keep", metavar="DIR", help="Write each run that broke a promise as a recording.")
]


def faults(
    what: What,
    slice_: SliceOption = "all",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="What all chance hangs on.")] = 0,
    rounds: RoundsOption = 3,
    goal: GoalOption = "",
    principal: PrincipalOption = "",
    tenant: TenantOption = "",
    model: ModelOption = "",
    base_url: UrlOption = "",
    stream: StreamOption = False,
    prices: PricesOption = None,
    call_writes: WritesOption = False,
    stand_in: StandInOption = None,
    approvals: ApprovalsOption = "none",
    beyond: BeyondOption = "sure",
    keep: KeepOption = None,
    agent: AgentOption = None,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Put faults in at the door of the world, one kind after the other, and say which promises hold all the same.

    An agent is set upon its goal in throwaway logs, with its own tools, and its own model or that of --model: REAL
    TOOLS ARE REALLY CALLED, and a real model is really paid. Tools that may act are called only with --call-writes, or
    have stand-ins. A recorded run is driven again with its recorded answers, and nothing acts; where a fault makes it
    ask what was not recorded, it stops, and what only an end could show is left open. The same seed gives the same
    table.

    Exit codes: 0 all held, 1 a promise was broken, 3 the run cannot be replayed.
    """
    slices = slices_named(slice_)
    if keep is not None:
        _check_folder(keep)
    if ":" in what and not Path(what).exists():
        _only(what, "a recorded run", agent=agent, beyond=beyond != "sure")
        if not goal:
            raise BadInput("an agent needs a goal: give --goal", place=what)
        tools = tuple(tool for spec in stand_in or () for tool in tools_named(spec))
        make, whose = partial(agent_named, what), (goal, principal, tenant)
        answers = partial(answering, name=model, base_url=base_url, stream=stream, prices=prices)
        trying: Setting | Recorded = Setting(make, *whose, None, tools, call_writes, approvals, answering=answers)
    else:
        of_agents = {"goal": goal, "principal": principal, "tenant": tenant, "approvals": approvals != "none"}
        of_agents |= {"model": model, "base_url": base_url, "stream": stream, "prices": prices}
        _only(what, "an agent", **of_agents, call_writes=call_writes, stand_in=stand_in)
        trying = _recorded(what, log, agent, beyond=beyond == "recorded")
    with redirect_stdout(sys.stderr):  # a tool may print: stdout has the table
        table = faulted(trying, slices=slices, seed=seed, rounds=rounds)
    kept: dict[str, Path] = {}
    try:
        if keep is not None:
            for _, one in table.broken:
                kept[one.course.run_id] = _kept(keep, one)
    finally:  # what was found is told, whether or not it can be kept: models were paid for it
        if as_json:
            say_json({**table.data(), "kept": {run_id: str(file) for run_id, file in kept.items()}})
        else:
            say(*_told(table, rounds, kept), fold=True)
    return table.exit_code


def _only(what: str, of: str, **given: object) -> None:
    """Refuse options that speak of something else."""
    for name, value in given.items():
        if value:
            raise BadInput(f"--{name.replace('_', '-')} is for {of}", place=what)


def _recorded(run: str, log: Path, agent: str | None, *, beyond: bool) -> Recorded:
    """A recorded run, as it is driven again."""
    with Choice(log) as choice:
        recording = choice.one(run).recording()
    known, program = agent_and_program(recording, agent)
    return Recorded(recording.records, program, _reconciles(known), beyond)


def _reconciles(agent: Agent | None) -> frozenset[str]:
    """The tools of which an authority could say what became of a call."""
    tools = agent.tools if agent else {}
    return frozenset(name for name, tool in tools.items() if tool.reconciler is not None)


def _check_folder(folder: Path) -> None:
    """Refuse where no folder could be made or written to, before any tool is called."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not there.is_dir():
        problem = "a folder is wanted, and this is none" if there == folder else "not a directory"
        raise BadInput(problem, place=f"--keep {folder}")
    if not os.access(there, os.W_OK | os.X_OK):
        raise BadInput("permission denied", place=f"--keep {folder}")


def _kept(folder: Path, one: Round) -> Path:
    """The recording of a run, with those that it began."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput((error.strerror or "cannot be made").lower(), place=f"--keep {folder}") from error
    file = folder / f"{one.course.run_id}.jsonl"
    with replacing(file) as stream:
        write_portable(one.course.log, [trajectory.run_id for trajectory in one.course.all()], stream)
    return file


def _told(table: Table, rounds: int, kept: dict[str, Path]) -> Iterator[Line]:
    yield f"seed {table.seed}, {counted(rounds, 'round')} a slice"
    yield ""
    heads: list[Cell] = ["SLICE", "SPOILT", *(name.upper() for name in CHECKS), "RUNS ENDED"]
    yield Rows([heads, *map(_row, table.rows)], narrow=list(_narrow(table)))
    yield from _broken(table, kept)
    yield from _assumed(table)


def _broken(table: Table, kept: dict[str, Path]) -> Iterator[Line]:
    """Each run that broke a promise: where, what was spoilt for it, and where it is kept."""
    broken = list(table.broken)
    if broken:
        yield ""
    for _, one in broken:
        for name, breach in one.breaches.items():
            yield Text.assemble((breach.run_id, "bold"), f"  {name} broken at {breach.position}: {breach.how}")
        if hits := one.course.tampering.hits:
            more = ", …" if len(hits) > HITS_MAX else ""
            yield f"  spoilt: {', '.join(map(_place, hits[:HITS_MAX]))}{more}"
        if one.course.run_id in kept:
            yield f"  kept as {kept[one.course.run_id]}"
    if broken and not kept:
        yield "--keep DIR writes each of these runs as a recording"


def _assumed(table: Table) -> Iterator[Line]:
    """What runs went on with where their recording had no sure answer."""
    courses = [one.course for row in table.rows for one in row.rounds]
    assumed = [(one.run_id, words) for one in courses for words in dict.fromkeys(one.assumptions)]
    if assumed:
        yield ""
        yield Rows([(run_id, f"assumed: {words}") for run_id, words in assumed[:ASSUMED_MAX]])
    if len(assumed) > ASSUMED_MAX:
        yield f"… and {len(assumed) - ASSUMED_MAX:,} more; --json has them all"


def _place(hit: Hit) -> str:
    """Whose answer was spoilt, and at which position it had been asked for."""
    return f"{hit.tool or 'the model'} at {hit.position}"


def _row(row: Row) -> list[Cell]:
    cells = [_WORDS[row.cell(name)] for name in CHECKS]
    return [row.name, _spoilt(row) if row.rounds else _NOTHING, *cells, ", ".join(row.endings)]


def _spoilt(row: Row) -> str:
    return str(row.spoilt) if row.spoilt else ""


def _narrow(table: Table) -> Iterator[Line]:
    """The same without a column for each promise: which are not held is told by their names."""
    heads: list[Cell] = ["SLICE", "SPOILT", "PROMISES", "RUNS ENDED"]
    rows = [(row.name, _spoilt(row), _in_words(row), ", ".join(row.endings)) for row in table.rows]
    yield Rows([heads, *rows], headed=True)
    yield ""
    yield f"promises: {', '.join(CHECKS)}"


def _in_words(row: Row) -> Cell:
    """How the promises stand after the rounds of a slice: those that are broken, those left open, and the others."""
    if not row.rounds:
        return _NOTHING
    cells = {name: row.cell(name) for name in CHECKS}
    told = [
        Text.assemble(_WORDS[how], f" {', '.join(names)}")
        for how in ("broken", "not reached")
        if (names := [name for name, cell in cells.items() if cell == how])
    ]
    held = sum(how == "held" for how in cells.values())
    return Text("; ").join([*told, Text(f"{held} held" if told else "all held")])
