"""What does not fit a schema, in our words: the place, the problem, and what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from pydantic import ValidationError

from redrive_events import Json, canonical

PROBLEMS_MAX = 3
PLACE_CHARS_MAX = 80
CHOICES_MAX = 20

_WANTED: Final = " is expected"

_EXPECTED: Final[Mapping[str, Sequence[str]]] = {
    "a text is expected": ("string_type", "string_unicode", "string_sub_type", "bytes_type"),
    "an integer is expected": ("int_type", "int_parsing", "int_parsing_size", "int_from_float"),
    "a number is expected": ("float_type", "float_parsing", "complex_type", "complex_str_parsing"),
    "a finite number is expected": ("finite_number",),
    "a decimal number is expected": ("decimal_type", "decimal_parsing"),
    "true or false is expected": ("bool_type", "bool_parsing"),
    "null is expected": ("none_required",),
    "a list is expected": (
        *("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type", "sequence_type"),
        *("iteration_error", "sequence_str"),
    ),
    "an object is expected": (
        *("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type", "dataclass_exact_type"),
    ),
    "a date is expected, as 2026-01-31": (
        *("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"),
    ),
    "a date and time is expected, as 2026-01-31T09:30:00Z": (
        *("datetime_type", "datetime_parsing", "datetime_object_invalid", "datetime_from_date_parsing"),
    ),
    "a time of day is expected, as 09:30:00": ("time_type", "time_parsing"),
    "a duration is expected, as PT1H30M": ("time_delta_type", "time_delta_parsing"),
    "a time zone is expected": ("timezone_aware",),
    "no time zone is expected": ("timezone_naive",),
    "a time in the past is expected": ("date_past", "datetime_past"),
    "a time in the future is expected": ("date_future", "datetime_future"),
    "a UUID is expected": ("uuid_type", "uuid_parsing", "uuid_version"),
    "a URL is expected": ("url_type", "url_parsing", "url_syntax_violation", "url_scheme"),
    "missing": ("missing", "missing_argument"),
    "not JSON, or nested too deeply": ("json_invalid", "json_type", "recursion_loop"),
}
_WORDS: Final = {kind: words for words, kinds in _EXPECTED.items() for kind in kinds}

# kind of error -> (words, the name of the limit in the error's context)
_LIMITS: Final[Mapping[str, tuple[str, str]]] = {
    "string_too_long": ("at most {} characters", "max_length"),
    "string_too_short": ("at least {} characters", "min_length"),
    "bytes_too_long": ("at most {} bytes", "max_length"),
    "bytes_too_short": ("at least {} bytes", "min_length"),
    "too_long": ("at most {} items", "max_length"),
    "too_short": ("at least {} items", "min_length"),
    "greater_than": ("more than {} is expected", "gt"),
    "greater_than_equal": ("at least {} is expected", "ge"),
    "less_than": ("less than {} is expected", "lt"),
    "less_than_equal": ("at most {} is expected", "le"),
    "multiple_of": ("a multiple of {} is expected", "multiple_of"),
    "string_pattern_mismatch": ("a text that matches {} is expected", "pattern"),
    "decimal_max_digits": ("at most {} digits", "max_digits"),
    "decimal_max_places": ("at most {} decimal places", "decimal_places"),
    "decimal_whole_digits": ("at most {} digits before the point", "whole_digits"),
}


def misfits(
    error: ValidationError,
    value: Json,
    schema: Json,
    *,
    whole: str,
    unseen: Callable[[Json], bool] = lambda one: False,  # noqa: ARG005
) -> str:
    """At most three problems in one line; ``whole`` names the value itself.

    Of what is ``unseen``, since a placeholder stands for it, nothing is said but that it lacks or has too many fields.
    A library's message never gets in here: it changes with its version, and quotes the value that was refused. The
    value's own keys are data of a stranger, so they are shortened and kept on one line.
    """
    found: dict[str, list[str]] = {}
    for problem in error.errors(include_url=False, include_input=False):
        place = _place(problem["loc"], value, lacks_last=problem["type"] == "missing")
        if problem["type"] not in {"missing", "extra_forbidden"} and unseen(_value_at(value, place)):
            continue
        if problem["type"] == "extra_forbidden":
            what = "argument" if whole == "arguments" and len(place) == 1 else "field"
            words = f"no such {what}; there are: {_listed(_fields(schema, place[:-1])) or 'none'}"
        else:
            words = _words(problem["type"], problem.get("ctx") or {}, place, schema)
        known = found.setdefault(_spelled(place) or whole, [])
        if words not in known:
            known.append(words)
    return "; ".join(f"{place}: {_joined(words)}" for place, words in list(found.items())[:PROBLEMS_MAX])


def _place(location: Sequence[int | str], value: Json, *, lacks_last: bool) -> tuple[int | str, ...]:
    """The part of a location that can be followed in the value: the rest are names of the library's own branches."""
    place: list[int | str] = []
    for index, step in enumerate(location):
        if _leads_on(value, step):
            value = value[step]
        elif not (lacks_last and index == len(location) - 1):
            continue
        place.append(step)
    return tuple(place)


