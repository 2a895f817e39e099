"""The kinds of events by where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, get_args

from redrive_events.conclusions import (
    AnnotationMade,
    BudgetWarned,
    CallIntercepted,
    DecisionMade,
    EffectCompensated,
    EffectConfirmed,
    EffectInDoubt,
    FactCommitted,
    FinishRefused,
    ObservationRefused,
    ObservationVerified,
    PlanDrawn,
    RecoveryChosen,
    ReflectionNoted,
    ReplyRefused,
    RunEnded,
    StopDecided,
    VerdictGiven,
)
from redrive_events.vocabulary import (
    ApprovalAsked,
    ApprovalGiven,
    CancelRequested,
    DeadlinePassed,
    EffectReconciled,
    LeaseGranted,
    LeaseRevoked,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    OutcomeStated,
    PersonAsked,
    ReconcileAsked,
    RunForked,
    RunStarted,
    SignalsHeard,
    ToolCalled,
)

Stranger: TypeAlias = (
    RunStarted | RunForked | MessageReceived | ApprovalGiven | OutcomeStated | CancelRequested | LeaseRevoked
)
Driver: TypeAlias = LeaseGranted | SignalsHeard | DeadlinePassed
Request: TypeAlias = ModelAsked | ToolCalled | ApprovalAsked | PersonAsked | ReconcileAsked
Answer: TypeAlias = ModelReplied | ModelFailed | ObservationReceived | EffectReconciled
Conclusion: TypeAlias = (
    DecisionMade
    | ReplyRefused
    | VerdictGiven
    | CallIntercepted
    | ObservationVerified
    | ObservationRefused
    | FactCommitted
    | FinishRefused
    | BudgetWarned
    | RecoveryChosen
    | ReflectionNoted
    | PlanDrawn
    | EffectConfirmed
    | EffectInDoubt
    | EffectCompensated
    | StopDecided
    | RunEnded
)
Input: TypeAlias = Stranger | Driver | Answer
Derived: TypeAlias = Request | Conclusion
if TYPE_CHECKING:  # a record may hold one of these too, but nothing is ever decoded to it
    from redrive_events.quarantine import Quarantined

    Event: TypeAlias = Input | Derived | AnnotationMade | Quarantined
else:
    Event = Input | Derived | AnnotationMade

STRANGERS: frozenset[type] = frozenset(get_args(Stranger))
DRIVERS: frozenset[type] = frozenset(get_args(Driver))
REQUESTS: frozenset[type] = frozenset(get_args(Request))
ANSWERS: frozenset[type] = frozenset(get_args(Answer))
CONCLUSIONS: frozenset[type] = frozenset(get_args(Conclusion))
INPUTS: frozenset[type] = STRANGERS | DRIVERS | ANSWERS
EVENTS: tuple[type, ...] = get_args(Event)
