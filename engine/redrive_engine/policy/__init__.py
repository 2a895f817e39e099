"""Whether a call may be made: the contract's grants, and rules that people write."""

from redrive_engine.policy.grants import by_contract, no_such_tool
from redrive_engine.policy.question import (
    APPROVAL,
    COMPENSATION,
    EDITED_OVER,
    EXPIRED,
    GROUNDED,
    NOT_ALLOWED,
    NOT_APPROVED,
    Policy,
    Question,
    Ruling,
)
from redrive_engine.policy.rules import RulesPolicy
from redrive_engine.policy.written import meant_as_predicate

__all__ = [
    "APPROVAL",
    "COMPENSATION",
    "EDITED_OVER",
    "EXPIRED",
    "GROUNDED",
    "NOT_ALLOWED",
    "NOT_APPROVED",
    "Policy",
    "Question",
    "RulesPolicy",
    "Ruling",
    "by_contract",
    "meant_as_predicate",
    "no_such_tool",
]
