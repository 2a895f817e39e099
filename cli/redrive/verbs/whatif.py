"""Drive a recorded run again with something changed, and say how far it would surely have come."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from redrive.chosen import Choice
from redrive.driving import agent_and_program
from redrive.given import observations_by_call, replies_by_step, text_in
from redrive.imagined import concealed, imagined
from redrive.masking import Shown, UnmaskedOption, mask_here
from redrive.options import LOG, AgentOption, BeyondOption, JsonOption, LogOption, RunArgument, text
from redrive.terminal import say, say_json
from redrive_engine import Agent, Contract, Mask
from redrive_engine.policy import policy_in
from redrive_events import BadInput, RunStarted
from redrive_replays import Recording
from redrive_replays.whatif import Changes, Kind, Live, branched, check_told_twice, edge_report

PolicyOption = Annotated[Path | None, typer.Option("--policy", metavar="FILE", help="Other rules, in TOML or Cedar.")]
ContractOption = Annotated[Path | None, typer.Option("--contract", metavar="FILE", help="Another contract.")]
PromptOption = Annotated[Path | None, typer.Option("--prompt", metavar="FILE", help="Another system prompt.")]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="NAME", help="Another model.", callback=text)]
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
    typer.Option(
        "--set-reply",
        metavar="STEP=FILE",
        help="What the model says in a recorded step: words, or JSON with the calls it makes.",
    ),
]
ApprovalsOption = Annotated[
    Literal["stop", "grant", "refuse"],
    typer.Option("--approvals", help="What becomes of an approval that the recording does not have."),
]


class LiveKind(StrEnum):
    """Who is really asked: as `Kind`, in the one form in which an option may be given often."""

    MODEL = "model"
    READS = "reads"
    WRITES = "writes"


LiveOption = Annotated[
    list[LiveKind] | None,
    typer.Option(
        "--live",
        help="Ask the agent's model, tools that read or tools that write where the recording has no sure answer.",
    ),
]
RealOption = Annotated[
    bool, typer.Option("--effects-are-real", help="With --live writes: yes, what is written is written for real.")
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
    live: LiveOption = None,
    effects_are_real: RealOption = False,
    agent: AgentOption = None,
    log: LogOption = LOG,
    unmasked: UnmaskedOption = False,
    as_json: JsonOption = False,
) -> int:
    """Drive a recorded run again with something changed, and say how far it would surely have come.

    Nothing acts: tools, models and people answer as recorded, each answer once, to what it surely answers. At the first
    request without such an answer it stops, and says what can be known from there. Options can be combined. With --live
    the agent's model, and tools of that kind, are really asked there.

    Exit codes: 0 nothing would have been otherwise, 1 something would, 3 cannot be replayed.
    """
    changes = Changes(
        policy=policy_in(policy) if policy else None,
        contract=Contract.from_file(contract) if contract else None,
        prompt=text_in(prompt) if prompt else None,
        model=model,
        dropped=tuple(drop_tool or ()),
        observations=observations_by_call(set_observation or (), "--set-observation"),
        replies=replies_by_step(set_reply or (), "--set-reply"),
        approvals=approvals,
        beyond=beyond == "recorded",
    )
    kinds: frozenset[Kind] = frozenset(one.value for one in live or ())
    check_told_twice(kinds, effects_are_real=effects_are_real)
    if changes.every_request and not changes.beyond and "model" not in kinds:
        raise BadInput("every request to the model would be another one: it needs --beyond recorded or --live model")
    with Choice(log) as choice:
        chosen = choice.one(run)
        recording = chosen.recording()
        known, program = agent_and_program(recording, agent)
        asked = _live(known, kinds, effects_are_real=effects_are_real) if kinds else None
        with redirect_stdout(sys.stderr):  # a tool may print
            branch = branched(recording.records, program, changes, live=asked, mask=_mask(recording, known, log))
        report = edge_report(recording.records, branch, log=chosen.log)
    records = branch.whole
    shown = Shown([*recording.records, *records], unmasked=unmasked)
    report = concealed(report, shown)
    if as_json:
        say_json(shown.data(report.data()))
    else:
        say(*imagined(report, shown.records(records), shown.records(recording.records)), fold=True)
    return report.exit_code


def _live(agent: Agent | None, kinds: frozenset[Kind], *, effects_are_real: bool) -> Live:
    """Who is asked.

    Raises:
        BadInput: there is no agent whose model and tools could be.
    """
    if agent is None:
        raise BadInput("there is no agent to ask; give --agent", place="--live")
    return Live(agent, kinds, effects_are_real=effects_are_real)


def _mask(recording: Recording, agent: Agent | None, log: Path) -> Mask | None:
    """The agent's own mask, or the one with the key of the surroundings, if the run is masked."""
    first = recording.records[0].event
    if agent is not None and agent.mask is not None:
        return agent.mask
    return mask_here(log) if isinstance(first, RunStarted) and first.mask_key else None
