"""What a tool is: a function that a model may ask for, told as plain data, with what the engine must know of it."""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeAlias, TypeVar, get_args

from redrive_engine.arguments import Arguments
from redrive_engine.contract import milliseconds
from redrive_engine.envelope import DEPTH_MAX, REDIRECTS_MAX, Bounds, Trust
from redrive_engine.grounded import values_under
from redrive_engine.returning import result_of, returned_as
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
    that refuses a smaller one is safe from workers of the past. A call that undoes another has a key of its own, and
    ``compensates`` is the key of what it undoes; ``arguments`` are those of the call that it undoes.
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
    compensates: str = ""


class ToolError(Exception):
    """The tool did nothing; the text tells the model why, and what it can do instead."""


class ToolUnavailable(ToolError):
    """The tool did nothing since what it needs is not there at the moment: a read may be asked again."""


@dataclass(frozen=True, slots=True)
class Landed(Generic[T]):
    """The authority knows the effect; ``value`` is what the tool would have returned."""

    value: T


@dataclass(frozen=True, slots=True)
class NotLanded:
    """The authority knows of no such effect; believed once the attempt that was made can no longer land."""


def _anything(arguments: Json) -> str:  # noqa: ARG001 - the signature of every check
    return ""


@dataclass(frozen=True, slots=True)
class Declaration:
    """The pure half of a tool: what a program knows of it, and a model is told.

    ``object`` and ``destination`` name the arguments that say what is acted on, and where it goes. ``grounded`` are the
    places in the schema (JSON pointers) of which the values must not be made up. ``problems`` gives an empty text for
    arguments that fit the schema, else one line that a model can act on.

    ``compensable`` says that what it did can be undone. After ``settles_ms`` from its request an attempt lands no more;
    where the authority is ``fenced``, none does any more once it was shown a greater epoch. ``returns`` is the media
    type of what the function says it returns; empty if that may be text as well as data.
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
    bounds: Bounds = field(default_factory=Bounds)
    fresh_ms: int | None = None
    trust: Trust = "untrusted"
    schema_version: str = ""
    compensable: bool = False
    settles_ms: int | None = None
    fenced: bool = False
    grounded: tuple[str, ...] = ()
    returns: str = field(default="", compare=False)
    problems: Callable[[Json], str] = field(default=_anything, compare=False, repr=False)

    @property
    def data(self) -> dict[str, Json]:
        """All of it as plain data."""
        usual: dict[str, Json] = {"fresh_ms": None, "trust": "untrusted", "schema_version": ""}
        usual |= {"compensable": False, "settles_ms": None, "fenced": False}
        envelope = {name: getattr(self, name) for name, value in usual.items() if getattr(self, name) != value}
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
            **self.bounds.data,
            **envelope,
        }

    def grounded_values(self, arguments: Json) -> dict[str, str | int | float]:
        """The texts and numbers in ``arguments`` that must not be made up, by where they stand."""
        return values_under(self.schema, self.grounded, arguments)

    @property
    def digest(self) -> str:
        """The digest of the plain data, so it says the same wherever the function is found."""
        return digest(self.data)


OfCall = TypeVar("OfCall", bound=Callable[[Call], object])


class Tool:
    """A declaration, the function that acts, one that asks the authority, one that undoes; called, it is the first.

    ``result`` is how what it returns is written as JSON; ``undoing`` is the tool as far as it undoes.
    """

    def __init__(self, run: Function, declaration: Declaration, arguments: Arguments) -> None:
        self.__name__: str = run.__name__
        self.run, self.declaration, self.arguments = run, declaration, arguments
        self.result = result_of(run, declaration.name)
        self.reconciler: Callable[[Call], object] | None = None
        self.compensator: Callable[[Call], object] | None = None
        self.undoing = self
        functools.update_wrapper(self, run, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The plain function: nothing is checked, and nothing recorded."""
        return self.run(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.declaration.name}>"

    def reconcile(self, function: OfCall) -> OfCall:
        """Decorate the function that says what became of a call: `Landed` or `NotLanded`; if it raises, unknown.

        It is asked of calls that undo as well: those have a ``call.compensates``.
        """
        self.reconciler = function
        return function

    def compensate(self, function: OfCall) -> OfCall:
        """Decorate the function that undoes what a call did, the one with the key ``call.compensates``.

        It acts as any write does, under a key of its own in ``call.key``.

        Raises:
            TypeError: the tool only reads, so there is nothing to undo.
        """
        if self.declaration.effect == "read":
            raise TypeError(f"tool {self.declaration.name}: it only reads, so there is nothing to undo")
        self.compensator, self.declaration = function, replace(self.declaration, compensable=True)
        self.undoing = copy.copy(self)
        self.undoing.result = result_of(function, self.declaration.name)
        return function


