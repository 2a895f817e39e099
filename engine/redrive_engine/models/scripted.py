"""A model that says what it is told to: a function of turn and request, without memory of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from redrive_engine.models.port import ModelRequest, ModelTrouble, reply
from redrive_events import ModelReplied

Line: TypeAlias = str | ModelReplied
Script: TypeAlias = Callable[[int, ModelRequest], Line] | Sequence[Line]


class ScriptedModel:
    """A test double for the language model alone.

    ``script`` is a function ``(turn, request) -> reply``, where turns count from 1, or a list of replies by turn; a
    plain string is a reply of words. Past the end of a list the model is unavailable.
    """

    def __init__(self, script: Script) -> None:
        self._script = script

    async def ask(self, request: ModelRequest) -> ModelReplied:
        """The scripted reply to this turn."""
        if callable(self._script):
            line = self._script(request.turn, request)
        elif request.turn <= len(self._script):
            line = self._script[request.turn - 1]
        else:
            raise ModelTrouble("unavailable")
        return reply(line) if isinstance(line, str) else line
