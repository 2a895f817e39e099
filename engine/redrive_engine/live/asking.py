"""One open request put to the world, and what came of it as an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from redrive_engine.execution import Outcome, ask_reconcile, execute
from redrive_engine.live.settling import Attempt, settled
from redrive_engine.masking import Door, SealedValueLost, masked_event, opened_arguments, opened_messages
from redrive_engine.models import Model, ModelRequest, ModelTrouble
from redrive_engine.program import Program
from redrive_engine.stating import UNSETTLED
from redrive_engine.tools import Call, Tool
from redrive_engine.world import Waiting
from redrive_events import (
    Answer,
    EffectReconciled,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    ReconcileAsked,
    Request,
    ToolCalled,
    mended,
)
from redrive_projections import request_digest

# What the model is told where a placeholder in a call stands for nothing.
LOST: Final = (
    "{tool}: a masked value in the arguments is not to be had, so the call was not made. "
    "Copy a placeholder exactly as it is written, or go on without that value."
)


@dataclass(frozen=True, slots=True)
class Means:
    """What a request is put to; ``clock`` is that of the run's own time.

    ``running`` holds, by call, what of it still runs in this process, also if nobody waits for it any more; ``late`` is
    told, in whatever thread, what came of it then.
    """

    program: Program
    tools: Mapping[str, Tool]
    model: Model
    running: Mapping[int, set[object]]
    clock: Callable[[], datetime]
    late: Callable[[ObservationReceived], None]
    door: Door


async def ask(request: Request, waiting: Waiting, means: Means) -> Answer:
    """The answer to ``request``; a tool's or model's failure is an answer too."""
    match request:
        case ModelAsked():
            return await _ask_model(request, waiting, means)
        case ToolCalled():
            return await _ask_tool(request, waiting, means)
        case ReconcileAsked():
            return await _settled(request, waiting, means)
        case _:
            raise ValueError(f"{type(request).__name__} is not asked of a model or tool")


async def _ask_model(request: ModelAsked, waiting: Waiting, means: Means) -> Answer:
    program = means.program
    # What is sent is what the log says was asked, to the byte. Where another program asked it, with other tools or
    # another model, that can no longer be built: the request is closed, and this program asks its own.
    known = request.model in {program.terms.model, *program.terms.models}
    if not known or request_digest(waiting.messages, program.rest(request.model, request.purpose)) != request.request:
        return ModelFailed(kind="cancelled", retryable=True)
    question = ModelRequest(
        turn=waiting.steps + 1,
        messages=opened_messages(means.door, waiting.messages),
        tools=program.offers(request.purpose),
        model=request.model,
        parameters=request.parameters,
    )
    try:
        return masked_event(means.door, _recordable(await means.model.ask(question)))
    except ModelTrouble as trouble:
        return ModelFailed(
            kind=trouble.kind,
            retryable=trouble.retryable,
            retry_after_ms=trouble.retry_after_ms,
            status=trouble.status,
        )


def _recordable(reply: ModelReplied) -> ModelReplied:
    """The reply as a log can hold it: half a character (a stream cut in two) becomes the sign for a broken one."""
    if not isinstance(reply, ModelReplied):
        raise TypeError(f"a model answers with a ModelReplied, not with {type(reply).__name__}")
    return msgspec.convert(mended(msgspec.to_builtins(reply)), ModelReplied)


async def _ask_tool(request: ToolCalled, waiting: Waiting, means: Means) -> ObservationReceived:
    tool, started = means.tools.get(request.tool), means.clock()
    if tool is None:  # the agent that takes the run up may have fewer tools than the one that began it
        words = f"There is no {request.tool} any more."
        return ObservationReceived(call=request.call, status="error", error="refused", content=words)

    def late(outcome: Outcome) -> None:
        means.late(_observed(request.call, outcome, started))

    try:
        call = _call(request.call, waiting, tool, means.door)
    except SealedValueLost:
        words = LOST.format(tool=request.tool)
        return ObservationReceived(call=request.call, status="error", error="sealed value lost", content=words)
    outcome = await execute(tool, call, means.running[request.call], late, means.door)
    return _observed(request.call, outcome, started)


def _observed(call: int, outcome: Outcome, started: datetime) -> ObservationReceived:
    return ObservationReceived(
        call=call,
        status=outcome.status,
        content=outcome.content,
        media_type=outcome.media_type,
        size_bytes=outcome.size_bytes,
        cut=outcome.cut,
        source=outcome.source,
        error=outcome.error,
        tenant=outcome.tenant,
        trust=outcome.trust,
        schema_version=outcome.schema_version,
        as_of=outcome.as_of,
        started=started,
        redirects=outcome.redirects,
    )


async def _settled(request: ReconcileAsked, waiting: Waiting, means: Means) -> EffectReconciled:
    """What the authority says, where it can be believed; else nobody knows."""
    call = waiting.calls[request.call]
    tool = means.tools.get(call.tool)
    answer = None
    if tool is not None:
        running = means.running[request.call]
        attempt = Attempt.of(call, tool.declaration, running, epoch=waiting.epoch, at=means.clock())
        answer = await settled(attempt, partial(_reconcile, request, waiting, tool, means.door))
    return answer or EffectReconciled(call=request.call, outcome="unknown", content=UNSETTLED["unknown"])


async def _reconcile(request: ReconcileAsked, waiting: Waiting, tool: Tool, door: Door) -> EffectReconciled:
    try:
        outcome, seen = await ask_reconcile(tool, _call(request.call, waiting, tool, door), door)
    except SealedValueLost:  # without the value nobody can be asked
        outcome, seen = "unknown", None
    if seen is not None:
        return EffectReconciled(
            call=request.call,
            outcome=outcome,
            content=seen.content,
            media_type=seen.media_type,
            error="limits" if seen.error == "limits" else "",
            tenant=seen.tenant,
            as_of=seen.as_of,
        )
    return EffectReconciled(call=request.call, outcome=outcome, content=UNSETTLED[outcome])


def _call(number: int, waiting: Waiting, tool: Tool, door: Door) -> Call:
    call = waiting.calls[number]
    return Call(
        number=number,
        tool=call.tool,
        arguments=opened_arguments(door, call.arguments, tool.arguments.problems),
        key=call.key,
        epoch=waiting.epoch,
        attempt=call.attempt,
        principal=waiting.started.principal,
        tenant=waiting.started.tenant,
        deadline=waiting.deadline,
        compensates="" if call.compensates is None else f"{waiting.started.nonce}:{call.compensates}",
    )
