"""How a reply leaves the loop: by a final word, by one that it cannot be done, or by asking for a person."""

from __future__ import annotations

from typing import Final, NamedTuple

from redrive_engine.dialects import Decision, Proposal, Unreadable
from redrive_engine.loop.ending import UNABLE, escalated, finished
from redrive_engine.loop.follows import Follows
from redrive_engine.loop.recovering import judged
from redrive_engine.program import Program
from redrive_engine.ways import WAYS_OUT, words_of
from redrive_events import (
    Content,
    DecisionMade,
    FinishRefused,
    Json,
    ProposedCall,
    StopDecided,
    ToolUse,
    WayOut,
    arguments_of,
    blocks_of,
)
from redrive_projections import RunState

SPOKEN: Final = "Somebody has spoken meanwhile: read that first."


class Leave(NamedTuple):
    """By which way out a reply leaves, in which words, and the call by which it does, if there is one."""

    way: WayOut
    words: str
    call: Proposal | None = None


def leave_of(program: Program, decision: Decision, content: Content) -> Leave | Unreadable | None:
    """How a decision leaves the loop, if it does.

    A call does so alone, and with its one argument; else it is judged, and denied, like any other. What a dialect has
    words for, and the contract does not grant, is no decision.
    """
    granted = program.terms.ways_out
    if decision.kind == "call":
        if not granted or len(decision.calls) > 1:
            return None
        call = decision.calls[0]
        way = next((way for way in granted if way == call.tool), None)
        if way is None or WAYS_OUT[way].problems(arguments := _arguments(call, content)):
            return None
        return Leave(way, words_of(arguments), call)
    if decision.kind != "finish" and decision.kind not in granted:
        return Unreadable(f"{decision.kind} is no way out", f"There is no {decision.kind!r} here: go on, or finish.")
    return Leave(decision.kind, decision.answer)


def left(program: Program, s: RunState, decision: Decision, leave: Leave) -> Follows:
    """The run ends, or waits for a person; unless the criteria do not hold, or somebody has to be heard first."""
    way, words, call = leave
    number = s.calls_made + 1 if call else None
    yield DecisionMade(
        kind="escalate" if way == "escalate" else "finish",
        summary=decision.summary,
        calls=(ProposedCall(call=number, tool=call.tool, block=call.block, arguments=call.arguments),)
        if call and number
        else (),
        answer=words,
        dropped=decision.dropped,
        unable=way == "unable",
    )
    if s.waiting:  # the model is asked again; only a call must have its response
        if number:
            yield FinishRefused(missing=(), text=SPOKEN, call=number)
    elif way == "finish":
        yield from finished(program, s, number)
        yield from judged(program, s, "finish")
    elif way == "unable":
        yield StopDecided(status="failed", reason=UNABLE)
    else:
        yield from escalated(program, s, words, call=number)


def _arguments(call: Proposal, content: Content) -> Json:
    block = blocks_of(content)[call.block] if call.block is not None else None
    return arguments_of(block.arguments) if isinstance(block, ToolUse) else call.arguments
