"""What a part may ask of the outside in a roundabout way, and what hangs on nothing but what it is given."""
# ruff: noqa: DTZ001, DTZ006, DTZ011, DTZ012, PLW0108, PTH211 - functions are called as whoever does not think of it calls them

from __future__ import annotations

import collections
import contextlib
import copy
import ctypes
import functools
import hashlib
import importlib
import io
import locale
import logging
import os
import platform
import pwd
import random
import socket
import sqlite3
import sys
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath

import msgspec
import re2  # type: ignore[import-untyped]
from pydantic import BaseModel, Field, TypeAdapter

NAIVE, NOON, DAY = datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), timedelta(days=1)
GENERATOR = random.Random(7)
held = time.gmtime


def missing(does: Callable[..., object], *given: object) -> None:
    """Something done to a file that is not there."""
    with contextlib.suppress(OSError):
        does(__file__ + ".missing", *given)


class Order(BaseModel):
    """What a part may validate."""

    id: str
    at: datetime
    total: Decimal
    lines: list[dict[str, int]] = Field(default_factory=list)


def loads_a_module() -> None:
    """One that was not loaded before."""
    sys.modules.pop("plistlib", None)
    importlib.import_module("plistlib")


def logs_nothing() -> None:
    """Whether anybody wants to hear is looked up under a lock."""
    logger = logging.getLogger("nobody.hears.this")
    logger.setLevel(logging.CRITICAL)
    logger.info("nothing")


# What is asked in a roundabout way, or by a function that is seldom thought of: what it asks, and by which function.
ODD: dict[str, tuple[Callable[[], object], str, str]] = {
    "gmtime of now": (lambda: time.gmtime(), "clock", "time.gmtime"),
    "gmtime of nothing": (lambda: time.gmtime(None), "clock", "time.gmtime"),
    "strftime of now": (lambda: time.strftime("%H"), "clock", "time.strftime"),
    "asctime of now": (lambda: time.asctime(), "clock", "time.asctime"),
    "ctime of now": (lambda: time.ctime(), "clock", "time.ctime"),
    "localtime of now": (lambda: time.localtime(), "clock", "time.localtime"),
    "a held function": (lambda: held(), "clock", "time.gmtime"),
    "by map": (lambda: list(map(time.gmtime, [None])), "clock", "time.gmtime"),
    "by partial": (lambda: functools.partial(time.time)(), "clock", "time.time"),
    "by a default": (lambda: collections.defaultdict[str, float](time.time)["a"], "clock", "time.time"),
    "by a key": (lambda: max([0, 1], key=time.ctime), "environment", "time.ctime"),
    "zone of a given time": (lambda: time.localtime(0), "environment", "time.localtime"),
    "zone of a made time": (lambda: time.mktime((2020, 1, 1, 0, 0, 0, 0, 0, -1)), "environment", "time.mktime"),
    "zone of a stamp": (lambda: datetime.fromtimestamp(0), "environment", "datetime.datetime.fromtimestamp"),
    "zone of a date": (lambda: date.fromtimestamp(0), "environment", "datetime.date.fromtimestamp"),
    "zone to be known": (lambda: NAIVE.astimezone(UTC), "environment", "datetime.datetime.astimezone"),
    "zone to be taken": (lambda: NOON.astimezone(), "environment", "datetime.datetime.astimezone"),
    "zone of no zone": (lambda: NAIVE.timestamp(), "environment", "datetime.datetime.timestamp"),
    "today": (lambda: date.today(), "clock", "datetime.date.today"),
    "uuid1": (uuid.uuid1, "chance", "_uuid.generate_time_safe"),
    "no seed": (lambda: random.Random().random(), "chance", "random.Random.seed"),
    "seeded before": (GENERATOR.random, "chance", "random.Random.random"),
    "setting": (lambda: os.environ.update(REDRIVE_ODD="1"), "environment", "os.environ"),
    "unsetting": (lambda: os.environ.pop("REDRIVE_ODD", None), "environment", "os.environ"),
    "putenv": (lambda: os.putenv("REDRIVE_ODD", "1"), "environment", "posix.putenv"),
    "environb": (lambda: os.environb.get(b"HOME"), "environment", "os.environ"),
    "uname": (os.uname, "environment", "posix.uname"),
    "platform": (platform.system, "environment", "platform.system"),
    "cores": (os.cpu_count, "environment", "posix.cpu_count"),
    "locale": (locale.localeconv, "environment", "_locale.localeconv"),
    "user": (os.getuid, "process", "posix.getuid"),
    "thread": (lambda: threading.Thread(target=int).start(), "process", "_thread.start_new_thread"),
    "ctypes": (lambda: ctypes.CDLL(None).getppid(), "process", "ctypes.dlopen"),
    "access": (lambda: os.access("/", os.R_OK), "file", "posix.access"),
    "lstat": (lambda: os.lstat("/"), "file", "posix.lstat"),
    "readlink": (lambda: missing(os.readlink), "file", "posix.readlink"),
    "statvfs": (lambda: os.statvfs("/"), "file", "posix.statvfs"),
    "chdir": (lambda: os.chdir("."), "file", "posix.chdir"),
    "chmod": (lambda: missing(os.chmod, 0o600), "file", "posix.chmod"),
    "utime": (lambda: missing(os.utime), "file", "posix.utime"),
    "link": (lambda: missing(os.link, "there"), "file", "posix.link"),
    "rmdir": (lambda: missing(os.rmdir), "file", "posix.rmdir"),
    "symlink": (lambda: missing(lambda path: os.symlink("a", f"{path}/a")), "file", "posix.symlink"),
    "mkfifo": (lambda: missing(lambda path: os.mkfifo(f"{path}/a")), "file", "posix.mkfifo"),
    "write": (lambda: os.write(2, b""), "file", "posix.write"),
    "print": (lambda: print(end=""), "file", "builtins.print"),
    "stream": (lambda: sys.__stderr__ and sys.__stderr__.write(""), "file", "_io.TextIOWrapper.write"),
    "database": (lambda: sqlite3.connect(os.devnull).close(), "file", "sqlite3.connect"),
    "account": (lambda: pwd.getpwuid(0), "file", "pwd.getpwuid"),
}

