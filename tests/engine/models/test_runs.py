"""Whole runs against a provider on this machine: they end as with the scripted model, also where the way is bad."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import anyio
import pytest

import redrive as rd
from redrive_engine.models import FREE
from redrive_events import ModelFailed, ModelReplied, RunEnded
from tests.scenarios import Scenario, examples

QUICK = rd.Patience(look_s=0.01, pause_s=0.01, pause_max_s=0.01)
SLOW = rd.Patience(look_s=0.01)
HOUR = {"Retry-After": "3600"}


@rd.tool(effect="read")
def look(item: str) -> str:
    """Look for something."""
    return f"{item} is there"


LINES: list[rd.ModelReplied | str] = [
    rd.reply("I look.", rd.use("look", item="茶"), rd.use("look", item="milk")),
    "Both are there.",
]


def agent(**terms: Any) -> rd.Agent:
    """An agent that looks for two things at once."""
    return rd.Agent(
        "looker", "1", rd.Contract(tools={"look": {}}, **terms), tools=[look], model=rd.ScriptedModel(LINES)
    )


def over_http(server: rd.Loopback, *, stream: bool = False) -> rd.ProviderModel:
    """The model that asks the server."""
    return rd.ProviderModel("openai-chat:scripted", base_url=server.url, stream=stream)


def events(log: rd.MemoryLog, kind: type, run_id: str = "run") -> list[Any]:
    """The events of a kind, in order."""
    return [one.event for one in log.read(run_id) if isinstance(one.event, kind)]


def facts(run: rd.Run) -> dict[str, Any]:
    """What is known, without the places where it was found."""
    return {name: fact.value for name, fact in run.facts.items()}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "in pieces"])
@pytest.mark.parametrize("example", examples(), ids=lambda one: one.module)
def test_an_example_ends_over_http_as_it_ends_without(example: Scenario, stream: bool) -> None:
    """With the same replies, facts and answer; and its replay, which asks nobody, is the same."""
    plain, real = rd.MemoryLog(), rd.MemoryLog()

    def ended(log: rd.MemoryLog, **asked: Any) -> rd.Run:
        around = rd.Surroundings.fixed()
        return example.agent.run(example.goal, log=log, run_id="run", surroundings=around, patience=QUICK, **asked)

    expected = ended(plain)
    with rd.Loopback(example.agent.model) as server:
        run = ended(real, model=over_http(server, stream=stream), prices=rd.Prices({"*": FREE}))
    assert (run.status, run.answer, facts(run)) == (expected.status, expected.answer, facts(expected))
    assert [one.content for one in events(real, ModelReplied)] == [one.content for one in events(plain, ModelReplied)]
    assert rd.replay(run, agent=example.agent).same


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "in pieces"])
@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        pytest.param(
            rd.Fault(429, HOUR),
            ModelFailed(kind="rate_limited", retryable=True, retry_after_ms=3_600_000, status=429),
            id="rate limit",
        ),
        pytest.param(rd.Fault(503), ModelFailed(kind="unavailable", retryable=True, status=503), id="overloaded"),
        pytest.param(rd.Fault(cut_bytes=200), ModelFailed(kind="broken", retryable=True), id="cut"),
        pytest.param(rd.Fault(body=b"{"), ModelFailed(kind="broken", retryable=True), id="no JSON"),
        pytest.param(rd.Fault(first_byte_s=30.0), ModelFailed(kind="timeout", retryable=True), id="nothing comes"),
    ],
)
def test_what_may_pass_is_asked_again(fault: rd.Fault, failure: ModelFailed, stream: bool) -> None:
    """The same words, as the same turn; half a reply leaves nothing in the log."""
    log, quick = rd.MemoryLog(), QUICK
    if fault.first_byte_s:
        quick = rd.Patience(model_s=1.5, look_s=0.01, pause_s=0.01)
    with rd.Loopback(rd.ScriptedModel(LINES), faults={2: fault}) as server:
        run = agent().run("Look.", log=log, run_id="run", model=over_http(server, stream=stream), patience=quick)
    assert (run.status, run.answer) == ("finished", "Both are there.")
    assert events(log, ModelFailed) == [failure]
    assert len(events(log, ModelReplied)) == 2
    assert server.requests[1] == server.requests[2]
    assert rd.replay(run, agent=agent()).same


@pytest.mark.parametrize(
    ("fault", "reason", "asked"),
    [
        pytest.param(rd.Fault(401), "model: refused", 1, id="what stays is asked once"),
        pytest.param(rd.Fault(500), "model: unavailable", 3, id="what may pass, until the quota is reached"),
    ],
)
def test_a_provider_that_does_not_answer_ends_the_run(fault: rd.Fault, reason: str, asked: int) -> None:
    """With the class of the failure as its reason."""
    with rd.Loopback(rd.ScriptedModel(LINES), faults=dict.fromkeys(range(1, 9), fault)) as server:
        run = agent().run("Look.", log=rd.MemoryLog(), model=over_http(server), patience=QUICK)
    assert run.state.end is not None
    assert (run.status, run.state.end.reason, len(server.requests)) == ("failed", reason, asked)


def test_the_wall_time_cuts_a_pause() -> None:
    """It counts while a model is left alone, and the model is not asked again."""
    log, limited = rd.MemoryLog(), agent(budget={"wall_time": "2s"})
    with rd.Loopback(rd.ScriptedModel(LINES), faults={1: rd.Fault(429, HOUR)}) as server:
        run = limited.run("Look.", log=log, run_id="run", model=over_http(server), patience=SLOW)
    (end,) = events(log, RunEnded)
    assert (end.status, end.reason, len(server.requests)) == ("exhausted", "wall_time", 1)
    assert rd.replay(run, agent=limited).same


def test_a_cancellation_cuts_a_pause() -> None:
    """It is heard at once."""
    log = rd.MemoryLog()

    async def cancel_it(server: rd.Loopback) -> rd.Run:
        ended: list[rd.Run] = []

        async def run() -> None:
            ended.append(await agent().arun("Look.", log=log, run_id="run", model=over_http(server), patience=SLOW))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(run)
                while not events(log, ModelFailed):
                    await anyio.sleep(0.01)
                rd.cancel(log, "run", by="ana", at=[*log.read("run")][-1].at)
        return ended[0]

    with rd.Loopback(rd.ScriptedModel(LINES), faults={1: rd.Fault(429, HOUR)}) as server:
        assert anyio.run(cancel_it, server).status == "cancelled"
        assert len(server.requests) == 1


def test_a_run_that_was_left_in_a_pause_goes_on() -> None:
    """Whoever takes it up knows from the log what the provider said."""
    log = rd.MemoryLog()

    async def leave(server: rd.Loopback) -> None:
        async with anyio.create_task_group() as group:

            async def run() -> None:
                await agent().arun("Look.", log=log, run_id="run", model=over_http(server), patience=SLOW)

            group.start_soon(run)
            with anyio.fail_after(30):
                while not events(log, ModelFailed):
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    with rd.Loopback(rd.ScriptedModel(LINES), faults={1: rd.Fault(429, HOUR)}) as server:
        anyio.run(leave, server)
        run = agent().run("Look.", log=log, run_id="run", model=over_http(server), patience=QUICK)
        assert (run.status, len(server.requests)) == ("finished", 3)


def test_runs_side_by_side_have_connections_of_their_own() -> None:
    """One model object serves them all, in one event loop or in several."""
    log = rd.MemoryLog()

    async def both(model: rd.ProviderModel) -> None:
        async with anyio.create_task_group() as group:
            for name in ("a", "b"):

                async def run(name: str = name) -> None:
                    await agent().arun("Look.", log=log, run_id=name, model=model)

                group.start_soon(run)

    with rd.Loopback(rd.ScriptedModel(LINES)) as server:
        model = over_http(server)
        for _ in range(2):
            anyio.run(both, model)
    assert [len(events(log, ModelReplied, name)) for name in ("a", "b")] == [2, 2]


def test_nobody_pays_for_a_library_that_is_not_used() -> None:
    """Naming a real model loads nothing of it, nor does asking for all there is."""
    program = (
        "import sys, redrive; redrive.ProviderModel('openai:gpt-5'); redrive.Agent; redrive.replay; "
        "sys.exit(bool({'pydantic_ai', 'openai', 'http.server'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_what_is_not_installed_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install."""
    for name in [one for one in sys.modules if one.startswith(("pydantic_ai", "redrive_engine.models.layer"))]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("spoken", "troubles"):
        monkeypatch.delitem(sys.modules, f"redrive_engine.models.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    importlib.invalidate_caches()
    clerk = rd.Agent("clerk", "1", rd.Contract(tools={}), model=rd.ProviderModel("openai:gpt-5"))
    with pytest.raises(rd.BadInput, match=r"^model openai:gpt-5: .*: pip install 'redrive\[models\]'$"):
        clerk.run("Say.", log=rd.MemoryLog())
