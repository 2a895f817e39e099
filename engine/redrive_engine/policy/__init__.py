"""Whether a call may be made: the contract's grants, and rules that people write."""

from redrive_engine.policy.cedar import CedarPolicy
from redrive_engine.policy.checking import Finding, Known, KnownTool, check_policy, check_rules, meant
from redrive_engine.policy.functions import FunctionPolicy, PolicyFunction, allow, ask, deny, edit, policy
from redrive_engine.policy.grants import Grants, no_such_tool
from redrive_engine.policy.listed import Given, PolicyList, policy_in, policy_of, recorded_policy
from redrive_engine.policy.looking import looks_of
from redrive_engine.policy.looks import ClauseLook, RuleLook
from redrive_engine.policy.question import (
    APPROVAL,
    COMPENSATION,
    EDITED_OVER,
    EXPIRED,
    GROUNDED,
    NOT_ALLOWED,
    NOT_APPROVED,
    RESERVED,
    STEP,
    Opinionated,
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
    "RESERVED",
    "STEP",
    "CedarPolicy",
    "ClauseLook",
    "Finding",
    "FunctionPolicy",
    "Given",
    "Grants",
    "Known",
    "KnownTool",
    "Opinionated",
    "Policy",
    "PolicyFunction",
    "PolicyList",
    "Question",
    "RuleLook",
    "RulesPolicy",
    "Ruling",
    "allow",
    "ask",
    "check_policy",
    "check_rules",
    "deny",
    "edit",
    "looks_of",
    "meant",
    "meant_as_predicate",
    "no_such_tool",
    "policy",
    "policy_in",
    "policy_of",
    "recorded_policy",
]
