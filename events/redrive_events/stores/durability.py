"""What an acknowledged append has survived: `always` a loss of power, `batched` one soon after, `os` a crash alone."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from redrive_events.errors import LogUnusable

Durability: TypeAlias = Literal["always", "batched", "os"]
DURABILITIES: tuple[Durability, ...] = get_args(Durability)

BATCH_S = 0.01


class Syncing:
    """Brings a file to the disk a bounded time after it was written, from a thread of its own."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._due: threading.Timer | None = None
        self._failed: OSError | None = None

    def soon(self) -> None:
        """What was written before this call is on the disk `BATCH_S` later, but for the time that the disk takes."""
        with self._lock:
            if self._due is None:
                self._due = threading.Timer(BATCH_S, self.now)
                self._due.start()

    def now(self) -> None:
        """Bring to the disk at once what is due."""
        with self._lock:
            due, self._due = self._due, None
        if due is None:
            return
        due.cancel()
        try:
            for place in (self._file, self._file.parent):
                file = os.open(place, os.O_RDONLY)
                try:
                    os.fsync(file)
                finally:
                    os.close(file)
        except OSError as error:
            self._failed = error

    def check(self, path: Path) -> None:
        """Go on only while all went well.

        Raises:
            LogUnusable: what was acknowledged could not be brought to the disk.
        """
        if self._failed is not None:
            raise LogUnusable(str(path), "the disk failed to keep what was written before") from self._failed
