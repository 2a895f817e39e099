"""A replay under guard: what a pure part asks of clock, chance, environment, files, network or processes is found."""

from __future__ import annotations

import copy
import dataclasses
import dis
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Final

import msgspec

from redrive_engine import Program
from redrive_engine.dialects import Decision, Dialect, Unreadable
from redrive_engine.policy import Policy, Question, Ruling
from redrive_events import Content
from redrive_replays import doors
from redrive_replays.outside import OF_MACHINE, Outside, asked, heard, named, printed

_ENVIRONMENTS: Final = (os.environ, getattr(os, "environb", os.environ))
_ENVIRONMENT: Final[frozenset[CodeType]] = frozenset(
    getattr(type(os.environ), name).__code__
    for name in ("__getitem__", "__setitem__", "__delitem__", "__iter__", "__len__")
)
_SEEDED: Final[CodeType] = random.Random.seed.__code__
# Where something is loaded once: that reads files, looks for plugins, or learns how this machine names its months.
_LOADING: Final = frozenset({"pydantic.plugin._loader", "_strptime"})


@dataclass(frozen=True, slots=True)
class Reach:
    """A pure part that reached outside: which one, for what, by which function, at which place in the run.

    ``tool`` is that of the call which it was asked about, where it was asked about one.
    """

    part: str
    outside: Outside
    function: str
    position: int
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """What a part answered, in one spelling: the same question should get the same one in any process."""

    part: str
    position: int
    tool: str
    answer: str


