"""Data that people write: frozen, nothing unknown, and a misfit told in our words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from redrive_engine.toml_file import Misfit


class Written(BaseModel):
    """Data that people write: frozen, nothing unknown, nothing guessed from another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    owner: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = tuple(step for step in first["loc"] if step != "[key]")
            raise Misfit(_in_our_words(first, type(self)), *self.owner, *place, owner="contract") from None


def written_as(model: type[Written]) -> Callable[[Any], Any]:
    """A table stands for the model that has its names; anything else is as it is."""
    return lambda value: model(**value) if isinstance(value, dict) else value


def listed(value: Any) -> Any:
    """A list, as TOML has it, stands for the tuple of its values."""
    return tuple(value) if isinstance(value, list) else value


def _in_our_words(error: ErrorDetails, model: type[BaseModel]) -> str:
    """What is allowed where pydantic found something else."""
    context = error.get("ctx", {})
    wanted = {
        "extra_forbidden": f"no such field; there are {', '.join(model.model_fields)}",
        "greater_than": f"must be more than {context.get('gt')}",
        "greater_than_equal": f"must be at least {context.get('ge')}",
        "less_than_equal": f"must be at most {context.get('le')}",
        "literal_error": f"must be {context.get('expected')}",
        "int_type": "must be a whole number",
        "string_type": "must be a text",
        "bool_type": "must be true or false",
        "dict_type": "must be a table",
        "tuple_type": "must be a list",
        "missing": "is missing",
        "model_type": "must be a table, or the model of that name",
        "value_error": str(context.get("error")),
    }
    return wanted.get(error["type"], "is not allowed here")
