"""Runs as they are staged: the desk in a world of its own, what goes wrong there, and who else has a word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import anyio

import redrive as rd
from order_status.desk import GOAL, POLICY, looking, make_agent
from order_status.script import Decide, look_up, scripted
from order_status.world import LATE, ORDERS, TENANT, Fault, Order, World
from redrive_events import EventLog, PersonAsked
from redrive_projections import RunState, fold

# Impatient only in how often it looks: what is really waited for is waited for as usual.
PATIENCE = rd.Patience(look_s=0.005, pause_s=0.01)

Event: TypeAlias = Callable[["Scene"], None]


@dataclass(kw_only=True)
class Scene:
    """One run under way, as those outside see it; ``seen`` are the questions to which somebody has come already."""

    log: EventLog
    run_id: str
    clock: rd.StillClock
    world: World
    seen: set[int] = field(default_factory=set)

    @property
    def state(self) -> RunState:
        """How the run stands."""
        return fold(self.log.read(self.run_id))

    def approvals(self) -> list[rd.Approval]:
        """The calls about which a person is asked, each once."""
        found = [one for one in rd.open_approvals(self.log, self.run_id) if one.position not in self.seen]
        self.seen |= {one.position for one in found}
        return found

    def asked(self, why: str) -> list[PersonAsked]:
        """What else a person is asked, each once."""
        found = {
            position: request
            for position, request in self.state.requests.items()
            if isinstance(request, PersonAsked) and request.why == why and position not in self.seen
        }
        self.seen |= found.keys()
        return list(found.values())


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A run of the desk in which something is otherwise.

    ``faults`` are those of requests to a tool, in order, ``meanwhile`` is what happens while one is under way,
    ``person`` looks at the run again and again, and ``slow_s`` is how long a lookup takes by the clock.
    """

    goal: str = GOAL
    decide: Decide = look_up
    contract: Callable[..., rd.Contract] = looking
    terms: Mapping[str, Any] = field(default_factory=dict)
    principal: str = "desk"
    tenant: str = TENANT
    policy: Path | None = POLICY
    grounded: bool = True
    orders: Mapping[str, Order] = field(default_factory=lambda: ORDERS | LATE)
    later: Mapping[str, Order] = field(default_factory=dict)
    faults: Mapping[str, tuple[Fault, ...]] = field(default_factory=dict)
    meanwhile: Mapping[str, Event] = field(default_factory=dict)
    person: Event | None = None
    memo: str = ""
    bank_knows: bool = True
    slow_s: float = 0.0
    mask: Callable[[], rd.Mask] | None = None

    def but(self, **otherwise: Any) -> Variant:
        """The same but for this."""
        return replace(self, **otherwise)

    def agent(self, world: World | None = None) -> rd.Agent:
        """The desk of this variant."""
        return make_agent(
            model=scripted(self.decide),
            world=world,
            contract=self.contract(**self.terms),
            policy=self.policy,
            mask=self.mask() if self.mask else None,
            grounded=self.grounded,
        )

    def world(self, clock: rd.StillClock) -> World:
        """A world in which nothing was done yet."""
        faults: dict[str, list[Fault]] = {tool: list(those) for tool, those in self.faults.items()}
        return World(
            orders=self.orders,
            memo=self.memo,
            later=self.later,
            faults=faults,
            bank_knows=self.bank_knows,
            clock=clock,
            slow_s=self.slow_s,
        )

    def run(self, log: EventLog | None = None, run_id: str = "run", world: World | None = None) -> rd.Run:
        """The run, in surroundings that never differ; in a log that has begun it, it goes on."""
        return anyio.run(self._staged, log or rd.MemoryLog(), run_id, world)

    async def _staged(self, log: EventLog, run_id: str, world: World | None) -> rd.Run:
        world = world or self.world(rd.StillClock())
        clock = world.clock
        assert isinstance(clock, rd.StillClock)
        scene = Scene(log=log, run_id=run_id, clock=clock, world=world)

        async def happens(event: Event, _: rd.Call) -> None:
            event(scene)

        world.meanwhile = {tool: partial(happens, event) for tool, event in self.meanwhile.items()}
        trouble: list[rd.RedriveError] = []
        async with anyio.create_task_group() as tasks:
            if self.person is not None:
                tasks.start_soon(_attending, self.person, scene)
            try:
                return await self._driven(scene)
            except rd.RedriveError as error:  # what leaves a group of tasks does so in a group of its own
                trouble.append(error)
            finally:
                tasks.cancel_scope.cancel()
        raise trouble[0]

    async def _driven(self, scene: Scene) -> rd.Run:
        with anyio.fail_after(30):
            return await self.agent(scene.world).arun(
                self.goal,
                principal=self.principal,
                tenant=self.tenant,
                log=scene.log,
                run_id=scene.run_id,
                patience=PATIENCE,
                surroundings=rd.Surroundings.fixed(scene.clock),
            )


async def _attending(person: Event, scene: Scene) -> None:
    while True:
        await anyio.sleep(PATIENCE.look_s)
        if scene.log.head(scene.run_id).position:
            person(scene)
