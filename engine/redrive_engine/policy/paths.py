"""Paths into a question: ``tool``, ``arguments.address.city``, ``facts."order.id"``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC
from functools import lru_cache
from operator import attrgetter
from typing import TypeAlias

from redrive_engine.policy.question import Question
from redrive_events import Json
from redrive_projections import MISSING, spelled_moment

Path: TypeAlias = tuple[str, ...]
Getter: TypeAlias = Callable[[Question], Json]

# In the order in which they are looked at: the cheapest first.
TEXTS = ("tool", "effect", "principal", "tenant")
FIELDS = (*TEXTS, "object", "destination", "at", "hour", "weekday")
TABLES = ("arguments", "facts")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_NAME = r'"[^"]+"|[^."]+'
_NAMES = re.compile(_NAME)
_WHOLE = re.compile(rf"(?:{_NAME})(?:\.(?:{_NAME}))*")
_INDEX = re.compile(r"[0-9]{1,9}")


@lru_cache(maxsize=4096)
def split(text: str) -> Path:
    """The names in a path; a name with dots stands in quotes, and a text that is no path is one name."""
    if not _WHOLE.fullmatch(text):
        return (text,)
    return tuple(name.strip('"') for name in _NAMES.findall(text))


def spelled(path: Path) -> str:
    """The path as text: `split` undoes it."""
    return ".".join(f'"{name}"' if "." in name else name for name in path)


def value_at(value: Json, path: Path) -> Json:
    """What stands at ``path`` inside plain data, numbers counting into lists; else `MISSING`."""
    for name in path:
        if isinstance(value, dict):
            value = value.get(name, MISSING)
        elif isinstance(value, list | tuple) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            return MISSING
    return value


def getter(path: Path) -> Getter:
    """How a question is asked for what stands at ``path``."""
    if len(path) == 1:
        return _MADE.get(path[0]) or attrgetter(path[0])
    table, name, *rest = path
    deeper = tuple(rest)
    if table == "facts":
        if not deeper:
            return lambda question: question.facts.get(name, MISSING)
        return lambda question: value_at(question.facts.get(name, MISSING), deeper)
    if not deeper and not _INDEX.fullmatch(name):
        return lambda question: _named(question.arguments, name)
    whole = (name, *deeper)
    return lambda question: value_at(question.arguments, whole)


def _effect(question: Question) -> Json:
    """What is not known to be a read is judged as a write."""
    return "read" if question.effect == "read" else "write"


def _named(arguments: Json, name: str) -> Json:
    return arguments.get(name, MISSING) if isinstance(arguments, dict) else MISSING


def _at(question: Question) -> Json:
    return spelled_moment(question.at) if question.clock == "utc" else MISSING


def _hour(question: Question) -> Json:
    return question.at.astimezone(UTC).hour if question.clock == "utc" else MISSING


def _weekday(question: Question) -> Json:
    return WEEKDAYS[question.at.astimezone(UTC).weekday()] if question.clock == "utc" else MISSING


# What a question does not hold as such. Time is UTC's: the rules of other zones change with the machine's tables.
_MADE: Mapping[str, Getter] = {"effect": _effect, "at": _at, "hour": _hour, "weekday": _weekday}
