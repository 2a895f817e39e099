"""A call as Cedar is asked about it, and what its policies read of one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC
from typing import Final

from redrive_engine.policy.paths import FIELDS, TABLES, WEEKDAYS, Path, getter, spelled
from redrive_engine.policy.question import Question
from redrive_engine.policy.readings import recordable
from redrive_events import Json, Reading, canonical
from redrive_projections import MISSING

# With these keys a table is not one to Cedar, but an entity or a value of its own: none that a model may write.
_NOT_PLAIN: Final = frozenset({"__entity", "__extn", "__expr"})
_DECIMAL_MAX: Final = 900_000_000_000_000
_VARIABLES: Final = {"principal": ("principal",), "action": ("tool",), "resource": ("object",)}


class Unspeakable(Exception):
    """Cedar has no words for a value of the call; the text says where it stands."""


def request_of(question: Question) -> dict[str, Json]:
    """Who does what to which thing, and all else that may be read as the context.

    Raises:
        Unspeakable: a value has no likeness in Cedar.
    """
    thing, kind = question.object, "Object"
    if thing is MISSING or thing is None:
        thing, kind = question.tool, "Tool"
    return {
        "principal": {"type": "User", "id": question.principal},
        "action": {"type": "Action", "id": question.tool},
        "resource": {"type": kind, "id": thing if isinstance(thing, str) else canonical(thing).decode()},
        "context": dict(_context(question)),
    }


def _context(question: Question) -> Iterator[tuple[str, Json]]:
    if not isinstance(question.arguments, dict):
        raise Unspeakable("the arguments could not be read")
    yield "tenant", question.tenant
    yield "effect", getter(("effect",))(question)
    yield "arguments", _likeness(question.arguments, "arguments")
    yield "facts", _likeness(dict(question.facts), "facts")
    for name, value in (("object", question.object), ("destination", question.destination)):
        if value is not MISSING and value is not None:
            yield name, _likeness(value, name)
    if question.clock == "utc":
        at = question.at.astimezone(UTC)
        spelled_at = at.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
        yield "at", {"__extn": {"fn": "datetime", "arg": spelled_at}}
        yield "hour", at.hour
        yield "weekday", WEEKDAYS[at.weekday()]


def _likeness(value: Json, place: str) -> Json:
    """A value as Cedar has it: names whose value is null are left out, and a number with a fraction is a decimal."""
    if isinstance(value, dict):
        if not _NOT_PLAIN.isdisjoint(value):
            raise Unspeakable(f"{place} has a name that means something else to Cedar")
        return {key: _likeness(inner, f"{place}.{key}") for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_likeness(one, place) for one in value]
    if isinstance(value, float):
        return _number(value, place)
    if value is None or (isinstance(value, int) and not -(2**63) <= value < 2**63):
        raise Unspeakable(f"{place} is {'null' if value is None else 'too large'} for Cedar")
    return value


def _number(value: float, place: str) -> Json:
    if not math.isfinite(value) or abs(value) > _DECIMAL_MAX or round(value, 4) != value:
        raise Unspeakable(f"{place} is no number that Cedar has")
    return int(value) if value.is_integer() else {"__extn": {"fn": "decimal", "arg": f"{value:.4f}"}}


def read_by(written: Json) -> frozenset[Path]:
    """The paths into a question that a policy, as Cedar's plain data, may read."""
    scope = {_VARIABLES[name] for name in _VARIABLES if written[name].get("op") != "All"}
    return frozenset(scope | {path for path in _paths(written["conditions"]) if path[0] in (*FIELDS, *TABLES)})


def readings(paths: frozenset[Path], question: Question) -> tuple[Reading, ...]:
    """What stands at these paths, in their order."""
    return tuple(
        Reading(path=spelled(path), operator="read", value=recordable(_value(question, path))) for path in sorted(paths)
    )


def _value(question: Question, path: Path) -> Json:
    if path in {("arguments",), ("facts",)}:
        return dict(question.facts) if path == ("facts",) else question.arguments
    return getter(path)(question)


def _paths(node: Json) -> Iterator[Path]:
    """The longest chains of attributes that begin at a variable, wherever they stand."""
    if isinstance(node, list):
        for one in node:
            yield from _paths(one)
    elif isinstance(node, dict):
        path = _chain(node)
        if path is not None:
            if path:
                yield path
            return
        for key, inner in node.items():
            if key != "Value":
                yield from _paths(inner)


def _chain(node: Json) -> Path | None:
    """The path that a node is; None if it is none, empty where it is the whole context."""
    if isinstance(node, dict) and len(node) == 1:
        if (name := node.get("Var")) is not None:
            return _VARIABLES.get(name, ())
        step = node.get(".") or node.get("has")
        before = None if not isinstance(step, dict) else _chain(step.get("left"))
        if before is not None and isinstance(step, dict):
            # what an entity has stands in the entities, and not in the call
            return before if before in _VARIABLES.values() else (*before, str(step.get("attr")))
    return None


def actions_of(written: Json) -> list[str]:
    """The tools that the scope of a policy names; none where it is of any."""
    scope = written["action"]
    entities = [scope["entity"]] if "entity" in scope else scope.get("entities", [])
    return [str(one["id"]) for one in entities if one["type"].split("::")[-1] == "Action"]
