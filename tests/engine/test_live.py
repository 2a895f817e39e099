"""The live world: real concurrency, limits of time, stops, crashes, leases; no time is asserted."""
# ruff: noqa: ARG001 - a fake need not look at all that it is given

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from redrive_engine.agent import Agent
from redrive_engine.contract import Contract
from redrive_engine.drive import lease_of, without_waiting, write
from redrive_engine.live import Patience
from redrive_engine.models import ModelRequest, ModelTrouble, ScriptedModel, reply, use
from redrive_engine.signals import cancel, revoke, say
from redrive_engine.tools import Call, Landed, NotLanded, tool
from redrive_engine.world import Happened
from redrive_events import (
    DeadlinePassed,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    Event,
    EventLog,
    Lease,
    LeaseGranted,
    LeaseHeld,
    Limits,
    MemoryLog,
    ModelFailed,
    ObservationReceived,
    Record,
    RunEnded,
    RunStarted,
    SqliteLog,
    StopDecided,
    ToolCalled,
    text_of,
)
from redrive_projections import fold
from redrive_replays import appends, replay_records
from tests.desk import Desk, at_once, kinds
from tests.processes import surroundings
from tests.shop import NOON

PAY = (reply("", use("pay", cents=5)), reply("Done."))
LOOK = (reply("", use("look", item="tea")), reply("Done."))
BOTH = (reply("", use("look", item="tea"), use("pay", cents=5)), reply("Done."))
TALK: dict[str, Any] = {"done": {}, "answer": ""}


def events(log: EventLog, *wanted: type[Event]) -> list[Event]:
    """The events of some kinds, in order."""
    return [one.event for one in log.read("run") if isinstance(one.event, wanted)]


async def for_ever(tool: str, call: Call) -> None:
    """A tool that never comes back."""
    await anyio.sleep_forever()


async def until(log: EventLog, kind: type[Event]) -> None:
    """Wait for an event of a kind."""
    while not events(log, kind):
        await anyio.sleep(0.001)


def test_calls_of_one_reply_run_at_once_and_are_told_in_reply_order() -> None:
    """The first waits for the second, so one after the other would never end."""
    desk, log = (
        Desk((reply("", use("look", item="tea"), use("look", item="milk")), reply("Done.")), **TALK),
        MemoryLog(),
    )
    second = anyio.Event()

    async def first_waits(tool: str, call: Call) -> None:
        await second.wait() if call.number == 1 else second.set()

    desk.before = first_waits
    assert desk.run(log).status == "finished"
    assert [getattr(one, "call", 0) for one in events(log, ObservationReceived)] == [2, 1]
    told = [(one.call_id, one.content) for one in desk.requests[1].messages if one.role == "tool"]
    assert told == [("call_1", "tea: 5"), ("call_2", "milk: 5")]


def test_a_read_that_takes_too_long_is_answered_so_and_the_run_goes_on() -> None:
    """A time-out of what changes nothing is an answer like any other."""
    desk, log = Desk(LOOK, limit="300ms", **TALK), MemoryLog()
    desk.before = for_ever
    assert desk.run(log).status == "finished"
    words = "No answer within 300 ms."
    assert events(log, ObservationReceived) == [ObservationReceived(call=1, status="timeout", content=words)]
    assert desk.requests[1].messages[-1].content == words


def test_a_write_that_takes_too_long_but_landed_is_not_done_again() -> None:
    """Its authority is asked, and what it knows is what the model is told."""
    desk, log = Desk(PAY, limit="300ms"), MemoryLog()
    desk.after = for_ever
    run = desk.run(log)
    assert (run.status, run.answer) == ("succeeded", "Paid 5.")
    assert (desk.started, list(desk.paid.values())) == (["pay 1"], [5])
    assert events(log, EffectInDoubt) == [EffectInDoubt(call=1, why="timeout")]
    assert text_of(desk.requests[1].messages[-1].content) == '{"cents":5}'


def test_a_write_that_did_not_land_is_tried_again_with_the_same_key() -> None:
    """By the engine, since the authority says so; the model never hears of the first attempt."""
    desk, log = Desk(PAY, limit="300ms"), MemoryLog()

    async def first_hangs(tool: str, call: Call) -> None:
        await (for_ever if call.attempt == 1 else at_once)(tool, call)

    desk.before = first_hangs
    assert desk.run(log).status == "succeeded"
    assert (desk.started, list(desk.paid.values())) == (["pay 1", "pay 2"], [5])
    assert {getattr(one, "key", "") for one in events(log, ToolCalled)} == set(desk.paid)
    assert len(desk.requests) == 2


