"""The contract as people write it, and what is recorded of it."""

from redrive_engine.contract.contract import Contract, check_contract
from redrive_engine.contract.limits import Budget, FailureQuotas
from redrive_engine.contract.predicates import ANY
from redrive_engine.contract.units import micros, milliseconds
from redrive_engine.contract.watching import Guards, Plan, Repeats, Stagnation, WorkflowStep

__all__ = [
    "ANY",
    "Budget",
    "Contract",
    "FailureQuotas",
    "Guards",
    "Plan",
    "Repeats",
    "Stagnation",
    "WorkflowStep",
    "check_contract",
    "micros",
    "milliseconds",
]
