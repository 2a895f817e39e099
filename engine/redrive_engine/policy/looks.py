"""What a policy looks at on its way to a ruling: each rule with what it compares, up to the one that decides."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from redrive_engine.policy.question import Ruling
from redrive_events import Json, Reading, Verdict

Outcome: TypeAlias = Literal["decides", "no match", "changes nothing", "no opinion"]


class ClauseLook(NamedTuple):
    """One comparison: what was compared, the operand as it is written, and whether it holds; None: nobody can say."""

    read: Reading
    written: Json
    holds: bool | None


class RuleLook(NamedTuple):
    """One rule, or one policy that is none of rules: what it looked at, what came of it, and its ruling, if any."""

    rule: str
    then: Verdict | None
    outcome: Outcome
    clauses: tuple[ClauseLook, ...] = ()
    ruling: Ruling | None = None
