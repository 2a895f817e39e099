"""A replay under guard: what a pure part asks of clock, chance, environment, files, network or processes is found."""

from __future__ import annotations

import copy
import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Final, Literal, TypeAlias

from redrive_engine import Program
from redrive_engine.dialects import Decision, Dialect, Unreadable
from redrive_engine.policy import Policy, Question, Ruling
from redrive_events import Content

Outside: TypeAlias = Literal["clock", "chance", "environment", "file", "network", "process"]

# Functions of C by the module they are of, and what they ask. CPython raises no audit event for these.
MODULES: Final[Mapping[str, Outside]] = {
    "time": "clock",
    "_random": "chance",
    "_socket": "network",
    "select": "network",
    "_posixsubprocess": "process",
    "_thread": "process",
}
FUNCTIONS: Final[Mapping[tuple[str, str], Outside]] = {
    ("posix", "urandom"): "chance",
    ("posix", "getrandom"): "chance",
    ("posix", "getpid"): "process",
    ("posix", "getcwd"): "file",
    ("posix", "stat"): "file",
}
PURE_OF_TIME: Final = frozenset({"strptime", "strftime", "struct_time", "gmtime", "asctime", "mktime"})
NOW: Final = frozenset({"now", "utcnow", "today"})
# What CPython tells an audit hook, by how the event begins.
AUDITED: Final[Mapping[str, Outside]] = {
    "open": "file",
    "os.listdir": "file",
    "os.scandir": "file",
    "os.remove": "file",
    "os.rename": "file",
    "os.mkdir": "file",
    "os.truncate": "file",
    "socket.": "network",
    "urllib.": "network",
    "subprocess.": "process",
    "os.system": "process",
    "os.exec": "process",
    "os.fork": "process",
    "os.posix_spawn": "process",
    "os.kill": "process",
}
_ENVIRONMENT: Final[frozenset[CodeType]] = frozenset(
    {type(os.environ).__getitem__.__code__, type(os.environ).__iter__.__code__}
)


@dataclass(frozen=True, slots=True)
class Reach:
    """A pure part that reached outside: which one, for what, by which function, at which place in the run."""

    part: str
    outside: Outside
    function: str
    position: int


@dataclass
class Guard:
    """Watches the pure parts of a program while they are at work; each reach is noted once for each place."""

    position: int = 0
    reaches: list[Reach] = field(default_factory=list)
    _part: str = ""

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
        watched.run = self._watched(f"verifier {one.name}", one.run)
        return watched

    def _dialect(self, one: Dialect) -> Dialect:
        return _WatchedDialect(one.name, self._watched(f"dialect {one.name}", one.read))

    def _watched(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any) -> Any:
            with self._at_work(part):
                return function(*given)

        return called

    @contextmanager
    def _at_work(self, part: str) -> Iterator[None]:
        before, profile = self._part, sys.getprofile()
        self._part = part
        _HOOK.guard = self
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(profile)
            self._part = before
            _HOOK.guard = self if before else None

    def _called(self, frame: FrameType, event: str, what: Any) -> None:
        """Told of each function that is called; those of C have no frame of their own."""
        if event == "c_call":
            found = _outside(what)
            if found is not None:
                self.note(found, f"{_home(what)}.{what.__name__}")
        elif event == "call" and frame.f_code in _ENVIRONMENT and frame.f_locals.get("self") is os.environ:
            self.note("environment", "os.environ")

    def note(self, outside: Outside, function: str) -> None:
        """A part has reached outside."""
        reach = Reach(self._part, outside, function, self.position)
        if reach not in self.reaches:
            self.reaches.append(reach)


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


def _home(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    kind = owner if isinstance(owner, type) else type(owner)
    if kind.__module__ in {"datetime", "random"}:
        return f"{kind.__module__}.{kind.__name__}"
    return getattr(function, "__module__", None) or kind.__module__


def _outside(function: Any) -> Outside | None:
    """What a function of C asks of the outside, if anything."""
    home, name = _home(function), function.__name__
    if home.startswith("datetime.") and name in NOW:
        return "clock"
    if home.startswith("random."):
        return "chance"
    if home == "time" and name in PURE_OF_TIME:
        return None
    return MODULES.get(home) or FUNCTIONS.get((home, name))


class _Hook:
    """The one audit hook of a process, which cannot be taken out again: it is deaf while no part is at work."""

    def __init__(self) -> None:
        self.guard: Guard | None = None
        self._installed = False

    def install(self) -> None:
        """Begin to listen, once."""
        if not self._installed:
            sys.addaudithook(self._heard)
            self._installed = True

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if (guard := self.guard) is None:
            return
        outside = next((outside for begins, outside in AUDITED.items() if event.startswith(begins)), None)
        if outside is not None and not _importing(sys._getframe(1)):
            told = arguments[0] if arguments and isinstance(arguments[0], str | int) else ""
            guard.note(outside, f"{event} {told}".strip())


_HOOK = _Hook()


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being loaded, which reads files of its own."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def guarding() -> Guard:
    """A guard for one replay."""
    _HOOK.install()
    return Guard()