INNOCENT: dict[str, Callable[[], object]] = {
    "a module": loads_a_module,
    "logging": logs_nothing,
    "validation": lambda: Order.model_validate_json('{"id": "a", "at": "2020-01-01T00:00:00Z", "total": "1.50"}'),
    "an adapter": lambda: TypeAdapter(dict[str, Order]).validate_python({}),
    "no validation": lambda: TypeAdapter(Order | int).json_schema(),
    "RE2": lambda: re2.compile(r"a+").fullmatch("aaa"),
    "JSON": lambda: msgspec.json.decode(msgspec.json.encode({"at": NOON}), type=dict[str, datetime]),
    "reading a time": lambda: datetime.strptime("1 May 2020 +0000", "%d %b %Y %z"),
    "writing a time": lambda: f"{NOON:%A %d %B} {NOON.isoformat()} {time.strftime('%H', time.gmtime(0))}",
    "a given time": lambda: (time.gmtime(0), time.asctime(time.gmtime(0)), held(0), time.strptime("12", "%H")),
    "a given zone": lambda: (NOON.astimezone(timezone(timedelta(hours=8))), NOON.timestamp()),
    "a given stamp": lambda: (
        datetime.fromtimestamp(0, UTC),
        datetime.fromtimestamp(0, tz=UTC),
        date(2020, 1, 2) - DAY,
    ),
    "a seed": lambda: random.Random("refund").choice([1, 2, 3]),
    "a name": lambda: uuid.uuid5(uuid.NAMESPACE_URL, "order"),
    "a lock": lambda: threading.RLock().acquire(),
    "a copy": lambda: copy.deepcopy({"a": [1, {2}]}),
    "text in memory": lambda: (print("a", file=io.StringIO()), io.TextIOWrapper(io.BytesIO()).write("a")),
    "a table in memory": lambda: sqlite3.connect(":memory:").execute("select 1").fetchone(),
    "a path": lambda: PurePosixPath("/a/../b").with_suffix(".txt").as_posix(),
    "an address": lambda: socket.inet_aton("127.0.0.1"),
    "a digest": lambda: hashlib.sha256(b"a").hexdigest(),
}
