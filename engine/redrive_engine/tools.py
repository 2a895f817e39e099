"""What a tool is: a function that a model may ask for, told as plain data, with what the engine must know of it."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import UnionType
from typing import Any, Final, Generic, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from redrive_engine.arguments import Arguments
from redrive_engine.contract import milliseconds
from redrive_engine.grounded import values_under
from redrive_events import Effect, Json, digest

T = TypeVar("T")
Function: TypeAlias = Callable[..., Any]

_SIZE: Final = re.compile(r"(\d{1,9}) ?(B|kB|MB)", re.ASCII)
_UNIT_BYTES: Final = {"B": 1, "kB": 1 << 10, "MB": 1 << 20}


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

    ``object`` and ``destination`` name the arguments that say what is acted on, and where it goes. ``grounded`` are the
    places in the schema (JSON pointers) of which the values must not be made up. ``problems`` gives an empty text for
    arguments that fit the schema, else one line that a model can act on.
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
    fresh_ms: int | None = None
    compensable: bool = False
    grounded: tuple[str, ...] = ()
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
            "grounded": self.grounded,
        }

    def grounded_values(self, arguments: Json) -> dict[str, str | int | float]:
        """The texts and numbers in ``arguments`` that must not be made up, by where they stand."""
        return values_under(self.schema, self.grounded, arguments)

    @property
    def digest(self) -> str:
        """The digest of the plain data, so it says the same wherever the function is found."""
        return digest(self.data)


Reconcile = TypeVar("Reconcile", bound=Callable[[Call], object])


class Tool:
    """A declaration, the function that acts, and the one that asks the authority; called, it is the plain function."""

    def __init__(self, run: Function, declaration: Declaration, arguments: Arguments) -> None:
        self.__name__: str = run.__name__
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


def tool(
    *,
    effect: Effect = "write",
    source: str = "",
    object: str = "",  # noqa: A002 - the word of policies and events
    destination: str = "",
    timeout: str | timedelta | float | None = "30s",
    output_max: str | int = "64kB",
    name: str | None = None,
) -> Callable[[Function], Tool]:
    """Decorate a function, async or not, that a model may ask for.

    Its positional parameters are the model's, checked against their types; a keyword-only ``call`` is the engine's. Its
    docstring is what the model reads. A `write` acts on the world, so it is never repeated without being reconciled.
    ``object`` and ``destination`` are names of arguments; ``output_max`` is a number of bytes, or a text like ``64kB``.

    Raises:
        TypeError: the function has parameters that a model could not fill.
        ValueError: ``effect`` is none, or ``timeout`` or ``output_max`` cannot be read.
    """
    if effect not in get_args(Effect):
        raise ValueError(f"the effect of a tool is read or write, not {effect!r}")

    def declared(function: Function) -> Tool:
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
            output_max_bytes=_size_bytes(output_max),
            grounded=arguments.grounded,
            problems=arguments.problems,
        )
        return Tool(function, declaration, arguments)

    return declared


def _size_bytes(size: str | int) -> int:
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    value = int(found[1]) * _UNIT_BYTES[found[2]] if found else size
    if isinstance(value, str) or value <= 0:
        raise ValueError(f"a size is more than 0, and written like 800B, 64kB (of 1024) or 2MB, not {size!r}")
    return value


def _result(function: Function, tool: str) -> TypeAdapter[Any]:
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
