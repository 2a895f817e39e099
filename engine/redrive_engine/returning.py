"""What a tool's function says it returns: how that is written as JSON, and whether it is text or data."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from redrive_engine.envelope import Observed

TEXT: Final = "text/plain"
DATA: Final = "application/json"

# Neither the one nor the other.
_EITHER: Final = frozenset({TEXT, DATA})


def result_of(function: Callable[..., Any], tool: str) -> TypeAdapter[Any]:
    """How what the function returns is written as JSON.

    Raises:
        TypeError: it has none.
    """
    try:
        return TypeAdapter(_unobserved(_hint(function)))
    except PydanticUserError as error:
        raise TypeError(f"tool {tool}: it returns a type that has no JSON") from error


def returned_as(function: Callable[..., Any]) -> str:
    """The media type of what the function says it returns; empty if that may be text as well as data."""
    kinds = _kinds(_hint(function))
    return next(iter(kinds)) if len(kinds) == 1 else ""


def _hint(function: Callable[..., Any]) -> Any:
    return get_type_hints(function, include_extras=True).get("return", Any)


def _kinds(hint: Any) -> frozenset[str]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _kinds(inner[0])
    if origin in {Union, UnionType}:
        return frozenset[str]().union(*map(_kinds, inner))
    if origin is Literal:
        return frozenset(TEXT if isinstance(one, str) else DATA for one in inner)
    if origin is Observed:  # which may say that its text is JSON
        return frozenset({DATA}) if _kinds(inner[0]) == {DATA} else _EITHER
    return _kind_of(origin or hint)


def _kind_of(kind: Any) -> frozenset[str]:
    if not isinstance(kind, type) or kind in {Any, Observed} or getattr(kind, "_is_protocol", False):
        return _EITHER
    if issubclass(kind, str):
        return frozenset({TEXT})
    is_wider = not issubclass(kind, dict) and issubclass(str, kind)  # a TypedDict must not be asked for its instances
    return _EITHER if is_wider else frozenset({DATA})


def _unobserved(hint: Any) -> Any:
    if get_origin(hint) is Observed:
        return get_args(hint)[0]
    if get_origin(hint) in {Union, UnionType}:
        return functools.reduce(lambda left, right: left | right, map(_unobserved, get_args(hint)))
    return Any if hint is Observed else hint