def test_an_attempt_that_still_runs_is_waited_for_before_another_is_made() -> None:
    """It was given up, but its thread goes on and lands: that it had not yet was true, and no reason to pay again."""
    asked, free, started = [], threading.Event(), []

    @tool(effect="write", timeout="300ms")
    def pay(cents: int, *, call: Call) -> int:
        """Pay."""
        started.append(call.attempt)
        free.wait()
        return cents

    @pay.reconcile
    def was_paid(call: Call) -> Landed[int] | NotLanded:
        asked.append(free.is_set())
        free.set()
        return Landed(5) if asked[-1] else NotLanded()

    agent = Agent("desk", "1", Contract(), tools=[pay], model=ScriptedModel(PAY))
    assert agent.run("Buy tea", log=MemoryLog()).status == "finished"
    assert (started, asked) == ([1], [False, True])


def test_a_write_that_nobody_can_speak_for_goes_to_a_person() -> None:
    """No authority, no second attempt."""
    desk, log = Desk(PAY, limit="300ms"), MemoryLog()
    desk.before = for_ever
    desk.agent.tools["pay"].reconciler = None
    assert desk.run(log).status == "escalated"
    assert desk.started == ["pay 1"]


def test_a_cancellation_takes_effect_before_the_next_action() -> None:
    """It came while the model was asked, so what the model then wants is never begun."""
    desk, log = Desk(PAY), MemoryLog()

    async def cancelled(request: ModelRequest) -> None:
        cancel(log, "run", by="ana", at=NOON)

    desk.asked = cancelled
    assert desk.run(log).status == "cancelled"
    assert desk.started == []
    assert not events(log, ToolCalled)


def test_an_ending_run_cancels_its_reads_and_lets_a_write_finish() -> None:
    """Within the grace its real answer is waited for, and counts."""
    desk, log = Desk(BOTH), MemoryLog()

    async def look_stops(tool: str, call: Call) -> None:
        if tool == "look":
            while "pay 1" not in desk.started:
                await anyio.sleep(0)
            cancel(log, "run", by="ana", at=NOON)
            await anyio.sleep_forever()
        await until(log, ObservationReceived)
        await anyio.sleep(0.1)  # so that it is looked at again, and again let be

    desk.before = look_stops
    run = desk.run(log, patience=Patience(grace_s=60.0, look_s=0.01))
    assert (run.status, list(desk.paid.values())) == ("cancelled", [5])
    assert run.facts["paid"].value == 5
    read, paid = events(log, ObservationReceived)
    assert read == ObservationReceived(call=1, status="cancelled", content="Cancelled: the run is ending.")
    assert isinstance(paid, ObservationReceived)
    assert (paid.call, paid.status) == (2, "ok")
    assert events(log, EffectConfirmed) == [EffectConfirmed(call=2)]


def test_an_ending_run_asks_for_a_write_that_did_not_finish() -> None:
    """When the grace is over the write is in doubt, and only its authority is still asked."""
    desk, log = Desk(PAY), MemoryLog()

    async def paid_and_stuck(tool: str, call: Call) -> None:
        cancel(log, "run", by="ana", at=NOON)
        await anyio.sleep_forever()

    desk.after = paid_and_stuck
    assert desk.run(log, patience=Patience(grace_s=0.3, look_s=0.01)).status == "cancelled"
    assert events(log, EffectInDoubt) == [EffectInDoubt(call=1, why="unknown")]
    (told,) = events(log, EffectReconciled)
    assert getattr(told, "outcome", "") == "landed"
    assert desk.started == ["pay 1"]


def test_nothing_that_was_asked_for_starts_after_a_stop() -> None:
    """A worker takes up a run that was stopped with a write open: it asks what became of it, and starts nothing."""
    desk, log = Desk(BOTH), MemoryLog()
    records = list(desk.run(log).records())
    (called,) = (index for index, one in enumerate(records) if kinds([one]) == ["ToolCalled"] and one.left == 0)
    cut = MemoryLog()
    cut.append("run", records[: called + 1], expected=0)
    cancel(cut, "run", by="ana", at=NOON)
    again = Desk(BOTH)
    assert again.run(cut).status == "cancelled"
    assert (again.started, again.requests) == ([], [])
    outcomes = [
        getattr(one, "status", "") or getattr(one, "outcome", "")
        for one in events(cut, ObservationReceived, EffectReconciled)
    ]
    assert sorted(outcomes) == ["cancelled", "not_landed"]


