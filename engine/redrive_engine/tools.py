"""What a tool is: a function that a model may ask for, told as plain data, with what the engine must know of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import UnionType
from typing import Any, Generic, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from redrive_engine.arguments import Arguments
from redrive_engine.quantities import milliseconds, size_bytes
from redrive_events import Effect, Json, digest

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, as its function, its reconcile and its verifiers see it.

    ``key`` is the same over all attempts of a write, and no other call of any run has it: hand it to the authority, so
    that a second request with it does nothing. ``epoch`` grows whenever another worker takes the run up: an authority
    that refuses a smaller one is safe from workers of the past.
    """

    number: int
    tool: str
    arguments: Mapping[str, Json]
    key: str = ""
    epoch: int = 0
    attempt: int = 1
    principal: str = ""
    tenant: str = ""
    deadline: datetime | None = None


class ToolError(Exception):
    """The tool did nothing; the text tells the model why, and what it can do instead."""


@dataclass(frozen=True, slots=True)
class Landed(Generic[T]):
    """The authority knows the effect; ``value`` is what the tool would have returned."""

    value: T


@dataclass(frozen=True, slots=True)
class NotLanded:
    """The authority knows that the effect did not happen, and cannot happen any more from that attempt."""


@dataclass(frozen=True, slots=True)
class Observed(Generic[T]):
    """A result whose source is not the one that the tool declares."""

    value: T
    source: str = ""


def _anything(arguments: Json) -> str:  # noqa: ARG001 - the signature of every check
    return ""


@dataclass(frozen=True, slots=True)
class Declaration:
    """The pure half of a tool: what a program knows of it, and a model is told.

    ``object`` and ``destination`` name the arguments that say what is acted on, and where it goes. ``problems`` gives
    an empty text for arguments that fit the schema, else one line that a model can act on.
    """

    name: str
    description: str
    schema: Json = field(hash=False)
    effect: Effect = "write"
    source: str = ""
    object: str = ""
    destination: str = ""
    timeout_ms: int | None = 30_000
    output_max_bytes: int = 65_536
    problems: Callable[[Json], str] = field(default=_anything, compare=False, repr=False)

    @property
    def data(self) -> dict[str, Json]:
        """All of it as plain data."""
        return {
            "name": self.name,
            "description": self.description,
            "schema": self.schema,
            "effect": self.effect,
            "source": self.source,
            "object": self.object,
            "destination": self.destination,
            "timeout_ms": self.timeout_ms,
            "output_max_bytes": self.output_max_bytes,
        }

    @property
    def digest(self) -> str:
        """The digest of the plain data, so it says the same wherever the function is found."""
        return digest(self.data)


Reconcile = TypeVar("Reconcile", bound=Callable[[Call], object])


class Tool:
    """A declaration, the function that acts, and the one that asks the authority; called, it is the plain function."""

    def __init__(self, run: Callable[..., Any], declaration: Declaration, arguments: Arguments) -> None:
        self.run, self.declaration, self.arguments = run, declaration, arguments
        self.result = _result(run, declaration.name)
        self.reconciler: Callable[[Call], object] | None = None
        functools.update_wrapper(self, run, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The plain function: nothing is checked, and nothing recorded."""
        return self.run(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.declaration.name}>"

    def reconcile(self, function: Reconcile) -> Reconcile:
        """Decorate the function that says what became of a call: `Landed` or `NotLanded`; if it raises, unknown."""
        self.reconciler = function
        return function


def tool(  # noqa: PLR0913 - each is a fact about a tool, and all are optional
    *,
    effect: Effect = "write",
    source: str = "",
    object: str = "",  # noqa: A002 - the word of policies and events
    destination: str = "",
    timeout: str | None = "30s",
    output_max: str = "64kB",
    name: str | None = None,
) -> Callable[[Callable[P, R]], Tool]:
    """Decorate a function, async or not, that a model may ask for.

    Its positional parameters are the model's, checked against their types; a keyword-only ``call`` is the engine's. Its
    docstring is what the model reads. A `write` acts on the world, so it is never repeated without being reconciled.

    Raises:
        TypeError: the function has parameters that a model could not fill.
        ValueError: ``timeout`` or ``output_max`` cannot be read.
    """

    def declared(function: Callable[P, R]) -> Tool:
        known = name or function.__name__
        arguments = Arguments(function, known)
        for what, argument in (("object", object), ("destination", destination)):
            if argument and argument not in arguments.names:
                raise TypeError(f"tool {known}: {what} {argument!r} is none of its arguments")
        declaration = Declaration(
            name=known,
            description=inspect.cleandoc(function.__doc__ or ""),
            schema=arguments.schema,
            effect=effect,
            source=source,
            object=object,
            destination=destination,
            timeout_ms=None if timeout is None else milliseconds(timeout),
            output_max_bytes=size_bytes(output_max),
            problems=arguments.problems,
        )
        return Tool(function, declaration, arguments)

    return declared


def _result(function: Callable[..., object], tool: str) -> TypeAdapter[Any]:
    """How what the function returns is written as JSON."""
    hint = get_type_hints(function, include_extras=True).get("return", Any)
    try:
        return TypeAdapter(_unobserved(hint))
    except PydanticUserError as error:
        raise TypeError(f"tool {tool}: it returns a type that has no JSON") from error


def _unobserved(hint: Any) -> Any:
    if get_origin(hint) is Observed:
        return get_args(hint)[0]
    if get_origin(hint) in {Union, UnionType}:
        return functools.reduce(lambda left, right: left | right, map(_unobserved, get_args(hint)))
    return Any if hint is Observed else hint
