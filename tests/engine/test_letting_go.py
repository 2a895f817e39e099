"""Tools that do not let go: the run ends without them, and so does the process; and who may begin nothing any more."""
# ruff: noqa: ARG001 - a fake need not look at all that it is given

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest

from redrive_engine.agent import Agent
from redrive_engine.contract import Contract, Plan
from redrive_engine.drive import lease_of, without_waiting, write
from redrive_engine.live import Patience
from redrive_engine.models import ModelRequest, ScriptedModel, reply, use
from redrive_engine.signals import cancel, revoke
from redrive_engine.tools import tool
from redrive_engine.world import Happened
from redrive_events import (
    CancelRequested,
    EffectInDoubt,
    Lease,
    LeaseHeld,
    LeaseRevoked,
    MemoryLog,
    ModelReplied,
    ObservationReceived,
    Record,
    RunEnded,
    ToolCalled,
)
from redrive_projections import fold
from tests.abandoned import FOR_EVER_S
from tests.desk import QUICK
from tests.processes import surroundings
from tests.shop import NOON


@pytest.mark.parametrize(
    ("which", "status"),
    [("swallows", "cancelled"), ("blocks", "cancelled"), ("deaf", "cancelled"), ("ignores", "finished")],
)
def test_a_process_ends_in_time_whatever_its_tools_do(which: str, status: str, tmp_path: Path) -> None:
    """By the clock on the wall: a grace of half a second, and no ten minutes of sleep."""
    command = [sys.executable, "-W", "error", "-m", "tests.abandoned", which]
    began = time.monotonic()
    done = subprocess.run(
        command, env=surroundings(), cwd=tmp_path, capture_output=True, text=True, timeout=FOR_EVER_S / 10, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{status}\n", "")
    assert time.monotonic() - began < FOR_EVER_S / 10


class Between(MemoryLog):
    """A log in which something happens to the run at the top when a child's write has been asked for."""

    def __init__(self, happens: Callable[[Between], object]) -> None:
        super().__init__()
        self.happens, self.done = happens, False

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Write, and let it happen."""
        super().append(run_id, records, expected=expected)
        called = [one for one in records if isinstance(one.event, ToolCalled) and one.event.effect == "write"]
        if called and "/" in run_id and not self.done:
            self.done = True
            self.happens(self)


def planned(started: list[int]) -> Agent:
    """An agent that pays in a child run."""

    @tool(effect="write")
    def pay(cents: int) -> int:
        """Pay."""
        started.append(cents)
        return cents

    def script(turn: int, request: ModelRequest) -> ModelReplied | str:
        if "Draw a plan" in str(request.messages[-1].content):
            return '["Pay for the tea."]'
        is_child = any("Do only this step" in str(message.content) for message in request.messages)
        return "Paid." if not is_child or request.messages[-1].role == "tool" else reply("", use("pay", cents=5))

    return Agent("desk", "1", Contract(arm="plan", plan=Plan(steps=1)), tools=[pay], model=ScriptedModel(script))


def taken_over(log: MemoryLog) -> None:
    """Another worker takes the run up, and lets it go again."""
    state, program = fold(log.read("run")), planned([]).program
    without_waiting(write(log, program, state, Happened(lease_of(state, "other", program), NOON)))


def run(agent: Agent, log: MemoryLog) -> str:
    """Drive the run to its end; what would never end fails."""

    async def driven() -> str:
        with anyio.fail_after(30):
            patience = Patience(grace_s=0.3, lease_s=0.3, look_s=0.01)
            return (await agent.arun("Buy tea", log=log, run_id="run", patience=patience)).status

    return anyio.run(driven)


def test_a_child_of_a_run_that_was_taken_over_begins_nothing() -> None:
    """The lease of the run at the top holds for the whole tree, and is looked at right before a write starts."""
    started: list[int] = []
    with pytest.raises(LeaseHeld):
        run(planned(started), Between(taken_over))
    assert started == []


def test_a_child_of_a_run_that_is_to_stop_begins_nothing_and_ends_first() -> None:
    """It is told by its parent; what it had asked for is in no doubt."""
    started: list[int] = []
    log = Between(lambda log: cancel(log, "run", by="ana", at=NOON))
    assert run(planned(started), log) == "cancelled"
    assert started == []
    (child,) = [head.run_id for head in log.runs() if "/" in head.run_id]
    kinds = [type(one.event) for one in log.read(child)]
    assert CancelRequested in kinds
    assert EffectInDoubt not in kinds
    order = [(one.run_id, type(one.event)) for _, one in log.read_all()]
    assert order.index((child, RunEnded)) < order.index(("run", RunEnded))


def test_a_run_that_was_revoked_is_taken_up_at_once() -> None:
    """Its worker hears of it, and starts and writes nothing more; nobody waits for the lease to lapse."""
    started: list[int] = []
    log = Between(lambda log: revoke(log, "run", by="ana", at=NOON, reason="it hangs"))
    with pytest.raises(LeaseHeld):
        run(planned(started), log)
    assert log.holder("run") is None
    assert started == []
    again: list[int] = []
    assert run(planned(again), log) in {"finished", "escalated"}


def test_nothing_is_revoked_of_a_run_that_nobody_has() -> None:
    """A lease that never was cannot be taken away."""
    log = MemoryLog()
    started: list[int] = []
    agent = planned(started)
    records = agent.run("Buy tea", log=MemoryLog(), run_id="run", patience=QUICK).records()
    log.append("run", records[:1], expected=0)
    assert revoke(log, "run", by="ana", at=NOON) is None
    assert [one for one in records if isinstance(one.event, ObservationReceived)]


def test_a_worker_whose_lease_was_revoked_does_not_take_it_again() -> None:
    """Not even where it is due to be renewed at every turn."""

    class Watched(MemoryLog):
        def hold(self, run_id: str, worker: str, *, ttl_s: float) -> Lease:
            assert not [one for one in self.read("run") if isinstance(one.event, LeaseRevoked)]
            return super().hold(run_id, worker, ttl_s=ttl_s)

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        revoke(log, "run", by="ana", at=NOON)
        return "tea"

    log = Watched()
    agent = Agent("desk", "1", Contract(), tools=[look], model=ScriptedModel((reply("", use("look")), reply("Done."))))
    with pytest.raises(LeaseHeld, match="run run had its lease revoked"):
        agent.run("Buy tea", log=log, run_id="run", patience=Patience(lease_s=1e-6, look_s=0.01))
