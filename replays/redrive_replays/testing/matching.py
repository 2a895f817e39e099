"""How a trajectory is held against a snapshot: what of it counts, and which values need only fit."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from redrive_events import BadInput, Json

Mode: TypeAlias = Literal["strict", "in order", "any order", "superset", "subset"]

# What a mode compares, and what it does not look at; a failure says it.
COMPARES: Final[Mapping[Mode, str]] = {
    "strict": "every line",
    "in order": "the calls that were made, in their order",
    "any order": "the calls that were made, in whatever order",
    "superset": "that the calls of the snapshot were made",
    "subset": "that no calls were made but those of the snapshot",
}
_OTHER_EVENTS: Final = "words, verdicts, results, facts and the end"
IGNORES: Final[Mapping[Mode, str]] = {
    "strict": "nothing",
    "in order": _OTHER_EVENTS,
    "any order": f"the order of calls, {_OTHER_EVENTS}",
    "superset": f"further calls, the order of calls, {_OTHER_EVENTS}",
    "subset": f"calls that are missing, the order of calls, {_OTHER_EVENTS}",
}
_IGNORED: Final = "<ignored>"
ABOUT: Final = ("result", "fact")


@dataclass(frozen=True, slots=True)
class Matcher:
    """A value that need only fit; ``told`` stands in the snapshot in its place."""

    told: str
    fits: Callable[[Json], bool]


def ignore() -> Matcher:
    """Any value, or none."""
    return Matcher(_IGNORED, lambda _: True)


def regex(pattern: str) -> Matcher:
    """A text that the pattern matches as a whole.

    Raises:
        BadInput: the pattern is none.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise BadInput(f"no regular expression: {error}", place=f"regex {pattern!r}") from None
    return Matcher(f"<matches {pattern}>", lambda value: isinstance(value, str) and bool(compiled.fullmatch(value)))


def approx(expected: float, *, rel: float = 1e-6, abs: float = 0.0) -> Matcher:  # noqa: A002 - as pytest calls it
    """A number that is near ``expected``, as `math.isclose` has it."""

    def near(value: Json) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isclose(value, expected, rel_tol=rel, abs_tol=abs)

    return Matcher(f"<about {expected:g} ± {f'{abs:g}' if abs else f'{rel:g} of it'}>", near)


def of_type(kind: type) -> Matcher:
    """A value of this type; here a bool is no int."""

    def is_one(value: Json) -> bool:
        return isinstance(value, kind) and (kind in {bool, object} or not isinstance(value, bool))

    return Matcher(f"<{kind.__name__}>", is_one)


Fit: TypeAlias = Matcher | type | Callable[[Json], bool]


def matcher_of(fit: Fit) -> Matcher:
    """A matcher itself; a type, or a function that says whether a value fits, as one.

    Raises:
        BadInput: it is none of them.
    """
    if isinstance(fit, Matcher):
        return fit
    if not callable(fit):
        raise BadInput(f"{fit!r} is no matcher: ignore(), regex(…), approx(…), a type or a function", place="matching")
    return of_type(fit) if isinstance(fit, type) else Matcher(f"<{getattr(fit, '__name__', 'fitting')}>", fit)


@dataclass(frozen=True, slots=True)
class Matching:
    """A mode, and matchers by what they are about.

    ``TOOL`` leaves all calls of a tool out, ``TOOL.ARGUMENT`` is one argument (``*.ARGUMENT`` that of any tool),
    ``result:TOOL`` what a tool answers, ``fact:KEY`` a fact, ``reply`` the words of the model, ``answer`` the run's.
    """

    mode: Mode = "strict"
    matchers: Mapping[str, Matcher] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise BadInput(f"no mode {self.mode!r}; there are {', '.join(get_args(Mode))}", place="matching")
        for name, matcher in self.matchers.items():
            about, colon, _ = name.partition(":")
            if colon and "." not in about and about not in ABOUT:
                raise BadInput("there are result:TOOL and fact:KEY", place=f"matching {name!r}")
            is_tool = "." not in name and ":" not in name and name not in {"reply", "answer"}
            if is_tool and matcher.told != _IGNORED:
                raise BadInput("the calls of a tool are left out whole, by ignore()", place=f"matching {name!r}")

    def leaves_out(self, tool: str) -> bool:
        """Whether calls of this tool are not told."""
        return tool in self.matchers

    def of(self, name: str, value: Json) -> str | None:
        """What stands for a value that fits; None if it is told as it is."""
        matcher = self.matchers.get(name)
        return matcher.told if matcher is not None and matcher.fits(value) else None

    def arguments(self, tool: str, arguments: Mapping[str, Json]) -> dict[str, str]:
        """What stands for each argument that fits its matcher; one that is ignored may as well be absent."""
        found: dict[str, str] = {}
        for name, matcher in self._of(tool):
            if matcher.told == _IGNORED or (name in arguments and matcher.fits(arguments[name])):
                found.setdefault(name, matcher.told)
        return found

    def _of(self, tool: str) -> Iterator[tuple[str, Matcher]]:
        for begins in (f"{tool}.", "*."):
            for name, matcher in self.matchers.items():
                if name.startswith(begins):
                    yield name.removeprefix(begins), matcher

    def ignored(self) -> str:
        """In words: what is not looked at."""
        values = [f"{name} ({one.told})" for name, one in self.matchers.items()]
        return "; ".join(filter(None, [IGNORES[self.mode], ", ".join(values)]))


STRICT: Final = Matching()


def fit(mode: Mode, received: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether calls are those that are wanted, as far as the mode looks."""
    if mode in {"strict", "in order"}:
        return list(received) == list(wanted)
    return not unfit(mode, received, wanted)


def unfit(mode: Mode, received: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Each call that is missing, or that there is beside those that are wanted, in words."""
    missing = Counter(wanted) - Counter(received)
    further = Counter(received) - Counter(wanted)
    found = [f"missing: {call}" for call in missing.elements()] if mode != "subset" else []
    return found + ([f"not in the snapshot: {call}" for call in further.elements()] if mode != "superset" else [])
