"""What follows from what just happened: the agent loop as a pure function, and the only interpreter there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from redrive_engine.dialects import Decision, Unreadable
from redrive_engine.judge import judge
from redrive_engine.policy import SCHEMA
from redrive_engine.program import Program
from redrive_engine.tools import Call as ToolCall
from redrive_engine.verifiers import Refused, Supersedes
from redrive_events import (
    STRANGERS,
    CancelRequested,
    DecisionMade,
    Derived,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    Event,
    FactCommitted,
    FinishRefused,
    LeaseGranted,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    PersonAsked,
    ProposedCall,
    ReconcileAsked,
    Record,
    ReplyRefused,
    RunEnded,
    StopDecided,
    ToolCalled,
    digest,
)
from redrive_projections import (
    Call,
    RunState,
    claims,
    exhausted,
    kept_of,
    left,
    missing,
    references,
    request_digest,
    sealed,
    worded,
)

Follows: TypeAlias = Iterator[Derived]
Doubt: TypeAlias = Literal["timeout", "unknown", "cancelled", "worker lost"]


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


def finished(program: Program, s: RunState) -> Follows:
    """The model wants to end the run: it may, once the criteria hold."""
    lacking = missing(program.terms.done, s.facts)
    if lacking:
        yield FinishRefused(missing=lacking, text=f"Not done yet. Still to be established: {', '.join(lacking)}.")
    else:
        yield done(program)


def called(program: Program, s: RunState, decision: Decision) -> Follows:
    """Judge all calls of a reply, then make those that are allowed; if one blocks the run, none starts."""
    proposed = tuple(
        ProposedCall(call=number, tool=one.tool, block=one.block, arguments=one.arguments)
        for number, one in enumerate(decision.calls, start=s.calls_made + 1)
    )
    yield DecisionMade(kind="call", summary=decision.summary, calls=proposed, dropped=decision.dropped)
    verdicts = []
    for one in proposed:
        verdicts.append(judge(program, s, s.calls[one.call]))
        yield verdicts[-1]
    allowed = [s.calls[verdict.call] for verdict in verdicts if verdict.verdict == "allow"]
    blocking = [verdict for verdict in verdicts if verdict.verdict == "deny" and verdict.rule != SCHEMA]
    remaining = left(program.terms.budget, s)["tool_calls"]
    if blocking and program.terms.on_denied == "block":
        tool = s.calls[blocking[0].call].tool
        yield StopDecided(status="blocked", reason=f"call {blocking[0].call} of {tool}: {blocking[0].rule}")
    elif remaining is not None and len(allowed) > remaining:
        yield StopDecided(status="exhausted", reason="tool_calls", dimension="tool_calls")
    else:
        for call in allowed:
            yield tool_called(program, s, call)


def tool_called(program: Program, s: RunState, call: Call) -> ToolCalled:
    """The next attempt of a call; the key of what may act is the same over all attempts, and unlike any other run's."""
    declared = (program.tools or {}).get(call.tool)
    effect = declared.effect if declared else "unknown"
    keyed = declared is not None and effect != "read"  # what was only recorded is handed to nobody
    return ToolCalled(
        call=call.number,
        tool=call.tool,
        arguments=call.arguments,
        digest=digest({"tool": call.tool, "arguments": call.arguments}),
        effect=effect,
        key=f"{s.started.nonce}:{call.number}" if keyed and s.started else "",
        attempt=call.attempt + 1,
        timeout_ms=declared.timeout_ms if declared else None,
    )


def failed(program: Program, s: RunState, event: ModelFailed) -> Follows:
    """A failure that may pass is asked again within the quota; another ends the run."""
    if not event.retryable or reached(s.model_failed, program.terms.quotas.model_failed):
        yield StopDecided(status="failed", reason=f"model: {event.kind}")


