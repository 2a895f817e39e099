"""What a person needs to take a run over, cut loose from its state."""

from __future__ import annotations

from collections.abc import Mapping

from redrive_events import Handover, Predicate, text_of
from redrive_projections.completion import missing
from redrive_projections.state import RunState

TRIED_MAX = 50  # the last so many calls; the log has them all


def handover(s: RunState, done: Mapping[str, Predicate]) -> Handover:
    """What was asked, what is known, which calls were tried and what became of them, which criteria are open."""
    tried = [*s.tried, *(call.tried() for call in s.calls.values() if call.outcome or call.attempt)]
    return Handover(
        asked=_asked(s),
        known={key: s.facts[key].value for key in sorted(s.facts)},
        tried=tuple(tried[-TRIED_MAX:]),
        open=missing(done, s.facts),
    )


def _asked(s: RunState) -> str:
    """The goal; where there is none, as in a conversation, what was said first."""
    goal = s.started.goal if s.started else ""
    said = (text_of(message.content) for message in s.transcript() if message.role == "user")
    return goal or next(said, "")
