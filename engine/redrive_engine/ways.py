"""The engine's own tools, by which a model leaves the loop: it finishes, says that it cannot, or asks for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from pydantic import Field

from redrive_engine.tools import Declaration, tool
from redrive_events import Json

Words: TypeAlias = Annotated[str, Field(min_length=1)]


@tool(effect="read", timeout=None)
def finish(answer: Words) -> None:
    """End the task with this answer, once it is done. Call nothing else in the same reply."""


@tool(effect="read", timeout=None)
def unable(reason: Words) -> None:
    """Say that the task cannot be done, and why, rather than guess. Call nothing else in the same reply."""


@tool(effect="read", timeout=None)
def escalate(reason: Words) -> None:
    """Hand over to a person, and say why. Call nothing else in the same reply."""


# Nothing of them is ever run: what they say is a decision.
WAYS_OUT: Final[Mapping[str, Declaration]] = {
    "finish": finish.declaration,
    "unable": unable.declaration,
    "escalate": escalate.declaration,
}


def words_of(arguments: Json) -> str:
    """The one argument of a way out."""
    return str(next(iter(arguments.values())))
