"""What is asked of a language model, and what it may answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from redrive_events import Content, Json, ModelReplied, Text, ToolUse, canonical
from redrive_projections import Message


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request: the messages as the log holds them, and what stands beside them.

    ``tools`` maps each granted tool to its description and the JSON schema of its arguments.
    ``turn`` counts the model requests of the run from 1; a request asked again after a failure is the same turn.
    """

    turn: int
    messages: Sequence[Message]
    tools: Mapping[str, Json]
    model: str
    parameters: Mapping[str, Json]


class ModelTrouble(Exception):
    """A model gave no answer; only the class of the failure is recorded."""

    def __init__(
        self,
        kind: Literal["timeout", "rate_limited", "refused", "broken", "unavailable"],
        *,
        retryable: bool = False,
    ) -> None:
        super().__init__(kind)
        self.kind, self.retryable = kind, retryable


class Model(Protocol):
    """Answers one request at a time."""

    async def ask(self, request: ModelRequest) -> ModelReplied:
        """The reply.

        Raises:
            ModelTrouble: there is none.
        """
        ...


def use(tool: str, /, **arguments: Json) -> ToolUse:
    """A native call, as a model writes it."""
    return ToolUse(name=tool, arguments=canonical(arguments).decode())


def reply(words: str = "", /, *calls: ToolUse, **fields: Json) -> ModelReplied:
    """A reply of words and calls; a call without an id gets its place in the reply as id."""
    labelled = tuple(
        call if call.id else ToolUse(name=call.name, arguments=call.arguments, id=f"call_{index}")
        for index, call in enumerate(calls, start=1)
    )
    content: Content = words if not calls else (*((Text(text=words),) if words else ()), *labelled)
    return ModelReplied(content=content, finish="tool_calls" if calls else "stop", **fields)
