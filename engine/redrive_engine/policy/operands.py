"""What a rule compares with, or sets: a constant, or what ``$`` references in it stand for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from redrive_engine.policy.paths import Getter, Path, getter, spelled
from redrive_engine.policy.question import Question
from redrive_engine.policy.written import is_reference, path_of
from redrive_events import Json
from redrive_projections import MISSING


@dataclass(frozen=True, slots=True)
class Operand:
    """``constant`` is the operand where ``resolve`` has nothing to resolve."""

    constant: Json
    resolve: Getter | None
    references: tuple[tuple[str, Getter], ...]

    @classmethod
    def compiled(cls, written: Json) -> Operand:
        """An operand as it is written, ``$$`` read as ``$``."""
        constant, resolve = _compiled(written)
        named = tuple((spelled(path), getter(path)) for path in references(written))
        return cls(constant, resolve, named)

    def of(self, question: Question) -> Json:
        """What it is for this question; `MISSING` if a reference leads nowhere."""
        return self.constant if self.resolve is None else self.resolve(question)

    def missing(self, question: Question) -> str | None:
        """The first reference that leads nowhere; None if all lead somewhere."""
        return next((path for path, get in self.references if get(question) is MISSING), None)


def references(operand: Json) -> list[Path]:
    """The paths that the ``$`` references in an operand name."""
    if is_reference(operand):
        return [path_of(operand)]
    inner = operand.values() if isinstance(operand, dict) else operand if isinstance(operand, list) else ()
    return [path for one in inner for path in references(one)]


def _compiled(operand: Json) -> tuple[Json, Getter | None]:
    if is_reference(operand):
        return None, getter(path_of(operand))
    if isinstance(operand, list):
        parts = [_compiled(one) for one in operand]
        if all(resolve is None for _, resolve in parts):
            return [constant for constant, _ in parts], None
        return None, lambda question: _list(parts, question)
    if isinstance(operand, dict):
        names, values = list(operand), [_compiled(one) for one in operand.values()]
        if all(resolve is None for _, resolve in values):
            return dict(zip(names, (constant for constant, _ in values), strict=True)), None
        return None, lambda question: _table(names, values, question)
    return operand[1:] if isinstance(operand, str) and operand.startswith("$$") else operand, None


def _list(parts: Iterable[tuple[Json, Getter | None]], question: Question) -> Json:
    """A list with its references resolved; as a whole missing if one of them is."""
    values = [constant if resolve is None else resolve(question) for constant, resolve in parts]
    return MISSING if any(value is MISSING for value in values) else values


def _table(names: Iterable[str], parts: Iterable[tuple[Json, Getter | None]], question: Question) -> Json:
    values = _list(parts, question)
    return MISSING if values is MISSING else dict(zip(names, values, strict=True))
