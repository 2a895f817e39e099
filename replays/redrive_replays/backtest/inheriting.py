"""What a back-test reads of what a fork inherits: rows of the runs it was forked from, up to where it was."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from redrive_events import Json

# For each fork the runs that it inherits from, and up to which position; there is none of that name where it is NULL.
UP: Final = """
WITH RECURSIVE forks AS (
    SELECT l.run, r.run AS above, l.parent_position AS until
    FROM lineage l LEFT JOIN runs r ON r.run_id = l.parent_id WHERE l.kind = 'fork'
), up AS (
    SELECT run, above, until FROM forks WHERE run IN ({wanted})
    UNION ALL
    SELECT up.run, forks.above, forks.until FROM up JOIN forks ON forks.run = up.above
)
"""
LOST: Final = """
SELECT DISTINCT run FROM up
WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.run = up.above AND e.position = up.until)
"""
UNREAD: Final = """
SELECT up.run, count(*) FROM up JOIN events e ON e.run = up.above AND e.position <= up.until
WHERE e.problem IS NOT NULL GROUP BY up.run
"""
# What the parent of a child run knew when it began it.
KNOWN: Final = """
SELECT up.run, p.payload->'$.known' FROM up JOIN runs r ON r.run = up.above AND r.parent IS NOT NULL
JOIN payloads p ON p.run = up.above AND p.position = 1
"""
FACTS: Final = """
SELECT up.run, f.key, arg_max(f.value, f.position) FROM up
JOIN facts f ON f.run = up.above AND f.position <= up.until GROUP BY up.run, f.key
"""
# The verdicts on those calls that are judged anew in the fork, where nobody has decided them.
CALLS: Final = """
, anew AS (SELECT DISTINCT run, call FROM verdicts WHERE tool IS NULL AND run IN ({wanted}))
SELECT up.run, v.call, v.tool, s.arguments, v.arguments FROM up JOIN anew ON anew.run = up.run
JOIN verdicts v ON v.run = up.above AND v.call = anew.call AND v.position <= up.until
LEFT JOIN steps s ON s.run = v.run AND s.call = v.call
ORDER BY up.run, v.position
"""

_decoded: Final = msgspec.json.Decoder().decode
_Ask: TypeAlias = Callable[[str], Iterable[tuple[Any, ...]]]


@dataclass(slots=True)
class CallAs:
    """A call that another run has decided: as it was wanted, and as an edit has left it."""

    tool: str
    proposed: str | None
    edited: str | None = None


@dataclass(slots=True)
class Inherited:
    """What a run inherits: what was known, its calls that are judged anew, and how much of it cannot be read.

    It is ``lost`` where the log does not hold all of it.
    """

    known: dict[str, Json] = field(default_factory=dict)
    calls: dict[int, CallAs] = field(default_factory=dict)
    unread: int = 0
    lost: bool = False

    @property
    def why_not(self) -> str:
        """Why nobody knows all of it; nothing if it is known."""
        if self.lost:
            return "it goes on from another run, which is not in the log as far as that"
        return f"{self.unread} of the events that it inherits cannot be read" if self.unread else ""


def inherited_by(ask: _Ask, wanted: str) -> dict[int, Inherited]:
    """What each fork among the ``wanted`` runs inherits, if it is anything that bears on its verdicts."""

    def asked(query: str) -> Iterable[tuple[Any, ...]]:
        return ask((UP + query).format(wanted=wanted))

    found = defaultdict[int, Inherited](Inherited)
    for (run,) in asked(LOST):
        found[run].lost = True
    for run, count in asked(UNREAD):
        found[run].unread = count
    for run, known in asked(KNOWN):
        found[run].known = _decoded(known) if known else {}
    for run, key, value in asked(FACTS):
        found[run].known[key] = _decoded(value)
    for run, call, tool, proposed, edited in asked(CALLS):
        one = found[run].calls.setdefault(call, CallAs(tool, proposed))
        one.edited = edited or one.edited
    return found
