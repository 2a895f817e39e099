"""What a user writes: an agent, and the run it is set upon."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

import anyio
import msgspec

from redrive_engine.contract import Contract, check_contract
from redrive_engine.dialects import DIALECTS, Dialect
from redrive_engine.drive import drive, state_of
from redrive_engine.given import with_given
from redrive_engine.live import LiveWorld, Patience, Surroundings
from redrive_engine.masking import Door, Mask, masked_event
from redrive_engine.models import Model, Prices, connected, metered
from redrive_engine.policy import Given, policy_of
from redrive_engine.program import RULES, Program
from redrive_engine.tools import Tool
from redrive_engine.verifiers import Verifier
from redrive_engine.ways import WAYS_OUT
from redrive_events import (
    BadInput,
    EventLog,
    Record,
    RunForked,
    RunStarted,
    SqliteLog,
    StaleAppend,
    Terms,
    check_run_id,
    check_undamaged,
)
from redrive_projections import Fact, RunState, status


@dataclass(frozen=True)
class Run:
    """A run as its log has it at this moment."""

    run_id: str
    log: EventLog
    state: RunState

    @property
    def status(self) -> str:
        """How the run reads."""
        return status(self.state)

    @property
    def answer(self) -> str | None:
        """The answer, where the run came to its own end."""
        return self.state.end.answer if self.state.end else None

    @property
    def partial(self) -> str | None:
        """What there was when the run was stopped, if the contract has words for it."""
        return self.state.end.partial if self.state.end else None

    @property
    def facts(self) -> Mapping[str, Fact]:
        """What is known."""
        return self.state.facts

    def records(self) -> list[Record]:
        """All records of the run, in order."""
        return list(self.log.read(self.run_id))


class Settings(TypedDict, total=False):
    """How a run is begun: what `Agent.run` and `Agent.arun` take beside the goal."""

    principal: str
    tenant: str
    log: EventLog | Path | str
    run_id: str
    labels: Mapping[str, str] | None
    lessons: Sequence[str]
    model: Model | None
    prices: Prices | Path | None
    patience: Patience | None
    surroundings: Surroundings | None
    mask: Mask | None


class Agent:
    """Contract, tools, verifiers, policy and model; `program` is the pure half, which a replay needs alone.

    ``policy`` is a file of rules in TOML or of Cedar, a function, or several of them, of which the first that has an
    opinion decides.
    ``prices`` is the table by which the model's replies are given their cost, ``dialects`` are further ones that the
    contract may name. With a ``mask`` nothing that it finds is written, or read by the model: only tools are given it.

    Raises:
        BadInput: the contract names a tool, a fact or a dialect that does not exist, or a tool or dialect has a name
            that is the engine's own.
    """

    def __init__(
        self,
        name: str,
        version: str,
        contract: Contract,
        *,
        tools: Sequence[Tool] = (),
        verifiers: Sequence[Verifier] = (),
        policy: Given | None = None,
        model: Model,
        prices: Prices | Path | None = None,
        prompt: str = "",
        dialects: Sequence[Dialect] = (),
        mask: Mask | None = None,
    ) -> None:
        self.name, self.version, self.contract, self.model, self.mask = name, version, contract, model, mask
        self.tools = {tool.declaration.name: tool for tool in tools}
        self.verifiers = tuple(verifiers)
        self.policy = policy_of(policy)
        self.prices, self.prompt = prices, prompt
        added = {one.name: one for one in dialects}
        for what, taken in (("tool", WAYS_OUT.keys() & self.tools), ("dialect", DIALECTS.keys() & added)):
            for word in sorted(taken):
                raise BadInput(f"the engine has a {what} of that name", place=f"agent {name}: {what} {word!r}")
        commits = {key for verifier in verifiers for key in verifier.commits}
        check_contract(contract.terms(), tools=self.tools, commits=commits)
        self.program = Program(
            name=self.name,
            version=self.version,
            terms=contract.terms(),
            prompt=({"role": "system", "content": prompt},) if prompt else (),
            tools={name: tool.declaration for name, tool in self.tools.items()},
            verifiers=self.verifiers,
            policy=self.policy,
            dialects={**DIALECTS, **added},
        )

    def run(self, goal: str, **settings: Unpack[Settings]) -> Run:
        """`arun` from code that has no event loop."""
        return anyio.run(lambda: self.arun(goal, **settings))

    async def arun(
        self,
        goal: str,
        *,
        principal: str = "",
        tenant: str = "",
        log: EventLog | Path | str = "redrive.db",
        run_id: str = "",
        labels: Mapping[str, str] | None = None,
        lessons: Sequence[str] = (),
        model: Model | None = None,
        prices: Prices | Path | None = None,
        patience: Patience | None = None,
        surroundings: Surroundings | None = None,
        mask: Mask | None = None,
    ) -> Run:
        """Begin a run, or go on with the one that has this id, until it ends.

        ``lessons`` are those of earlier runs, ``model`` answers in place of the agent's own, and ``prices`` say what it
        costs. ``mask`` stands in place of the agent's own; whoever goes on with a run needs the one it was begun with.

        Raises:
            BadInput: the id is taken by a run that was asked for otherwise, or masked under another key, or may not be
                an id; the model cannot be asked, or nobody knows what it costs where the contract limits that.
            LeaseHeld: another worker drives the run.
            BrokenChain: the run, or what it was forked from, is damaged.
        """
        around = surroundings or Surroundings()
        run_id = _own_run_id(run_id or around.mint()[:10])
        priced = metered(model or self.model, prices or self.prices, self.program.terms)
        async with connected(priced) as ready:  # first of all, so that nothing is begun that nobody can answer
            opened = SqliteLog(Path(log)) if isinstance(log, str | Path) else log
            door = self.begin(
                goal,
                log=opened,
                run_id=run_id,
                surroundings=around,
                principal=principal,
                tenant=tenant,
                labels=labels,
                lessons=lessons,
                mask=mask,
            )
            program = self._given(run_id, state_of(opened, run_id).forked)
            metered(model or self.model, prices or self.prices, program.terms)  # what was given may limit cost
            world = LiveWorld(
                program, log=opened, tools=self.tools, model=ready, patience=patience, clock=around.now, door=door
            )
            async with world:
                state = await drive(
                    run_id,
                    log=opened,
                    world=world,
                    program=program,
                    worker=around.worker(),
                    keep=anyio.to_thread.run_sync,
                )
        return Run(run_id, opened, state)

    def under(self, terms: Terms) -> Program:
        """Its program under another contract.

        Raises:
            BadInput: it cannot keep that one.
        """
        check_contract(terms, tools=self.tools, commits={key for one in self.verifiers for key in one.commits})
        return dataclasses.replace(self.program, terms=terms)

    def _given(self, run_id: str, fork: RunForked | None) -> Program:
        """Its program with what a run was forked with; checked before anything is asked or acts."""
        try:
            if fork is not None and fork.contract is not None:
                self.under(fork.contract)
            return with_given(self.program, fork)
        except BadInput as error:
            raise BadInput(error.problem, place=f"run {run_id}: {error.place}") from error

    def begin(
        self,
        goal: str,
        *,
        log: EventLog,
        run_id: str,
        surroundings: Surroundings,
        principal: str = "",
        tenant: str = "",
        labels: Mapping[str, str] | None = None,
        lessons: Sequence[str] = (),
        mask: Mask | None = None,
    ) -> Door:
        """Begin a run unless that was done before, for whoever drives it; the door through which its inputs come.

        Raises:
            BadInput: the id is taken by a run that was asked for otherwise, or masked under another key.
        """
        mask = mask or self.mask
        started = RunStarted(
            goal=goal,
            agent=self.name,
            version=self.version,
            nonce=surroundings.mint(),
            contract=self.program.terms,
            rules=RULES,
            principal=principal,
            tenant=tenant,
            parts=self.program.parts,
            environment=dict(surroundings.environment()),
            labels=dict(labels or {}),
            lessons=tuple(lessons),
        )
        if mask is not None:
            started = msgspec.structs.replace(started, mask_key=mask.key_id, mask_classes=dict(mask.classes))
        if not log.head(run_id).position:
            door = Door.of(started, mask, run_id=run_id)
            event = masked_event(door, started)
            with suppress(StaleAppend):  # somebody begins it at this moment
                first = Record(run_id=run_id, position=1, at=surroundings.now(), cause=0, left=0, event=event)
                log.append(run_id, [first], expected=0)
                return door
        return _gone_on(log, run_id, started, mask)


def _gone_on(log: EventLog, run_id: str, started: RunStarted, mask: Mask | None) -> Door:
    """The door of a run that was begun before, if it was asked for as ``started`` is, and is as it was written."""
    check_undamaged(log, run_id)
    before = state_of(log, run_id).started
    assert before is not None
    door = Door.of(before, mask, run_id=run_id)
    again = masked_event(door, started)
    for word in ("agent", "goal", "principal", "tenant"):
        if getattr(before, word) != getattr(again, word):
            raise BadInput(f"the id is taken by a run of another {word}", place=f"run {run_id}")
    door.learn(log.read(run_id))
    return door


def _own_run_id(run_id: str) -> str:
    """``run_id``, if a run may be begun, or gone on with, under it: a child run is driven with its parent."""
    if {"/", "@"} & set(check_run_id(run_id)):
        parent = run_id.partition("@")[0].partition("/")[0]
        raise BadInput(f"it belongs to run {parent}, and is driven with it", place=f"run {run_id}")
    return run_id
