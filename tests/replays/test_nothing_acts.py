"""No replay of any kind starts a tool, opens a socket or writes a file: an audit hook listens, over all examples."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

import redrive as rd
from order_status.staging import Variant
from redrive_engine import Program
from redrive_engine.policy import RulesPolicy
from redrive_events import MemoryLog, ObservationReceived, Record
from redrive_projections.history import history
from redrive_replays import Recording, bisected, compared, replay_records, shrunk
from redrive_replays.backtest import consequences, judged_again
from redrive_replays.faults import Recorded, faulted
from redrive_replays.guarded import guarding
from redrive_replays.testing.driven import driven
from redrive_replays.testing.freezing import frozen, mask_for
from redrive_replays.whatif import Changes, branched, edge_report
from tests.ear import EAR
from tests.scenarios import Scenario, examples

DENY = RulesPolicy.from_toml('[[rule]]\nname = "none"\nwhen = {}\nthen = "deny"\n')
ASK = RulesPolicy.from_toml('[[rule]]\nname = "all"\nwhen = {}\nthen = "ask"\n')


class Driven(NamedTuple):
    """A recorded run of an example, with all that it can be driven again with."""

    agent: rd.Agent
    records: Sequence[Record]
    program: Program

    @property
    def call(self) -> int:
        """A call that was answered."""
        return next(one.event.call for one in self.records if isinstance(one.event, ObservationReceived))

    def under(self, **changes: object) -> object:
        """As it would have come with something changed, beyond what is sure."""
        branch = branched(self.records, self.program, Changes(beyond=True, **changes))  # type: ignore[arg-type]
        return edge_report(self.records, branch)

    def log(self) -> MemoryLog:
        """A log that holds the run."""
        log = MemoryLog()
        log.append("run", self.records, expected=0)
        return log

    def turned(self) -> object:
        """Against a cut of itself."""
        short = shrunk(self.records, self.program, lambda candidate: len(candidate) >= 3).records
        return bisected(short, self.records, self.program, lambda candidate: len(candidate) > len(short))

    def back_tested(self) -> object:
        """All of its calls judged again, and the run driven again."""
        with history(self.log()) as notebook:
            judged = judged_again(notebook, {"new": DENY}, lambda _: self.program)["new"]
            return list(consequences(judged, lambda _: self.records, lambda _: self.program, DENY))

    def frozen(self) -> object:
        """As a test of it would be written, in memory."""
        runs = {"run": Recording("run", list(self.records))}
        return frozen(runs, "run", "kept", lambda _: self.program, mask_for(()))

    def in_a_test(self) -> object:
        """As a test of snapshots drives it, and words it."""
        trajectory = driven({"run": Recording("run", list(self.records))}, "run", agent=self.agent)
        return str(trajectory.at("steps"))

    def forked(self) -> object:
        """From the middle: a fork is begun, and what it inherits is driven again."""
        log = self.log()
        whole = next(one.position for one in self.records[3:] if not one.left)
        fork = rd.fork(log, "run", whole, at=self.records[-1].at)
        return replay_records(fork.run_id, list(log.read(fork.run_id)), self.program)


# Every way to drive a recorded run again: a new one joins here.
WAYS: dict[str, Callable[[Driven], object]] = {
    "replay": lambda one: replay_records("run", one.records, one.program),
    "guarded replay": lambda one: replay_records("run", one.records, one.program, guard=guarding()),
    "diff": lambda one: compared(one.records, one.records),
    "what if, as it was": lambda one: one.under(),
    "what if, a policy": lambda one: one.under(policy=DENY),
    "what if, approvals granted": lambda one: one.under(policy=ASK, approvals="grant"),
    "what if, approvals refused": lambda one: one.under(policy=ASK, approvals="refuse"),
    "what if, a contract": lambda one: one.under(contract=rd.Contract(budget=rd.Budget(steps=2))),
    "what if, a prompt": lambda one: one.under(prompt="Be brief."),
    "what if, a model": lambda one: one.under(model="another"),
    "what if, a tool less": lambda one: one.under(dropped=tuple(one.agent.tools)[:1]),
    "what if, an observation": lambda one: one.under(observations={one.call: "It is closed."}),
    "what if, a reply": lambda one: one.under(replies={1: "I give up."}),
    "what if, another agent": lambda one: one._replace(program=another(one.program)).under(),
    "back-test": Driven.back_tested,
    "shrink": lambda one: shrunk(one.records, one.program, lambda candidate: len(candidate) >= 3),
    "bisect": Driven.turned,
    "freeze": Driven.frozen,
    "a test of snapshots": Driven.in_a_test,
    "faults": lambda one: faulted(Recorded(one.records, one.program), rounds=1),
    "fork": Driven.forked,
}


def another(program: Program) -> Program:
    """An agent that is told it has less time."""
    return dataclasses.replace(program, terms=replace(program.terms, budget=replace(program.terms.budget, steps=3)))


@cache
def recorded(scenario: Scenario) -> Driven:
    """The run of an example; it calls at least one tool, or there is nothing to be done again."""
    agent, goal, asked = scenario.agent, scenario.goal, dict[str, Any](principal="ana")
    if scenario.module == "order_status":  # which knows people, and goes by the clock of its world
        desk, clock = Variant(), rd.StillClock()
        agent, goal = desk.agent(desk.world(clock)), desk.goal
        asked = {"principal": desk.principal, "tenant": desk.tenant, "surroundings": rd.Surroundings.fixed(clock)}
    run = agent.run(goal, log=MemoryLog(), run_id="run", **asked)
    return Driven(agent, run.records(), agent.program)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scenario", examples(), ids=lambda one: one.module)
def test_a_replay_does_nothing_outside(scenario: Scenario, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if every tool, and the model of the agent, would tell."""
    one, called = recorded(scenario), list[str]()
    for name, tool in one.agent.tools.items():
        monkeypatch.setattr(tool, "run", lambda *_, name=name, **__: called.append(name))
    monkeypatch.setattr(one.agent, "model", Telling(called))
    WAYS[way](one)  # what is loaded when it is first needed
    with EAR.silence():
        WAYS[way](one)
    assert called == []


COLD = """
import tempfile
from pathlib import Path
from tests.ear import EAR
from tests.replays.test_nothing_acts import WAYS, recorded
from tests.scenarios import examples
one = next(recorded(each) for each in examples() if each.module == {module!r})
with EAR.silence(inside=Path(tempfile.gettempdir())):
    for way in WAYS.values():
        way(one)
"""


@pytest.mark.parametrize("scenario", examples(), ids=lambda one: one.module)
def test_nor_where_nothing_is_loaded_yet(scenario: Scenario, tmp_path: Path) -> None:
    """In a process of its own, in which each way loads what it needs while it is listened to."""
    around = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    around["TMPDIR"] = str(tmp_path)  # where DuckDB puts what it has no room for
    ran = [sys.executable, "-c", COLD.format(module=scenario.module)]
    done = subprocess.run(ran, env=around, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr


class Telling:
    """A model that tells when it is asked."""

    def __init__(self, called: list[str]) -> None:
        self.called = called

    async def reply(self, request: object) -> object:
        """Nobody is to ask it."""
        self.called.append(f"model {request!r}")
        raise AssertionError("a replay asks no model")
