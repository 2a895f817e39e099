"""Which program a recorded run is driven again with."""

from __future__ import annotations

import dataclasses

from redrive_engine import RULES, Agent, Program, permissive, registered, with_given
from redrive_engine.policy import Given, policy_of
from redrive_events import CannotReplay, RunForked, RunStarted


def program_for(
    started: RunStarted, *, agent: Agent | None = None, policy: Given | None = None, fork: RunForked | None = None
) -> Program:
    """The given agent's program, else the registered one of the recorded name, else, for an import, the permissive one.

    What was given for a ``fork``, and then ``policy``, takes the place of what that program has.

    Raises:
        CannotReplay: there is no program for this run.
        BadInput: the policy or the registry cannot be read.
    """
    found = known_program(started.agent, started.rules, agent=agent, imported=started.source is not None)
    program = permissive(started) if found is None else found
    if started.parent is not None and started.source is None:  # a child run, with the budget its parent gave it
        program = program.child(started.contract.budget)
    program = with_given(program, fork)
    return program if policy is None else dataclasses.replace(program, policy=policy_of(policy))


def known_program(name: str, rules: int, *, agent: Agent | None = None, imported: bool = False) -> Program | None:
    """The program of the runs of an agent of this ``name``; None stands for the permissive one of an ``imported`` run.

    Raises:
        CannotReplay: there is no program for such runs.
        BadInput: the registry cannot be read.
    """
    if rules > RULES:
        raise CannotReplay(f"recorded under rules {rules}, and this program knows up to {RULES}")
    found = agent or registered(name)
    if found is None and not imported:
        raise CannotReplay(f"no program for agent {name!r}; give --agent")
    return None if found is None else found.program
