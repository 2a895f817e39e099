"""Look at rules: what is wrong with them, and why a call was judged as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from redrive.agents import agent_named
from redrive.chosen import Choice
from redrive.judged import judged_data, judged_told
from redrive.masking import Shown, UnmaskedOption
from redrive.options import LOG, AgentOption, JsonOption, LogOption, RunArgument
from redrive.terminal import columns, counted, say, say_json
from redrive_engine.checking import known_of
from redrive_engine.policy import check_policy, policy_in
from redrive_replays import judged

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Rules in TOML, or policies in Cedar.")]
CallArgument = Annotated[int, typer.Argument(metavar="CALL", min=1, help="The number of a call, as `show` has it.")]
PolicyOption = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="Judge by this in place of the recorded policy.")
]


def check(file: FileArgument, agent: AgentOption = None, as_json: JsonOption = False) -> int:
    """Check that each rule can match, and that no earlier one always decides first.

    With --agent also whether there are the tools, arguments and facts of which they speak, and the tools are granted.

    Exit codes: 0 nothing found, 1 a finding, 2 the file cannot be read, or is none.
    """
    count, found = check_policy(file, known_of(agent_named(agent).program) if agent else None)
    if as_json:
        say_json({"rules": count, "findings": [one._asdict() for one in found]})
        return int(bool(found))
    if found:
        rows = [(str(one.line or ""), one.rule, one.kind, one.text) for one in found]
        say(*columns([("LINE", "RULE", "KIND", "FINDING"), *rows], right={0}), "")
    say(f"{counted(count, 'rule')}, {counted(len(found), 'finding')}")
    return int(bool(found))


def explain(
    run: RunArgument,
    call: CallArgument,
    policy: PolicyOption = None,
    agent: AgentOption = None,
    log: LogOption = LOG,
    unmasked: UnmaskedOption = False,
    as_json: JsonOption = False,
) -> int:
    """Explain why a call was judged as it was: each rule that was looked at, with what it compared.

    The rules are those that the run recorded, or those of --policy. What the log does not say of the run's tools is
    what --agent declares, or the agent that is registered under the recorded name. Credentials are shown as [masked]
    unless --unmasked is given.
    """
    with Choice(log) as choice:
        chosen = choice.one(run)
        recording = chosen.recording()
    found = judged(
        recording, call, agent=agent_named(agent) if agent else None, policy=policy_in(policy) if policy else None
    )
    data = Shown(recording.records, unmasked=unmasked).data(judged_data(found))
    say_json(data) if as_json else say(*judged_told(data), whole=True)
    return 0


VERBS: dict[str, Callable[..., int]] = {"check": check, "explain": explain}
