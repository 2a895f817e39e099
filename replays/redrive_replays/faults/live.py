"""An agent set upon a goal in a throwaway log, with a fault in the door of its world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Final, Literal, TypeAlias

import anyio

from redrive_engine import (
    Agent,
    Happened,
    LiveWorld,
    Mask,
    Patience,
    Program,
    StillClock,
    Surroundings,
    Tool,
    Waiting,
    World,
    drive,
)
from redrive_engine.loop import ACTING
from redrive_engine.models import Model, Prices, connected, metered
from redrive_events import (
    ApprovalAsked,
    ApprovalGiven,
    BadInput,
    CancelRequested,
    DeadlinePassed,
    MemoryLog,
    ModelAsked,
    RedriveError,
    Request,
)
from redrive_projections import OF_PEOPLE, RunState
from redrive_replays.faults.course import Course, trajectory_of
from redrive_replays.faults.tampering import Tampering
from redrive_replays.programs import program_for

Approvals: TypeAlias = Literal["none", "grant", "refuse"]
# For as long as a run lasts: the model that answers in place of an agent's own, and what it costs; None is the agent's.
Answering: TypeAlias = Callable[[Agent], AbstractContextManager[tuple[Model | None, Prices | Path | None]]]

# How long an answer takes by the run's own clock, which stands still otherwise; when half of all requests that there
# may be were asked, each takes an hour, so that a run which is ended by its time alone is seen to end.
MODEL_S: Final = 1.0
TOOL_S: Final = 0.1
LATE_S: Final = 3_600.0
# Pauses are taken by the run's own clock, too.
PATIENCE: Final = Patience(grace_s=1.0, look_s=0.005, pause_s=0.0, pause_max_s=0.0)
BY: Final = "faults"


class Endless(Exception):
    """A run asked and asked, and came to no end."""


def _own(_: Agent) -> AbstractContextManager[tuple[None, None]]:
    return nullcontext((None, None))


@dataclass(frozen=True)
class Setting:
    """How an agent is set upon a goal, the same way every time: ``make`` gives the agent, anew if it can.

    ``stand_ins`` are tools that are called in place of the agent's own of the same names; with ``writes`` those of its
    own that may act are called, too. ``approvals`` is what becomes of a call that a person is asked about, and
    ``answering`` gives the model that answers.
    """

    make: Callable[[], Agent]
    goal: str
    principal: str = ""
    tenant: str = ""
    mask: Mask | None = None
    stand_ins: Sequence[Tool] = ()
    writes: bool = False
    approvals: Approvals = "none"
    start: datetime | None = None
    answering: Answering = _own

    def tools(self, agent: Agent) -> Mapping[str, Tool]:
        """What is called.

        Raises:
            BadInput: a stand-in is for no tool of the agent; or a tool that may act is one of its own, and it was not
                said that it may be called.
        """
        standing = {tool.declaration.name: tool for tool in self.stand_ins}
        for name in sorted(standing.keys() - agent.tools.keys()):
            there_are = ", ".join(sorted(agent.tools)) or "none"
            raise BadInput(f"it stands in for no tool of the agent; there are {there_are}", place=f"tool {name}")
        own = [name for name, tool in agent.tools.items() if name not in standing and _acts(tool)]
        if own and not self.writes:
            problem = f"it would really be called: {', '.join(own)}; give --call-writes, or --stand-in for it"
            raise BadInput(problem, place=f"agent {agent.name}")
        return {**agent.tools, **standing}


def _acts(tool: Tool) -> bool:
    return tool.declaration.effect in ACTING


class FaultyWorld:
    """A world with a fault in its door. One request is answered after the other, so that the order is always one."""

    def __init__(self, world: World, *, tampering: Tampering, clock: StillClock, approvals: Approvals) -> None:
        self._world, self._tampering, self._clock, self._approvals = world, tampering, clock, approvals

    async def begin(self, state: RunState, worker: str) -> Happened:
        """As it is behind the door."""
        return await self._world.begin(state, worker)

    async def answer(self, waiting: Waiting) -> Happened:
        """The answer to the first open request, or what a fault makes of it.

        Raises:
            Endless: too much was asked.
        """
        asked = {place: one for place, one in sorted(waiting.requests.items()) if type(one) not in OF_PEOPLE}
        if waiting.unheard:
            return await self._world.answer(waiting)
        if not asked:
            return self._nobody(waiting)
        position, request = next(iter(asked.items()))
        if waiting.stopping:
            return await self._world.answer(replace(waiting, requests={position: request}))
        return await self._answered(waiting, position, request)

    async def _answered(self, waiting: Waiting, position: int, request: Request) -> Happened:
        if self._tampering.endless:
            raise Endless(self._tampering.endless)
        run_id = waiting.run_id
        if (spoilt := self._tampering.before(run_id, position, request, self._clock())) is not None:
            self._clock.move(spoilt.took_s + self._usual_s(request))
            return Happened(spoilt.answer, self._clock(), position)
        happened = await self._world.answer(replace(waiting, requests={position: request}))
        if happened.cause != position:
            return happened
        self._clock.move(self._usual_s(request))
        spoilt = self._tampering.behind(run_id, position, request, happened.event, self._clock())  # type: ignore[arg-type]
        if spoilt is None:
            return Happened(happened.event, self._clock(), position)
        self._clock.move(spoilt.took_s)
        return Happened(spoilt.answer, self._clock(), position)

    def _usual_s(self, request: Request) -> float:
        if len(self._tampering.passing) > self._tampering.requests_max // 2:
            return LATE_S
        return MODEL_S if isinstance(request, ModelAsked) else TOOL_S

    def _nobody(self, waiting: Waiting) -> Happened:
        """Only people are waited for, and here there is nobody."""
        for request in waiting.requests.values():
            if isinstance(request, ApprovalAsked) and self._approvals != "none":
                given = ApprovalGiven(call=request.call, digest=request.digest, by=BY, answer=self._approvals)
                return Happened(given, self._clock())
        if waiting.deadline is None:
            return Happened(CancelRequested(by=BY, reason="nobody is there to answer"), self._clock())
        self._clock.move(max(timedelta(), waiting.deadline - self._clock()).total_seconds())
        return Happened(DeadlinePassed(which=waiting.limit), self._clock())


def driven(setting: Setting, run_id: str, seed: str, tampering: Callable[[Program], Tampering]) -> Course:
    """One run of the agent, in a log of its own; ``seed`` is what its keys are made of.

    Raises:
        BadInput: the agent cannot be set upon the goal.
    """
    agent = setting.make()
    log, here, tools = MemoryLog(), tampering(agent.program), setting.tools(agent)
    with setting.answering(agent) as (model, prices):
        answers = metered(model or agent.model, prices or agent.prices, agent.program.terms)
        trouble = anyio.run(_driven, _Staged(setting, agent, tools, answers, log, run_id, seed), here)
    trajectory = trajectory_of(log, run_id, lambda started: program_for(started, agent=agent))
    return Course(run_id, log, trajectory, here, trouble)


@dataclass(frozen=True)
class _Staged:
    setting: Setting
    agent: Agent
    tools: Mapping[str, Tool]
    model: Model
    log: MemoryLog
    run_id: str
    seed: str


async def _driven(staged: _Staged, tampering: Tampering) -> str:
    """Drive the run to its end; why it was broken off, if it was."""
    setting, agent, log = staged.setting, staged.agent, staged.log
    clock, minted = StillClock(setting.start or Surroundings().now()), _minted(f"{staged.seed} {staged.run_id}")
    async with connected(staged.model) as model:
        door = agent.begin(
            setting.goal,
            log=log,
            run_id=staged.run_id,
            surroundings=Surroundings(clock, minted.__next__, lambda: BY, dict),
            principal=setting.principal,
            tenant=setting.tenant,
            mask=setting.mask,
        )
        through = partial(FaultyWorld, tampering=tampering, clock=clock, approvals=setting.approvals)
        world = LiveWorld(
            agent.program,
            log=log,
            tools=staged.tools,
            model=model,
            patience=PATIENCE,
            clock=clock,
            door=door,
            through=through,
        )
        try:
            async with world:
                await drive(staged.run_id, log=log, world=through(world), program=agent.program, worker=BY)
        except RedriveError:
            raise
        except Endless as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - what the agent's own code raises is what is looked for
            return f"the agent's own code raised {type(error).__name__}: {error}"
    return ""


def _minted(seed: str) -> Iterator[str]:
    """Words that no other run has, and this one every time."""
    return (sha256(f"{seed} {number}".encode()).hexdigest()[:16] for number in count(1))
