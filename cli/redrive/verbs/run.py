"""Set an agent upon a goal, or go on with its run."""

from __future__ import annotations

import sys
from collections.abc import Awaitable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, TypeAlias

import anyio
import typer

from redrive.agents import agent_named
from redrive.answering import ModelOption, PricesOption, StreamOption, UrlOption, answering
from redrive.chosen import log_to_write
from redrive.masking import MaskOption, mask_asked
from redrive.options import LOG, DurabilityOption, JsonOption, LogOption, PrincipalOption, TenantOption, text
from redrive.talking import Talk
from redrive.terminal import say, say_json
from redrive_engine import Run, lessons, mint
from redrive_events import BadInput, EventLog, Json, NoSuchRun, RunStarted, check_undamaged
from redrive_projections import one_line, start_of

FINE = ("succeeded", "finished")
LINE_CHARS_MAX = 100_000

GoalOption: TypeAlias = Annotated[
    str | None, typer.Option("--goal", metavar="TEXT", help="What a new run is for.", callback=text)
]
TalkOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--talk/--no-talk",
        show_default=False,
        help="Read what a person says from stdin, line by line; on a terminal that is so unless said otherwise.",
    ),
]


def run(
    agent: Annotated[str, typer.Argument(metavar="MODULE:ATTR", help="The agent, or a function that returns it.")],
    goal: GoalOption = None,
    principal: PrincipalOption = "",
    tenant: TenantOption = "",
    run_id: Annotated[str, typer.Option("--run-id", metavar="ID", help="What the run is called.")] = "",
    model: ModelOption = "",
    base_url: UrlOption = "",
    stream: StreamOption = False,
    prices: PricesOption = None,
    talk: TalkOption = None,
    learn: Annotated[
        bool, typer.Option("--lessons", help="Begin with what earlier runs of this agent upon this goal have noted.")
    ] = False,
    mask: MaskOption = "",
    log: LogOption = LOG,
    durability: DurabilityOption = "always",
    as_json: JsonOption = False,
) -> int:
    """Set an agent upon a goal and drive the run to its end; print its status and answer.

    With the id of a run that was interrupted or forked, goes on with it from the log: what was observed is not asked
    again. Without --goal it is for whom and what it was begun.
    Where the run waits for a person, that is told on stderr; `redrive say` answers, or a line at this terminal does.

    Exit codes: 0 succeeded or finished, 1 any other end.
    """
    _check_goal(goal, run_id)
    loaded = agent_named(agent)
    masking, called = mask_asked(log, mask) or loaded.mask, run_id or mint()[:10]
    with (
        log_to_write(log, durability) as target,
        answering(loaded, model, base_url, stream=stream, prices=prices) as (real, costs),
    ):
        if goal is None:
            begun = _begun(target, log, run_id)
            goal, principal, tenant = begun.goal, principal or begun.principal, tenant or begun.tenant
        try:
            reads = sys.stdin.isatty() and not as_json if talk is None else talk
            running = loaded.arun(
                goal,
                principal=principal,
                tenant=tenant,
                log=target,
                run_id=called,
                lessons=lessons(target, loaded.name, goal) if learn else (),
                model=real,
                prices=costs,
                mask=masking,
            )
            with redirect_stdout(sys.stderr if as_json else sys.stdout):  # a tool may print: stdout has one document
                done = anyio.run(_talking, running, Talk(target, log, called, reads=reads, mask=masking))
        except KeyboardInterrupt:
            print(f"redrive: {on_with(called)}", file=sys.stderr)
            raise
        except Exception as error:
            error.add_note(on_with(called))  # shown below the traceback of what the agent's own code raised
            raise
    _told(done, as_json=as_json)
    return 0 if done.status in FINE else 1


def _check_goal(goal: str | None, run_id: str) -> None:
    if goal is None and not run_id:
        raise BadInput("a new run needs a goal; give --goal", place="run")


def _begun(target: EventLog, path: Path, run_id: str) -> RunStarted:
    """How the run was begun that is to be gone on with."""
    started = None
    if path.exists():
        check_undamaged(target, run_id)
        started = start_of(target.read(run_id))
    if started is None:
        raise NoSuchRun("nobody began this run; give --goal to begin it", place=f"run {run_id}")
    return started


def _told(done: Run, *, as_json: bool) -> None:
    """How the run ended: its answer, or why there is none and what there was by then."""
    if as_json:
        facts = {key: fact.value for key, fact in done.facts.items()}
        said: dict[str, Json] = {"run_id": done.run_id, "status": done.status, "answer": done.answer}
        say_json(said | {"partial": done.partial, "facts": facts})
        return
    end = done.state.end
    words = done.answer if done.answer is not None else (end.reason if end else "")
    words += f"\nSo far: {done.partial}" if done.partial else ""
    lines = (one_line(line, LINE_CHARS_MAX) for line in words.splitlines())
    say(f"{done.run_id}  {done.status}", *lines, whole=True)


async def _talking(running: Awaitable[Run], talk: Talk) -> Run:
    """The run, once it has ended; until then people may talk with it. An error comes out as it is, in no group."""
    failed: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(talk.go_on)
        try:
            return await running
        except Exception as error:  # noqa: BLE001 - raised below
            failed = error
        finally:
            group.cancel_scope.cancel()
    assert failed is not None
    raise failed


def on_with(run_id: str) -> str:
    """How to go on with a run that did not come to its end."""
    return f"run {run_id} is not finished; --run-id {run_id} goes on with it"
