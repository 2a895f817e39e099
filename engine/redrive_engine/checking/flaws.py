"""All that is wrong with an agent that can be loaded."""

from __future__ import annotations

from collections.abc import Iterator

from redrive_engine.checking.asking import never_answered
from redrive_engine.checking.failing import never_reached
from redrive_engine.checking.pricing import unpriced
from redrive_engine.checking.reach import out_of_reach
from redrive_engine.checking.subject import Flaw, Subject
from redrive_engine.policy import check_rules


def flaws_of(subject: Subject) -> list[Flaw]:
    """What can never come, or could go on for ever: each is certain, and what cannot be shown is not told."""
    return [
        *out_of_reach(subject),
        *never_reached(subject),
        *never_answered(subject),
        *_of_rules(subject),
        *unpriced(subject),
    ]


def _of_rules(subject: Subject) -> Iterator[Flaw]:
    for policy in subject.rules[0]:
        for one in check_rules(policy, subject.known):
            yield Flaw(f"policy: rule {one.rule!r}", one.text)
