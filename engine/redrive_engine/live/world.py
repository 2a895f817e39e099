"""The world of a live run: models and tools as tasks, limits of time kept from outside, signals from the log."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from redrive_engine.drive import drive, lease_of, state_of
from redrive_engine.live import children
from redrive_engine.live.asking import UNSETTLED, Means, ask
from redrive_engine.live.pausing import Patience, pause_of
from redrive_engine.live.surroundings import now
from redrive_engine.loop import ACTING
from redrive_engine.models import Model
from redrive_engine.program import Program
from redrive_engine.tools import Tool
from redrive_engine.world import Happened, Waiting
from redrive_events import (
    Answer,
    DeadlinePassed,
    EffectReconciled,
    EventLog,
    LeaseHeld,
    ModelAsked,
    ModelFailed,
    ObservationReceived,
    ReconcileAsked,
    Request,
    SignalsHeard,
    ToolCalled,
)
from redrive_projections import OF_PEOPLE, RunState


@dataclass
class _Flight:
    """An open request under way, and when it is given up."""

    request: Request
    scope: anyio.CancelScope
    due: datetime | None
    stopped: bool = False


class LiveWorld:
    """Use as an async context manager around `drive`; on leaving, what is still under way is abandoned.

    The world of a child run is under the lease of the run at the top of its tree.
    """

    def __init__(
        self,
        program: Program,
        *,
        log: EventLog,
        tools: Mapping[str, Tool],
        model: Model,
        patience: Patience | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._program, self._log, self._tools, self._model = program, log, tools, model
        self._patience = patience or Patience()
        self._root = ""  # of a child run: the run at the top of its tree
        self._clock = clock  # of the run's own time; what is really waited for goes by `now`
        self._flights: dict[int, _Flight] = {}
        self._answers: dict[int, Answer] = {}
        self._running: defaultdict[int, set[object]] = defaultdict(set)
        self._lease: tuple[str, str, datetime] | None = None
        self._landed: anyio.Event
        self._group: TaskGroup

    async def __aenter__(self) -> Self:
        """Open the scope in which requests are under way."""
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Abandon what is under way, and give the lease back; one error comes out as it is, in no group."""
        self._group.cancel_scope.cancel()
        try:
            if isinstance(error, Exception):
                await self._group.__aexit__(None, None, None)
                return None
            return await self._group.__aexit__(kind, error, trace)
        except ExceptionGroup as group:
            if len(group.exceptions) > 1:
                raise
            only = group.exceptions[0]
            raise only from (only.__cause__ or only.__context__)
        finally:
            if self._lease is not None and not self._root:
                self._log.release(self._lease[0], self._lease[1])

    async def begin(self, state: RunState, worker: str) -> Happened:
        """Take the lease: at once where it is free, after it has lapsed where its holder does not renew it."""
        try:
            self._hold(state.run_id, worker)
        except LeaseHeld as held:
            while (wait := (held.until - now()).total_seconds()) > -0.1:
                await anyio.sleep(wait + 0.11)
            self._hold(state.run_id, worker)
            state = state_of(self._log, state.run_id)  # its holder may have gone on until then
        return Happened(lease_of(state, worker, self._program), self._clock())

    async def answer(self, waiting: Waiting) -> Happened:
        """Start what was asked for, and wait for the first thing that happens."""
        if waiting.unheard:
            return Happened(SignalsHeard(), self._clock())
        for position, request in waiting.requests.items():
            waits = position in self._flights or type(request) in OF_PEOPLE
            if not waits and not self._start(position, request, waiting):
                return Happened(SignalsHeard(), self._clock())
        if waiting.stopping:
            self._hurry(waiting)
        while True:
            self._keep_lease(waiting)
            self._landed = anyio.Event()
            if self._answers:
                position = next(iter(self._answers))
                answer = self._answers.pop(position)
                self._flights.pop(position)
                return Happened(answer, self._clock(), position)
            with anyio.move_on_after(self._seconds_to_wait(waiting)):
                await self._landed.wait()
            if not self._answers and (happened := self._look(waiting)) is not None:
                return happened

    def _look(self, waiting: Waiting) -> Happened | None:
        """Whether a limit of time has passed or a signal has come in."""
        moment, at = now(), self._clock()
        for position, flight in self._flights.items():
            if flight.due is not None and moment >= flight.due:
                flight.scope.cancel()
                del self._flights[position]
                return Happened(given_up(flight.request, stopping=waiting.stopping), at, position)
        if waiting.deadline is not None and at >= waiting.deadline:
            return Happened(DeadlinePassed(which=waiting.limit), at)
        if self._moved_on(waiting):
            return Happened(SignalsHeard(), at)  # its append is refused, and on the new state it is heard
        return None

    def _seconds_to_wait(self, waiting: Waiting) -> float:
        moment = now()
        waits = [flight.due - moment for flight in self._flights.values() if flight.due is not None]
        if waiting.deadline is not None:
            waits.append(waiting.deadline - self._clock())
        soonest = min((wait.total_seconds() for wait in waits), default=math.inf)
        return max(0.0, min(soonest, self._patience.look_s))

    def _start(self, position: int, request: Request, waiting: Waiting) -> bool:
        """Set a request on its way, unless it is a write and the log has moved on.

        Right before a write starts the lease must stand, and must have stood since the last append: between two leases
        of this worker there may have been another's.
        """
        if waiting.stopping and not isinstance(request, ReconcileAsked) and not self._is_begun(request, waiting):
            self._flights[position] = _Flight(request, anyio.CancelScope(), now())  # nothing starts after a stop
            return True
        if _acts(request):
            self._hold(waiting.run_id, waiting.worker)
            if self._moved_on(waiting):
                return False
        pause_s = pause_of(request, waiting, self._patience)
        flight = _Flight(request, anyio.CancelScope(), self._due(request, pause_s))
        self._flights[position] = flight
        self._group.start_soon(self._fly, position, flight, waiting, pause_s)
        return True

    async def _fly(self, position: int, flight: _Flight, waiting: Waiting, pause_s: float) -> None:
        with flight.scope:
            if pause_s:
                await anyio.sleep(pause_s)
            answer = await self._ask(flight.request, waiting)
            if self._flights.get(position) is flight:  # else it was given up, and comes too late
                self._answers[position] = answer
                self._landed.set()

    async def _ask(self, request: Request, waiting: Waiting) -> Answer:
        if not isinstance(request, ToolCalled) or request.effect != "run":
            means = Means(self._program, self._tools, self._model, self._running, self._clock)
            return await ask(request, waiting, means)
        program = children.program_of(self._program, request)
        run_id = children.begin(self._log, waiting, request, program, at=self._clock())
        world = LiveWorld(
            program,
            log=self._log,
            tools=self._tools,
            model=self._model,
            patience=self._patience,
            clock=self._clock,
        )
        world._root = self._root or waiting.run_id
        async with world:
            state = await drive(run_id, log=self._log, world=world, program=program, worker=waiting.worker)
        return children.returned(request, state)

    def _is_begun(self, request: Request, waiting: Waiting) -> bool:
        """Whether it is a child run that a worker before has begun: it is driven on, to hear that it is to end."""
        if not isinstance(request, ToolCalled) or request.effect != "run":
            return False
        return self._log.head(children.child_id(waiting.run_id, request)).position > 0

    def _due(self, request: Request, pause_s: float) -> datetime | None:
        match request:
            case ModelAsked():
                return now() + timedelta(seconds=pause_s + self._patience.model_s)
            case ToolCalled(timeout_ms=int() as limit):
                return now() + timedelta(milliseconds=limit)
            case ReconcileAsked():
                return now() + timedelta(seconds=self._patience.model_s)
            case _:
                return None

    def _hurry(self, waiting: Waiting) -> None:
        """The run is ending: reads and model requests are given up at once, writes may finish within the grace.

        A child is asked to end, and has its own grace for that.
        """
        moment = now()
        grace = moment + timedelta(seconds=self._patience.grace_s)
        for flight in self._flights.values():
            request = flight.request
            if isinstance(request, ToolCalled) and request.effect == "run":
                if not flight.stopped:
                    flight.stopped = True
                    children.stop(self._log, waiting, request, at=self._clock())
                continue
            limit = grace if isinstance(request, ReconcileAsked) or _acts(request) else moment
            flight.due = limit if flight.due is None else min(flight.due, limit)

    def _moved_on(self, waiting: Waiting) -> bool:
        return self._log.head(waiting.run_id).position > waiting.position

    def _keep_lease(self, waiting: Waiting) -> None:
        """Renew the lease once a third of it is over, also while answers come so fast that there is no time to wait."""
        assert self._lease is not None
        if now() >= self._lease[2] - timedelta(seconds=self._patience.lease_s * 2 / 3):
            self._hold(waiting.run_id, waiting.worker)

    def _hold(self, run_id: str, worker: str) -> None:
        run_id = self._root or run_id
        lease = self._log.hold(run_id, worker, ttl_s=self._patience.lease_s)
        self._lease = (run_id, worker, lease.until)


def _acts(request: Request) -> bool:
    return isinstance(request, ToolCalled) and request.effect in ACTING


def given_up(request: Request, *, stopping: bool) -> Answer:
    """The answer to a request that was given up: by its own limit of time, or since the run is ending."""
    match request:
        case ToolCalled(effect="read" | "run") if stopping:
            return ObservationReceived(call=request.call, status="cancelled", content="Cancelled: the run is ending.")
        case ToolCalled() if stopping:
            return ObservationReceived(call=request.call, status="unknown", content="The outcome is not known.")
        case ToolCalled():
            words = f"No answer within {request.timeout_ms} ms."
            return ObservationReceived(call=request.call, status="timeout", content=words)
        case ReconcileAsked():
            return EffectReconciled(call=request.call, outcome="unknown", content=UNSETTLED["unknown"])
        case _:
            return ModelFailed(kind="cancelled" if stopping else "timeout", retryable=not stopping)
