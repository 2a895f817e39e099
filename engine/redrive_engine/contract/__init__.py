"""The contract as people write it, and what is recorded of it."""

from redrive_engine.contract.contract import Contract, check_contract
from redrive_engine.contract.limits import Budget, FailureQuotas
from redrive_engine.contract.predicates import ANY
from redrive_engine.contract.units import micros, milliseconds

__all__ = ["ANY", "Budget", "Contract", "FailureQuotas", "check_contract", "micros", "milliseconds"]
