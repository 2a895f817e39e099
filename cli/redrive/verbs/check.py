"""Check an agent's contract before a run: what of it can never come, and what a run may use at most."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from redrive.agents import agent_named
from redrive.options import JsonOption
from redrive.terminal import columns, counted, say, say_json
from redrive_engine.checking import Ceiling, Subject, ceiling_of, flaws_of
from redrive_engine.models import Prices
from redrive_projections import one_line


def check(
    agent: Annotated[str, typer.Argument(metavar="MODULE:ATTR", help="The agent, or a function that returns it.")],
    prices: Annotated[
        Path | None, typer.Option("--prices", metavar="FILE", help="What models cost: a table in TOML.")
    ] = None,
    model: Annotated[
        str, typer.Option("--model", metavar="PROVIDER:NAME", help="As if this model were asked in place of its own.")
    ] = "",
    as_json: JsonOption = False,
) -> int:
    """Check an agent's contract before a run: what of it can never come, and what a run may use at most.

    Tools of which no call is ever made, criteria that nothing can fulfil, quotas beyond what the budget allows, rungs
    that never come, people who are asked and need never answer, rules that never match, models without a price. What
    is told is certain; what cannot be shown is not told.

    Exit codes: 0 nothing found, 1 a finding, 2 there is no such agent, or its contract cannot be kept at all.
    """
    loaded = agent_named(agent)
    subject = Subject.of(loaded, Prices.from_toml(prices) if prices else None, model=model)
    flaws, ceiling = flaws_of(subject), ceiling_of(subject)
    if as_json:
        say_json(
            {
                "agent": loaded.name,
                "version": loaded.version,
                "ceiling": ceiling._asdict(),
                "findings": [flaw._asdict() for flaw in flaws],
            }
        )
        return int(bool(flaws))
    rows = [("agent", f"{loaded.name} {loaded.version}"), ("at most", ", ".join(_most(ceiling)))]
    say(*columns((Text(name, style="dim"), one_line(value, 1000)) for name, value in rows), "")
    for flaw in flaws:
        say(f"{one_line(flaw.place)}: {one_line(flaw.text, 1000)}", whole=True)
    say(counted(len(flaws), "finding"))
    return int(bool(flaws))


def _most(ceiling: Ceiling) -> Iterator[str]:
    """What a run may use, as people write it; what has no limit is said so."""
    steps = "any number of steps" if ceiling.steps is None else counted(ceiling.steps, "step")
    yield steps + (f" and {ceiling.child_steps:,} of child runs" if ceiling.child_steps else "")
    yield "any number of tokens" if ceiling.tokens is None else counted(ceiling.tokens, "token")
    if ceiling.output_tokens is not None:
        yield f"{ceiling.output_tokens:,} of them written"
    if ceiling.tool_calls is not None:
        yield counted(ceiling.tool_calls, "tool call")
    if ceiling.wall_time_ms is not None:
        yield f"{ceiling.wall_time_ms / 1000:,.6g} s"
    if ceiling.cost_micros is None:
        yield "at any cost"
    else:
        yield f"{ceiling.cost_micros / 1_000_000:,.6f} {ceiling.currency}" if ceiling.cost_micros else "at no cost"