@pytest.mark.parametrize("signal", ["cancelled", "revoked"])
def test_a_write_that_was_asked_for_does_not_start_behind_a_stop(signal: str) -> None:
    """What comes between its request and its start is seen right before the start, and then nobody doubts it."""

    class Hasty(MemoryLog):
        def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
            super().append(run_id, records, expected=expected)
            if [one for one in records if isinstance(one.event, ToolCalled)]:
                if signal == "revoked":
                    revoke(self, "run", by="ana", at=NOON)
                cancel(self, "run", by="ana", at=NOON)

    desk, log = Desk(PAY), Hasty()
    if signal == "revoked":
        with pytest.raises(LeaseHeld):
            desk.run(log)
        assert log.holder("run") is None
        desk = Desk(PAY)
    assert desk.run(log).status == "cancelled"
    assert desk.started == []
    if signal == "cancelled":
        words = "Not begun: the run is ending."
        assert events(log, ObservationReceived) == [ObservationReceived(call=1, status="cancelled", content=words)]
        assert not events(log, EffectInDoubt, EffectReconciled)


def test_a_model_that_takes_too_long_is_asked_again() -> None:
    """A time-out may pass, so it is a failure within the quota."""
    desk, log = Desk((reply("Hello."),), **TALK), MemoryLog()

    async def first_hangs(request: ModelRequest) -> None:
        if len(desk.requests) == 1:
            await anyio.sleep_forever()

    desk.asked = first_hangs
    assert desk.run(log, patience=Patience(model_s=0.3, look_s=0.01, pause_s=0.01)).status == "finished"
    assert events(log, ModelFailed) == [ModelFailed(kind="timeout", retryable=True)]
    assert [request.turn for request in desk.requests] == [1, 1]


@pytest.mark.parametrize(
    ("trouble", "asked"),
    [
        pytest.param(ModelTrouble("rate_limited", retryable=True), 3, id="may pass"),
        pytest.param(ModelTrouble("refused"), 1, id="stays"),
    ],
)
def test_a_model_without_an_answer_ends_the_run(trouble: ModelTrouble, asked: int) -> None:
    """At once where asking again cannot help, else within the quota."""
    desk, log = Desk(()), MemoryLog()

    async def refuses(request: ModelRequest) -> None:
        raise trouble

    desk.asked = refuses
    assert desk.run(log).status == "failed"
    assert len(desk.requests) == asked


def test_the_wall_time_ends_a_run_in_the_midst_of_a_call() -> None:
    """Also where the steps have run out as well: the deadline passes once, and not over and over."""
    desk, log = Desk(LOOK, budget={"steps": 1, "wall_time": "300ms"}, **TALK), MemoryLog()
    desk.before = for_ever
    assert desk.run(log).status == "exhausted"
    assert events(log, DeadlinePassed, StopDecided) == [
        DeadlinePassed(which="wall_time"),
        StopDecided(status="exhausted", reason="wall_time", dimension="wall_time"),
    ]


def test_an_idle_run_hears_the_person_it_waits_for() -> None:
    """And goes on with the words; the last ones end it."""
    desk, log = Desk((reply("What?"), reply("Fine.")), dialogue=True, **TALK), MemoryLog()

    async def scenario() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(desk.arun, log)
            while "PersonAsked" not in kinds(list(log.read("run"))):
                await anyio.sleep(0.001)
            say(log, "run", "Tea.", at=NOON)
            while kinds(list(log.read("run"))).count("PersonAsked") < 2:
                await anyio.sleep(0.001)
            say(log, "run", "Bye.", at=NOON, last=True)

    anyio.run(scenario)
    assert fold(log.read("run")).end is not None
    assert desk.requests[1].messages[-1].content == "Tea."


WHOLE = MemoryLog()
UNINTERRUPTED = Desk()
RUN = UNINTERRUPTED.run(WHOLE)
CUTS = [append[-1].position for append in appends(RUN.records())][:-1]


