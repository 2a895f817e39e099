"""Why a recorded call was judged as it was, by the recorded rules or by others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from redrive_engine import Agent, Declaration, Judging, Program, judgings
from redrive_engine.policy import Given, Policy, policy_of, recorded_policy
from redrive_events import BadInput, CannotReplay, Effect, Record, RunStarted, ToolCalled, VerdictGiven
from redrive_projections import fork_of, start_of
from redrive_replays.programs import program_for
from redrive_replays.recording import Recording


@dataclass(frozen=True, slots=True)
class Judged:
    """All verdicts on one call, each with what led to it.

    ``policy`` is the digest of the rules that are explained, empty without any; ``declared`` says whether the tools are
    known, and not only what the log says of them: it does not say which arguments are object and destination.
    """

    run_id: str
    call: int
    policy: str
    declared: bool
    judgings: Sequence[Judging]


def judged(recording: Recording, call: int, *, agent: Agent | None = None, policy: Given | None = None) -> Judged:
    """The verdicts on a call, by the policy that the run recorded, or by another.

    Raises:
        BadInput: there is no such call, or the policy is code, which is in no log.
    """
    started = start_of(recording.records)
    if started is None:
        raise BadInput("its start cannot be read", place=f"run {recording.run_id}")
    program, declared = _program(started, recording.records, agent)
    rules = policy_of(policy) or _recorded(started, program)
    found = judgings(dataclasses.replace(program, policy=rules), recording.records, call)
    if not found:
        numbers = sorted({one.event.call for one in recording.records if isinstance(one.event, VerdictGiven)})
        there = f"there are verdicts on {', '.join(map(str, numbers))}" if numbers else "there is none at all"
        raise BadInput(f"no verdict on call {call}; {there}", place=f"run {recording.run_id}")
    return Judged(recording.run_id, call, rules.digest if rules else "", declared, found)


def _program(started: RunStarted, records: Sequence[Record], agent: Agent | None) -> tuple[Program, bool]:
    """The program of the run, and whether it is the whole one; else what the log itself says of it."""
    try:
        return program_for(started, agent=agent, fork=fork_of(records)), True
    except CannotReplay:
        told = started.parts.get("tools")
        tools = told.data if told and isinstance(told.data, dict) else {}
    effects: dict[str, Effect] = {
        one.event.tool: one.event.effect
        for one in records
        if isinstance(one.event, ToolCalled) and one.event.effect != "run"
    }
    declarations = {
        name: Declaration(name, one["description"], one["schema"], effect=effects.get(name, "unknown"))
        for name, one in tools.items()
    }
    terms = msgspec.structs.replace(started.contract, dialect="native", view="chat")  # which judge nothing
    return Program(started.agent, started.version, terms, tools=declarations), False


def _recorded(started: RunStarted, program: Program) -> Policy | None:
    part = started.parts.get("policy")
    if part is None:
        return None
    if program.policy is not None and program.policy.wording == part.digest:
        return program.policy
    return recorded_policy(part.data)
