"""A replay under guard: whatever a pure part asks of the outside is found, with the part and the place."""
# ruff: noqa: ARG001 - what is forbidden is done here, to be found

from __future__ import annotations

import dataclasses
import os
import random
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from redrive_engine import Program
from redrive_engine.dialects import DIALECTS, Decision, Unreadable
from redrive_engine.models import reply, use
from redrive_engine.policy import Question, Ruling
from redrive_engine.tools import Call
from redrive_engine.verifiers import Facts, verifier
from redrive_events import Content, Record, Terms
from redrive_replays import replay_records
from redrive_replays.guarded import guarding
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