@pytest.mark.parametrize("landed", [True, False], ids=["landed", "not landed"])
@pytest.mark.parametrize("cut", CUTS)
def test_a_run_cut_anywhere_ends_as_the_uninterrupted_one(cut: int, landed: bool) -> None:
    """No read whose observation is recorded is asked again, and an open write is reconciled, whatever came of it."""
    before = RUN.records()[:cut]
    log, desk = MemoryLog(), Desk()
    log.append("run", before, expected=0)
    open_write = [
        one for one in fold(before).requests.values() if isinstance(one, ToolCalled) and one.effect == "write"
    ]
    paid = [one for one in before if isinstance(one.event, EffectConfirmed)]
    if paid or (open_write and landed):
        desk.paid = dict(UNINTERRUPTED.paid)
    seen = [one.event.call for one in before if isinstance(one.event, ObservationReceived)]
    run = desk.run(log)
    assert (run.status, run.answer) == (RUN.status, RUN.answer)
    assert {key: one.value for key, one in run.facts.items()} == {key: one.value for key, one in RUN.facts.items()}
    assert desk.paid == UNINTERRUPTED.paid, "paid once, with the same key"
    calls = {1: "look tea", 2: "look milk", 3: "pay 1"}
    again = {calls[number] for number in seen} | ({"pay 1"} if open_write else set())
    assert not again & set(desk.started)
    assert sorted(desk.started) == sorted(set(desk.started)), "nothing twice"
    assert replay_records("run", run.records(), desk.agent.program).outcome == "same"


@pytest.mark.parametrize("cut", CUTS)
def test_a_run_cut_anywhere_is_finished_by_another_program(cut: int) -> None:
    """A deployment breaks no run in flight: what the old program asked the model is asked anew, as the new one asks."""
    log, other = MemoryLog(), Desk(model="another")
    log.append("run", RUN.records()[:cut], expected=0)
    other.paid = dict(UNINTERRUPTED.paid) if cut > CUTS[-4] else {}
    run = other.run(log)
    assert (run.status, run.answer) == (RUN.status, RUN.answer)
    assert {request.model for request in other.requests} == {"another"}


def test_the_limits_of_a_resumed_run_are_those_of_the_program_that_drives_it() -> None:
    """The old deadline passes, and nobody is woken by it: over and over, where the new limit is further away."""
    log, other = MemoryLog(), Desk(LOOK, budget={"wall_time": "1h"}, **TALK)
    first, *rest = Desk(LOOK, **TALK).run(MemoryLog()).records()
    assert isinstance(first.event, RunStarted)
    short = msgspec.structs.replace(first.event.contract, budget=Limits(wall_time_ms=20))
    first = msgspec.structs.replace(first, event=msgspec.structs.replace(first.event, contract=short))
    called = next(one.position for one in rest if isinstance(one.event, ToolCalled))
    log.append("run", [first, *rest][:called], expected=0)

    async def takes_longer(tool: str, call: Call) -> None:
        await anyio.sleep(0.05)

    other.before = takes_longer
    assert other.run(log).status == "finished"
    assert events(log, DeadlinePassed) == []


def test_a_second_worker_is_refused_while_the_first_is_alive() -> None:
    """The first renews its lease although it only waits, so the second gives up; and the first ends in peace."""
    desk, log, second = Desk(LOOK, **TALK), MemoryLog(), Desk(LOOK, **TALK)
    free = anyio.Event()

    async def waits(tool: str, call: Call) -> None:
        await free.wait()

    async def scenario() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(desk.arun, log, Patience(lease_s=1.0, look_s=0.01))
            await until(log, ToolCalled)
            with pytest.raises(LeaseHeld):
                await second.arun(log)
            free.set()

    desk.before = waits
    anyio.run(scenario)
    assert (second.started, second.requests) == ([], [])
    assert len(events(log, LeaseGranted)) == 1
    assert isinstance(list(log.read("run"))[-1].event, RunEnded)


