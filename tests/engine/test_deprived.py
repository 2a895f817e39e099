"""Each example with the network gone, and with all its tools gone: it ends soon, and it is known why."""

from __future__ import annotations

from contextlib import suppress

import anyio
import pytest

import notes_analyst
import redrive as rd
from notes_analyst import variants
from redrive_engine.dialects import DIALECTS
from redrive_engine.models import FREE
from redrive_events import ModelFailed, ModelReplied, ToolCalled
from redrive_replays import recording_of
from tests.scenarios import Scenario, examples

QUICK = rd.Patience(look_s=0.01, pause_s=0.01, pause_max_s=0.01)
PLANNED = Scenario("planned", variants.planned(), notes_analyst.GOAL)
SCENARIOS = [pytest.param(one, id=one.module) for one in [*examples(), PLANNED]]
# How each ends without its tools.
STRIPPED = {
    "login_redirect": ("blocked", "call 1 of run_test: unknown tool"),
    "notes_analyst": ("failed", "2 calls with bad arguments in a row"),
    "order_status": ("exhausted", "steps"),
    "orders_sms": ("exhausted", "steps"),
    "planned": ("exhausted", "steps"),
    "refund_desk": ("exhausted", "steps"),
    "weather": ("failed", "stagnation"),
}


class Gone:
    """A model to which there is no way."""

    async def ask(self, request: rd.ModelRequest) -> ModelReplied:
        """Nobody listens."""
        raise rd.ModelTrouble("unavailable", retryable=True)


class Stubborn:
    """A model that says again what it said last where its script does not go on."""

    def __init__(self, model: rd.Model) -> None:
        self.model = model
        self.last = rd.reply("")

    async def ask(self, request: rd.ModelRequest) -> ModelReplied:
        """What the script says, or said."""
        with suppress(rd.ModelTrouble, ValueError):
            self.last = await self.model.ask(request)
        return self.last


def stripped(agent: rd.Agent) -> rd.Agent:
    """The same agent without a tool; its contract grants all that there are."""
    contract = agent.contract.model_copy(update={"tools": None, "exclude": {}})
    own = [one for name, one in agent.program.dialects.items() if name not in DIALECTS]
    model = Stubborn(agent.model)
    return rd.Agent(agent.name, agent.version, contract, verifiers=agent.verifiers, model=model, dialects=own)


def run_of(agent: rd.Agent, goal: str, *, model: rd.Model | None = None) -> rd.Run:
    """A run that has to end within seconds; its replay is the same."""
    log = rd.MemoryLog()

    async def soon() -> rd.Run:
        with anyio.fail_after(20):
            return await agent.arun(
                goal, log=log, run_id="run", model=model, prices=rd.Prices({"*": FREE}), patience=QUICK
            )

    run = anyio.run(soon)
    assert {rd.replay(recording_of(log, head.run_id), agent=agent).outcome for head in log.runs()} == {"same"}
    return run


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_network_is_gone(scenario: Scenario) -> None:
    """The model is asked within its quota, and then no more, but a person is, where the contract says so."""
    run = run_of(scenario.agent, scenario.goal, model=Gone())
    events = [one.event for one in run.records()]
    quota = scenario.agent.contract.quotas.model_failed
    assert run.state.end is not None
    status = "escalated" if "escalate" in scenario.agent.contract.recovery else "failed"
    assert (run.status, run.state.end.reason) == (status, "model: unavailable")
    assert sum(isinstance(one, ModelFailed) for one in events) == quota


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_all_tools_are_gone(scenario: Scenario) -> None:
    """The model is told that there is no such tool, until a quota or the budget ends it."""
    run = run_of(stripped(scenario.agent), scenario.goal)
    assert run.state.end is not None
    assert (run.status, run.state.end.reason) == STRIPPED[scenario.module]
    assert {one.event.tool for one in run.records() if isinstance(one.event, ToolCalled)} <= {"run"}
