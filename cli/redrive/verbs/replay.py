"""Drive recorded runs again and say whether they are the same, or where they part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.text import Text

from redrive.agents import agent_named
from redrive.chosen import Choice, Chosen
from redrive.explained import explained, headline
from redrive.hashes import hashed_otherwise
from redrive.marked_down import as_markdown
from redrive.noting import kept
from redrive.options import LOG, AgentOption, JsonOption, LogOption, RunsArgument
from redrive.terminal import counted, say, say_json, watched
from redrive_engine import Agent
from redrive_engine.policy import Policy, policy_in
from redrive_events import BadInput, RunStarted
from redrive_replays import Recording, Report, worst
from redrive_replays import replay as drive_again

PolicyOption = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="Rules in TOML or Cedar, in place of the recorded policy."),
]


GuardedOption = Annotated[
    bool, typer.Option("--guarded", help="Find what a pure part asks of clock, chance, files, network and the like.")
]
KeepOption = Annotated[bool, typer.Option("--keep", help="Keep each place where it parts as a remark on the run.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")]


class Program(NamedTuple):
    """What the runs are driven again with, where it is not their own."""

    agent: Agent | None
    policy: Policy | None


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
    program = Program(agent_named(agent) if agent else None, policy_in(policy) if policy else None)
    with Choice(log) as choice:
        chosen = list(choice.all()) if every else [one for name in runs or () for one in choice.named(name)]
        found = _Found(as_json=as_json, as_markdown=markdown, single=len(chosen) == 1 and not every)
        for recording in watched(_recordings(chosen, found, every=every), "replaying", total=len(chosen)):
            report = _driven(recording, program, every=every, guarded=guarded)
            found.take(hashed_otherwise(report, recording, agent, policy) if guarded else report, recording)
            if keep:
                kept(report, choice.log)
    found.finish()
    return worst(found.reports)


class _Found:
    """The reports as they come: one is explained in full, and of many the first that is not the same."""

    def __init__(self, *, as_json: bool, as_markdown: bool, single: bool) -> None:
        self.as_json, self.as_markdown, self.single = as_json, as_markdown, single
        self.reports: list[Report] = []
        self.first: tuple[Report, Recording] | None = None
        self.left_out: Counter[str] = Counter()

    def take(self, report: Report, recording: Recording) -> None:
        """Print the outcome of one run."""
        self.reports.append(report)
        if self.single or (self.first is None and (report.divergences or report.reaches)):
            self.first = report, recording
        if self.as_markdown:
            say(*as_markdown(report, recording.records), whole=True)
        elif not (self.as_json or self.single):
            say(headline(report))

    def finish(self) -> None:
        """Print what can be said once all are driven."""
        if self.as_json:
            say_json(self._data())
            return
        if self.as_markdown:
            return
        if self.first is not None:
            report, recording = self.first
            say(*([] if self.single else [""]), *explained(report, recording.records))
        if not self.single:
            say("", self._summary())

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


def _recordings(chosen: Iterable[Chosen], found: _Found, *, every: bool) -> Iterator[Recording]:
    """The recordings to be driven; with ``every``, those that are not graded full are only counted."""
    for one in chosen:
        recording = one.recording()
        started = _started(recording)
        if every and started and started.source and started.source.grade != "full":
            found.left_out[started.source.grade] += 1
        else:
            yield recording


def _driven(recording: Recording, program: Program, *, every: bool, guarded: bool) -> Report:
    started = _started(recording)
    agent = program.agent
    if every and agent and started and started.agent != agent.name:
        agent = None
    return drive_again(recording, agent=agent, policy=program.policy, guarded=guarded)


def _started(recording: Recording) -> RunStarted | None:
    first = recording.records[0].event if recording.records else None
    return first if isinstance(first, RunStarted) else None
