"""One run's connections to the models of a provider, through pydantic-ai."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from redrive_engine.models.port import ModelRequest, ModelTrouble
from redrive_engine.models.spoken import offered, to_ours, to_theirs
from redrive_engine.models.troubles import EXPECTED, trouble_of
from redrive_events import BadInput, ModelReplied
from redrive_projections import one_line

if TYPE_CHECKING:
    from redrive_engine.models.provider import ProviderModel

# A provider's own words go here: the log of the run has only what class of trouble it was.
_LOG: Final = logging.getLogger("redrive.models")


class Connection:
    """What is asked in one run, by the names of the models; ``stack`` closes them."""

    def __init__(self, settings: ProviderModel, stack: AsyncExitStack) -> None:
        self._settings, self._stack = settings, stack
        self._models: dict[str, Model] = {}

    async def ask(self, request: ModelRequest) -> ModelReplied:
        """The reply, once it is whole.

        Raises:
            ModelTrouble: there is none.
        """
        model = await self._named(request.model)
        inline = bool(model.profile.get("supports_inline_system_prompts"))
        messages = to_theirs(request.messages, inline_system=inline)
        # The run asks again, and the log says so: a library that does it on its own hides what happened.
        settings = ModelSettings(**{**request.parameters, "max_retries": 0})  # type: ignore[typeddict-item]
        asked: dict[str, Any] = {"model_settings": settings, "model_request_parameters": offered(request.tools)}
        try:
            response = await self._response(model, messages, asked)
        except EXPECTED as error:
            _LOG.warning("%s: %s", model.model_id, one_line(str(error), 500))
            raise trouble_of(error) from error
        return to_ours(response)

    async def _response(self, model: Model, messages: list[ModelMessage], asked: dict[str, Any]) -> ModelResponse:
        if not self._settings.stream:
            return await model_request(model, messages, **asked)
        async with model_request_stream(model, messages, **asked) as pieces:
            async for _ in pieces:
                pass
        return _whole(pieces.get())

    async def model(self, name: str) -> Model:
        """The model that is asked under ``name``; none is the default.

        Raises:
            BadInput: there is none, its library is not installed, or it has no key.
        """
        if name not in self._models:
            try:
                model = self._made(name)
            except (UserError, ImportError, ValueError) as error:
                problem = str(error).partition(". ")[0]  # behind its first sentence it speaks of its own use
                raise BadInput(one_line(problem, 300), place=f"model {name or self._settings.name}") from error
            self._models[name] = await self._stack.enter_async_context(model)
        return self._models[name]

    async def _named(self, name: str) -> Model:
        try:
            return await self.model(name)
        except BadInput as error:
            raise ModelTrouble("refused") from error

    def _made(self, name: str) -> Model:
        default = self._settings.model
        if not name and isinstance(default, Model):
            return default
        provider = self._settings.name.partition(":")[0]
        named = name if ":" in name else f"{provider}:{name}" if name else self._settings.name
        if ":" not in named:
            raise ValueError("a model is named PROVIDER:NAME, as openai:gpt-5")
        return infer_model(named, self._provider)

    def _provider(self, name: str) -> Provider[Any]:
        """The provider, at the place and with the key that were given, or as its own surroundings say."""
        made = infer_provider_class(name)
        given = {"base_url": self._settings.base_url, "api_key": self._settings.api_key}
        given = {key: value for key, value in given.items() if value}
        for key in given.keys() - signature(made).parameters.keys():
            raise ValueError(f"provider {name} takes no {key}")
        return made(**given)


def _whole(response: ModelResponse) -> ModelResponse:
    """A streamed reply that has come to its end: the provider says why it stopped, or the stream was cut.

    The layer takes the end of a stream for a stop, so what the provider itself said is looked at.
    """
    details = response.provider_details or {}
    if response.finish_reason in {None, "stop"} and not details.keys() & {"finish_reason", "refusal"}:
        raise ModelTrouble("broken", retryable=True)
    return response
