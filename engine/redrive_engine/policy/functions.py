"""Policies that are functions: a call as it is judged in, a ruling out, or None where they have nothing to say."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, get_args, overload

from redrive_engine.policy.paths import spelled
from redrive_engine.policy.question import NO_RULE, NOT_ALLOWED, RESERVED, Question, Ruling
from redrive_engine.policy.readings import recordable
from redrive_engine.policy.watched import watched
from redrive_engine.sources import source_digest
from redrive_events import BadInput, Json, Reading, Verdict, canonical, mended, parse_json
from redrive_projections import MISSING, same

PolicyFunction: TypeAlias = Callable[[Question], Ruling | None]


def allow(reason: str = "") -> Ruling:
    """The call may be made; ``reason`` is for the record."""
    return Ruling("allow", "", reason)


def deny(reason: str = "", *, text: str = NOT_ALLOWED) -> Ruling:
    """The call is not made; ``reason`` is for the record, ``text`` for the model."""
    return Ruling("deny", "", reason, text)


def ask(reason: str = "", *, text: str = "") -> Ruling:
    """A person is asked, who reads the ``reason``; the model reads ``text`` if they do not allow it."""
    return Ruling("ask", "", reason, text)


def edit(arguments: Json, reason: str = "") -> Ruling:
    """The call gets these ``arguments`` in the place of its own, and is judged again."""
    return Ruling("edit", "", reason, arguments=arguments)


class FunctionPolicy:
    """A pure function of a question, and the digest of its source; its name is the rule that verdicts bear.

    What it reads of the question is recorded with its ruling. An exception is a denial, and so is anything that is
    neither a ruling nor None; an edit that would change nothing is no opinion.
    """

    def __init__(self, function: PolicyFunction, name: str = "") -> None:
        self.name: str = name or getattr(function, "__name__", type(function).__name__)
        if self.name in RESERVED:
            raise BadInput("the engine itself rules by this name", place=f"policy {self.name!r}")
        if inspect.iscoroutinefunction(function) or not _takes_one(function):
            raise TypeError(f"policy {self.name}: a plain function of a question is expected")
        self.run = function
        self.digest = self.wording = source_digest(function)
        self.data: Json = {"function": self.name, "source": self.digest}
        functools.update_wrapper(self, function, updated=())

    def __call__(self, question: Question) -> Ruling | None:
        """The plain function: what it gives is not checked, and nothing noted."""
        return self.run(question)

    def __repr__(self) -> str:
        return f"<policy {self.name}>"

    @property
    def rules(self) -> tuple[str, ...]:
        """By which names it rules."""
        return (self.name,)

    def opinion(self, question: Question) -> Ruling | None:
        """What the function says, with what it read; None if nothing."""
        seen = watched(question)
        try:
            found = _checked(self.run(seen), question.arguments)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what a policy cannot judge is denied
            found = _unjudged(f"raised {type(error).__name__}")
        if found is None:
            return None
        return Ruling(
            found.verdict,
            found.rule or self.name,
            mended(found.reason),
            mended(found.text),
            (*seen.noted.values(), *found.read),
            found.arguments,
        )

    def judge(self, question: Question) -> Ruling:
        """What the function says; else a denial."""
        return self.opinion(question) or NO_RULE


@overload
def policy(function: PolicyFunction, /) -> FunctionPolicy: ...
@overload
def policy(*, name: str) -> Callable[[PolicyFunction], FunctionPolicy]: ...
def policy(
    function: PolicyFunction | None = None, /, *, name: str = ""
) -> FunctionPolicy | Callable[[PolicyFunction], FunctionPolicy]:
    """Decorate a pure function ``(question) -> ruling | None``; verdicts bear its name, or the one given here.

    Raises:
        TypeError: the function is async, or takes something else than a question.
        BadInput: the engine itself rules by this name.
    """
    if function is not None:
        return FunctionPolicy(function)
    return lambda named: FunctionPolicy(named, name)


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    return True


def _checked(found: object, arguments: Json) -> Ruling | None:
    """What was given, as a ruling that the record can hold."""
    if found is None:
        return None
    if not isinstance(found, Ruling):
        return _unjudged(f"gave no ruling but {type(found).__name__}")
    words = all(isinstance(word, str) for word in (found.rule, found.reason, found.text))
    if not words or found.verdict not in get_args(Verdict) or found.rule in RESERVED:
        return _unjudged("gave a ruling that is none")
    if found.verdict == "edit":
        return _edited(found, arguments)
    text = found.text or NOT_ALLOWED if found.verdict == "deny" else found.text if found.verdict == "ask" else ""
    return Ruling(found.verdict, mended(found.rule), found.reason, text)


def _edited(found: Ruling, arguments: Json) -> Ruling | None:
    try:
        becomes = parse_json(canonical(found.arguments))
        changes = canonical(becomes) != canonical(arguments)
    except (BadInput, TypeError, ValueError, RecursionError):
        return _unjudged("gave arguments that are not plain JSON")
    if not isinstance(becomes, dict):
        return _unjudged("gave arguments that are no table")
    if not changes:
        return None
    before = arguments if isinstance(arguments, dict) else {}
    pairs = ((name, before.get(name, MISSING), becomes.get(name, MISSING)) for name in sorted({*before, *becomes}))
    read = tuple(
        Reading(path=spelled(("arguments", name)), operator="set", value=recordable(was), limit=recordable(now))
        for name, was, now in pairs
        if was is MISSING or now is MISSING or not same(was, now)
    )
    return Ruling("edit", mended(found.rule), found.reason, read=read, arguments=becomes)


def _unjudged(why: str) -> Ruling:
    return Ruling("deny", "", f"the policy {why}", NOT_ALLOWED)
