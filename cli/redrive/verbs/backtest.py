"""Say what another policy would have done to recorded runs: which verdicts flip, and what would have come of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from redrive.agents import agent_named
from redrive.chosen import Choice
from redrive.imagined import sureness_of
from redrive.noting import noted
from redrive.options import LOG, AgentOption, JsonOption, LogOption
from redrive.spread import spread
from redrive.terminal import Cell, columns, counted, say, say_json, watched
from redrive_engine import Agent, Program
from redrive_engine.policy import Policy, policy_in
from redrive_events import CannotReplay, EventLog, Json, RunStarted, SqliteLog
from redrive_projections.history import history
from redrive_replays import program_for
from redrive_replays.backtest import Consequence, Flipped, Judged, consequence, judged_again

RUNS_MAX = 20
BACKTEST = "backtest"


@dataclass(frozen=True)
class _Programs:
    """The programs of the runs of a log: that of the agent where it is its run, the registered one, or none."""

    log: EventLog
    agent: Agent | None

    def of(self, run_id: str) -> Program | None:
        """The program of a run, if there is one."""
        first = next(iter(self.log.read(run_id)), None)
        if first is None or not isinstance(first.event, RunStarted):
            return None
        agent = self.agent if self.agent and self.agent.name == first.event.agent else None
        try:
            return program_for(first.event, agent=agent)
        except CannotReplay:
            return None


def backtest(
    policy: Annotated[list[Path], typer.Option("--policy", metavar="FILE", help="Other rules; may be given often.")],
    where: Annotated[
        str, typer.Option("--where", metavar="SQL", help="Which runs: an expression over the columns of runs.")
    ] = "true",
    keep: Annotated[bool, typer.Option("--keep", help="Keep what is found as remarks on the runs, for SQL.")] = False,
    agent: AgentOption = None,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Say what another policy would have done to recorded runs: which verdicts flip, and what would have come of it.

    Every decided call is judged again with what was known then. A run of which a verdict flips is driven again as far
    as its recorded answers surely go. What is recorded behind the first flip's reply counts in no table.

    Exit codes: 0 nothing flips, 1 something does.
    """
    policies = {str(file): policy_in(file) for file in policy}
    with Choice(log) as choice:
        programs = _Programs(choice.log, agent_named(agent) if agent else None)
        with history(log) as notebook:
            judged = judged_again(notebook, policies, cache(programs.of), where)
        results = []
        for name, found in judged.items():
            work = _Work(log, agent, Path(name))
            here = partial(_consequence, choice.log, programs, policies[name])
            spreading = spread(work, list(found.first.values()), here=here)
            driven = list(watched(spreading, "driving again", total=len(found.first)))
            results.append((name, policies[name], found, driven))
        if keep:
            for _, used, _, driven in results:
                _keep(choice.log, used, driven)
    if as_json:
        say_json({name: _data(used, found, driven) for name, used, found, driven in results})
    else:
        for name, _, found, driven in results:
            say(*_told(name, found, driven))
    return 1 if any(found.first for _, _, found, _ in results) else 0


@dataclass(frozen=True)
class _Work:
    """What another process needs to drive a run again."""

    path: Path
    agent: str | None
    policy: Path

    def __call__(self, first: Flipped) -> Consequence:
        return _consequence(*_opened(self), first)


def _consequence(log: EventLog, programs: _Programs, policy: Policy, first: Flipped) -> Consequence:
    program = programs.of(first.run_id)
    assert program is not None
    return consequence(list(log.read(first.run_id)), program, policy, first)


@cache
def _opened(work: _Work) -> tuple[EventLog, _Programs, Policy]:
    log = SqliteLog(work.path, must_exist=True)
    return log, _Programs(log, agent_named(work.agent) if work.agent else None), policy_in(work.policy)


def _told(name: str, found: Judged, driven: Sequence[Consequence]) -> Iterator[Cell]:
    runs, flips = counted(len(found.runs), "run"), counted(len(driven), "run")
    yield Text.assemble((name, "bold"), f"  {runs}, {counted(found.verdicts, 'verdict')}; {flips} of them flip")
    if found.unjudged:
        yield f"{counted(len(found.unjudged), 'run')} not judged: no program; give --agent"
    changed = [(one, count) for one, count in found.transitions.most_common() if one.before != one.after]
    if changed:
        yield ""
        rows = [(one.tool, one.before, one.after, f"{count:,}", one.rule) for one, count in changed]
        yield from columns([("TOOL", "RECORDED", "NOW", "CALLS", "RULE"), *rows], right=[3])
    if driven:
        yield ""
        table = [("RUN", "FIRST FLIP", "HOW SURE", "RECORDED END", "END", "PREVENTED")]
        yield from columns([*table, *map(_row, driven[:RUNS_MAX])])
    if len(driven) > RUNS_MAX:
        yield f"… and {len(driven) - RUNS_MAX:,} more; --json has them all"


def _row(one: Consequence) -> tuple[str, ...]:
    flip = f"call {one.first.call} {one.first.tool}: {one.first.before} → {one.first.after}"
    prevented = ", ".join(f"call {call}" for call in one.prevented)
    sure = sureness_of(one.sureness, one.turn, one.turns)
    return one.run_id, flip, sure, one.recorded_status or "unfinished", one.status or "not known", prevented


def _data(policy: Policy, found: Judged, driven: Sequence[Consequence]) -> Json:
    return {
        "policy": policy.digest,
        "runs": len(found.runs),
        "not_judged": sorted(found.unjudged),
        "verdicts": found.verdicts,
        "transitions": [{**one._asdict(), "calls": count} for one, count in found.transitions.most_common()],
        "flips": [_flip(one) for one in driven],
    }


def _flip(one: Consequence) -> dict[str, Json]:
    return {**one._asdict(), "first": one.first._asdict(), "prevented": list(one.prevented)}


def _keep(log: EventLog, policy: Policy, driven: Sequence[Consequence]) -> None:
    for one in driven:
        value = {"policy": policy.digest, **_flip(one)}
        noted(log, one.run_id, BACKTEST, [value], place=lambda data: int(data["first"]["position"]))
