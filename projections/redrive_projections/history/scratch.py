"""Where what does not fit into memory may go: a folder for each process, and none without its process."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

PREFIX: Final = "redrive-history-"
_MAKING: Final = "redrive-making-"
_LOCK: Final = "lock"


@cache
def scratch() -> str:
    """A folder that is its owner's alone, locked while this process lives; what killed processes left is removed.

    It gets its name when it is locked, so that nobody takes one that is being made for one that was left.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is another's, or has no lock: then nobody knows whose it is
            _removed_if_left(folder)
    made = Path(tempfile.mkdtemp(prefix=_MAKING))
    fcntl.flock(os.open(made / _LOCK, os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_EX)
    folder = made.rename(made.with_name(made.name.replace(_MAKING, PREFIX, 1)))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(folder)


def _removed_if_left(folder: Path) -> None:
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
