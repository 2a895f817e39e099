"""Drive a recorded run again with something changed, and say how far it would surely have come."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from redrive.chosen import Choice
from redrive.driving import program_of
from redrive.given import by_number, observations_by_call, text_in
from redrive.imagined import imagined
from redrive.options import LOG, AgentOption, JsonOption, LogOption, RunArgument
from redrive.terminal import say, say_json
from redrive_engine import Contract
from redrive_engine.policy import RulesPolicy
from redrive_events import BadInput
from redrive_replays.whatif import Changes, branched, edge_report

PolicyOption = Annotated[Path | None, typer.Option("--policy", metavar="FILE", help="Other rules.")]
ContractOption = Annotated[Path | None, typer.Option("--contract", metavar="FILE", help="Another contract.")]
PromptOption = Annotated[Path | None, typer.Option("--prompt", metavar="FILE", help="Another system prompt.")]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="NAME", help="Another model.")]
DropOption = Annotated[list[str] | None, typer.Option("--drop-tool", metavar="NAME", help="Without a tool.")]
ObservationOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set-observation",
        metavar="CALL=FILE",
        help="What a recorded call is answered with; CALL=error:FILE where it fails with that.",
    ),
]
ReplyOption = Annotated[
    list[str] | None,
    typer.Option("--set-reply", metavar="STEP=FILE", help="What the model says in a recorded step."),
]
ApprovalsOption = Annotated[
    Literal["stop", "grant", "refuse"],
    typer.Option("--approvals", help="What becomes of an approval that the recording does not have."),
]
BeyondOption = Annotated[
    Literal["sure", "recorded"],
    typer.Option("--beyond", help="How far to go on: no further than is sure, or with what was recorded nearby."),
]


def whatif(
    run: RunArgument,
    policy: PolicyOption = None,
    contract: ContractOption = None,
    prompt: PromptOption = None,
    model: ModelOption = None,
    drop_tool: DropOption = None,
    set_observation: ObservationOption = None,
    set_reply: ReplyOption = None,
    approvals: ApprovalsOption = "stop",
    beyond: BeyondOption = "sure",
    agent: AgentOption = None,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Drive a recorded run again with something changed, and say how far it would surely have come.

    Nothing acts: tools, models and people answer as recorded, each answer once, to what it surely answers. At the first
    request without such an answer it stops, and says what can be known from there. Options can be combined.

    Exit codes: 0 nothing would have been otherwise, 1 something would, 3 cannot be replayed.
    """
    changes = Changes(
        policy=RulesPolicy.from_toml(policy) if policy else None,
        contract=Contract.from_file(contract) if contract else None,
        prompt=text_in(prompt) if prompt else None,
        model=model,
        dropped=tuple(drop_tool or ()),
        observations=observations_by_call(set_observation or (), "--set-observation"),
        replies=by_number(set_reply or (), "--set-reply"),
        approvals=approvals,
        beyond=beyond == "recorded",
    )
    if changes.every_request and not changes.beyond:
        raise BadInput("every request to the model would be another one: it needs --beyond recorded")
    with Choice(log) as choice:
        recording = choice.one(run).recording()
    program = program_of(recording, agent)
    branch = branched(recording.records, program, changes)
    report = edge_report(recording.records, branch)
    if as_json:
        say_json(report.data())
    else:
        say(*imagined(report, branch, recording.records))
    return report.exit_code
