"""Effects of live runs: a doubt ended by an authority, a fence, time or a person; what is undone, or learnt late."""
# ruff: noqa: ARG001 - a fake need not look at all that it is given

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import anyio
import pytest

from redrive_engine.agent import Agent, Run
from redrive_engine.contract import Contract, FailureQuotas
from redrive_engine.live import Patience
from redrive_engine.models import ScriptedModel, reply, use
from redrive_engine.signals import cancel
from redrive_engine.stating import effect_of, state_outcome
from redrive_engine.tools import Call, Landed, NotLanded, Tool, ToolError, ToolUnavailable, tool
from redrive_events import (
    NOTES,
    AnnotationMade,
    BadInput,
    EffectCompensated,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    Event,
    EventLog,
    MemoryLog,
    ModelReplied,
    ObservationReceived,
    PersonAsked,
    RunEnded,
    ToolCalled,
)
from redrive_projections import fold
from redrive_replays import replay_records
from tests.desk import QUICK
from tests.shop import NOON

PAY = (reply("", use("pay", cents=5)), reply("Done."))
SHORT = Patience(grace_s=0.2, lease_s=0.3, look_s=0.01, model_s=10.0)


class Bank:
    """What was paid by key, with the attempts that were started; it refuses a worker of the past."""

    def __init__(self) -> None:
        self.paid: dict[str, int] = {}
        self.epoch = 0
        self.started: list[int] = []
        self.asked: list[bool] = []
        self.free = threading.Event()
        self.in_the_way: Callable[[Call], None] = lambda _: None

    def pay(self, cents: int, call: Call) -> int:
        """Pay, unless something is in the way."""
        self.started.append(call.attempt)
        self.in_the_way(call)
        if call.epoch < self.epoch:
            raise ToolError("another worker has taken over")
        self.paid.setdefault(call.key, cents)
        return cents

    def tool(self, *, asks: bool = True, **settings: Any) -> Tool:
        """The bank as a tool."""

        @tool(effect="write", **{"timeout": "200ms", **settings})
        def pay(cents: int, *, call: Call) -> int:
            """Pay."""
            return self.pay(cents, call)

        @pay.reconcile
        def was_paid(call: Call) -> Landed[int] | NotLanded:
            self.epoch = max(self.epoch, call.epoch)
            self.asked.append(call.key in self.paid)
            return Landed(self.paid[call.key]) if call.key in self.paid else NotLanded()

        if not asks:
            pay.reconciler = None
        return pay


def agent_of(*tools: Tool, script: Sequence[ModelReplied] = PAY, **terms: Any) -> Agent:
    """An agent that is handed these tools."""
    return Agent("desk", "1", Contract(**terms), tools=tools, model=ScriptedModel(script))


def run(agent: Agent, log: EventLog, patience: Patience = QUICK) -> Run:
    """Drive the run to its end; what would never end fails."""

    async def driven() -> Run:
        with anyio.fail_after(30):
            return await agent.arun("Buy tea", log=log, run_id="run", patience=patience)

    return anyio.run(driven)


def beside(person: Callable[[], Coroutine[Any, Any, None]], agent: Agent, log: EventLog) -> Run:
    """The run, while a person does something."""
    runs: list[Run] = []

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(person)
            with anyio.fail_after(30):
                runs.append(await agent.arun("Buy tea", log=log, run_id="run", patience=QUICK))

    anyio.run(both)
    return runs[0]


def events(log: EventLog, *wanted: type[Event]) -> list[Any]:
    """The events of some kinds, in order."""
    return [one.event for one in log.read("run") if isinstance(one.event, wanted)]


def cut(log: EventLog, kind: type[Event]) -> MemoryLog:
    """The log as a worker left it that was lost right behind the first event of a kind."""
    records = list(log.read("run"))
    (place,) = [place for place, one in enumerate(records) if isinstance(one.event, kind)][:1]
    cut = MemoryLog()
    cut.append("run", records[: place + 1], expected=0)
    return cut


