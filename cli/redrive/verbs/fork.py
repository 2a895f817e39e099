"""Let a run go on from an event of another one, which is left as it is."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from redrive.agents import agent_named
from redrive.chosen import Choice
from redrive.masking import mask_here
from redrive.options import LOG, AgentOption, JsonOption, LogOption, text
from redrive.terminal import Cell, columns, say, say_json
from redrive_engine import Agent, Contract, Fork, registered_as
from redrive_engine import fork as forked
from redrive_engine.policy import policy_in
from redrive_events import ApprovalAsked, BadInput, ModelAsked, PersonAsked, Request, ToolCalled, kind_of
from redrive_projections import Effect, called_as, start_of


def fork(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run, or the beginning of its id.")],
    at: Annotated[int, typer.Option("--at", metavar="N", help="The event to go on from: the last of an append.")],
    run_id: Annotated[str, typer.Option("--run-id", metavar="ID", help="What the new run is called.")] = "",
    agent: AgentOption = None,
    policy: Annotated[Path | None, typer.Option("--policy", metavar="FILE", help="Other rules, from there on.")] = None,
    contract: Annotated[
        Path | None, typer.Option("--contract", metavar="FILE", help="Another contract, from there on.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="NAME=VALUE", help="In place of the other's labels.", callback=text),
    ] = None,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Let a run go on from an event of another one: what stands up to there is inherited, and not copied.

    Nothing is asked and nothing acts before somebody takes the new run up with `redrive run`. What the other run had
    open there is asked for again; a write or a child run that was under way is not run a second time. What the other
    run did behind that event stays done, and is listed.
    """
    with Choice(log) as choice:
        chosen = choice.one(run)
        if chosen.log is not choice.log:
            raise BadInput("a run in a log is forked; import the recording first", place=run)
        given = agent_named(agent) if agent else None
        made = forked(
            choice.log,
            chosen.run_id,
            at,
            at=datetime.now(UTC),
            new_id=run_id,
            agent=given,
            contract=Contract.from_file(contract) if contract else None,
            policy=policy_in(policy) if policy else None,
            labels=_labels(label) if label else None,
            # Nothing but labels is said anew, so that a masked run is forked without its key where there are none.
            mask=((given.mask if given else None) or mask_here(log)) if label else None,
        )
        started = start_of(choice.log.read(made.run_id))
    spec = agent or (registered_as(started.agent) if started else None)
    known = given or (agent_named(spec) if spec else None)
    on = f"redrive run {spec or 'MODULE:ATTR'} --run-id {made.run_id}{_named(log)}"
    if as_json:
        say_json(_data(made, known, on))
    else:
        say(f"{made.run_id}  goes on from run {made.parent} at {made.position}", *_told(made, known), "", on)
    return 0


def _named(log: Path) -> str:
    """The option that names the log, where a verb would not find it without."""
    found = Path(os.environ.get("REDRIVE_LOG") or LOG)
    return "" if log == found else f" --log {shlex.quote(str(log))}"


def _labels(pairs: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise BadInput(f"is written NAME=VALUE, not {pair!r}", place="--label")
        if name in found:
            raise BadInput(f"{name} comes twice", place="--label")
        found[name] = value
    return found


def _told(made: Fork, agent: Agent | None) -> Iterator[Cell]:
    if made.open:
        yield from ("", "open there:")
        yield from columns((f"  {_open(one)}", _becomes(one)) for one in made.open)
    if made.standing:
        others = any(one.run_id.partition("/")[0] != made.parent.partition("/")[0] for one in made.standing)
        too = ", and those that it goes on from," if others else ""
        yield from ("", f"what run {made.parent}{too} did from there on stays done:")
        rows = (
            (f"  {one.run_id}", f"call {one.call}", one.stage, _undoing(one, agent), _called(one))
            for one in made.standing
        )
        yield from columns(rows)


def _called(effect: Effect) -> str:
    return called_as(effect.tool, effect.arguments)


def _open(request: Request) -> str:
    match request:
        case ModelAsked():
            return "the model"
        case PersonAsked():
            return f"the {request.actor} ({request.why})"
        case ToolCalled():
            return f"call {request.call} of {request.tool}"
        case ApprovalAsked():
            return f"the approval of call {request.call}"
        case _:
            return f"what became of call {request.call}"


def _becomes(request: Request) -> str:
    match request:
        case ToolCalled(effect="read") | ModelAsked() | PersonAsked(effect=None):
            return "asked again"
        case ApprovalAsked():
            return "judged again"
        case _:
            return "not run here"


def _undoing(effect: Effect, agent: Agent | None) -> str:
    """Whether its tool could undo it; nothing where nobody knows the tool."""
    tool = agent.tools.get(effect.tool) if agent else None
    if tool is None:
        return ""
    return "its tool can undo it" if tool.declaration.compensable else "cannot be undone"


def _data(made: Fork, agent: Agent | None, on: str) -> dict[str, object]:
    return {
        "run_id": made.run_id,
        "parent": made.parent,
        "position": made.position,
        "open": [
            {"kind": kind_of(one), "call": getattr(one, "call", None), "becomes": _becomes(one)} for one in made.open
        ],
        "standing": [msgspec.to_builtins(one) | {"undoing": _undoing(one, agent) or None} for one in made.standing],
        "go_on": on,
    }
