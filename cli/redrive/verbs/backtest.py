"""Say what another policy would have done to recorded runs: which verdicts flip, and what would have come of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import typer

from redrive.agents import agent_named
from redrive.chosen import Choice
from redrive.options import LOG, AgentOption, BeyondOption, JsonOption, LogOption
from redrive.rejudged import Tested
from redrive.spread import cores, spread
from redrive.terminal import counting, say, say_json, watched
from redrive_engine import Agent, Program
from redrive_engine.policy import Policy, policy_in
from redrive_events import BadInput, EventLog, Record, SqliteLog
from redrive_projections import fork_of, start_of
from redrive_projections.history import Notebook, history
from redrive_replays import known_program, program_for
from redrive_replays.backtest import Candidate, Consequence, Flipped, Judged, consequence, judged_again, undriven

# More verdicts than these are worth other processes; the runs are dealt into so many shares for each.
ALONE_MAX = 200_000
SHARES = 4


@dataclass(frozen=True)
class _Programs:
    """The programs of the runs of a log: that of the agent where it is its run, the registered one, or none."""

    agent: Agent | None

    def of(self, run: Candidate) -> Program | None:
        """The program that knows the tools of a run; None for one that knows any."""
        return known_program(run.agent, run.rules, agent=self._own(run.agent), imported=run.imported)

    def whole(self, records: Sequence[Record]) -> Program:
        """The program that the run with these records is driven with."""
        started = start_of(records)
        assert started is not None
        return program_for(started, agent=self._own(started.agent), fork=fork_of(records))

    def _own(self, name: str) -> Agent | None:
        return self.agent if self.agent is not None and self.agent.name == name else None


def backtest(
    policy: Annotated[list[Path], typer.Option("--policy", metavar="FILE", help="Other rules; may be given often.")],
    where: Annotated[
        str, typer.Option("--where", metavar="SQL", help="Which runs: an expression over the columns of runs.")
    ] = "true",
    beyond: BeyondOption = "sure",
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
    work = _Work(log, agent, tuple(policies), where, beyond == "recorded")
    with Choice(log) as choice:
        programs = _Programs(agent_named(agent) if agent else None)
        with history(log) as notebook:
            judged = _judged(notebook, policies, programs, work)
        found = [
            Tested(name, policies[name], one, list(_driven(one, name, policies[name], programs, work, choice)))
            for name, one in judged.items()
        ]
        if keep:
            for one in found:
                one.keep(choice.log)
    if as_json:
        say_json({one.name: one.data() for one in found})
    else:
        for number, one in enumerate(found):
            say(*[""] * bool(number), *one.told(), fold=True)
    return 1 if any(one.driven for one in found) else 0


@dataclass(frozen=True)
class _Work:
    """What another process needs to know, which opens the log for itself."""

    path: Path
    agent: str | None
    policies: tuple[str, ...]
    where: str
    beyond: bool


class _Opened:
    """What is needed there, once for each process."""

    def __init__(self, work: _Work) -> None:
        self.log = SqliteLog(work.path, must_exist=True)
        self.programs = _Programs(agent_named(work.agent) if work.agent else None)
        self.policies: Mapping[str, Policy] = {name: policy_in(Path(name)) for name in work.policies}
        self.notebook = history(work.path)


_opened = cache(_Opened)


def _judged(
    notebook: Notebook, policies: Mapping[str, Policy], programs: _Programs, work: _Work
) -> Mapping[str, Judged]:
    """All calls judged again: here, or where there are many, in as many processes as there are cores."""
    ((verdicts,),) = notebook.rows("SELECT count(*) FROM verdicts")
    runs = _chosen(notebook, work.where)
    if verdicts <= ALONE_MAX or cores() == 1:
        with counting("judging", total=runs) as told:
            return judged_again(notebook, policies, programs.of, work.where, told=partial(told, ""))
    found = {name: Judged() for name in policies}
    shares = cores() * SHARES
    dealt = [f"({work.where}) AND run % {shares} = {number}" for number in range(shares)]
    here = partial(judged_again, notebook, policies, programs.of)
    spreading = spread(partial(_share, work), dealt, here=here, alone_max=1, at_once=1)
    for judged in watched(spreading, "judging", total=shares):
        for name, one in judged.items():
            found[name].join(one)
    return found


def _chosen(notebook: Notebook, where: str) -> int:
    """How many runs an expression chooses."""
    try:
        ((runs,),) = notebook.rows(f"SELECT count(*) FROM runs WHERE ({where})")
    except BadInput as error:
        raise BadInput(error.problem, place="--where") from error
    return int(runs)


def _share(work: _Work, where: str) -> dict[str, Judged]:
    there = _opened(work)
    return judged_again(there.notebook, there.policies, there.programs.of, where)


def _driven(
    judged: Judged, name: str, policy: Policy, programs: _Programs, work: _Work, choice: Choice
) -> Iterator[Consequence]:
    """What comes of each run that flips, driven on all cores."""
    sure = [(undriven(judged, one), one) for one in judged.first.values()]
    yield from (known for known, _ in sure if known is not None)
    flipped = [one for known, one in sure if known is None]
    here = partial(_consequence, choice.log, programs, policy, work.beyond)
    spreading = spread(partial(_elsewhere, work, name), flipped, here=here)
    yield from watched(spreading, "driving again", total=len(flipped))


def _elsewhere(work: _Work, name: str, first: Flipped) -> Consequence:
    there = _opened(work)
    return _consequence(there.log, there.programs, there.policies[name], work.beyond, first)


def _consequence(log: EventLog, programs: _Programs, policy: Policy, beyond: bool, first: Flipped) -> Consequence:
    records = list(log.read(first.run_id))
    return consequence(records, programs.whole(records), policy, first, beyond=beyond)