def test_the_lease_is_renewed_while_answers_never_cease() -> None:
    """A worker that has no time to wait is alive all the same."""
    renewed: list[str] = []

    class Watched(MemoryLog):
        def hold(self, run_id: str, worker: str, *, ttl_s: float) -> Lease:
            renewed.append(worker)
            return super().hold(run_id, worker, ttl_s=ttl_s)

    turns = [reply("", use("look", item="tea")) for _ in range(20)]
    desk = Desk((*turns, reply("Done.")), **TALK)
    # A lease so short that it is due at each turn; and no look at the log in between.
    assert desk.run(Watched(), patience=Patience(lease_s=1e-6, look_s=60.0)).status == "finished"
    assert len(renewed) > len(turns)


def test_a_lease_that_has_lapsed_is_taken_over() -> None:
    """Nobody renews a dead worker's lease, so the run waits for its end and goes on."""
    desk, log = Desk(), MemoryLog()
    log.append("run", RUN.records()[: CUTS[2]], expected=0)
    log.hold("run", "dead", ttl_s=0.05)
    assert desk.run(log).status == "succeeded"
    assert [getattr(one, "epoch", 0) for one in events(log, LeaseGranted)] == [1, 2]


def test_a_worker_that_was_frozen_writes_nothing_more() -> None:
    """Its lease was taken and the run ended by another: what it learns when it wakes up it keeps to itself."""
    frozen, log, other = Desk(LOOK, **TALK), MemoryLog(), Desk(LOOK, **TALK)
    wakes = anyio.Event()

    async def sleeps(tool: str, call: Call) -> None:
        await wakes.wait()

    async def scenario() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(refused, frozen)
            await until(log, ToolCalled)
            (held,) = events(log, LeaseGranted)
            log.release("run", getattr(held, "worker", ""))
            await other.arun(log)
            wakes.set()

    async def refused(desk: Desk) -> None:
        with pytest.raises(LeaseHeld):
            await desk.arun(log, patience=Patience(lease_s=600.0, look_s=60.0))

    frozen.before = sleeps
    anyio.run(scenario)
    assert kinds(list(log.read("run"))).count("RunEnded") == 1
    assert isinstance(list(log.read("run"))[-1].event, RunEnded)
    assert other.started == ["look tea"]


def test_a_run_that_waits_for_the_disk_holds_up_no_other() -> None:
    """The event loop goes on meanwhile, so that many runs of a process can wait together."""
    goes_on = threading.Event()

    class Slow(MemoryLog):
        def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
            if expected:
                assert goes_on.wait(60)
            super().append(run_id, records, expected=expected)

    async def scenario() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(desk.arun, log)
            while not log.head("run").position:
                await anyio.sleep(0)
            goes_on.set()

    desk, log = Desk(LOOK, **TALK), Slow()
    anyio.run(scenario)
    assert isinstance(list(log.read("run"))[-1].event, RunEnded)


def test_a_worker_that_was_frozen_before_a_write_does_not_start_it() -> None:
    """Its lease was taken and given back meanwhile, so it is free again, but the run is no longer this worker's."""

    class Overtaken(MemoryLog):
        def hold(self, run_id: str, worker: str, *, ttl_s: float) -> Lease:
            state = fold(self.read(run_id))
            if [one for one in state.requests.values() if isinstance(one, ToolCalled)]:
                lease = Happened(lease_of(state, "other", desk.agent.program), NOON)
                without_waiting(write(self, desk.agent.program, state, lease))
            return super().hold(run_id, worker, ttl_s=ttl_s)

    desk, log = Desk(PAY), Overtaken()
    with pytest.raises(LeaseHeld):
        desk.run(log)
    assert desk.started == []
    assert events(log, EffectInDoubt) == [EffectInDoubt(call=1, why="worker lost")]


def test_a_killed_process_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    """`kill -9` in the midst of a payment that has landed: the same run id again goes on from the log."""
    log, starts = tmp_path / "runs.db", tmp_path / "starts"
    command = [sys.executable, "-m", "tests.killed", str(log), str(starts)]
    with subprocess.Popen(command, env=surroundings(), cwd=tmp_path) as first:
        while not starts.exists() or "landed" not in starts.read_text():
            assert first.poll() is None
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
    second = subprocess.run(command, env=surroundings(), cwd=tmp_path, check=True, capture_output=True, text=True)
    assert second.stdout == "succeeded: Paid 5.\n"
    assert starts.read_text().split("\n") == ["look tea", "look milk", "pay 1", "landed", ""]
    assert events(SqliteLog(log), EffectInDoubt) == [EffectInDoubt(call=3, why="worker lost")]