def observed(program: Program, s: RunState, event: ObservationReceived) -> Follows:
    """An observation confirms an effect or puts it in doubt, and is verified before anything is known from it."""
    call = s.calls[event.call]
    match event.status:
        case "ok":
            if call.effect == "write":
                yield EffectConfirmed(call=call.number)
            yield from verified(program, s, call, event)
        case "timeout" | "unknown" | "cancelled" as why if call.effect != "read":
            yield from doubted(call, why)
        case _:
            pass  # a read is only told, and an error says that nothing was done


def doubted(call: Call, why: Doubt) -> Follows:
    """Nobody knows whether it landed: the authority is asked before anything else."""
    yield EffectInDoubt(call=call.number, why=why)
    yield ReconcileAsked(call=call.number, key=call.key)


def reconciled(program: Program, s: RunState, event: EffectReconciled) -> Follows:
    """Landed: verified like an observation. Not landed: the same key again, within bounds. Unknown: to a person."""
    call = s.calls[event.call]
    if event.outcome == "landed":
        yield EffectConfirmed(call=call.number)
        yield from verified(program, s, call, event)
    elif event.outcome == "not_landed":
        if s.running and call.attempt < program.terms.attempts:
            yield tool_called(program, s, call)
    elif s.running and program.terms.on_doubt == "escalate":
        yield StopDecided(status="escalated", reason=f"effect of call {call.number} ({call.tool}) in doubt")


def verified(program: Program, s: RunState, call: Call, seen: ObservationReceived | EffectReconciled) -> Follows:
    """Each verifier of the tool in turn: what it commits becomes fact, what it refuses the model does not see."""
    request = ToolCall(number=call.number, tool=call.tool, arguments=call.arguments)
    for verifier in program.verifiers_of(call.tool):
        known = {key: fact.value for key, fact in s.facts.items()}
        found = verifier.check(request, seen.content, seen.media_type, known)
        if isinstance(found, Refused):
            yield ObservationRefused(call=call.number, verifier=verifier.name, reason=found.reason, text=found.text)
            if program.terms.on_refused == "fail" and s.running:
                yield StopDecided(status="failed", reason=f"observation of call {call.number} refused: {found.reason}")
            return
        evidence = (call.observed,)
        yield ObservationVerified(call=call.number, verifier=verifier.name)
        for key, value in found.items():
            before = s.facts[key].position if key in s.facts else None
            plain = value.value if isinstance(value, Supersedes) else value
            yield FactCommitted(key=key, value=plain, verifier=verifier.name, evidence=evidence, supersedes=before)


def taken_up(s: RunState) -> Follows:
    """Reads and model requests of a lost worker are simply asked again; its open writes are in doubt."""
    for request in list(s.requests.values()):
        if isinstance(request, ToolCalled) and request.effect != "read":
            yield from doubted(s.calls[request.call], "worker lost")


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


def closed(program: Program, s: RunState) -> StopDecided:
    """The end after the person's last word: what is open has been answered, and the criteria say how it ended."""
    lacking = missing(program.terms.done, s.facts)
    return StopDecided(status="failed", reason=f"not done: {', '.join(lacking)}") if lacking else done(program)


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


def ended(program: Program, s: RunState, stop: StopDecided) -> RunEnded:
    """The end; there is an answer only where the run came to its own end."""
    template = program.terms.answer
    own = stop.status in {"succeeded", "finished"}
    return RunEnded(
        status=stop.status,
        reason=stop.reason,
        state=sealed(s),
        answer=(worded(template, s.facts) if template else s.answer) if own else None,
        claims=claims(template, s.facts) if own else (),
    )


def reached(count: int, quota: int | None) -> bool:
    """Whether failures in a row have reached their quota; None is no limit."""
    return quota is not None and count >= quota


def done(program: Program) -> StopDecided:
    """The end by the run's own decision: a success only where criteria could judge it."""
    return StopDecided(status="succeeded" if program.terms.done else "finished", reason="done")
