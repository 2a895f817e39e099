"""People who are asked and need never answer, and waits for people whom nothing asks."""

from __future__ import annotations

from collections.abc import Iterator

from redrive_engine.checking.subject import Flaw, Subject, listed


def never_answered(subject: Subject) -> Iterator[Flaw]:
    """What may wait for a person for ever; a conversation may."""
    terms = subject.terms
    written, alone = subject.rules
    asking = [rule.name for policy in written for rule in policy.written if rule.then == "ask"]
    if asking and terms.approval_ms is None:
        problem = (
            f"rule {listed(map(repr, asking))} asks a person, who need never answer; say how long that is waited for"
        )
        yield Flaw("contract.approval_waits", problem)
    if terms.approval_ms is not None and not asking and alone:
        yield Flaw("contract.approval_waits", "no rule asks for an approval")
    wanted = list(_people(subject))
    if wanted and terms.person_ms is None:
        problem = f"{' and '.join(wanted)} may ask a person, who need never answer; say how long that is waited for"
        yield Flaw("contract.person_waits", problem)
    if terms.person_ms is not None and not wanted and not terms.dialogue:
        yield Flaw("contract.person_waits", "nothing asks a person")


def _people(subject: Subject) -> Iterator[str]:
    """What may ask a person for more than a reply."""
    terms = subject.terms
    if terms.escalation == "wait" and "escalate" in terms.recovery:
        yield "recovery"
    if terms.escalation == "wait" and "escalate" in terms.ways_out:
        yield "the way out"
    if terms.on_doubt == "wait":
        yield "an effect in doubt"