def _value_at(value: Json, place: Sequence[int | str]) -> Json:
    for step in place:
        value = value[step]
    return value


def _joined(words: Sequence[str]) -> str:
    """What branches of a union want, in one clause."""
    if all(one.endswith(_WANTED) for one in words):
        return " or ".join(one.removesuffix(_WANTED) for one in words) + _WANTED
    return ", or ".join(words)


def _leads_on(value: Json, step: int | str) -> bool:
    if isinstance(step, str):
        return isinstance(value, dict) and step in value
    return isinstance(value, list) and step < len(value)


def _spelled(place: Sequence[int | str]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")
    line = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return line if len(line) <= PLACE_CHARS_MAX else f"{line[:PLACE_CHARS_MAX]}…"


def _words(kind: str, context: Mapping[str, object], place: Sequence[int | str], schema: Json) -> str:
    if kind in _WORDS:
        return _WORDS[kind]
    if kind in _LIMITS:
        words, limit = _LIMITS[kind]
        number = context.get(limit)
        return words.format(number).removesuffix("s" if number == 1 else "")
    if kind in {"literal_error", "enum"} and (choices := _listed(_choices(schema, place))):
        return f"one of these is expected: {choices}"
    return f"not allowed ({kind})"


def _listed(words: Iterable[str]) -> str:
    known = list(dict.fromkeys(words))
    return ", ".join(known[:CHOICES_MAX]) + (", …" if len(known) > CHOICES_MAX else "")


def _fields(schema: Json, place: Sequence[int | str]) -> Iterator[str]:
    for found in _at(schema, place):
        yield from found.get("properties", {})


def _choices(schema: Json, place: Sequence[int | str]) -> Iterator[str]:
    for found in _at(schema, place):
        for choice in [*found.get("enum", ()), *([found["const"]] if "const" in found else [])]:
            yield choice if isinstance(choice, str) else canonical(choice).decode()


def _at(schema: Json, place: Sequence[int | str]) -> list[dict[str, Json]]:
    """The schemas that speak of ``place``, alternatives side by side."""
    here = list(_alternatives(schema, schema, set()))
    for step in place:
        nexts = [_next(found, step) for found in here]
        here = [one for found in nexts if found is not None for one in _alternatives(found, schema, set())]
    return here


def _next(schema: Mapping[str, Json], step: int | str) -> Json:
    if isinstance(step, str):
        return schema.get("properties", {}).get(step, schema.get("additionalProperties"))
    first = schema.get("prefixItems", ())
    return first[step] if step < len(first) else schema.get("items")


def _alternatives(schema: Json, root: Json, seen: set[str]) -> Iterator[dict[str, Json]]:
    if not isinstance(schema, dict):
        return
    yield schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name and name not in seen:
        seen.add(name)
        yield from _alternatives(root.get("$defs", {}).get(name), root, seen)
    for word in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(word, ()):
            yield from _alternatives(one, root, seen)
