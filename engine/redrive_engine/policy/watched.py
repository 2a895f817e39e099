"""A question that notes what is read of it, so that a function's verdict records what it looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import msgspec

from redrive_engine.policy.paths import FIELDS, spelled
from redrive_engine.policy.question import Question
from redrive_engine.policy.readings import recordable
from redrive_events import Json, Reading
from redrive_projections import spelled_moment

Note: TypeAlias = Callable[[str, Json], None]

_of = msgspec.Struct.__getattribute__


class Watched(Question, frozen=True):
    """A question whose attributes, arguments and facts are noted as they are read, each once."""

    noted: dict[str, Reading] = msgspec.field(default_factory=dict)

    def __getattribute__(self, name: str) -> Any:
        value = _of(self, name)
        if name in FIELDS:
            if name == "at" and _of(self, "clock") != "utc":
                raise LookupError("no clock gave this time")
            _note(_of(self, "noted"), name, spelled_moment(value) if name == "at" else value)
        elif name == "arguments" and not isinstance(value, dict):
            _note(_of(self, "noted"), name, value)
        return value


class _Names(dict[str, Json]):
    """A table of which each name is noted when it is read, and the whole when it is gone through.

    How many there are is not noted: a pattern asks for that before it reads a name.
    """

    def __init__(self, path: str, values: Json, note: Note) -> None:
        super().__init__(values)
        self._path, self._note, self._gone_through = path, note, False

    def __getitem__(self, name: str) -> Json:
        self._read(name)
        return own(super().__getitem__(name))

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        self._read(name)
        return own(super().__getitem__(name)) if dict.__contains__(self, name) else default

    def __contains__(self, name: object) -> bool:
        self._read(name)
        return super().__contains__(name)

    def _read(self, name: object) -> None:
        if not self._gone_through:
            self._note(spelled((self._path, str(name))), dict.get(self, str(name)))

    def _whole(self) -> dict[str, Json]:
        copied: dict[str, Json] = own(dict(dict.items(self)))
        self._gone_through = True
        self._note(self._path, copied)
        return copied


def _gone_through(verb: str) -> Callable[..., Any]:
    def gone_through(self: _Names, *others: Any) -> Any:
        return getattr(self._whole(), verb)(*others)

    return gone_through


def _refused(*_: object, **__: object) -> NoReturn:
    raise TypeError("a policy changes nothing; it says what is to be changed")


for _verb in ("__iter__", "__reversed__", "__eq__", "__ne__", "__or__", "__ror__", "__repr__"):
    setattr(_Names, _verb, _gone_through(_verb))
for _verb in ("keys", "items", "values", "copy"):
    setattr(_Names, _verb, _gone_through(_verb))
for _verb in ("__setitem__", "__delitem__", "__ior__", "pop", "popitem", "setdefault", "update", "clear"):
    setattr(_Names, _verb, _refused)


def watched(question: Question) -> Watched:
    """The same question, watched; names are in one order, since recorded data has its keys sorted."""
    noted: dict[str, Reading] = {}

    def note(path: str, value: Json) -> None:
        _note(noted, path, value)

    arguments = question.arguments
    return Watched(
        principal=question.principal,
        tenant=question.tenant,
        tool=question.tool,
        arguments=_Names("arguments", _sorted(arguments), note) if isinstance(arguments, dict) else arguments,
        effect=question.effect,
        object=own(question.object),
        destination=own(question.destination),
        facts=_Names("facts", _sorted(dict(question.facts)), note),
        at=question.at,
        clock=question.clock,
        noted=noted,
    )


def own(value: Json) -> Json:
    """A copy that nobody else holds, in one order."""
    if isinstance(value, dict):
        return {key: own(inner) for key, inner in sorted(value.items())}
    return [own(one) for one in value] if isinstance(value, list | tuple) else value


def _sorted(table: dict[str, Json]) -> dict[str, Json]:
    return dict(sorted(table.items()))


def _note(noted: dict[str, Reading], path: str, value: Json) -> None:
    noted.setdefault(path, Reading(path=path, operator="read", value=recordable(value)))
