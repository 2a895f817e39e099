"""Whether a call may be made: the contract's grants, and rules that people write."""

from redrive_engine.policy.grants import by_contract
from redrive_engine.policy.question import NOT_ALLOWED, SCHEMA, UNKNOWN_TOOL, Policy, Question, Ruling
from redrive_engine.policy.rules import RulesPolicy
from redrive_engine.policy.written import meant_as_predicate

__all__ = [
    "NOT_ALLOWED",
    "SCHEMA",
    "UNKNOWN_TOOL",
    "Policy",
    "Question",
    "RulesPolicy",
    "Ruling",
    "by_contract",
    "meant_as_predicate",
]
