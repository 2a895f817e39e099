"""What is outside of a run: the functions and the events of the interpreter by which it is asked, as tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from random import Random  # noqa: TID251 - to be watched
from typing import Any, Final, Literal, TypeAlias

Outside: TypeAlias = Literal["clock", "chance", "environment", "file", "network", "process"]

# Functions of C by the module they are of, and what they ask. CPython raises no audit event for most of these.
MODULES: Final[Mapping[str, Outside]] = {
    "time": "clock",
    "_uuid": "chance",
    "posix": "file",
    "pwd": "file",
    "grp": "file",
    "fcntl": "file",
    "_io": "file",
    "random.Random": "chance",
    "_locale": "environment",
    "_socket": "network",
    "_ssl": "network",
    "select": "network",
    "_posixsubprocess": "process",
    "_signal": "process",
    "_thread": "process",
    "resource": "process",
}
POSIX: Final[Mapping[Outside, frozenset[str]]] = {
    "chance": frozenset({"urandom", "getrandom"}),
    "environment": frozenset(
        {
            "uname",
            "cpu_count",
            "sched_getaffinity",
            "getloadavg",
            "getlogin",
            "sysconf",
            "confstr",
            "putenv",
            "unsetenv",
        }
    ),
    "process": frozenset(
        {
            *("getpid", "getppid", "getpgid", "getpgrp", "getsid", "getpriority", "times", "umask"),
            *("getuid", "geteuid", "getgid", "getegid", "getgroups", "getresuid", "getresgid", "_exit", "abort"),
            *("fork", "forkpty", "kill", "killpg", "execv", "execve", "posix_spawn", "posix_spawnp", "system"),
            *("wait", "wait3", "wait4", "waitpid", "waitid", "nice", "setsid", "setuid", "setgid", "sched_yield"),
        }
    ),
}
# Functions of these modules that answer from what they are given.
PURE: Final[Mapping[str, frozenset[str]]] = {
    "time": frozenset({"strptime", "struct_time", "tzset"}),
    "posix": frozenset(
        {
            *("fspath", "strerror", "_path_normpath", "major", "minor", "makedev", "register_at_fork"),
            *("WIFEXITED", "WEXITSTATUS", "WIFSIGNALED", "WTERMSIG", "WIFSTOPPED", "WSTOPSIG", "WCOREDUMP"),
            "waitstatus_to_exitcode",
        }
    ),
    "_socket": frozenset(
        {"htonl", "htons", "ntohl", "ntohs", "inet_aton", "inet_ntoa", "inet_ntop", "inet_pton", "getdefaulttimeout"}
    ),
}
# What stands in for now if it is not given: with so many arguments these say what they do of a given time, in UTC ...
OF_TIME: Final = {"gmtime": 1, "asctime": 1, "strftime": 2}
# ... and these in the zone of the machine.
OF_ZONE: Final = {"localtime": 1, "ctime": 1, "mktime": 1}
NOW: Final = frozenset({"now", "utcnow", "today"})
# What a stream that is a file, a terminal or a pipe is asked by.
STREAMED: Final = frozenset({"read", "read1", "readinto", "readline", "readlines", "write", "writelines"})
# Modules of Python that answer from what they remember of the machine.
OF_MACHINE: Final[Mapping[str, Outside]] = {"platform": "environment"}

# What CPython tells an audit hook: by its name, else by what stands before the dot.
_AUDITED: Final[Mapping[str, Outside]] = {
    **dict.fromkeys(("open", "builtins.input"), "file"),
    **dict.fromkeys(("os", "shutil", "glob", "tempfile", "pathlib", "fcntl", "mmap", "sqlite3"), "file"),
    **dict.fromkeys(("os.putenv", "os.unsetenv"), "environment"),
    **dict.fromkeys(
        ("socket", "urllib", "ssl", "http", "ftplib", "imaplib", "poplib", "smtplib", "telnetlib"), "network"
    ),
    **dict.fromkeys(("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"), "process"),
    **dict.fromkeys(("os.kill", "os.killpg", "signal", "subprocess", "pty", "resource", "syslog"), "process"),
    **dict.fromkeys(("ctypes", "webbrowser"), "process"),
}
_IN_MEMORY: Final = (":memory:", b":memory:", -1)


def heard(event: str, arguments: Sequence[Any]) -> Outside | None:
    """What an audit event tells that was asked of the outside, if anything."""
    if event in {"sqlite3.connect", "mmap.__new__"} and arguments[0] in _IN_MEMORY:
        return None
    if event in {"sqlite3.connect/handle", "sqlite3.enable_load_extension"}:
        return None
    return _AUDITED.get(event) or _AUDITED.get(event.partition(".")[0])


def home(function: Any) -> str:
    """The module, or the class, that a function of C is of."""
    owner = getattr(function, "__self__", None)
    kind = owner if isinstance(owner, type) else type(owner)
    for known in (datetime, date, Random):
        if issubclass(kind, known):
            return f"{known.__module__}.{known.__name__}"
    return getattr(function, "__module__", None) or str(kind.__module__)


def named(function: Any) -> str:
    """A function of C as whoever wrote the part would look it up."""
    return f"{home(function)}.{function.__qualname__ if home(function) == '_io' else function.__name__}"


def asked(function: Any, count: int | None) -> Outside | None:
    """What a function of C asks of the outside, if anything, called with ``count`` arguments; None is not known."""
    where, name = home(function), function.__name__
    if name in PURE.get(where, ()):
        return None
    match where:
        case "datetime.date" | "datetime.datetime":
            return _of_date(function.__self__, name, count)
        case "time":
            return _of_time(name, count)
        case "posix":
            return next((outside for outside, names in POSIX.items() if name in names), "file")
        case _:
            return MODULES.get(where) if _acts(where, function) else None


def _acts(where: str, function: Any) -> bool:
    """Whether this one of a module's functions has to do with the outside: a lock has not, nor text in memory."""
    if where == "_io":
        return function.__name__ in STREAMED and is_outside(function.__self__)
    return where != "_thread" or function.__name__.startswith("start_")


def _of_time(name: str, count: int | None) -> Outside | None:
    is_given = count is None or count >= OF_TIME.get(name, OF_ZONE.get(name, 0))
    if name in OF_TIME and is_given:
        return None
    return "environment" if name in OF_ZONE and is_given else "clock"


def _of_date(owner: Any, name: str, count: int | None) -> Outside | None:
    if name in NOW:
        return "clock"
    if name == "fromtimestamp":
        zoned = issubclass(owner if isinstance(owner, type) else type(owner), datetime) and count != 1
        return None if zoned else "environment"
    if name in {"timestamp", "astimezone"}:
        naive = getattr(owner, "tzinfo", None) is None
        return "environment" if naive or (name == "astimezone" and count == 0) else None
    return None


def is_outside(stream: Any) -> bool:
    """Whether what is read or written is a file, a terminal or a pipe, and not in memory."""
    try:
        return isinstance(stream.fileno(), int)
    except (OSError, ValueError, AttributeError):
        return False


def printed(named: Mapping[str, Any]) -> Outside | None:
    """What `print` asks, with the keywords that it is given."""
    stream = named.get("file")
    return "file" if any(stream is one for one in (None, sys.stdout, sys.stderr)) or is_outside(stream) else None
