"""Show what happened in a run, its state after one event, or what its model was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from redrive.asked import asked_data, asked_told
from redrive.chosen import Choice
from redrive.handing import handed_over
from redrive.masking import Shown, UnmaskedOption
from redrive.moments import spelled
from redrive.options import LOG, JsonOption, LogOption, RunArgument
from redrive.state import plain, state_data, state_told
from redrive.terminal import columns, counted, say, say_json, warn
from redrive_events import AnnotationMade, BadInput, Json, Record, canonical
from redrive_projections import Asked, RunState, bounded, fold, one_line, rebuilt, status, timeline


def show(
    run: RunArgument,
    at: Annotated[int | None, typer.Option("--at", metavar="N", min=1, help="The state after event N.")] = None,
    request: Annotated[
        int | None, typer.Option("--request", metavar="N", min=1, help="What the model was asked at event N.")
    ] = None,
    handover: Annotated[bool, typer.Option("--handover", help="What a person needs who takes the run over.")] = False,
    contract: Annotated[
        bool, typer.Option("--contract", help="One JSON object a step: the bounded event contract.")
    ] = False,
    thoughts: Annotated[bool, typer.Option("--thoughts", help="With what the model thought.")] = False,
    unmasked: UnmaskedOption = False,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Show what happened in a run: what was asked, and one line for each event.

    With --at it is the state after that event instead: what was known, open, used up and said. With --request it is
    all that the model was given at that event, every word, rebuilt from the log and held against its digest. With
    --handover it is what was packed when a person was last asked to take over: what was asked, known, tried and open.
    With --contract it is one JSON object on a line for each step, or each call of one: what was decided and allowed,
    what came of it and what was left of the budget, in a fixed form without any content.

    Credentials are shown as [masked], also of a run that was recorded without a mask, unless --unmasked is given.
    """
    if (at is not None) + (request is not None) + handover + contract > 1:
        raise BadInput("it shows one of them at a time", place="--at, --request, --handover and --contract")
    with Choice(log) as choice:
        chosen = choice.one(run)
        recording, remarks = chosen.recording(), chosen.remarks()
        held = at is None and chosen.log.holder(chosen.run_id) is not None
    recorded = recording.records
    shown = Shown(recorded, unmasked=unmasked)
    records, remarks = shown.records(recorded), shown.remarks(remarks)
    if handover:
        handed = handed_over(chosen.run_id, records)
        say_json(handed.data()) if as_json else say(*handed.told(), whole=True)
        return 0
    if contract:
        print(*_contract(recorded, shown), sep="", end="")
        return warn(recording.problem) if recording.problem else 0
    if request is not None:
        _tell_request(rebuilt(recorded, request), shown, chosen.run_id, thoughts=thoughts, as_json=as_json)
        return 0
    last = records[-1].position
    if at is not None and at > last:
        raise BadInput(f"it has no event {at}; the last one is {last}", place=f"run {chosen.run_id}")
    state = fold(record for record in records if at is None or record.position <= at)
    reads = status(state, held=held)
    if at is not None:
        say_json(state_data(state, thoughts=thoughts)) if as_json else say(*state_told(state, last))
        return warn(recording.problem) if state.quarantined else 0
    if as_json:
        say_json(_data(state, records, remarks, thoughts=thoughts) | {"status": reads, "problem": recording.problem})
    else:
        clock = state.started.clock if state.started else "none"
        head = ((Text(name, style="dim"), one_line(value)) for name, value in _head(state, reads, remarks) if value)
        say(*columns(head), "", whole=True)
        say(*spelled(timeline(records, thoughts=thoughts), last, clock=clock))
    return warn(recording.problem) if recording.problem else 0


def _contract(recorded: Sequence[Record], shown: Shown) -> Iterator[str]:
    """The rows, each a line; their digests are of what was recorded, whatever may be shown of it."""
    for row in bounded(recorded):
        row.decision_summary = shown.data(row.decision_summary)
        yield f"{msgspec.json.encode(row).decode()}\n"


def _tell_request(exact: Asked, shown: Shown, run_id: str, *, thoughts: bool, as_json: bool) -> None:
    asked = shown.request(exact)
    if as_json:
        say_json(asked_data(asked, thoughts=thoughts))
    else:
        say(*asked_told(asked, run_id, exact.digest, thoughts=thoughts), whole=True)


def _head(state: RunState, reads: str, remarks: Sequence[AnnotationMade]) -> Iterator[tuple[str, str]]:
    started = state.started
    yield "run", state.run_id
    if started is None:
        return
    yield "agent", f"{started.agent} {started.version}".strip()
    yield "for", started.principal + (f" of {started.tenant}" if started.tenant else "")
    if started.source:
        yield "source", f"{started.source.format}, graded {started.source.grade}"
        yield "missing", ", ".join(started.source.missing)
    yield "status", f"{reads}, {counted(state.steps, 'step')}, {counted(state.position, 'event')}"
    yield "goal", started.goal
    yield "answer", (state.end.answer or "") if state.end else ""
    yield "partial", (state.end.partial or "") if state.end else ""
    for remark in remarks:
        yield remark.name, f"{canonical(remark.value).decode()} (says {remark.source})"


def _data(
    state: RunState, records: Sequence[Record], remarks: Sequence[AnnotationMade], *, thoughts: bool
) -> dict[str, Json]:
    moments = zip(timeline(records, thoughts=thoughts), records, strict=True)
    return {
        "run_id": state.run_id,
        "steps": state.steps,
        "answer": state.end.answer if state.end else None,
        "partial": state.end.partial if state.end else None,
        "remarks": [msgspec.to_builtins(remark) for remark in remarks],
        "timeline": [
            {**msgspec.to_builtins(moment), "cause": record.cause, "event": plain(record.event, thoughts=thoughts)}
            for moment, record in moments
        ],
    }
