"""One open request put to the world, and what came of it as an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import anyio
import msgspec

from redrive_engine.execution import ask_reconcile, execute
from redrive_engine.models import Model, ModelRequest, ModelTrouble
from redrive_engine.program import Program
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

# How long between two looks at whether an abandoned attempt still runs.
LOOK_S = 0.01

# What the model is told of an effect that was not observed.
UNSETTLED = {
    "landed": "This took effect.",
    "not_landed": "This did not take effect.",
    "unknown": "Whether this took effect is not known.",
}


@dataclass(frozen=True, slots=True)
class Means:
    """What a request is put to; ``clock`` is that of the run's own time.

    ``running`` holds, by call, what of it still runs in this process, also if nobody waits for it any more.
    """

    program: Program
    tools: Mapping[str, Tool]
    model: Model
    running: Mapping[int, set[object]]
    clock: Callable[[], datetime]


async def ask(request: Request, waiting: Waiting, means: Means) -> Answer:
    """The answer to ``request``; a tool's or model's failure is an answer too."""
    match request:
        case ModelAsked():
            return await _ask_model(request, waiting, means.program, means.model)
        case ToolCalled():
            return await _ask_tool(request, waiting, means)
        case ReconcileAsked():
            return await _settled(request, waiting, means.tools, means.running[request.call])
        case _:
            raise ValueError(f"{type(request).__name__} is not asked of a model or tool")


async def _ask_model(request: ModelAsked, waiting: Waiting, program: Program, model: Model) -> Answer:
    # What is sent is what the log says was asked, to the byte. Where another program asked it, with other tools or
    # another model, that can no longer be built: the request is closed, and this program asks its own.
    known = request.model in {program.terms.model, *program.terms.models}
    if not known or request_digest(waiting.messages, program.rest(request.model, request.purpose)) != request.request:
        return ModelFailed(kind="cancelled", retryable=True)
    question = ModelRequest(
        turn=waiting.steps + 1,
        messages=waiting.messages,
        tools=program.offers(request.purpose),
        model=request.model,
        parameters=request.parameters,
    )
    try:
        return _recordable(await model.ask(question))
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
        return ObservationReceived(call=request.call, status="error", content=f"There is no {request.tool} any more.")
    outcome = await execute(tool, _call(request.call, waiting), means.running[request.call])
    return ObservationReceived(
        call=request.call,
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


async def _settled(
    request: ReconcileAsked, waiting: Waiting, tools: Mapping[str, Tool], running: set[object]
) -> EffectReconciled:
    """What the authority says; that it did not happen only once nothing of the attempt runs that could still land."""
    while True:
        acting = bool(running)
        answer = await _reconcile(request, waiting, tools)
        if answer.outcome != "not_landed" or not acting:
            return answer
        while running:
            await anyio.sleep(LOOK_S)


async def _reconcile(request: ReconcileAsked, waiting: Waiting, tools: Mapping[str, Tool]) -> EffectReconciled:
    tool = tools.get(waiting.calls[request.call].tool)
    outcome, seen = ("unknown", None) if tool is None else await ask_reconcile(tool, _call(request.call, waiting))
    if seen is not None:
        return EffectReconciled(
            call=request.call,
            outcome=outcome,
            content=seen.content,
            media_type=seen.media_type,
            error=seen.error,
            tenant=seen.tenant,
            as_of=seen.as_of,
        )
    return EffectReconciled(call=request.call, outcome=outcome, content=UNSETTLED[outcome])


def _call(number: int, waiting: Waiting) -> Call:
    call = waiting.calls[number]
    return Call(
        number=number,
        tool=call.tool,
        arguments=call.arguments,
        key=call.key,
        epoch=waiting.epoch,
        attempt=call.attempt,
        principal=waiting.started.principal,
        tenant=waiting.started.tenant,
        deadline=waiting.deadline,
    )
