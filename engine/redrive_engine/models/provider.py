"""A model of any provider that pydantic-ai speaks to; its library is loaded when the first run connects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from redrive_engine.models.port import Model, ModelRequest
from redrive_events import BadInput, ModelReplied

if TYPE_CHECKING:
    from pydantic_ai.models import Model as LayerModel


@dataclass(frozen=True)
class ProviderModel:
    """A real model, called as pydantic-ai calls it: ``openai:gpt-5``, ``anthropic:claude-sonnet-5``, ….

    Instead of a name it may be a model object of that library. ``base_url`` is another place of the same protocol.
    Where a contract names a model, as its own or as a stronger one, that is asked instead; without a provider in its
    name it is one of the same provider. With ``stream`` the reply comes in pieces, and is recorded once it is whole.
    A contract's parameters are handed on under the library's names. Nothing is asked twice in here: a failure that may
    pass is recorded, and the run asks again.
    """

    model: str | LayerModel
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    stream: bool = False

    @property
    def name(self) -> str:
        """What it is called, and priced by."""
        return self.model if isinstance(self.model, str) else self.model.model_id

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Model]:
        """The model with connections of its own, which are closed at the end.

        Raises:
            BadInput: there is no such model, its library is not installed, or it has no key.
        """
        try:
            from redrive_engine.models.layer import Connection
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(("pydantic_ai", "openai")):
                raise
            problem = "real models need more than is installed: pip install 'redrive[models]'"
            raise BadInput(problem, place=f"model {self.name}") from error
        async with AsyncExitStack() as stack:
            connection = Connection(self, stack)
            await connection.model("")
            yield connection

    async def ask(self, request: ModelRequest) -> ModelReplied:
        """One reply, over a connection of its own.

        Raises:
            ModelTrouble: there is none.
        """
        async with self.connect() as ready:
            return await ready.ask(request)
