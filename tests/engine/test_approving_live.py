"""A live run that waits for an approval: alone, beside others, over processes; nothing starts before it."""
# ruff: noqa: ARG001 - a fake need not look at all that it is given

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import anyio
import pytest

from redrive_engine import ANY, Agent, Call, Contract, Run, approve, cancel, say, tool, verifier
from redrive_engine.live.pausing import Patience
from redrive_engine.models import ScriptedModel, reply, use
from redrive_engine.policy import RulesPolicy
from redrive_engine.verifiers import Facts, Refused
from redrive_events import EventLog, MemoryLog, ModelReplied
from redrive_projections import open_approvals
from redrive_replays import replay
from tests.desk import QUICK

RULES = RulesPolicy.from_toml("""
[[rule]]
name = "looking is free"
when = { effect = "read" }
then = "allow"
[[rule]]
name = "a person looks"
when = { tool = "pay" }
then = "ask"
""")
PAY = reply("I pay.", use("pay", cents=5))
BOTH = reply("I look and pay.", use("look"), use("pay", cents=5), use("pay", cents=6))

Meanwhile = Callable[[EventLog], Awaitable[None]]


class Till:
    """An agent that is asked before it pays; what it has started stands in ``started``."""

    def __init__(self, *script: ModelReplied, **terms: Any) -> None:
        self.started: list[str] = []

        @tool(effect="read")
        async def look() -> int:
            """Look."""
            self.started.append("look")
            return 5

        @tool(effect="write")
        async def pay(cents: int, *, call: Call) -> int:
            """Pay."""
            self.started.append(f"pay {cents} {call.key.partition(':')[2]} {call.attempt}")
            return cents

        @verifier(pay, commits=["paid"])
        def right(call: Call, seen: int, facts: Facts) -> Facts | Refused:
            return {"paid": seen} if "paid" not in facts else {}

        usual: dict[str, Any] = {"done": {"paid": ANY}, "quotas": {"finish": 1}}
        contract = Contract(**(usual | terms))
        self.agent = Agent(
            "till",
            "1",
            contract,
            tools=[look, pay],
            verifiers=[right],
            policy=RULES,
            model=ScriptedModel([*(script or (PAY,)), reply("Done.")]),
        )

    def run(self, *meanwhile: Meanwhile, log: EventLog | None = None, patience: Patience = QUICK) -> Run:
        """The run, while people do this one after the other."""

        async def both() -> Run:
            target = MemoryLog() if log is None else log
            with anyio.fail_after(20):
                async with anyio.create_task_group() as group:
                    group.start_soon(self._people, meanwhile, target)
                    return await self.agent.arun("Buy tea", log=target, run_id="run", patience=patience)
            raise AssertionError("out of time")

        return anyio.run(both)

    async def _people(self, meanwhile: tuple[Meanwhile, ...], log: EventLog) -> None:
        for one in meanwhile:
            await asked(log)
            await one(log)


async def asked(log: EventLog, run_id: str = "run") -> None:
    """Wait until something waits for an approval."""
    while not open_approvals(log, run_id):
        await anyio.sleep(0.005)


async def grants(log: EventLog, call: int = 1, run_id: str = "run") -> None:
    """A person allows it."""
    approve(log, run_id, call, by="bo", at=datetime.now(UTC))


async def refuses(log: EventLog, call: int = 1) -> None:
    """A person does not."""
    approve(log, "run", call, by="bo", at=datetime.now(UTC), answer="refuse")


def test_nothing_starts_before_the_approval_and_then_at_once() -> None:
    """Once, with its key; and the run replays to itself without anybody to ask."""
    till = Till()
    before: list[list[str]] = []

    async def look_then_grant(log: EventLog) -> None:
        await anyio.sleep(0.05)
        before.append(list(till.started))
        await grants(log)

    run = till.run(look_then_grant)
    assert (before, till.started, run.status) == ([[]], ["pay 5 1 1"], "succeeded")
    assert replay(run, agent=till.agent).same


