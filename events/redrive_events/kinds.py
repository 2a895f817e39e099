"""The kinds of events by where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, get_args

from redrive_events.vocabulary import (
    AnnotationMade,
    BudgetWarned,
    CallIntercepted,
    CancelRequested,
    DeadlinePassed,
    DecisionMade,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    FactCommitted,
    FinishRefused,
    LeaseGranted,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    PersonAsked,
    PlanDrawn,
    ReconcileAsked,
    RecoveryChosen,
    ReflectionNoted,
    ReplyRefused,
    RunEnded,
    RunStarted,
    SignalsHeard,
    StopDecided,
    ToolCalled,
    VerdictGiven,
)

Stranger: TypeAlias = RunStarted | MessageReceived | CancelRequested
Driver: TypeAlias = LeaseGranted | SignalsHeard | DeadlinePassed
Request: TypeAlias = ModelAsked | ToolCalled | PersonAsked | ReconcileAsked
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