@pytest.mark.parametrize(
    ("settings", "outcome", "started"),
    [
        pytest.param({}, "unknown", [], id="nobody knows whether the other worker's attempt still runs"),
        pytest.param({"fenced": True}, "not_landed", [2], id="the authority refuses it"),
        pytest.param({"settles_within": "300ms"}, "not_landed", [2], id="it lands within a time or never"),
    ],
)
def test_that_another_worker_did_nothing_is_believed_where_it_can_do_nothing_more(
    settings: dict[str, Any], outcome: str, started: list[int]
) -> None:
    """Its process may be frozen, and go on: the authority that knows of nothing now may know of something then."""
    whole, bank = MemoryLog(), Bank()
    run(agent_of(Bank().tool(**settings)), whole)
    log = cut(whole, ToolCalled)
    ended = run(agent_of(bank.tool(**settings)), log)
    assert [one.outcome for one in events(log, EffectReconciled)] == [outcome]
    assert bank.started == started
    assert ended.status == ("finished" if started else "escalated")


def test_that_another_worker_did_it_is_believed_at_once() -> None:
    """What is there stays there."""
    whole, bank = MemoryLog(), Bank()
    run(agent_of(Bank().tool()), whole)
    log = cut(whole, ToolCalled)
    bank.paid[events(log, ToolCalled)[0].key] = 5
    assert run(agent_of(bank.tool()), log).status == "finished"
    assert ([one.outcome for one in events(log, EffectReconciled)], bank.started) == (["landed"], [])


def test_an_attempt_that_settles_is_asked_about_again_when_it_has() -> None:
    """What the authority knew before that time says nothing: here it lands in between."""
    whole, bank = MemoryLog(), Bank()
    run(agent_of(Bank().tool(settles_within="500ms")), whole)
    log = cut(whole, ToolCalled)

    def lands(call: Call) -> Landed[int] | NotLanded:
        bank.asked.append(bool(bank.paid))
        known = Landed(5) if bank.paid else NotLanded()
        bank.paid[call.key] = 5
        return known

    pay = bank.tool(settles_within="500ms")
    pay.reconcile(lands)
    assert run(agent_of(pay), log).status == "finished"
    assert (bank.asked, bank.started) == ([False, True], [])


def test_a_slow_write_is_not_started_again_while_it_runs_whatever_a_person_says() -> None:
    """They know what the bank says, and not what goes on in this process."""
    bank, log, overlaps, at_work = Bank(), MemoryLog(), list[bool](), threading.Lock()

    def waits(call: Call) -> None:
        overlaps.append(not at_work.acquire(blocking=False))
        bank.free.wait(20)
        at_work.release()

    async def person() -> None:
        while not events(log, PersonAsked):
            await anyio.sleep(0.01)
        state_outcome(log, "run", 1, "not_landed", by="bo", at=NOON)
        while len(events(log, ToolCalled)) < 2:
            await anyio.sleep(0.01)
        await anyio.sleep(0.1)  # time enough for what must not happen
        assert bank.started == [1]
        bank.free.set()

    bank.in_the_way = waits
    ended = beside(person, agent_of(bank.tool(asks=False, timeout="2s"), on_doubt="wait"), log)
    assert ended.status == "finished"
    assert (bank.started, overlaps) == ([1, 2], [False, False])


def test_a_doubt_that_a_person_ends_is_verified_and_told_like_any_result() -> None:
    """What they say would have been observed is what the model reads."""
    bank, log = Bank(), MemoryLog()
    bank.in_the_way = lambda _: time.sleep(0.4)

    async def person() -> None:
        while not events(log, PersonAsked):
            await anyio.sleep(0.01)
        with pytest.raises(BadInput, match="run run: no effect of call 7; there are those of 1"):
            state_outcome(log, "run", 7, "landed", by="bo", at=NOON)
        state_outcome(
            log, "run", 1, "landed", by="bo", at=NOON, content="5", media_type="application/json", reason="seen"
        )

    ended = beside(person, agent_of(bank.tool(asks=False), on_doubt="wait"), log)
    assert ended.status == "finished"
    assert [one.content for one in fold(log.read("run")).transcript()][2] == "5"
    effect = effect_of(log, "run", 1)
    assert (effect.stage, effect.outcome, effect.by, effect.reason) == ("reconciled", "landed", "bo", "seen")
    assert replay_records("run", ended.records(), agent_of(bank.tool(asks=False), on_doubt="wait").program).same


