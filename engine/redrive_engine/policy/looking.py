"""What any policy looks at on its way to a ruling."""

from __future__ import annotations

from collections.abc import Iterator

from redrive_engine.policy.listed import PolicyList, opinion_of
from redrive_engine.policy.looks import ClauseLook, RuleLook
from redrive_engine.policy.question import Opinionated, Policy, Question
from redrive_engine.policy.rules import RulesPolicy


def looks_of(policy: Policy, question: Question) -> Iterator[RuleLook]:
    """Each rule up to the one that decides; a policy that is none of rules is one look, at all that it read."""
    if isinstance(policy, RulesPolicy):
        yield from policy.looks(question)
    elif isinstance(policy, PolicyList):
        for one in policy.policies:
            for look in looks_of(one, question):
                yield look
                if look.outcome == "decides":
                    return
    else:
        found = opinion_of(policy, question)
        names = policy.rules if isinstance(policy, Opinionated) else (type(policy).__name__,)
        if found is None:
            yield RuleLook(", ".join(names), None, "no opinion")
        else:
            seen = tuple(ClauseLook(one, None, None) for one in found.read)
            yield RuleLook(found.rule, found.verdict, "decides", seen, found)
