"""Find the smallest run that still shows a failure, and keep it as a recording with its test."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Annotated

import typer

from redrive.chosen import Choice
from redrive.driving import program_of
from redrive.files import replacing
from redrive.options import LOG, AgentOption, JsonOption, LogOption, RunArgument
from redrive.showing import showing, written
from redrive.terminal import counted, say, say_json
from redrive_engine import Agent
from redrive_events import BadInput
from redrive_replays import shrunk

# What pytest takes for a file of tests.
_FOUND = re.compile(r"test_.*\.py|.*_test\.py")

TEST = '''"""The smallest run in which {what}."""

from __future__ import annotations

from pathlib import Path

import redrive as rd
{needs}
RECORDING = Path(__file__).with_name("{recording}")


def test_{name}() -> None:
    """It is driven again as it was recorded: another outcome is a change of behaviour."""
    report = rd.replay(RECORDING{agent})
    assert report.same, report.divergences[:1] or report.reason
'''


def shrink(
    run: RunArgument,
    while_: Annotated[
        str,
        typer.Option(
            "--while", metavar="EXPR|FILE::TEST", help="What is to be kept: an expression over runs in SQL, or a test."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the recording is written.")
    ] = None,
    emit_test: Annotated[
        Path | None, typer.Option("--emit-test", metavar="FILE", help="Write a test of pytest for it, too.")
    ] = None,
    agent: AgentOption = None,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Find the smallest set of inputs of a run that still shows a failure: each candidate is driven again.

    The failure is an expression in SQL that holds for the run (status = 'failed'), or a test that fails: it finds the
    candidate in the file that REDRIVE_RECORDING names. What is left is written as a recording of its own.
    """
    with Choice(log) as choice:
        recording = choice.one(run).recording()
    program = program_of(recording, agent)
    file = output or _beside(emit_test, recording.run_id)
    if emit_test is not None and emit_test.resolve().parent != file.resolve().parent:
        raise BadInput("the test stands beside its recording", place=str(emit_test))
    if emit_test is not None and not _FOUND.fullmatch(emit_test.name):
        raise BadInput("a test that pytest finds is called test_….py or …_test.py", place=str(emit_test))
    found = shrunk(recording.records, program, showing(while_, "--while"))
    with replacing(file) as stream:
        written(found.records, stream)
    if emit_test is not None:
        with replacing(emit_test) as stream:
            stream.write(_test(while_, file, emit_test, agent).encode())
    events = sum(one.run_id == recording.run_id for one in found.records)
    data = {"inputs": found.inputs, "of": found.of, "events": events, "tried": found.tried}
    if as_json:
        say_json(data | {"recording": str(file)})
    else:
        left = f"{found.inputs} of {counted(found.of, 'input')}, {counted(events, 'event')}"
        say(f"{recording.run_id}  {left}  {file}", fold=True)
    return 0


def _beside(test: Path | None, run_id: str) -> Path:
    """Where the recording is written if nobody says: beside its test, and called like it."""
    if test is None:
        return Path(f"{run_id.replace('/', '-')}.small.jsonl")
    return test.with_name(f"{test.stem.removeprefix('test_')}.jsonl")


def _test(what: str, recording: Path, test: Path, agent: str | None) -> str:
    words = f"`{what}`" if "::" in what else what
    plain = "".join(sign if sign.isalnum() and sign.isascii() else "_" for sign in test.stem.removeprefix("test_"))
    needs, given = _agent(agent) if agent else ("", "")
    told = words.replace("\\", "\\\\").replace('"', "'").replace("\n", " ")
    return TEST.format(what=told, recording=recording.name, name=plain, agent=given, needs=needs)


def _agent(spec: str) -> tuple[str, str]:
    """How a test imports the agent of a command line, and gives it: a function that makes one is called."""
    module, _, name = spec.partition(":")
    found = getattr(importlib.import_module(module), name)
    call = "" if isinstance(found, Agent) else "()"
    return f"from {module} import {name}\n", f", agent={name}{call}"