@dataclass
class Guard:
    """Watches the pure parts of a program while they are at work; each reach is noted once for each place."""

    position: int = 0
    reaches: list[Reach] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    _part: str = ""
    _tool: str = ""
    _seeded: list[object] = field(default_factory=list)

    def over(self, program: Program) -> Program:
        """The same program with its parts watched: policy, verifiers, dialects, and the checks of tools."""
        tools = program.tools and {
            name: dataclasses.replace(one, problems=self._watched(f"tool {name}", one.problems))
            for name, one in program.tools.items()
        }
        return dataclasses.replace(
            program,
            tools=tools,
            policy=program.policy and _WatchedPolicy(program.policy, self._watched("policy", program.policy.judge)),
            verifiers=tuple(self._verifier(one) for one in program.verifiers),
            dialects={name: self._dialect(one) for name, one in program.dialects.items()},
        )

    def _verifier(self, one: Any) -> Any:
        watched = copy.copy(one)
        watched.check = self._watched(f"verifier {one.name}", one.check)
        return watched

    def _dialect(self, one: Dialect) -> Dialect:
        return _WatchedDialect(one.name, self._watched(f"dialect {one.name}", one.read))

    def _watched(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return _Watched(self, part, function)

    @contextmanager
    def at_work(self, part: str, tool: str) -> Iterator[None]:
        """From here on what this thread does is done by a part, asked about a call of ``tool``."""
        before, profile, deaf = (self._part, self._tool), sys.getprofile(), _HOOK.guard
        self._part, self._tool = part, tool
        _HOOK.hear(self)
        with doors.hung():
            sys.setprofile(self._called)
            try:
                yield
            finally:
                sys.setprofile(profile)
                self._part, self._tool = before
                _HOOK.hear(deaf)
                if not self._part:
                    self._seeded.clear()

    def _called(self, frame: FrameType, event: str, what: Any) -> None:
        """Told of each function that is called; those of C have no frame of their own."""
        if event == "c_call":
            found = self._found(frame, what)
            if found is not None and not _is_loading(frame):
                self.note(found, named(what))
        elif event == "call":
            self._entered(frame)

    def _found(self, frame: FrameType, what: Any) -> Outside | None:
        if what is doors.PRINT:
            return printed(frame.f_locals["named"]) if frame.f_code is doors.CODE else None
        if any(getattr(what, "__self__", None) is one for one in self._seeded):
            return None
        return asked(what, _count(frame))

    def _entered(self, frame: FrameType) -> None:
        """A function of Python begins: the few of them that ask something that no function of C is asked."""
        if frame.f_code is _SEEDED and frame.f_locals.get("a") is not None:
            self._seeded.append(frame.f_locals["self"])  # what it gives from here on hangs on its seed
            return
        found: tuple[Outside, str] | None = None
        if frame.f_code in _ENVIRONMENT and any(frame.f_locals.get("self") is one for one in _ENVIRONMENTS):
            found = "environment", "os.environ"
        elif (outside := OF_MACHINE.get(name := _module(frame))) and _module(frame.f_back) != name:
            found = outside, f"{name}.{frame.f_code.co_name}"
        if found is not None and not _is_loading(frame):
            self.note(*found)

    def note(self, outside: Outside, function: str) -> None:
        """A part has reached outside."""
        reach = Reach(self._part, outside, function, self.position, self._tool)
        if reach not in self.reaches:
            self.reaches.append(reach)


@dataclass(frozen=True, slots=True)
class _Watched:
    """A function of a part, watched by a guard."""

    guard: Guard
    part: str
    function: Callable[..., Any]

    def __call__(self, *given: Any) -> Any:
        """Its answer, which the guard keeps."""
        tool = getattr(given[0], "tool", "") if given else ""
        answer: Any = None
        try:
            with self.guard.at_work(self.part, tool):
                answer = self.function(*given)
        except BaseException as error:
            answer = f"raised {type(error).__name__}"
            raise
        finally:
            self.guard.said.append(Said(self.part, self.guard.position, tool, _spelled(answer)))
        return answer


@dataclass(frozen=True)
class _WatchedPolicy:
    """A policy that judges under guard, and else is the one it was."""

    own: Policy
    judged: Callable[[Question], Ruling]

    @property
    def digest(self) -> str:
        return self.own.digest

    @property
    def wording(self) -> str:
        return self.own.wording

    @property
    def data(self) -> Any:
        return self.own.data

    def judge(self, question: Question) -> Ruling:
        return self.judged(question)


@dataclass(frozen=True)
class _WatchedDialect:
    """A dialect that reads under guard."""

    name: str
    reads: Callable[[Content], Decision | Unreadable]

    def read(self, content: Content) -> Decision | Unreadable:
        return self.reads(content)


class _Hook:
    """The one audit hook of a process, which cannot be taken out again: it is deaf while no part is at work."""

    def __init__(self) -> None:
        self.guard: Guard | None = None
        self._thread = 0
        self._installed = False

    def install(self) -> None:
        """Begin to listen, once."""
        if not self._installed:
            sys.addaudithook(self._heard)
            self._installed = True

    def hear(self, guard: Guard | None) -> None:
        """From here on what this thread does is the guard's business, and nothing that another one does."""
        self.guard, self._thread = guard, threading.get_ident()

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if (guard := self.guard) is None or self._thread != threading.get_ident():
            return
        outside = heard(event, arguments)
        if outside is not None and not _is_loading(sys._getframe(1)):
            told = arguments[0] if arguments and isinstance(arguments[0], str | int) else ""
            guard.note(outside, f"{event} {told}".strip())


_HOOK = _Hook()


def _count(frame: FrameType) -> int | None:
    """With how many arguments the function is called that a frame calls, None not counted where it is seen."""
    if frame.f_code is doors.CODE:
        given, named = frame.f_locals["given"], frame.f_locals["named"]
        return sum(one is not None for one in (*given, *named.values()))
    code = frame.f_code.co_code
    name = dis.opname[code[frame.f_lasti]]
    return code[frame.f_lasti + 1] if name in {"CALL", "CALL_KW"} else None


def _module(frame: FrameType | None) -> str:
    return str(frame.f_globals.get("__name__", "")) if frame is not None else ""


def _is_loading(frame: FrameType | None) -> bool:
    """Whether a part had something loaded, which is no more its doing than that it was loaded before."""
    while frame is not None and frame.f_code is not _Watched.__call__.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib") or _module(frame) in _LOADING:
            return True
        frame = frame.f_back
    return False


def _spelled(answer: Any) -> str:
    """An answer as text that names no place in memory; of what cannot be spelled, its type."""
    try:
        return msgspec.json.encode(answer, enc_hook=lambda one: f"<{type(one).__name__}>").decode()
    except (ValueError, TypeError, RecursionError, OverflowError):
        return f"<{type(answer).__name__}>"


def guarding() -> Guard:
    """A guard for one replay."""
    _HOOK.install()
    return Guard()
