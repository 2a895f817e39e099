"""Several policies in order: the first that has an opinion decides, and without any the call is denied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from redrive_engine.policy.cedar import CedarPolicy
from redrive_engine.policy.functions import FunctionPolicy, PolicyFunction
from redrive_engine.policy.question import NO_RULE, Opinionated, Policy, Question, Ruling
from redrive_engine.policy.rules import RulesPolicy
from redrive_events import BadInput, Json, digest

One: TypeAlias = Policy | PolicyFunction | Path
Given: TypeAlias = One | Sequence[One]


class PolicyList:
    """Policies in order; a rule may stand in one of them alone, since a verdict names it."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self.policies = tuple(policies)
        self.digest = digest([one.digest for one in self.policies])
        self.wording = digest([one.wording for one in self.policies])
        self.data: Json = {"policies": [one.data for one in self.policies]}
        self.rules = tuple(rule for one in self.policies if isinstance(one, Opinionated) for rule in one.rules)
        for rule in self.rules:
            if self.rules.count(rule) > 1:
                raise BadInput(f"there is another rule {rule!r}", place="policy")

    def opinion(self, question: Question) -> Ruling | None:
        """That of the first policy which has one."""
        for one in self.policies:
            if (found := opinion_of(one, question)) is not None:
                return found
        return None

    def judge(self, question: Question) -> Ruling:
        """The first opinion; else a denial."""
        return self.opinion(question) or NO_RULE


def policy_of(given: Given | None) -> Policy | None:
    """What a user gives as a policy: a file, a function, a policy, or a list of such; None stays None.

    Raises:
        BadInput: it is none of these, or a file of it cannot be read.
        TypeError: it is a function that judges nothing.
    """
    if given is None:
        return None
    if isinstance(given, list | tuple):
        return PolicyList([_one(part) for part in given])
    return _one(given)


def policy_in(file: Path) -> RulesPolicy | CedarPolicy:
    """The policy in a file: Cedar's, if its name ends in ``.cedar``, else rules in TOML.

    Raises:
        BadInput: it cannot be read, or says what is not allowed.
    """
    return CedarPolicy.in_file(file) if file.suffix == ".cedar" else RulesPolicy.from_toml(file)


def recorded_policy(data: Json) -> Policy:
    """The policy that a run recorded as data.

    Raises:
        BadInput: it is none, or a function, whose code is in no log.
    """
    if isinstance(data, dict) and "policies" in data:
        return PolicyList([recorded_policy(one) for one in data["policies"]])
    if isinstance(data, dict) and "cedar" in data:
        return CedarPolicy.from_data(data)
    if not isinstance(data, dict) or "function" in data:
        name = data["function"] if isinstance(data, dict) else "of this run"
        raise BadInput("its code is not in the log; give --agent", place=f"policy {name}")
    return RulesPolicy.from_data(data)


def opinion_of(policy: Policy, question: Question) -> Ruling | None:
    """What a policy has to say of a call; one that cannot keep silent rules on every one."""
    return policy.opinion(question) if isinstance(policy, Opinionated) else policy.judge(question)


def _one(given: object) -> Policy:
    if isinstance(given, Path):
        return policy_in(given)
    if isinstance(given, Policy):
        return given
    if callable(given):
        return FunctionPolicy(given)
    raise BadInput(f"a policy is a Path, a function or a list of such, not {type(given).__name__}", place="policy")
