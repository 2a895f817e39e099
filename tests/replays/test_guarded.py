"""A replay under guard: whatever a pure part asks of the outside is found, with the part and the place."""
# ruff: noqa: ARG001 - what is forbidden is done here, to be found

from __future__ import annotations

import dataclasses
import os
import random
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import BuiltinFunctionType

import pytest

from redrive_engine import Program
from redrive_engine.dialects import DIALECTS, Decision, Unreadable
from redrive_engine.models import reply, use
from redrive_engine.policy import Question, Ruling
from redrive_engine.tools import Call
from redrive_engine.verifiers import Facts, verifier
from redrive_events import Content, MemoryLog, Record, Terms
from redrive_replays import replay_records
from redrive_replays.guarded import guarding
from tests.replays.reaching import INNOCENT, ODD
from tests.scenarios import Scenario, examples
from tests.shop import TOOLS, recorded, seen, shop


@dataclass(frozen=True)
class Reaching:
    """A policy that allows all, and reaches outside before it does."""

    reach: Callable[[], object]
    digest: str = "d"
    wording: str = "w"
    data: None = None

    def judge(self, question: Question) -> Ruling:
        """Whatever is asked."""
        self.reach()
        return Ruling("allow", "all")


def run(program: Program) -> list[Record]:
    """A run with one call."""
    return recorded(program, reply("", use("count", item="tea")), seen(1, 3), reply("Three."))


def child() -> None:
    """A process."""
    subprocess.run([sys.executable, "-c", ""], check=True)


def connected() -> None:
    """A socket, which is never connected."""
    socket.socket().close()


@pytest.mark.parametrize(
    ("reach", "outside", "function"),
    [
        pytest.param(time.time, "clock", "time.time", id="time"),
        pytest.param(time.monotonic, "clock", "time.monotonic", id="monotonic"),
        pytest.param(lambda: datetime.now(UTC), "clock", "datetime.datetime.now", id="now"),
        pytest.param(random.random, "chance", "random.Random.random", id="random"),
        pytest.param(lambda: random.choice("ab"), "chance", "random.Random.getrandbits", id="choice"),
        pytest.param(uuid.uuid4, "chance", "posix.urandom", id="uuid"),
        pytest.param(lambda: os.environ.get("HOME"), "environment", "os.environ", id="environ"),
        pytest.param(lambda: os.getenv("HOME"), "environment", "os.environ", id="getenv"),
        pytest.param(lambda: Path(__file__).read_bytes(), "file", f"open {__file__}", id="file"),
        pytest.param(lambda: list(Path().iterdir()), "file", "os.listdir", id="folder"),
        pytest.param(connected, "network", "socket.__new__", id="socket"),
        pytest.param(child, "process", "_posixsubprocess.fork_exec", id="process"),
    ],
)
def test_a_policy_that_reaches_outside_is_found(reach: Callable[[], object], outside: str, function: str) -> None:
    """With what it asked for, by which function, at which input of the run."""
    program = shop(Terms(), policy=Reaching(reach))
    report = replay_records("run", run(program), program, guard=guarding())
    assert report.exit_code == 1
    assert {(one.part, one.position) for one in report.reaches} == {("policy", 4)}
    assert outside in {one.outside for one in report.reaches}
    assert any(one.function.startswith(function) for one in report.reaches), report.reaches


@pytest.mark.parametrize("odd", ODD)
def test_it_is_found_in_whatever_way_it_is_asked(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By functions of C that call others, and by those that few think of."""
    monkeypatch.setenv("REDRIVE_ODD", "0")
    reach, outside, function = ODD[odd]
    program = shop(Terms(), policy=Reaching(reach))
    report = replay_records("run", recorded_calmly(), program, guard=guarding())
    assert any(one.outside == outside and one.function.startswith(function) for one in report.reaches), report.reaches
    assert {one.tool for one in report.reaches} == {"count"}


def recorded_calmly() -> list[Record]:
    """A run under a policy of the same name that reaches for nothing."""
    return run(shop(Terms(), policy=Reaching(lambda: None)))


@pytest.mark.parametrize("innocent", INNOCENT)
def test_what_hangs_on_nothing_but_what_is_given_is_no_finding(innocent: str) -> None:
    """Although much of it is near the clock, has a lock, or is loaded when it is first needed."""
    guard = guarding()
    report = replay_records("run", recorded_calmly(), shop(Terms(), policy=Reaching(INNOCENT[innocent])), guard=guard)
    assert (report.outcome, report.reaches) == ("same", ())
    assert "policy" in {one.part for one in guard.said}


@pytest.mark.parametrize("scenario", examples(), ids=lambda one: one.module)
def test_no_example_reaches_outside(scenario: Scenario) -> None:
    """Their policies, verifiers and models of arguments are pure."""
    run = scenario.agent.run(scenario.goal, log=MemoryLog(), run_id="run", principal="ana")
    guard = guarding()
    report = replay_records("run", list(run.records()), scenario.agent.program, guard=guard)
    assert report.reaches == ()
    assert guard.said


def test_what_another_thread_does_is_nobodys_business() -> None:
    """Also while a part is at work: a program may have threads of its own."""
    begun, done = threading.Event(), threading.Event()

    def elsewhere() -> None:
        begun.wait()
        Path(__file__).read_bytes()
        time.time()
        done.set()

    def slow() -> None:
        begun.set()
        done.wait()

    other = threading.Thread(target=elsewhere)
    other.start()
    report = replay_records("run", recorded_calmly(), shop(Terms(), policy=Reaching(slow)), guard=guarding())
    other.join()
    assert report.reaches == ()


def test_doors_are_taken_out_again() -> None:
    """Whoever looks a function up after a replay gets the function itself."""
    looked: list[object] = []
    program = shop(Terms(), policy=Reaching(lambda: looked.append(time.time)))
    replay_records("run", recorded_calmly(), program, guard=guarding())
    assert type(looked[0]) is not BuiltinFunctionType
    assert (type(time.time), type(print), type(random.random)) == (BuiltinFunctionType,) * 3


@verifier(TOOLS["count"], commits=["stock"])
def punctual(call: Call, seen: int, facts: Facts) -> Facts:
    """A verifier with an eye on the clock."""
    return {"stock": seen} if time.time() > 0 else {}


class Gambling:
    """A dialect that leaves it to chance how it reads, and reads as always."""

    name = "native"

    def read(self, content: Content) -> Decision | Unreadable:
        """The same decision."""
        random.random()
        return DIALECTS["native"].read(content)


def test_verifiers_and_dialects_are_watched_too() -> None:
    """Each by its name."""
    program = dataclasses.replace(shop(Terms()), verifiers=(punctual,), dialects={"native": Gambling()})
    report = replay_records("run", run(program), program, guard=guarding())
    found = {(one.part, one.outside, one.position) for one in report.reaches}
    reads = {("dialect native", "chance", position) for position in (4, 12)}
    assert found == {*reads, ("verifier punctual", "clock", 8)}


def test_a_pure_program_reaches_for_nothing() -> None:
    """All of the engine's own parts at work, and the replay is the same with and without a guard."""
    program = shop(Terms())
    records = run(program)
    guarded = replay_records("run", records, program, guard=guarding())
    assert guarded == replay_records("run", records, program)
    assert (guarded.reaches, guarded.exit_code) == ((), 0)


def test_what_is_done_outside_a_part_is_nobodys_business() -> None:
    """The guard is deaf while no part is at work."""
    guard = guarding()
    program = guard.over(shop(Terms()))
    time.time()
    Path(__file__).read_bytes()
    assert guard.reaches == []
    assert program.digests == shop(Terms()).digests