def undone(bank: Bank) -> Tool:
    """The bank's payments, which can be taken back."""
    pay = bank.tool(fenced=True)

    @pay.compensate
    def pay_back(call: Call) -> dict[str, str]:
        bank.started.append(-call.attempt)
        bank.in_the_way(call)
        assert call.compensates in bank.paid
        assert call.arguments == {"cents": 5}
        bank.paid[call.key] = -bank.paid[call.compensates]
        return {"back": call.compensates}

    return pay


FAILS = (*PAY[:1], reply("", use("look")), reply("Done."))


def failing() -> Tool:
    """A tool that always fails."""

    @tool(effect="read")
    def look() -> str:
        """Look."""
        raise ToolError("closed")

    return look


def test_what_a_run_did_is_undone_before_it_is_given_up() -> None:
    """Under a key of its own, and the ledger says by which call; replayed it is the same."""
    bank, log = Bank(), MemoryLog()
    agent = agent_of(
        undone(bank), failing(), script=FAILS, quotas=FailureQuotas(tool_failed=1), recovery=("compensate",)
    )
    ended = run(agent, log)
    assert (ended.status, ended.state.end and ended.state.end.reason) == ("failed", "a tool failure")
    keys = [one.key for one in events(log, ToolCalled) if one.key]
    assert (bank.paid, bank.started) == ({keys[0]: 5, keys[1]: -5}, [1, -1])
    assert events(log, EffectCompensated) == [EffectCompensated(call=1, by=3)]
    assert events(log, ObservationReceived)[-1].content == f'{{"back":"{keys[0]}"}}'
    first, second = effect_of(log, "run", 1), effect_of(log, "run", 3)
    assert (first.stage, first.compensated_by) == ("compensated", 3)
    assert (second.stage, second.compensates) == ("confirmed", 1)
    assert replay_records("run", ended.records(), agent.program).same


def test_what_was_done_last_is_undone_first() -> None:
    """One after the other."""
    bank, log = Bank(), MemoryLog()
    agent = agent_of(
        undone(bank),
        failing(),
        script=(PAY[0], PAY[0], *FAILS[1:]),
        quotas=FailureQuotas(tool_failed=1),
        recovery=("compensate",),
    )
    assert run(agent, log).status == "failed"
    assert events(log, EffectCompensated) == [EffectCompensated(call=2, by=4), EffectCompensated(call=1, by=5)]
    assert list(bank.paid.values()) == [5, 5, -5, -5]


@pytest.mark.parametrize("landed", [True, False])
def test_undoing_is_reconciled_like_any_write(landed: bool) -> None:
    """The same function is asked, and sees that it is about what undoes."""
    bank, log, seen = Bank(), MemoryLog(), list[str]()
    pay = undone(bank)

    def hangs(call: Call) -> None:
        if call.compensates and call.attempt == 1:
            if landed:
                bank.paid[call.key] = -5
            bank.free.wait(0.5)
            if not landed:
                raise ToolError("closed meanwhile")

    @pay.reconcile
    def what_became(call: Call) -> Landed[dict[str, str]] | NotLanded:
        seen.append(call.compensates)
        return Landed({"back": call.compensates}) if call.key in bank.paid else NotLanded()

    bank.in_the_way = hangs
    agent = agent_of(pay, failing(), script=FAILS, quotas=FailureQuotas(tool_failed=1), recovery=("compensate",))
    assert run(agent, log).status == "failed"
    keys = [one.key for one in events(log, ToolCalled) if one.key]
    assert set(seen) == {keys[0]}
    assert events(log, EffectInDoubt) == [EffectInDoubt(call=3, why="timeout")]
    assert events(log, EffectCompensated) == [EffectCompensated(call=1, by=3)]
    assert bank.started == ([1, -1] if landed else [1, -1, -2])
    assert sum(bank.paid.values()) == 0


