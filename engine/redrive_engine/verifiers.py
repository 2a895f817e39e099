"""What turns an observation into facts: a pure function that compares what came with what was asked."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from redrive_engine.envelope import is_json
from redrive_engine.misfits import misfits
from redrive_engine.sources import source_digest
from redrive_engine.tools import Call, Tool
from redrive_events import BadInput, Content, Json, canonical, mended, parse_json, text_of
from redrive_projections import MISSING, same

Facts: TypeAlias = Mapping[str, Json]

NOT_ACCEPTED = "The result could not be verified, so it is left out. Call again, or take another way."

T = TypeVar("T")
_ANY: TypeAdapter[Any] = TypeAdapter(Any)


@dataclass(frozen=True, slots=True)
class Refused:
    """The observation is not accepted: ``reason`` is for the record, ``text`` for the model, the same for all."""

    reason: str
    text: str = NOT_ACCEPTED


@dataclass(frozen=True, slots=True)
class Supersedes(Generic[T]):
    """A value that takes the place of the one its fact has."""

    value: T


Check = TypeVar("Check", bound=Callable[[Call, Any, Facts], Facts | Refused])


class Verifier:
    """A function over one tool's observations, the facts it may commit, and the digest of its source."""

    def __init__(self, run: Callable[[Call, Any, Facts], Facts | Refused], tool: str, commits: Sequence[str]) -> None:
        self.name: str = run.__name__
        self.run, self.tool, self.commits = run, tool, tuple(commits)
        self.digest = source_digest(run)
        self._shape, self._schema = _shape(run)
        functools.update_wrapper(self, run, updated=())

    def __call__(self, call: Call, seen: Any, facts: Facts) -> Facts | Refused:
        """The plain function: what it gives is not checked."""
        return self.run(call, seen, facts)

    def __repr__(self) -> str:
        return f"<verifier {self.name} of {self.tool}>"

    def check(
        self, call: Call, content: Content | None, media_type: str, facts: Facts
    ) -> Refused | dict[str, Json | Supersedes[Json]]:
        """What becomes fact, in the order in which the function gave it; what is known already is left out.

        A misfit, an exception, an undeclared fact and a contradiction are all refusals.
        """
        try:
            seen = self._seen(text_of(content), media_type)
            found = seen if isinstance(seen, Refused) else self.run(call, seen, MappingProxyType(facts))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what a verifier cannot judge is not accepted
            return Refused(f"verifier raised {type(error).__name__}")
        if isinstance(found, Refused):
            return Refused(mended(found.reason), mended(found.text))
        if type(found) is not dict and not isinstance(found, Mapping):  # an abstract class is slow to ask
            return Refused(f"verifier gave no facts but {type(found).__name__}")
        return self._committed(found, facts)

    def _seen(self, text: str, media_type: str) -> object:
        data: Json = text
        try:
            if not is_json(media_type):
                return self._shape.validate_python(text, strict=True)
            data = parse_json(text)
            return self._shape.validator.validate_json(text, strict=True)
        except ValidationError as error:
            return Refused(f"shape: {misfits(error, data, self._schema, whole='observation')}")
        except BadInput as error:
            return Refused(f"shape: observation: {error.problem}")

    def _committed(self, found: Facts, facts: Facts) -> Refused | dict[str, Json | Supersedes[Json]]:
        committed: dict[str, Json | Supersedes[Json]] = {}
        for key, given in found.items():
            if key not in self.commits:
                return Refused(f"commits {key!r} without declaring it")
            supersedes = isinstance(given, Supersedes)
            try:
                value = plain(given.value if supersedes else given)
            except (BadInput, ValueError, TypeError, RecursionError):
                return Refused(f"fact {key!r} is not plain JSON")
            known = facts.get(key, MISSING)
            if known is MISSING:
                committed[key] = value
            elif not same(known, value):
                if not supersedes:
                    return Refused(f"contradicts fact {key!r}")
                committed[key] = given if given.value is value else Supersedes(value)
        return committed


def verifier(tool: Tool | str, *, commits: Sequence[str] = ()) -> Callable[[Check], Verifier]:
    """Decorate a pure function ``(call, seen, facts) -> facts | Refused`` over the observations of ``tool``.

    ``seen`` is read into its annotated type: from JSON, or as the text it is. ``commits`` are the facts it may give.

    Raises:
        TypeError: the function is async, or its second parameter has a type that has no JSON.
    """
    name = tool.declaration.name if isinstance(tool, Tool) else tool

    def declared(function: Check) -> Verifier:
        return Verifier(function, name, commits)

    return declared


def plain(value: object) -> Json:
    """``value`` exactly as a log gives it back; sets are sorted, since their own order changes with every process.

    Raises:
        BadInput: there is no JSON for it.
    """
    if isinstance(value, bool) or value is None:
        return value
    if (type(value) is int and -(2**63) <= value < 2**63) or (type(value) is str and value.isascii()):
        return value
    # Python's mode keeps what JSON's mode would hide: sets, and the numbers that JSON does not have.
    return parse_json(canonical(_ordered(_ANY.dump_python(value, warnings=False))))


def _ordered(value: Any) -> Json:
    if isinstance(value, Mapping):
        return {_key(key): _ordered(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_ordered(one) for one in value]
    if isinstance(value, set | frozenset):
        return sorted(map(_ordered, value), key=canonical)
    return value if isinstance(value, float) else _ANY.dump_python(value, mode="json", warnings=False)


def _key(key: object) -> str:
    return key if type(key) is str else next(iter(_ANY.dump_python({key: None}, mode="json")))


def _shape(function: Callable[..., object]) -> tuple[TypeAdapter[Any], Json]:
    name = function.__name__
    parameters = list(inspect.signature(function).parameters)
    if len(parameters) != 3 or inspect.iscoroutinefunction(function):
        raise TypeError(f"verifier {name}: a plain function of call, seen and facts is expected")
    hint = get_type_hints(function, include_extras=True).get(parameters[1], Any)
    try:
        shape: TypeAdapter[Any] = TypeAdapter(hint)
    except PydanticUserError as error:
        raise TypeError(f"verifier {name}: {parameters[1]} has a type that has no JSON") from error
    try:
        return shape, shape.json_schema()
    except PydanticUserError:  # read all the same; only the choices in a refusal's reason are lost
        return shape, {}
