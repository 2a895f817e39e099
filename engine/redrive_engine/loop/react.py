"""What follows from what just happened: the agent loop as a pure function, and the only interpreter there is."""

from __future__ import annotations

from redrive_engine.dialects import Decision, Unreadable
from redrive_engine.loop import planning, reflecting, workflow
from redrive_engine.loop.calling import approved, called, unapproved
from redrive_engine.loop.effects import reconciled, taken_up, undone
from redrive_engine.loop.ending import closed, ended, escalated, expiry, unanswered
from redrive_engine.loop.follows import Follows
from redrive_engine.loop.forking import gone_on
from redrive_engine.loop.guards import stalled, warned
from redrive_engine.loop.leaving import leave_of, left
from redrive_engine.loop.observing import observed
from redrive_engine.loop.recovering import judged, recovered
from redrive_engine.program import Program
from redrive_events import (
    SPEAKING,
    STRANGERS,
    ApprovalAsked,
    ApprovalGiven,
    CancelRequested,
    DecisionMade,
    EffectReconciled,
    Event,
    LeaseGranted,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    OutcomeStated,
    PersonAsked,
    Purpose,
    Record,
    ReplyRefused,
    RunForked,
    StopDecided,
)
from redrive_projections import Message, RunState, exhausted, expired, kept_of, references, request_digest, sealed

NO_CALLS = Unreadable("a call where there are no tools", "There are no tools here. Answer in words.")


def react(program: Program, s: RunState, record: Record) -> Follows:
    """What follows from ``record``, which ``s`` already holds, as it must hold each event before the next is asked for.

    Pure: the same program, state and record give the same events, and the state is never touched.
    """
    event = record.event
    if type(event) in STRANGERS or s.end is not None:
        return
    # All that these rules look at: for most inputs there is none of it, and three of them would be begun for nothing.
    if s.hearing or s.requests or program.terms.budget.wall_time_ms is not None:
        yield from heeded(program, s)
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
            yield from taken_up(s, record.position)
        case _:
            pass  # the other inputs only wake the run
    yield from onward(program, s)


def heeded(program: Program, s: RunState) -> Follows:
    """What takes effect before the input itself: what has been heard since the last one, and what is over by now."""
    yield from cancelled(s)
    yield from overdue(program, s)
    for signal in s.hearing:
        yield from heard(program, s, signal)


def cancelled(s: RunState) -> Follows:
    """A cancellation takes effect before all else that is heard: what was approved in front of it begins no more."""
    for signal in s.hearing:
        if isinstance(signal, CancelRequested) and s.running:
            yield StopDecided(status="cancelled", reason=signal.reason or f"cancelled by {signal.by}")


def heard(program: Program, s: RunState, signal: Event) -> Follows:
    """What else a stranger's signal leads to at once; words take effect with the next request."""
    match signal:
        case ApprovalGiven(call=call) if s.running and call in s.calls:
            yield from approved(program, s, signal)
        case OutcomeStated(call=call) if call in s.calls:
            yield from reconciled(program, s, signal)
        case RunForked() if s.running:
            yield from gone_on(program, s, signal)
        case _:
            pass


def overdue(program: Program, s: RunState) -> Follows:
    """Once a time is over, its own or a person's, a run begins nothing more, not even what this input calls for."""
    limit_ms = program.terms.budget.wall_time_ms
    if limit_ms is not None and s.running and s.wall_us >= limit_ms * 1000:
        yield StopDecided(status="exhausted", reason="wall_time", dimension="wall_time")
    for request in list(s.requests.values()):
        if s.running and isinstance(request, ApprovalAsked) and expired(request, s.now) and request.call in s.calls:
            yield from unapproved(program, s, request)
        elif s.running and isinstance(request, PersonAsked) and expired(request, s.now):
            yield unanswered(program, s, request)


def replied(program: Program, s: RunState, event: ModelReplied) -> Follows:
    """A reply is read as what was asked for: the next decision, a lesson, or a plan."""
    if s.purpose == "act":
        return decided(program, s, event)
    if s.purpose == "reflect":
        return iter([reflecting.noted(s, event)])
    if isinstance(steps := planning.read(program, event), Unreadable):
        return not_understood(program, s, steps)
    return planning.drawn(s, steps)


