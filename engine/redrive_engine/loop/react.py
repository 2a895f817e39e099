"""What follows from what just happened: the agent loop as a pure function, and the only interpreter there is."""

from __future__ import annotations

from redrive_engine.dialects import Unreadable
from redrive_engine.loop.calling import called, observed, reconciled, taken_up
from redrive_engine.loop.ending import closed, ended, finished
from redrive_engine.loop.follows import Follows
from redrive_engine.program import Program
from redrive_events import (
    STRANGERS,
    CancelRequested,
    DecisionMade,
    EffectReconciled,
    Event,
    LeaseGranted,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    PersonAsked,
    Record,
    ReplyRefused,
    StopDecided,
)
from redrive_projections import RunState, exhausted, kept_of, references, request_digest, sealed


def react(program: Program, s: RunState, record: Record) -> Follows:
    """What follows from ``record``, which ``s`` already holds, as it must hold each event before the next is asked for.

    Pure: the same program, state and record give the same events, and the state is never touched.
    """
    event = record.event
    if type(event) in STRANGERS or s.end is not None:
        return
    for signal in s.hearing:
        yield from heard(s, signal)
    yield from overdue(program, s)
    match event:
        case ModelReplied() if s.running:
            yield from replied(program, s, event)
        case ModelFailed() if s.running:
            yield from failed(program, s, event)
        case ObservationReceived():
            yield from observed(program, s, event)
        case EffectReconciled():
            yield from reconciled(program, s, event)
        case LeaseGranted():
            yield from taken_up(s)
        case _:
            pass  # the other inputs only wake the run
    yield from onward(program, s)


def heard(s: RunState, signal: Event) -> Follows:
    """A stranger's signal takes effect: words with the next request, a cancellation at once."""
    if s.running and isinstance(signal, CancelRequested):
        yield StopDecided(status="cancelled", reason=signal.reason or f"cancelled by {signal.by}")


def overdue(program: Program, s: RunState) -> Follows:
    """Once its wall time is over a run begins nothing more, not even what this very input would have called for."""
    limit_ms = program.terms.budget.wall_time_ms
    if limit_ms is not None and s.running and s.wall_us >= limit_ms * 1000:
        yield StopDecided(status="exhausted", reason="wall_time", dimension="wall_time")


def replied(program: Program, s: RunState, event: ModelReplied) -> Follows:
    """A reply is read: calls are judged and made, an answer is checked, anything else is refused."""
    decision = program.dialect.read(event.content)
    if isinstance(decision, Unreadable):
        yield ReplyRefused(reason=decision.reason, text=decision.text)
        if reached(s.unreadable, program.terms.quotas.unreadable):
            yield StopDecided(status="failed", reason=f"{s.unreadable} unreadable replies in a row")
    elif decision.calls:
        yield from called(program, s, decision)
    elif program.terms.dialogue:
        yield DecisionMade(kind="ask", summary=decision.summary)
        if not s.waiting and not s.last_word:  # nobody has spoken meanwhile
            yield PersonAsked()
    else:
        answer, dropped = decision.answer, decision.dropped
        yield DecisionMade(kind="finish", summary=decision.summary, answer=answer, dropped=dropped)
        if not s.waiting:  # else words came meanwhile, and the model reads them first
            yield from finished(program, s)


def failed(program: Program, s: RunState, event: ModelFailed) -> Follows:
    """A failure that may pass is asked again within the quota; another ends the run."""
    if not event.retryable or reached(s.model_failed, program.terms.quotas.model_failed):
        yield StopDecided(status="failed", reason=f"model: {event.kind}")


def onward(program: Program, s: RunState) -> Follows:
    """What to ask next, or the end: nothing new is asked after a stop, and nothing ends while something is open."""
    if s.requests:
        return
    if s.running:
        over = exhausted(program.terms.budget, s)
        if s.last_word:
            yield closed(program, s)
        elif over:
            yield StopDecided(status="exhausted", reason=over, dimension=over)
        else:
            yield asked(program, s)
    if s.stop is not None:
        yield ended(program, s, s.stop)


def asked(program: Program, s: RunState) -> ModelAsked:
    """The next request, as a difference to the last one."""
    name, view = program.view
    messages = view(s)
    kept = kept_of(s.asked, messages)
    return ModelAsked(
        kept=kept,
        new=references(messages[kept:]),
        request=request_digest(messages, program.rest),
        state=sealed(s),
        model=program.terms.model,
        parameters=program.terms.parameters,
        view=name,
    )


def reached(count: int, quota: int | None) -> bool:
    """Whether failures in a row have reached their quota; None is no limit."""
    return quota is not None and count >= quota
