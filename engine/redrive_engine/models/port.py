"""What is asked of a language model, and what it may answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from redrive_events import Content, Json, ModelReplied, Text, ToolUse, canonical
from redrive_projections import Message

Trouble: TypeAlias = Literal["timeout", "rate_limited", "refused", "broken", "unavailable"]


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
    """A model gave no answer. What is recorded is this, and no words of a provider's.

    ``retryable`` says that asking again may help, ``retry_after_ms`` how long to wait before that, if the provider said
    so, and ``status`` is that of its HTTP response, 0 where there was none.
    """

    def __init__(self, kind: Trouble, *, retryable: bool = False, retry_after_ms: int | None = None, status: int = 0):
        super().__init__(kind)
        self.kind, self.retryable, self.retry_after_ms, self.status = kind, retryable, retry_after_ms, status


class Model(Protocol):
    """Answers one request at a time."""

    async def ask(self, request: ModelRequest) -> ModelReplied:
        """The reply.

        Raises:
            ModelTrouble: there is none.
        """
        ...


@runtime_checkable
class Connects(Protocol):
    """A model that is asked over connections, which are opened for a run and closed behind it."""

    def connect(self) -> AbstractAsyncContextManager[Model]:
        """The model, connected.

        Raises:
            BadInput: there is no such model, or what it takes to ask it is not there.
        """
        ...


@asynccontextmanager
async def connected(model: Model) -> AsyncIterator[Model]:
    """``model`` ready to be asked: connected where it has to be, for as long as the context lasts."""
    if isinstance(model, Connects):
        async with model.connect() as ready:
            yield ready
    else:
        yield model


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
