"""What a model may pass to a function: the positional parameters as a schema, a check, and typed values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from redrive_engine.grounded import unmarked
from redrive_engine.masking.placeholder import is_masked
from redrive_engine.misfits import misfits
from redrive_events import BadInput, Json, canonical

_MAPS = ("properties", "$defs", "patternProperties")
_DATA = ("default", "const", "enum", "examples")


class Arguments:
    """The positional parameters of a function; its keyword-only ``call`` is the engine's and no argument.

    JSON is read strictly: an integer is no text of digits, so what a policy or a verifier reads in the call is what
    the function is given.

    Raises:
        TypeError: a parameter that a model could not fill.
    """

    def __init__(self, function: Callable[..., object], tool: str) -> None:
        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        self.wants_call = False
        self._names: dict[str, str] = {}
        self._by_position: set[str] = set()
        for name, parameter in inspect.signature(function).parameters.items():
            if name == "call" and parameter.kind is parameter.KEYWORD_ONLY:
                self.wants_call = True
                continue
            _check(tool, parameter, hints)
            # Named by number, so that an argument may be called `schema` or `model_config`; the alias is what is read.
            field = f"a{len(fields)}"
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[field] = (hints[name], Field(default, alias=name))
            self._names[field] = name
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._by_position.add(name)
        try:
            self._model: type[BaseModel] = create_model(
                tool, __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields
            )
            self._shape = TypeAdapter(self._model)
            self.schema, places = unmarked(_plain(self._model.model_json_schema()))
        except PydanticUserError as error:
            raise TypeError(f"tool {tool}: an argument has a type that JSON cannot carry") from error
        self.schema.setdefault("properties", {})
        self.grounded = tuple(sorted(places))

    @property
    def names(self) -> list[str]:
        """The arguments, in order."""
        return list(self._names.values())

    def problems(self, arguments: Json) -> str:
        """Empty if ``arguments`` fit; else one line that a model can act on.

        What a placeholder stands for cannot be judged here: it is where the function is called.
        """
        values = self._read(arguments, unseen=is_masked)
        return values if isinstance(values, str) else ""

    def bound(self, arguments: Json) -> tuple[list[object], dict[str, object]]:
        """Typed values, those by position and those by name.

        Raises:
            BadInput: the arguments do not fit.
        """
        values = self._read(arguments)
        if isinstance(values, str):
            raise BadInput(values)
        named = {name: getattr(values, field) for field, name in self._names.items()}
        return (
            [value for name, value in named.items() if name in self._by_position],
            {name: value for name, value in named.items() if name not in self._by_position},
        )

    def _read(self, arguments: Json, unseen: Callable[[Json], bool] = lambda one: False) -> BaseModel | str:  # noqa: ARG005
        try:
            found: BaseModel = self._shape.validator.validate_json(canonical(arguments), strict=True)
        except ValidationError as error:
            return misfits(error, arguments, self.schema, whole="arguments", unseen=unseen)
        except BadInput as error:
            return f"arguments: {error.problem}"
        except Exception as error:  # noqa: BLE001 - a validator of the user's may raise anything, and it is no fit
            return f"arguments: not allowed ({type(error).__name__})"
        return found


def _check(tool: str, parameter: inspect.Parameter, hints: dict[str, Any]) -> None:
    name = parameter.name
    if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
        raise TypeError(f"tool {tool}: {name} takes any number of arguments, so there is no schema to give")
    if parameter.kind is parameter.KEYWORD_ONLY:
        raise TypeError(f"tool {tool}: {name} is keyword-only, as the engine's `call` alone may be")
    if name == "call":
        raise TypeError(f"tool {tool}: `call` is the engine's, so it must be keyword-only")
    if name not in hints:
        raise TypeError(f"tool {tool}: {name} has no type")
    if isinstance(parameter.default, FieldInfo):
        raise TypeError(f"tool {tool}: the Field of {name} belongs into its type: Annotated[…, Field(…)]")


def _plain(schema: Json) -> Json:
    """A schema that says the same in every process.

    Titles made from names go, which tell a model nothing and change with the library; a set as default is sorted.
    """
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Json] = {}
    for key, value in schema.items():
        if key in _MAPS:
            found[key] = {name: _plain(one) for name, one in value.items()}
        elif key == "default" and isinstance(value, list) and schema.get("uniqueItems"):
            found[key] = sorted(value, key=canonical)
        elif key != "title":
            found[key] = value if key in _DATA else _plain(value)
    return found