def tool(
    *,
    effect: Effect = "write",
    source: str = "",
    object: str = "",  # noqa: A002 - the word of policies and events
    destination: str = "",
    timeout: str | timedelta | float | None = "30s",
    output_max: str | int = "64kB",
    depth_max: int = DEPTH_MAX,
    rows_max: int | None = None,
    media_types: Sequence[str] = (),
    redirects_max: int = REDIRECTS_MAX,
    fresh_within: str | timedelta | float | None = None,
    trust: Trust = "untrusted",
    schema_version: str = "",
    settles_within: str | timedelta | float | None = None,
    fenced: bool = False,
    name: str | None = None,
) -> Callable[[Function], Tool]:
    """Decorate a function, async or not, that a model may ask for.

    Its positional parameters are the model's, checked against their types; a keyword-only ``call`` is the engine's. Its
    docstring is what the model reads. A `write` acts on the world, so it is never repeated without being reconciled.
    ``object`` and ``destination`` are names of arguments; ``output_max`` is a number of bytes, or a text like ``64kB``.

    What it returns is untrusted data. A list is cut to ``rows_max``; what is nested deeper than ``depth_max``, of none
    of the ``media_types`` (all, if there are none), or came over more redirects, is not let in. Data is refused that
    its source says is older than ``fresh_within``. ``trust`` and ``schema_version`` are recorded with it.

    That a write did not happen is believed once its attempt can no longer land: ``settles_within`` after its request,
    or when its function has ended, if that is not said; another worker's where the authority is ``fenced``: of one key
    it refuses any epoch smaller than the greatest it was shown, by ``reconcile`` as well.

    Raises:
        TypeError: the function has parameters that a model could not fill.
        ValueError: ``effect`` or ``trust`` is none, or a length of time, a size or another limit cannot be read.
    """
    _check_words(effect, trust)
    declared = Declaration(
        name=name or "",
        description="",
        schema={},
        effect=effect,
        source=source,
        object=object,
        destination=destination,
        timeout_ms=None if timeout is None else milliseconds(timeout),
        output_max_bytes=_size_bytes(output_max),
        bounds=Bounds(tuple(media_types), depth_max, rows_max, redirects_max),
        fresh_ms=None if fresh_within is None else milliseconds(fresh_within),
        trust=trust,
        schema_version=schema_version,
        settles_ms=None if settles_within is None else milliseconds(settles_within),
        fenced=fenced,
    )
    return functools.partial(_declared, declared)


def _declared(declared: Declaration, function: Function) -> Tool:
    """The tool that a function makes with what was said of it."""
    name = declared.name or function.__name__
    arguments = Arguments(function, name)
    for what, argument in (("object", declared.object), ("destination", declared.destination)):
        if argument and argument not in arguments.names:
            raise TypeError(f"tool {name}: {what} {argument!r} is none of its arguments")
    declaration = replace(
        declared,
        name=name,
        description=inspect.cleandoc(function.__doc__ or ""),
        schema=arguments.schema,
        grounded=arguments.grounded,
        returns=returned_as(function),
        problems=arguments.problems,
    )
    return Tool(function, declaration, arguments)


def _check_words(effect: str, trust: str) -> None:
    if trust not in get_args(Trust):
        raise ValueError(f"what a tool returns is untrusted or trusted, not {trust!r}")
    if effect not in get_args(Effect):
        raise ValueError(f"the effect of a tool is read or write, not {effect!r}")


def _size_bytes(size: str | int) -> int:
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    value = int(found[1]) * _UNIT_BYTES[found[2]] if found else size
    if isinstance(value, str) or value <= 0:
        raise ValueError(f"a size is more than 0, and written like 800B, 64kB (of 1024) or 2MB, not {size!r}")
    return value