def not_understood(program: Program, s: RunState, reply: Unreadable) -> Follows:
    """The model is told how a reply is written; too often in a row, and the run is over."""
    yield ReplyRefused(reason=reply.reason, text=reply.text)
    yield from judged(program, s, "unreadable")


def decided(program: Program, s: RunState, event: ModelReplied) -> Follows:
    """A decision: calls are judged and made, an answer is checked, anything else is refused."""
    decision = program.dialect.read(event.content)
    if isinstance(decision, Unreadable):
        return not_understood(program, s, decision)
    if decision.kind == "finish" and program.terms.dialogue:
        return spoken(program, s, decision)
    leave = leave_of(program, decision, event.content)
    if isinstance(leave, Unreadable):
        return not_understood(program, s, leave)
    if leave is not None:
        return left(program, s, decision, leave)
    if program.terms.arm in SPEAKING:
        return not_understood(program, s, NO_CALLS)
    return called(program, s, decision)


def spoken(program: Program, s: RunState, decision: Decision) -> Follows:
    """In a dialogue a final word is a question to the person, unless they have spoken meanwhile."""
    yield DecisionMade(kind="ask", summary=decision.summary, answer=decision.answer, dropped=decision.dropped)
    if not s.waiting and not s.last_word:
        yield PersonAsked(expires=expiry(program, s))


def failed(program: Program, s: RunState, event: ModelFailed) -> Follows:
    """A failure that may pass is asked again within the quota; for another, only something else can help."""
    quota = program.terms.quotas.model_failed
    if not event.retryable or (quota is not None and len(s.watch.pending("model_failed")) >= quota):
        yield from recovered(program, s, "model_failed", f"model: {event.kind}")


def onward(program: Program, s: RunState) -> Follows:
    """What to ask next, or the end: nothing new is asked after a stop, and nothing ends while something is open."""
    while not s.requests and s.end is None:
        over = exhausted(program.terms.budget, s)
        if s.stop is not None:
            yield ended(program, s, s.stop)
        elif s.last_word:
            yield closed(program, s)
        elif s.undoing:
            yield from undone(program, s)
        elif over:
            yield StopDecided(status="exhausted", reason=over, dimension=over)
        elif s.watch.escalating:
            yield from escalated(program, s, s.watch.escalating.reason)
        elif stop := stalled(program, s):
            yield stop
        else:
            yield from warned(program, s)
            yield from further(program, s)


def further(program: Program, s: RunState) -> Follows:
    """The next thing to ask for: a lesson from what failed, then what this way of driving a run has next."""
    terms = program.terms
    if s.failures and terms.reflection == "model":
        yield asked(program, s, purpose="reflect", words=reflecting.WORDS)
    elif terms.arm == "plan" and terms.plan is not None:
        if s.plan is None or (s.off_plan and s.plan.revision <= terms.plan.revisions):
            yield asked(program, s, purpose="plan", words=planning.words(terms.plan, s.off_plan))
        elif s.off_plan:
            yield planning.given_up(s.plan, s.off_plan)
        elif s.begun < len(s.plan.steps):
            yield from planning.begun(program, s, s.plan)
        else:
            yield asked(program, s)
    elif terms.arm == "workflow":
        yield from worked(program, s)
    else:
        yield asked(program, s)


def worked(program: Program, s: RunState) -> Follows:
    """The next call of the workflow; behind the last one the run is done, or the model words what was found."""
    steps = program.terms.workflow
    if problem := workflow.stuck(s, steps):
        yield StopDecided(status="failed", reason=problem)
    elif s.begun == len(steps):
        yield closed(program, s) if program.terms.answer else asked(program, s)
    else:
        yield from called(program, s, workflow.proposed(s, steps), step=s.begun + 1)


def asked(program: Program, s: RunState, *, purpose: Purpose = "act", words: str = "") -> ModelAsked:
    """The next request, as a difference to the last one; ``words`` are the engine's own, for this request alone."""
    name, view = program.view
    # Another program may have taken the run up, which does not know the stronger model.
    model = s.model if s.model in program.terms.models else program.terms.model
    messages = [*view(s), Message("user", words, 0)] if words else view(s)
    kept = kept_of(s.asked, messages)
    new = messages[kept:]
    return ModelAsked(
        kept=kept,
        new=references(new),
        request=request_digest(new, program.rest(model, purpose), after=s.asked.hashed(kept)),
        state=sealed(s),
        model=model,
        parameters=program.terms.parameters,
        view=name,
        purpose=purpose,
    )
