"""Which model answers a run: the agent's own, or the one that the command line names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from redrive.options import text
from redrive_engine import Agent
from redrive_events import BadInput

if TYPE_CHECKING:
    from redrive_engine.models import Model, Prices

# The agent's own model, served over HTTP on this machine and asked as a provider's is.
LOOPBACK = "loopback"

ModelOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="PROVIDER:NAME",
        help="Ask this model in place of the agent's own; loopback asks the agent's own over HTTP.",
        callback=text,
    ),
]
UrlOption: TypeAlias = Annotated[
    str, typer.Option("--base-url", metavar="URL", help="Where the model's provider is, if not at its own place.")
]
StreamOption: TypeAlias = Annotated[bool, typer.Option("--stream", help="Let the model's replies come in pieces.")]
PricesOption: TypeAlias = Annotated[
    Path | None, typer.Option("--prices", metavar="FILE", help="What models cost: a table in TOML.")
]


@contextmanager
def answering(
    agent: Agent, name: str, base_url: str, *, stream: bool, prices: Path | None
) -> Iterator[tuple[Model | None, Prices | Path | None]]:
    """The model that a command line names, and what it costs where that is known; None is the agent's own."""
    if not name:
        for given, option in ((base_url, "--base-url"), (stream, "--stream")):
            if given:
                raise BadInput("needs --model, which it is about", place=option)
        yield None, prices
        return
    from redrive_engine.models import FREE, Prices, ProviderModel

    if name != LOOPBACK:
        yield ProviderModel(name, base_url=base_url, stream=stream), prices
        return
    from redrive_engine.loopback import Loopback

    if base_url:
        raise BadInput("loopback is at a place of its own", place="--base-url")
    with Loopback(agent.model) as server:
        model = ProviderModel(f"openai-chat:{LOOPBACK}", base_url=server.url, stream=stream)
        yield model, prices or Prices({"*": FREE})