def test_a_read_of_what_is_not_there_at_the_moment_is_asked_again() -> None:
    """Within the contract's bound, by the engine: the model sees the last word only."""
    tried: list[int] = []

    @tool(effect="read")
    def look(*, call: Call) -> str:
        """Look."""
        tried.append(call.attempt)
        if call.attempt < 3:
            raise ToolUnavailable("the line is dead") if call.attempt == 1 else ConnectionResetError
        return "tea"

    log = MemoryLog()
    agent = agent_of(look, script=(reply("", use("look")), reply("Done.")), read_attempts=3)
    assert run(agent, log).status == "finished"
    assert tried == [1, 2, 3]
    assert [one.error for one in events(log, ObservationReceived)] == ["unavailable", "unavailable", ""]
    assert [one.content for one in fold(log.read("run")).transcript()][2] == "tea"


def late(log: EventLog) -> list[Any]:
    """What was learnt too late."""
    return [one.event.value for one in log.read("run" + NOTES) if isinstance(one.event, AnnotationMade)]


@pytest.mark.parametrize("refuses", [False, True], ids=["landed", "refused"])
def test_what_an_abandoned_thread_comes_to_is_noted_beside_the_run(refuses: bool) -> None:
    """The run had ended in doubt; nobody waited, and the ledger reads both."""
    bank, log = Bank(), MemoryLog()

    def hangs(call: Call) -> None:
        cancel(log, "run", by="ana", at=NOON)
        bank.free.wait(20)
        if refuses:
            raise ToolError("closed")

    bank.in_the_way = hangs
    assert run(agent_of(bank.tool(timeout=None)), log, SHORT).status == "cancelled"
    assert effect_of(log, "run", 1).stage == "in doubt"
    bank.free.set()
    while not late(log):
        time.sleep(0.01)
    outcome = "not_landed" if refuses else "landed"
    assert late(log) == [{"call": 1, "outcome": outcome}]
    assert (effect_of(log, "run", 1).stage, effect_of(log, "run", 1).outcome) == ("reconciled", outcome)


def test_what_an_abandoned_task_comes_to_is_noted_beside_the_run() -> None:
    """It swallows its cancellation, so the run goes without it, and hears of it all the same while the loop lives."""
    log, free = MemoryLog(), anyio.Event()

    @tool(effect="write", timeout=None)
    async def pay(cents: int) -> int:
        """Pay."""
        cancel(log, "run", by="ana", at=NOON)
        while True:
            try:
                await free.wait()
            except anyio.get_cancelled_exc_class():
                continue
            return cents

    async def scenario() -> None:
        with anyio.fail_after(30):
            ended = await agent_of(pay).arun("Buy tea", log=log, run_id="run", patience=SHORT)
            assert ended.status == "cancelled"
            assert late(log) == []
            free.set()
            while not late(log):
                await anyio.sleep(0.01)

    anyio.run(scenario)
    assert late(log) == [{"call": 1, "outcome": "landed"}]


def test_what_is_known_by_the_end_is_not_noted_again() -> None:
    """The attempt was given up, and its authority knew of it before it came back."""
    bank, log = Bank(), MemoryLog()

    def lands_and_hangs(call: Call) -> None:
        bank.paid[call.key] = 5
        bank.free.wait(20)

    bank.in_the_way = lands_and_hangs
    assert run(agent_of(bank.tool()), log).status == "finished"
    bank.free.set()
    for thread in threading.enumerate():
        if thread.name == "redrive tool":
            thread.join(10)
    assert late(log) == []
    assert (effect_of(log, "run", 1).stage, effect_of(log, "run", 1).by) == ("reconciled", "authority")
    assert events(log, EffectConfirmed) == [EffectConfirmed(call=1)]
    assert events(log, RunEnded)


def test_what_was_sent_may_still_be_on_its_way_when_its_function_has_ended() -> None:
    """A tool that says how long it takes to settle is waited for: what it was cancelled at lands all the same."""
    log, asked, paid = MemoryLog(), list[bool](), threading.Event()

    @tool(effect="write", timeout="100ms", settles_within="1s")
    async def pay(cents: int) -> int:
        """Pay."""
        threading.Timer(0.3, paid.set).start()
        await anyio.sleep_forever()
        return cents

    @pay.reconcile
    def was_paid(call: Call) -> Landed[int] | NotLanded:
        asked.append(paid.is_set())
        return Landed(5) if paid.is_set() else NotLanded()

    assert run(agent_of(pay), log).status == "finished"
    assert asked == [False, True]
    assert len(events(log, ToolCalled)) == 1
