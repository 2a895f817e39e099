"""The arguments that an edit puts in the place of a call's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from redrive_engine.policy.operands import Operand
from redrive_engine.policy.paths import Path, spelled, value_at
from redrive_engine.policy.question import Question
from redrive_engine.policy.readings import recordable
from redrive_events import BadInput, Json, Reading
from redrive_projections import MISSING, same


@dataclass(frozen=True, slots=True)
class Setting:
    """What an edit puts at a path inside the arguments."""

    path: Path
    operand: Operand

    def read(self, question: Question) -> Reading:
        """The change for the record: what stood there, and what is put in its place."""
        was, becomes = value_at(question.arguments, self.path), self.operand.of(question)
        path = spelled(("arguments", *self.path))
        return Reading(path=path, operator="set", value=recordable(was), limit=recordable(becomes))


class Edited(NamedTuple):
    """What becomes of the arguments: changed, or left as they are; or why neither can be said."""

    arguments: Json = None
    changed: bool = False
    doubt: str = ""


def edited(settings: Sequence[Setting], question: Question) -> Edited:
    """The arguments with everything put where it belongs.

    References are to the question as it was asked. A new argument may be put beside others, but nothing below what is
    not there.
    """
    arguments = question.arguments
    for setting in settings:
        if (missing := setting.operand.missing(question)) is not None:
            return Edited(doubt=f"{missing} is missing")
        arguments = _put(arguments, setting.path, setting.operand.of(question))
        if arguments is MISSING:
            return Edited(doubt=f"{spelled(('arguments', *setting.path))} cannot be set")
    try:
        return Edited(arguments, not same(arguments, question.arguments))
    except BadInput:  # what has no canonical spelling is put into no call
        return Edited(doubt="the arguments cannot be spelled")


def _put(inside: Json, path: Path, value: Json) -> Json:
    """A copy of ``inside`` with ``value`` at ``path``; `MISSING` if there is no such place."""
    name, *rest = path
    if isinstance(inside, dict):
        if not rest:
            return {**inside, name: value}
        inner = _put(inside.get(name, MISSING), tuple(rest), value)
        return MISSING if inner is MISSING else {**inside, name: inner}
    old = value_at(inside, (name,)) if isinstance(inside, list | tuple) else MISSING
    inner = value if not rest else _put(old, tuple(rest), value)
    if old is MISSING or inner is MISSING:
        return MISSING
    return [*inside[: int(name)], inner, *inside[int(name) + 1 :]]
