"""Strict replay beside Temporal's Replayer: the same loop, from stored bytes, in one process on one core.

A step is a model ask and a tool call, with what came of both: six events of ours, twelve of Temporal's history. Both
run what decides again, and compare all that follows from each input with what is stored: we every byte of each event,
the Replayer kind, name and id of each command. Ours are compared with it as it comes, which is with its sandbox, and
without. A run alone pays for a Replayer of its own; of many the one that all go through pays once. It is the time of
the processor that is compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import redrive as rd
from benchmarks.measure import Figure, Work, compared, one_core
from benchmarks.stepping import GOAL, looker
from redrive_events import decode, encode
from redrive_replays import replay_records

STEPS = 100
RUNS = 10
ROUNDS = 5


def figures(folder: Path) -> Iterator[Figure | str]:  # noqa: ARG001 - the signature of every subject
    """A unit is one step; less than 0.05 is more than 20 times as many steps a second."""
    try:
        replayer = _Replayer()
    except ModuleNotFoundError as error:
        yield f"strict replay, {STEPS} steps: nothing to compare with, {error.name} is not installed"
        return
    with one_core():  # theirs has threads of its own, ours has none
        replayer.check()
        ours = _ours()
        for runs, name in ((1, "a run alone"), (RUNS, f"{RUNS} runs")):
            for sandboxed in (True, False):
                theirs = replayer.replaying(runs, sandboxed=sandboxed)
                limit = f"Replayer, {name}, {'sandboxed' if sandboxed else 'unsandboxed'}"
                mine = _times(ours, runs)
                units = runs * STEPS
                figure = compared("a step replayed", mine, limit, theirs, units=units, rounds=ROUNDS, computing=True)
                yield replace(figure, note=f"{1 / figure.ratio:.0f} times as many steps/s")


def _ours() -> Work:
    agent = looker(STEPS)
    records = agent.run(GOAL, log=rd.MemoryLog()).records()
    lines, run_id, program = [encode(one) for one in records], records[0].run_id, agent.program
    other = replace(program, terms=rd.Contract(tools={}).terms())
    assert replay_records(run_id, records, other).outcome == "diverged"

    def replay() -> None:
        assert replay_records(run_id, map(decode, lines), program).outcome == "same"

    return replay


def _times(work: Work, runs: int) -> Work:
    def several() -> None:
        for _ in range(runs):
            work()

    return several


class _Replayer:
    """Temporal's, over one stored history."""

    def __init__(self) -> None:
        self.worker: Any = import_module("temporalio.worker")
        self.stored: Any = import_module("temporalio.api.history.v1").History
        self.history: Any = import_module("temporalio.client").WorkflowHistory
        self.workflows: Any = import_module("benchmarks.looking")
        runtime: Any = import_module("temporalio.runtime")
        self.runtime = runtime.Runtime(telemetry=runtime.TelemetryConfig(logging=None))
        self.lines: bytes = import_module("benchmarks.workflow_history").history_of(STEPS)

    def check(self) -> None:
        """It does replay: a workflow that goes another way with its last call is found out."""
        nondeterminism: Any = import_module("temporalio.workflow").NondeterminismError
        asyncio.run(self._replay(1, self.workflows.Looker, sandboxed=True))
        try:
            asyncio.run(self._replay(1, self.workflows.Astray, sandboxed=True))
        except nondeterminism:
            return
        raise AssertionError("a workflow that has changed was replayed without a word")

    def replaying(self, runs: int, *, sandboxed: bool) -> Work:
        """So many runs through one Replayer, which is made for them."""
        return lambda: asyncio.run(self._replay(runs, self.workflows.Looker, sandboxed=sandboxed))

    async def _replay(self, runs: int, workflow: type, *, sandboxed: bool) -> None:
        runner = {} if sandboxed else {"workflow_runner": self.worker.UnsandboxedWorkflowRunner()}
        replayer = self.worker.Replayer(workflows=[workflow], runtime=self.runtime, **runner)
        if runs == 1:
            await replayer.replay_workflow(self._history("run"))
            return
        await replayer.replay_workflows(self._histories(runs), raise_on_replay_failure=True)

    async def _histories(self, runs: int) -> AsyncIterator[Any]:
        for number in range(runs):
            yield self._history(f"run-{number}")

    def _history(self, name: str) -> Any:
        return self.history(name, list(self.stored.FromString(self.lines).events))
