"""Arguments that must not be made up: the mark on a type, and the values that lie under it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema

from redrive_events import Json

T = TypeVar("T")

_MARK: Final = "x-grounded"
_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}


class _Marked:
    """Marks a type in the JSON schema that is made of it; `unmarked` takes the mark away again."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), _MARK: True}


# ``iban: Grounded[str]``: each text or number in the argument must occur in the goal, in what people said, in a fact,
# or in an observation that was verified; else the call is denied.
Grounded: TypeAlias = Annotated[T, _Marked()]


def unmarked(schema: Json, place: str = "") -> tuple[Json, list[str]]:
    """A schema as a provider may have it, and the places in it (JSON pointers) that were marked."""
    if isinstance(schema, list):
        pairs = [unmarked(one, f"{place}/{index}") for index, one in enumerate(schema)]
        return [clean for clean, _ in pairs], [found for _, places in pairs for found in places]
    if not isinstance(schema, dict):
        return schema, []
    clean: dict[str, Json] = {}
    places = [place] if schema.get(_MARK) is True else []
    for key, value in schema.items():
        if key != _MARK or value is not True:  # an argument of that name is an object
            clean[key], found = unmarked(value, f"{place}/{_escaped(key)}")
            places += found
    return clean, places


def values_under(schema: Json, places: Collection[str], arguments: Json) -> dict[str, str | int | float]:
    """Each text and number of the arguments that lies under one of ``places``, by where it stands in them."""
    return dict(_Walk(schema, frozenset(places)).values("", arguments, "", marked=False)) if places else {}


class _Walk:
    """One walk down a schema and a value of it side by side."""

    def __init__(self, schema: Json, places: frozenset[str]) -> None:
        self._root, self._places = schema, places

    def values(self, at: str, value: Json, name: str, *, marked: bool) -> Iterator[tuple[str, str | int | float]]:
        """What lies under the schemas that speak of ``value``, the one at the pointer ``at`` and its branches."""
        here = dict(self._branches(at, value, set()))
        marked = marked or not self._places.isdisjoint(here)
        if isinstance(value, dict):
            for key, one in value.items():
                yield from self._below(here, key, one, f"{name}.{key}".removeprefix("."), marked=marked)
        elif isinstance(value, list):
            for index, one in enumerate(value):
                yield from self._below(here, index, one, f"{name}[{index}]", marked=marked)
        elif marked and value is not None and not isinstance(value, bool):
            yield name, value

    def _below(
        self, here: dict[str, Json], step: str | int, value: Json, name: str, *, marked: bool
    ) -> Iterator[tuple[str, str | int | float]]:
        nexts = [at for where, schema in here.items() if (at := _next(where, schema, step)) is not None]
        for at in nexts or ([""] if marked else []):
            yield from self.values(at, value, name, marked=marked) if at else _all(value, name)

    def _branches(self, at: str, value: Json, seen: set[str]) -> Iterator[tuple[str, Json]]:
        schema = self._root
        for step in at.split("/")[1:]:
            schema = schema[int(step) if isinstance(schema, list) else step.replace("~1", "/").replace("~0", "~")]
        if at in seen or not isinstance(schema, dict) or not _fits(schema.get("type"), value):
            return
        seen.add(at)
        yield at, schema
        if (ref := schema.get("$ref")) is not None:
            yield from self._branches(str(ref).removeprefix("#"), value, seen)
        for word in _BRANCHES:
            for index in range(len(schema.get(word, ()))):
                yield from self._branches(f"{at}/{word}/{index}", value, seen)


def _next(at: str, schema: Json, step: str | int) -> str | None:
    """Where the schema of what lies below is, if this one speaks of it."""
    if isinstance(step, str):
        if step in schema.get("properties", {}):
            return f"{at}/properties/{_escaped(step)}"
        return f"{at}/additionalProperties" if isinstance(schema.get("additionalProperties"), dict) else None
    if step < len(schema.get("prefixItems", ())):
        return f"{at}/prefixItems/{step}"
    return f"{at}/items" if isinstance(schema.get("items"), dict) else None


def _all(value: Json, name: str) -> Iterator[tuple[str, str | int | float]]:
    """Everything below a mark of which the schema says no more."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _all(one, f"{name}.{key}")
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _all(one, f"{name}[{index}]")
    elif value is not None and not isinstance(value, bool):
        yield name, value


def _fits(wanted: Json, value: Json) -> bool:
    kind = _TYPES.get(wanted) if isinstance(wanted, str) else None
    return kind is None or isinstance(value, kind)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
