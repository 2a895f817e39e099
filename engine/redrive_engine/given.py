"""What was given for a fork stands in its log, and in the place of what the agent that drives it has."""

from __future__ import annotations

import dataclasses

from redrive_engine.policy import recorded_policy
from redrive_engine.program import Program
from redrive_events import RunForked


def with_given(program: Program, fork: RunForked | None) -> Program:
    """``program`` with the contract and the policy that a run was forked with, if it was.

    Raises:
        BadInput: the policy is none.
    """
    if fork is None:
        return program
    terms = program.terms if fork.contract is None else fork.contract
    if fork.policy is None or (program.policy is not None and program.policy.wording == fork.policy.digest):
        policy = program.policy
    else:
        policy = recorded_policy(fork.policy.data)
    return dataclasses.replace(program, terms=terms, policy=policy)
