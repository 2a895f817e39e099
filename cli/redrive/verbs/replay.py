"""Drive recorded runs again and say whether they are the same, or where they part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from redrive.agents import agent_named
from redrive.chosen import Choice, Chosen
from redrive.explained import explained, headline, reached
from redrive.hashes import hashed_otherwise
from redrive.marked_down import as_markdown
from redrive.noting import kept, remarkable
from redrive.options import LOG, AgentOption, JsonOption, LogOption, MarkdownOption, RunsArgument, one_form
from redrive.spread import spread
from redrive.terminal import counted, say, say_json, watched
from redrive_engine import Agent
from redrive_engine.policy import Policy, policy_in
from redrive_events import BadInput, Head, RunStarted, SqliteLog
from redrive_projections import start_of
from redrive_replays import Recording, Report, recording_of, worst
from redrive_replays import replay as drive_again

PolicyOption = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="Rules in TOML or Cedar, in place of the recorded policy."),
]


GuardedOption = Annotated[
    bool, typer.Option("--guarded", help="Find what a pure part asks of clock, chance, files, network and the like.")
]
KeepOption = Annotated[bool, typer.Option("--keep", help="Keep each place where it parts as a remark on the run.")]


# Of more runs that part it is said how many there are.
EXPLAINED_MAX = 20


@dataclass(frozen=True)
class _Way:
    """How runs are driven again: with what, where it is not their own, and how closely they are watched."""

    agent: str | None
    policy: Path | None
    guarded: bool
    every: bool

    def program(self) -> tuple[Agent | None, Policy | None]:
        """The agent and the policy, loaded."""
        return agent_named(self.agent) if self.agent else None, policy_in(self.policy) if self.policy else None

    def report(self, recording: Recording, agent: Agent | None, policy: Policy | None) -> Report | str:
        """What comes of one run; with ``every``, of one that is not recorded in full its grade alone."""
        started = _started(recording)
        if self.every and started and started.source and started.source.grade != "full":
            return str(started.source.grade)
        if self.every and agent and started and started.agent != agent.name:
            agent = None
        report = drive_again(recording, agent=agent, policy=policy, guarded=self.guarded)
        if not self.guarded:
            return report
        return hashed_otherwise(report, recording, self.agent if agent else None, self.policy)


@dataclass(frozen=True)
class _Elsewhere:
    """The same in another process, which opens the log for itself."""

    way: _Way
    path: Path

    def __call__(self, head: Head) -> Report | str:
        """What comes of the run as far as it had come."""
        log, agent, policy = _opened(self)
        return self.way.report(recording_of(log, head.run_id, head=head), agent, policy)


@cache
def _opened(elsewhere: _Elsewhere) -> tuple[SqliteLog, Agent | None, Policy | None]:
    """What is needed there, once for each process."""
    return SqliteLog(elsewhere.path, must_exist=True), *elsewhere.way.program()


def replay(
    runs: RunsArgument = None,
    every: Annotated[bool, typer.Option("--all", help="All runs of the log that are recorded in full.")] = False,
    agent: AgentOption = None,
    policy: PolicyOption = None,
    guarded: GuardedOption = False,
    keep: KeepOption = False,
    markdown: MarkdownOption = False,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Drive recorded runs again and say whether they are the same, or where they part.

    Nothing acts: a replay has no tools. The program is that of --agent, else the one registered under the recorded
    agent's name, else, for an imported run, one that grants everything. --policy takes the place of its policy. With
    --all, --agent is for its own runs only. --guarded finds what the program's pure parts ask of the outside, and
    drives each run twice more, under two seeds of hashes. --keep remarks on each place beside the run, for SQL.

    Exit codes: 0 the same, 1 diverged or left over, 3 cannot be replayed.
    """
    if every == bool(runs):
        raise BadInput("name runs, or --all, but not both" if every else "which runs? name some, or take --all")
    one_form(as_json=as_json, markdown=markdown)
    way = _Way(agent, policy, guarded, every)
    program = way.program()  # what is wrong with it is said once, and before anything is driven
    with Choice(log) as choice:
        chosen = list(choice.all()) if every else [one for name in runs or () for one in choice.named(name)]
        for one in chosen:
            if keep and one.log is not choice.log:
                remarkable(one.recording(), choice.log)
        found = _Found(as_json=as_json, as_markdown=markdown, single=len(chosen) == 1 and not every)
        here, by_id = _here(way, *program), {one.run_id: one for one in chosen}
        heads = [one.head for one in chosen]
        spreading = spread(_Elsewhere(way, log), heads, here=lambda head: here(by_id[head.run_id]))
        driven = spreading if every else map(here, chosen)
        for one, report in zip(chosen, watched(driven, "replaying", total=len(chosen)), strict=True):
            found.take(report, one)
            if keep and isinstance(report, Report):
                kept(report, choice.log)
        found.finish()
    return worst(found.reports)


def _here(way: _Way, agent: Agent | None, policy: Policy | None) -> Callable[[Chosen], Report | str]:
    return lambda chosen: way.report(chosen.recording(), agent, policy)


class _Found:
    """The reports as they come: each has its line, and in the end those that part are explained; of many the first."""

    def __init__(self, *, as_json: bool, as_markdown: bool, single: bool) -> None:
        self.as_json, self.as_markdown, self.single = as_json, as_markdown, single
        self.reports: list[Report] = []
        self.explained: list[tuple[Report, Chosen]] = []
        self.parted = 0
        self.left_out: Counter[str] = Counter()

    def take(self, report: Report | str, chosen: Chosen) -> None:
        """Print the outcome of one run; of one that is not recorded in full its grade is counted."""
        if isinstance(report, str):
            self.left_out[report] += 1
            return
        self.reports.append(report)
        if self.single or report.divergences:
            self.parted += 1
            self.explained += [(report, chosen)] * (self.parted <= EXPLAINED_MAX)
        if self.as_markdown:
            say(*as_markdown(report, chosen.recording().records), whole=True)
        elif not (self.as_json or self.single):
            say(headline(report), *reached(report.reaches), fold=True)

    def finish(self) -> None:
        """Print what can be said once all are driven."""
        if self.as_json:
            say_json(self._data())
            return
        if self.as_markdown:
            return
        for report, chosen in self.explained:
            report = report if self.single else replace(report, reaches=())  # noqa: PLW2901 - told with its outcome
            say(*([] if self.single else [""]), *explained(report, chosen.recording().records), fold=True)
        if self.parted > EXPLAINED_MAX:
            say("", f"… and {counted(self.parted - EXPLAINED_MAX, 'run')} more that part: name one to see where")
        if not self.single:
            say("", self._summary(), fold=True)

    def _data(self) -> dict[str, object]:
        outcomes = Counter(report.outcome for report in self.reports)
        reports = [report.data() for report in self.reports]
        return {"outcomes": dict(outcomes), "not_replayable": dict(self.left_out), "reports": reports}

    def _summary(self) -> Text:
        outcomes = Counter(report.outcome for report in self.reports)
        parts = [f"{count} {outcome}" for outcome, count in outcomes.most_common()]
        parts += [f"{count} not replayable ({grade})" for grade, count in self.left_out.items()]
        count = counted(len(self.reports) + self.left_out.total(), "run")
        return Text(f"{count}: {' · '.join(parts) or 'nothing to replay'}", style="bold")


def _started(recording: Recording) -> RunStarted | None:
    return start_of(recording.records)
