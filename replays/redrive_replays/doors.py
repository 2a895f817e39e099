"""Doors in front of functions of C, so that those who call them from C are seen as well."""

from __future__ import annotations

import builtins
import gc
import importlib
import os
import random  # noqa: TID251 - to be watched
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any, Final


class Door:
    """A function of C behind a frame of Python, which a profiler sees whoever calls; it is no method of a class."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.__wrapped__ = function

    def __call__(self, *given: Any, **named: Any) -> Any:
        """As it is called."""
        return self._function(*given, **named)


class _Hinge:
    """A door in front of a method of a class of C."""

    def __init__(self, method: Any) -> None:
        self._method = method

    def __get__(self, instance: object, owner: type | None = None) -> Door:
        return Door(self._method.__get__(instance, owner))


PRINT: Final = print
CODE: Final[CodeType] = Door.__call__.__code__

# What is handed on as a function to be called: factories, keys, and what `map` and `partial` are given.
_NAMES: Final[Mapping[ModuleType, tuple[str, ...]]] = {
    time: tuple(name for name, one in vars(time).items() if isinstance(one, BuiltinFunctionType)),
    random: ("random", "getrandbits"),
    os: ("urandom", "getpid", "getppid", "getuid", "getcwd", "uname", "cpu_count", "getloadavg"),
    builtins: ("print",),
}
_METHODS: Final[Mapping[type, tuple[str, ...]]] = {
    date: ("today", "fromtimestamp"),
    datetime: ("now", "utcnow", "fromtimestamp", "timestamp", "astimezone"),
}
_DOORS: Final = [
    (module, name, Door(found))
    for module, names in _NAMES.items()
    for name in names
    if isinstance(found := getattr(module, name, None), BuiltinFunctionType)
]


class _Doors:
    """Whether they hang: as long as anybody wants them to."""

    def __init__(self) -> None:
        self._lock, self._wanted = threading.Lock(), 0

    def hang(self) -> None:
        """One more wants them."""
        with self._lock:
            self._wanted += 1
            if self._wanted == 1:
                for module, name, door in _DOORS:
                    setattr(module, name, door)

    def take_out(self) -> None:
        """One less does."""
        with self._lock:
            self._wanted -= 1
            if self._wanted == 0:
                for module, name, door in _DOORS:
                    setattr(module, name, door.__wrapped__)


_ALL: Final = _Doors()


@contextmanager
def hung() -> Iterator[None]:
    """For a time, whoever looks one of the functions up in its module gets its door."""
    _ALL.hang()
    try:
        yield
    finally:
        _ALL.take_out()


def hang_doors() -> None:
    """For good, and in front of methods of classes too: for a process of its own, before it loads an agent."""
    _ALL.hang()
    ctypes = importlib.import_module("ctypes")
    for kind, names in _METHODS.items():
        own = gc.get_referents(kind.__dict__)[0]  # the dictionary that the read-only view of a class is of
        own.update({name: _Hinge(own[name]) for name in names})
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
