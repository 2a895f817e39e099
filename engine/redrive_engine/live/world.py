"""The world of a live run: models and tools as tasks, limits of time kept from outside, signals from the log."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Final, Self

import anyio

from redrive_engine.drive import drive, lease_of, state_of
from redrive_engine.live import children
from redrive_engine.live.asking import Means, ask
from redrive_engine.live.flights import Flight, Tasks
from redrive_engine.live.late import noted
from redrive_engine.live.pausing import Patience, pause_of
from redrive_engine.live.surroundings import now
from redrive_engine.loop import ACTING
from redrive_engine.masking import OPEN, Door
from redrive_engine.models import Model
from redrive_engine.program import Program
from redrive_engine.stating import UNSETTLED
from redrive_engine.tools import Tool
from redrive_engine.world import Happened, Waiting, World
from redrive_events import (
    Answer,
    CancelRequested,
    DeadlinePassed,
    EffectReconciled,
    EventLog,
    LeaseGranted,
    LeaseHeld,
    LeaseRevoked,
    ModelAsked,
    ModelFailed,
    ObservationReceived,
    ReconcileAsked,
    Request,
    SignalsHeard,
    ToolCalled,
)
from redrive_projections import OF_PEOPLE, Call, RunState

# What says that a run is no longer this worker's, or is to begin nothing more.
_TAKEN: Final = frozenset({LeaseGranted, LeaseRevoked, CancelRequested})
# How long between two looks at a lease that another worker holds.
_HELD_S: Final = 0.2


def unchanged(world: World) -> World:
    """The world as it is."""
    return world


class LiveWorld:
    """Use as an async context manager around `drive`; on leaving, what is still under way is abandoned.

    The world of a child run has the one of its parent ``above`` it, and is under the lease of the run at the top.
    ``through`` is what a child sees its world through, where something stands in the door of this one as well.
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
        door: Door = OPEN,
        through: Callable[[World], World] = unchanged,
    ) -> None:
        self._program, self._log, self._tools, self._model = program, log, tools, model
        self._patience = patience or Patience()
        self._above: LiveWorld | None = None
        self._door, self._through = door, through
        self._clock = clock  # of the run's own time; what is really waited for goes by `now`
        self._tasks = Tasks()
        self._flights: dict[int, Flight] = {}
        self._answers: dict[int, Answer] = {}
        self._running: defaultdict[int, set[object]] = defaultdict(set)
        self._lease: tuple[str, str, datetime] | None = None
        self._trouble: Exception | None = None
        self._landed = anyio.Event()
        self._waiting: Waiting

    async def __aenter__(self) -> Self:
        """Nothing is under way yet."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel what is under way, abandon what has not ended within the grace, and give the lease back."""
        try:
            await self._tasks.close(self._patience.grace_s)
        finally:
            if self._lease is not None and self._above is None:
                self._log.release(self._lease[0], self._lease[1])

    async def begin(self, state: RunState, worker: str) -> Happened:
        """Take the lease: at once where it is free, after it has lapsed where its holder does not renew it."""
        try:
            self._hold(state.run_id, worker)
        except LeaseHeld as held:
            while (wait := (held.until - now()).total_seconds()) > -0.1 and self._log.holder(self._top(state.run_id)):
                await anyio.sleep(min(wait + 0.11, _HELD_S))
            self._hold(state.run_id, worker)
            state = state_of(self._log, state.run_id)  # its holder may have gone on until then
        return Happened(lease_of(state, worker, self._program), self._clock())

    async def answer(self, waiting: Waiting) -> Happened:
        """Start what was asked for, and wait for the first thing that happens."""
        self._waiting = waiting
        if waiting.unheard:
            return Happened(SignalsHeard(), self._clock())
        self._start_all(waiting)
        while True:
            self._keep_lease(waiting)
            self._landed = anyio.Event()
            if self._trouble is not None:
                raise self._trouble
            if self._answers:
                position = next(iter(self._answers))
                answer = self._answers.pop(position)
                self._flights.pop(position)
                return Happened(answer, self._clock(), position)
            with anyio.move_on_after(self._seconds_to_wait(waiting)):
                await self._landed.wait()
            if not self._answers and self._trouble is None and (happened := self._look(waiting)) is not None:
                return happened

    def _start_all(self, waiting: Waiting) -> None:
        for position, request in waiting.requests.items():
            if position not in self._flights and type(request) not in OF_PEOPLE:
                self._start(position, request, waiting)
        if waiting.stopping:
            self._hurry(waiting)

    def _look(self, waiting: Waiting) -> Happened | None:
        """Whether a limit of time has passed or a signal has come in."""
        moment, at = now(), self._clock()
        for position, flight in self._flights.items():
            if flight.due is not None and moment >= flight.due:
                self._tasks.cancel(flight.task)
                del self._flights[position]
                begun = flight.begun or bool(self._running[getattr(flight.request, "call", 0)])
                return Happened(given_up(flight.request, stopping=waiting.stopping, begun=begun), at, position)
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

    def _start(self, position: int, request: Request, waiting: Waiting) -> None:
        """Set a request on its way; after a stop nothing starts but what brings the run to its end."""
        pause_s = pause_of(request, waiting, self._patience)
        flight = self._flights[position] = Flight(request, self._due(request, waiting, pause_s))
        if waiting.stopping and not isinstance(request, ReconcileAsked) and not self._is_begun(request, waiting):
            flight.due = now()
        else:
            flight.task = self._tasks.begin(self._fly(position, flight, waiting, pause_s))

    async def _fly(self, position: int, flight: Flight, waiting: Waiting, pause_s: float) -> None:
        """Bring an answer; one that comes when nobody waits for it any more is late, and so is an error."""
        request = flight.request
        try:
            if pause_s:
                await anyio.sleep(pause_s)
            while isinstance(request, ToolCalled) and _acts(request) and not self._may_begin(request):
                await anyio.sleep(self._patience.look_s)
            flight.begun = True  # and between here and the tool's function nobody else has a turn
            answer = await self._ask(request, waiting)
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
            if self._flights.get(position) is flight:
                self._trouble = error
        else:
            if self._flights.get(position) is flight:
                self._answers[position] = answer
            elif isinstance(answer, ObservationReceived):
                self._late(answer)
        self._landed.set()

    def _may_begin(self, request: ToolCalled) -> bool:
        """Whether a write may start at this very moment, which is looked at right before it does.

        Nothing of an earlier attempt runs here any more; the lease stands, and has stood since the last append:
        between two leases of this worker there may have been another's. Nobody has asked the run to stop, nor one above
        it. What is in the way the driver of the run will hear of.

        Raises:
            LeaseHeld: the run is another worker's by now.
        """
        waiting = self._waiting
        if waiting.stopping or self._running[request.call]:
            return False
        self._hold(waiting.run_id, waiting.worker)
        return not self._moved_on(waiting) and not self._is_taken_above()

    def _is_taken_above(self) -> bool:
        """Whether a run above this one is to stop, or another worker has taken it."""
        if (above := self._above) is None:
            return False
        waiting = above._waiting
        since = self._log.read(waiting.run_id, after=waiting.position)
        return waiting.stopping or any(type(one.event) in _TAKEN for one in since) or above._is_taken_above()

    def _late(self, seen: ObservationReceived) -> None:
        noted(self._log, self._waiting.run_id, seen, worker=self._waiting.worker, at=self._clock())

    async def _ask(self, request: Request, waiting: Waiting) -> Answer:
        if not isinstance(request, ToolCalled) or request.effect != "run":
            means = Means(self._program, self._tools, self._model, self._running, self._clock, self._late, self._door)
            return await ask(request, waiting, means)
        program = children.program_of(self._program, request)
        run_id = children.begin(self._log, waiting, request, program, at=self._clock())
        self._door.learn(self._log.read(run_id))
        world = self._below(program)
        async with world:
            seen = self._through(world)
            state = await drive(run_id, log=self._log, world=seen, program=program, worker=waiting.worker)
        return children.returned(request, state)

    def _below(self, program: Program) -> LiveWorld:
        """The world of a child run."""
        world = LiveWorld(
            program,
            log=self._log,
            tools=self._tools,
            model=self._model,
            patience=self._patience,
            clock=self._clock,
            door=self._door,
            through=self._through,
        )
        world._above, world._tasks = self, Tasks(self._tasks)
        return world

    def _is_begun(self, request: Request, waiting: Waiting) -> bool:
        """Whether it is a child run that a worker before has begun: it is driven on, to hear that it is to end."""
        if not isinstance(request, ToolCalled) or request.effect != "run":
            return False
        return self._log.head(children.child_id(waiting.run_id, request)).position > 0

    def _due(self, request: Request, waiting: Waiting, pause_s: float) -> datetime | None:
        match request:
            case ModelAsked():
                return now() + timedelta(seconds=pause_s + self._patience.model_s)
            case ToolCalled(timeout_ms=int() as limit):
                return now() + timedelta(milliseconds=limit)
            case ReconcileAsked():
                settles_s = self._settles_s(waiting.calls[request.call])
                return now() + timedelta(seconds=settles_s + self._patience.model_s)
            case _:
                return None

    def _settles_s(self, call: Call) -> float:
        """How long it may take until the tool of a call says that an attempt lands no more."""
        tool = self._tools.get(call.tool)
        settles_ms = tool.declaration.settles_ms if tool else None
        return (settles_ms or 0) / 1000

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
            finishes = isinstance(request, ReconcileAsked) or (_acts(request) and flight.begun)
            limit = grace if finishes else moment
            flight.due = limit if flight.due is None else min(flight.due, limit)

    def _moved_on(self, waiting: Waiting) -> bool:
        return self._log.head(waiting.run_id).position > waiting.position

    def _keep_lease(self, waiting: Waiting) -> None:
        """Renew the lease once a third of it is over, also while answers come so fast that there is no time to wait."""
        assert self._lease is not None
        due = now() >= self._lease[2] - timedelta(seconds=self._patience.lease_s * 2 / 3)
        if due and not self._moved_on(waiting):  # else it may have been revoked, and is not to be taken again
            self._hold(waiting.run_id, waiting.worker)

    def _hold(self, run_id: str, worker: str) -> None:
        run_id = self._top(run_id)
        lease = self._log.hold(run_id, worker, ttl_s=self._patience.lease_s)
        self._lease = (run_id, worker, lease.until)

    def _top(self, run_id: str) -> str:
        """The run at the top of the tree, whose lease holds for all of it."""
        return run_id if self._above is None else self._above._top(self._above._waiting.run_id)


def _acts(request: Request) -> bool:
    return isinstance(request, ToolCalled) and request.effect in ACTING


def given_up(request: Request, *, stopping: bool, begun: bool = True) -> Answer:
    """The answer to a request that was given up: by its own limit of time, or since the run is ending.

    Of a write that was never ``begun`` it is known that it did nothing.
    """
    match request:
        case ToolCalled() if stopping and not begun:
            return ObservationReceived(call=request.call, status="cancelled", content="Not begun: the run is ending.")
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
