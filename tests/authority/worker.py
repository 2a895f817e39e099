"""One life of a worker that pays at the authority: it may be killed or frozen at any point of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, TypeAlias

import anyio

from redrive_engine.agent import Agent
from redrive_engine.contract import Contract
from redrive_engine.live import Patience
from redrive_engine.models import ScriptedModel, reply, use
from redrive_engine.tools import Call, Landed, NotLanded, ToolError, tool
from redrive_events import LeaseHeld, ObservationReceived, Record, SqliteLog, ToolCalled

# A payment is given up after this time; the authority may take longer, and answer all the same.
TIMEOUT: Final = "150ms"
# The authority lands nothing later than this after the request, if it is not fenced.
SETTLES: Final = "800ms"
PATIENCE: Final = Patience(model_s=10.0, grace_s=2.0, lease_s=0.15, look_s=0.01)
FAULTS: Final = ("", "", "before", "after", "slow", "twice", "refuses")

Point: TypeAlias = Literal["", "requested", "begun", "sent", "answered"]
Act: TypeAlias = Literal["kill", "stop"]
ENDED, HELD = 0, 3


@dataclass(frozen=True)
class Life:
    """Where in a life the worker is killed, or frozen, once; without a point it lives on."""

    point: Point = ""
    act: Act = "kill"
    once: list[Point] = field(default_factory=list)

    def reached(self, point: Point) -> None:
        """Whoever gets here is killed, or stands still until somebody thaws it."""
        if point and point == self.point and not self.once:
            self.once.append(point)
            os.kill(os.getpid(), signal.SIGKILL if self.act == "kill" else signal.SIGSTOP)


@dataclass(frozen=True)
class Round:
    """What all lives of a round have in common: what the authority honours, and how it fails."""

    seed: str
    folder: Path
    socket: str
    honours: Literal["key", "epoch"]
    is_async: bool
    payments: int

    def fault(self, call: Call) -> str:
        """How the authority treats an attempt; a network that brings things twice needs one that honours keys."""
        fault = Random(f"{self.seed}:{call.number}:{call.attempt}").choice(FAULTS)
        return "" if fault == "twice" and self.honours == "epoch" else fault

    def note(self, what: str, call: Call) -> None:
        """A line of the journal, which outlives the worker."""
        line = f"{what} {call.key} {call.epoch} {call.attempt} {os.getpid()} {time.monotonic()}\n"
        file = os.open(self.folder / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line.encode())
        os.close(file)

    def agent(self, life: Life) -> Agent:
        """An agent that pays, and asks what became of it."""
        settings: dict[str, Any] = {"fenced": True} if self.honours == "epoch" else {"settles_within": SETTLES}

        def pay(cents: int, *, call: Call) -> int:
            with self.noted(call):
                life.reached("begun")
                return paid(self.asked("pay", call, life, cents=cents, fault=self.fault(call)))

        async def pay_async(cents: int, *, call: Call) -> int:
            with self.noted(call):
                life.reached("begun")
                return paid(await self.asked_async("pay", call, life, cents=cents, fault=self.fault(call)))

        paying = tool(effect="write", name="pay", timeout=TIMEOUT, **settings)(pay_async if self.is_async else pay)

        @paying.reconcile
        def was_paid(call: Call) -> Landed[int] | NotLanded:
            found = self.asked("find", call, Life())["paid"]
            return Landed(call.arguments["cents"]) if found else NotLanded()

        calls = [use("pay", cents=number) for number in range(1, self.payments + 1)]
        return Agent(
            "payer",
            "1",
            Contract(on_doubt="tell", attempts=3),
            tools=[paying],
            model=ScriptedModel((reply("", *calls), reply("Done."))),
        )

    @contextmanager
    def noted(self, call: Call) -> Iterator[None]:
        """Note in the journal when it starts and ends."""
        self.note("starts", call)
        try:
            yield
        finally:
            self.note("ends", call)

    def asked(self, op: str, call: Call, life: Life, **more: Any) -> dict[str, Any]:
        """What the authority answers.

        Raises:
            ConnectionError: it hung up without a word.
        """
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(self.socket)
            line.sendall(self._request(op, call, more))
            life.reached("sent" if op == "pay" else "")
            return said(line.makefile("rb").readline())

    async def asked_async(self, op: str, call: Call, life: Life, **more: Any) -> dict[str, Any]:
        """The same, without a thread; if it is cancelled the request is on its way all the same."""
        async with await anyio.connect_unix(self.socket) as line:
            await line.send(self._request(op, call, more))
            life.reached("sent")
            try:
                return said(await line.receive())
            except anyio.EndOfStream:
                return said(b"")

    def _request(self, op: str, call: Call, more: dict[str, Any]) -> bytes:
        request = {"op": op, "key": call.key, "epoch": call.epoch, "honours": self.honours, **more}
        return json.dumps(request).encode() + b"\n"


def said(answer: bytes) -> dict[str, Any]:
    """The answer, read.

    Raises:
        ConnectionError: there is none.
    """
    if not answer:
        raise ConnectionError("it hung up")
    found: dict[str, Any] = json.loads(answer)
    return found


def paid(answer: dict[str, Any]) -> int:
    """What was paid.

    Raises:
        ToolError: nothing was.
    """
    if "error" in answer:
        raise ToolError(answer["error"])
    return int(answer["paid"])


class MortalLog(SqliteLog):
    """A log whose worker is killed or frozen behind an append of some kind."""

    life = Life()

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Write, and die, or stand still."""
        super().append(run_id, records, expected=expected)
        if any(isinstance(one.event, ToolCalled) for one in records):
            self.life.reached("requested")
        if any(isinstance(one.event, ObservationReceived) for one in records):
            self.life.reached("answered")


def live(round_: Round, life: Life) -> int:
    """Begin the run, or go on with it; how that ended."""
    log = MortalLog(round_.folder / "runs.db")
    log.life = life
    try:
        round_.agent(life).run("Pay", log=log, run_id="run", patience=PATIENCE)
    except LeaseHeld:
        return HELD
    return ENDED
