"""What a process does to the outside, as its interpreter tells an audit hook."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SPEAKS_OUT = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "urllib.")
CHANGES = (
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.utime", "os.chmod"),
    "shutil.",
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Ear:
    """Hears what the interpreter tells of files, sockets and processes, as long as somebody listens."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.listening = False
        self.inside: Path | None = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.listening:
            return
        changes = event.startswith(CHANGES) or (event == "open" and _writes(arguments))
        if event.startswith(SPEAKS_OUT) or (changes and not self._is_inside(arguments[0])):
            self.heard.append(f"{event} {arguments}")

    def _is_inside(self, path: object) -> bool:
        return self.inside is not None and Path(str(path)).absolute().is_relative_to(self.inside)

    @contextmanager
    def silence(self, inside: Path | None = None) -> Iterator[None]:
        """Nothing is to be heard but of what is written ``inside`` a folder."""
        self.heard, self.listening, self.inside = [], True, inside
        try:
            yield
        finally:
            self.listening = False
        assert self.heard == []


def _writes(arguments: tuple[object, ...]) -> bool:
    path, mode, flags = (*arguments, None, 0)[:3]
    if path == os.devnull:
        return False
    return (isinstance(mode, str) and bool(set(mode) & set("wax+"))) or bool(isinstance(flags, int) and flags & WRITES)


EAR = Ear()
