"""Views of a run, each folded from its records: state, completion, budget, transcript, timeline, history."""

from redrive_projections.approvals import Approval, approvals, open_approvals
from redrive_projections.bounded import StepRow, bounded
from redrive_projections.budget import exhausted, left, limits, used
from redrive_projections.completion import GOAL, claims, missing, partly_worded, slots, spoken_of, status, worded
from redrive_projections.digests import Parting, partings
from redrive_projections.effects import LATE_OUTCOME, Effect, Outcome, effects
from redrive_projections.folding import evolve, fold, follow, state_at
from redrive_projections.forking import begun_as, fork_of, is_run, start_of
from redrive_projections.handover import handover
from redrive_projections.moments import spelled_moment
from redrive_projections.people import OF_PEOPLE, doubts_of, expired
from redrive_projections.predicates import MISSING, OPERATORS, compare, holds, problem_of, same
from redrive_projections.requests import Asked, offered, rebuilt, requests
from redrive_projections.state import Call, Fact, Known, RunState, answered_by, is_answer
from redrive_projections.timeline import Moment, called_as, harmless, one_line, timeline
from redrive_projections.transcript import Message, kept_of, opening, references, request_digest
from redrive_projections.views import VIEWS, sealed, state_view, used_otherwise
from redrive_projections.watch import Turn, Watch

__all__ = [
    "GOAL",
    "LATE_OUTCOME",
    "MISSING",
    "OF_PEOPLE",
    "OPERATORS",
    "VIEWS",
    "Approval",
    "Asked",
    "Call",
    "Effect",
    "Fact",
    "Known",
    "Message",
    "Moment",
    "Outcome",
    "Parting",
    "RunState",
    "StepRow",
    "Turn",
    "Watch",
    "answered_by",
    "approvals",
    "begun_as",
    "bounded",
    "called_as",
    "claims",
    "compare",
    "doubts_of",
    "effects",
    "evolve",
    "exhausted",
    "expired",
    "fold",
    "follow",
    "fork_of",
    "handover",
    "harmless",
    "holds",
    "is_answer",
    "is_run",
    "kept_of",
    "left",
    "limits",
    "missing",
    "offered",
    "one_line",
    "open_approvals",
    "opening",
    "partings",
    "partly_worded",
    "problem_of",
    "rebuilt",
    "references",
    "request_digest",
    "requests",
    "same",
    "sealed",
    "slots",
    "spelled_moment",
    "spoken_of",
    "start_of",
    "state_at",
    "state_view",
    "status",
    "timeline",
    "used",
    "used_otherwise",
    "worded",
]
