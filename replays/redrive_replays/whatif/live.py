"""Who is really asked beyond the edge of a branch: the model, and tools only where each kind of them was asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from anyio.from_thread import BlockingPortal, start_blocking_portal

from redrive_engine import Agent, Happened, LiveWorld, Patience, Program, Surroundings, Waiting
from redrive_engine.loop import ACTING
from redrive_engine.masking import Door
from redrive_engine.models import connected, metered
from redrive_events import BadInput, MemoryLog, ModelAsked, ReconcileAsked, Record, Request, ToolCalled
from redrive_projections import RunState
from redrive_replays.beginning import Beginning
from redrive_replays.recording import keep

Kind: TypeAlias = Literal["model", "reads", "writes"]

# Who holds the lease of a branch in the log that nobody keeps.
WORKER: Final = "what-if"
# What is assumed of an answer that is had now.
LIVES: Final[dict[type, str]] = {
    ModelAsked: "the model says now what it would have said then",
    ToolCalled: "call {request.call} of {request.tool} is answered now as it would have been then",
    ReconcileAsked: "the authority says now of call {request.call} what it would have said then",
}


@dataclass(frozen=True, slots=True)
class Live:
    """Whose model and tools answer what the recording surely does not, and which ``kinds`` of them are asked.

    Writes act for real and are not undone, so they need to be told twice: with ``effects_are_real``.

    Raises:
        BadInput: writes were not told twice.
    """

    agent: Agent
    kinds: Collection[Kind] = frozenset[Kind]({"model"})
    effects_are_real: bool = False
    patience: Patience = field(default_factory=Patience)
    clock: Callable[[], datetime] = field(default_factory=lambda: Surroundings().now)

    def __post_init__(self) -> None:
        """Refuse to act where that was said once alone, or for nothing."""
        check_told_twice(self.kinds, effects_are_real=self.effects_are_real)

    def asks(self, request: Request) -> bool:
        """Whether this request may be put to the living world; a child run, which may do anything, is not."""
        if isinstance(request, ModelAsked):
            return "model" in self.kinds
        tool = self.agent.tools.get(request.tool) if isinstance(request, ToolCalled) else None
        if tool is None or not isinstance(request, ToolCalled):
            return False
        acts = request.effect in ACTING or tool.declaration.effect in ACTING
        return request.effect != "run" and ("writes" if acts else "reads") in self.kinds


def check_told_twice(kinds: Collection[Kind], *, effects_are_real: bool) -> None:
    """Writes are asked for with their kind, and that they are real.

    Raises:
        BadInput: it was said once alone.
    """
    if "writes" in kinds and not effects_are_real:
        raise BadInput("it acts for real, which no replay undoes: say --effects-are-real too", place="--live writes")
    if effects_are_real and "writes" not in kinds:
        raise BadInput("nothing acts without --live writes", place="--effects-are-real")


class Asking:
    """A living world whose clock goes by the time of the branch, and whose log nobody keeps."""

    def __init__(self, live: Live, portal: BlockingPortal) -> None:
        self.live, self.log = live, MemoryLog()
        self._portal = portal
        self._ahead: timedelta | None = None
        self._world: LiveWorld

    def begin(self, world: LiveWorld, begins: Beginning) -> None:
        """Take the run up in the log that nobody keeps, behind what it inherits."""
        self._world = world
        keep(self.log, begins.inherited)
        self._portal.call(world.begin, RunState(run_id=begins.run_id), WORKER)

    def clock(self) -> datetime:
        """The time of the branch, which goes on while somebody is waited for."""
        return self.live.clock() + (self._ahead or timedelta())

    def take(self, records: Sequence[Record]) -> None:
        """What the branch has come to, for those who look into its log while they act."""
        keep(self.log, records)

    def answer(self, waiting: Waiting, at: datetime) -> Happened:
        """The first answer to one of the open requests of ``waiting``, or that its deadline has passed."""
        ahead = at - self.live.clock()
        self._ahead = ahead if self._ahead is None else max(self._ahead, ahead)
        return self._portal.call(self._world.answer, dataclasses.replace(waiting, worker=WORKER, unheard=False))


@contextmanager
def asking(live: Live | None, program: Program, begins: Beginning, door: Door) -> Iterator[Asking | None]:
    """The living world of a branch, connected for as long as the context lasts; None if nobody is asked."""
    if live is None:
        yield None
        return
    agent = live.agent
    with start_blocking_portal() as portal:
        found = Asking(live, portal)
        model = metered(agent.model, agent.prices, program.terms)
        with portal.wrap_async_context_manager(connected(model)) as ready:
            world = LiveWorld(
                program,
                log=found.log,
                tools=agent.tools,
                model=ready,
                patience=live.patience,
                clock=found.clock,
                door=door,
            )
            with portal.wrap_async_context_manager(world):
                found.begin(world, begins)
                yield found