def test_what_is_refused_never_starts() -> None:
    """And the run goes on without it."""
    till = Till()
    run = till.run(refuses)
    assert (till.started, run.status) == ([], "failed")
    assert replay(run, agent=till.agent).same


def test_an_edit_is_what_starts() -> None:
    """The tool is handed what the person wrote."""
    till = Till()

    async def edits(log: EventLog) -> None:
        approve(log, "run", 1, by="bo", at=datetime.now(UTC), answer="edit", arguments={"cents": 4})

    assert till.run(edits).status == "succeeded"
    assert till.started == ["pay 4 1 1"]


def test_calls_of_a_reply_are_answered_one_by_one() -> None:
    """What needs nobody's word is made at once; of the others each has an answer of its own."""
    till = Till(BOTH)
    run = till.run(partial(refuses, call=3), partial(grants, call=2))
    assert (sorted(till.started), run.status) == (["look", "pay 5 2 1"], "succeeded")


def test_nobody_answers_in_time() -> None:
    """The call is denied, and what that means the contract says."""
    till = Till(approval_waits="50ms", on_denied="block")
    run = till.run()
    assert (till.started, run.status) == ([], "blocked")
    assert run.state.end is not None
    assert run.state.end.reason == "call 1 of pay: approval expired"


def test_other_runs_of_the_process_go_on() -> None:
    """One waits for a person, the next comes to its end meanwhile."""
    first, second = Till(), Till(reply("", use("look")), done={}, quotas={})
    log, ended = MemoryLog(), []

    async def both() -> None:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:

                async def wait() -> None:
                    run = await first.agent.arun("Buy tea", log=log, run_id="first", patience=QUICK)
                    ended.append(run.run_id)

                group.start_soon(wait)
                await asked(log, "first")
                run = await second.agent.arun("Look", log=log, run_id="second", patience=QUICK)
                ended.append(run.run_id)
                await grants(log, run_id="first")

    anyio.run(both)
    assert ended == ["second", "first"]


def test_a_cancellation_ends_the_wait() -> None:
    """What was asked is asked no more, and was never started."""
    till = Till()

    async def cancels(log: EventLog) -> None:
        cancel(log, "run", by="ana", at=datetime.now(UTC))

    assert till.run(cancels).status == "cancelled"
    assert till.started == []


def test_an_approval_right_before_a_cancellation_starts_nothing() -> None:
    """Both are heard with one look: the cancellation first."""
    till = Till()

    async def both(log: EventLog) -> None:
        await grants(log)
        cancel(log, "run", by="ana", at=datetime.now(UTC))

    assert till.run(both).status == "cancelled"
    assert till.started == []


def test_words_are_no_approval() -> None:
    """A person who only speaks has not allowed anything; the model reads it once it is asked again."""
    till = Till()

    async def speaks(log: EventLog) -> None:
        say(log, "run", "Yes, do it!", at=datetime.now(UTC))
        await anyio.sleep(0.1)
        assert till.started == []

    run = till.run(speaks, grants)
    assert (run.status, till.started) == ("succeeded", ["pay 5 1 1"])


@pytest.mark.parametrize("answered", [True, False])
def test_a_run_that_was_left_waiting_goes_on_in_the_next_process(*, answered: bool) -> None:
    """Whether the answer came meanwhile or comes then: asked once, answered once, started once."""
    till, log = Till(), MemoryLog()

    async def left_alone() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(till.agent.arun, "Buy tea", log=log, run_id="run", patience=QUICK))
            await asked(log)
            group.cancel_scope.cancel()

    anyio.run(left_alone)
    if answered:
        anyio.run(grants, log)
    run = till.run(*([] if answered else [grants]), log=log)
    assert (run.status, till.started) == ("succeeded", ["pay 5 1 1"])
    kinds = [type(record.event).__name__ for record in run.records()]
    assert (kinds.count("ApprovalAsked"), kinds.count("ApprovalGiven"), kinds.count("EffectInDoubt")) == (1, 1, 0)
