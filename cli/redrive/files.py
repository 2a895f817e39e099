"""Files and folders that are written whole, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from redrive_events import BadInput

# What a log begins with, as any file of SQLite does.
_SQLITE = b"SQLite format 3\0"


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of ``path`` once all of it is written; for its owner alone, as a log is.

    What a link leads to is replaced, not the link; into a pipe or a device is written, since none may take its place.
    A log is never replaced: whoever names one has taken `-o` for `--log`.
    """
    part = None
    try:
        path = Path(os.path.realpath(path)) if path.is_symlink() else path
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                yield device
            return
        if _is_log(path):
            raise BadInput("it is a log, and what is written does not take its place", place=str(path))
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            part = Path(file.name)
            yield file
        part.replace(path)
        part = None
    except OSError as error:
        raise BadInput((error.strerror or "cannot be written").lower(), place=str(path)) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """A new folder that is there once all that belongs in it is written, and for its owner alone.

    What is there is never replaced: a folder in the way must be empty.
    """
    part = None
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FileExistsError(errno.EEXIST, "is there already, and not empty")
        part = Path(tempfile.mkdtemp(dir=folder.resolve().parent, prefix=f".{folder.name}."))
        yield part
        part.replace(folder)
        part = None
    except OSError as error:
        raise BadInput((error.strerror or "cannot be written").lower(), place=str(folder)) from error
    finally:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)


def _is_log(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE
