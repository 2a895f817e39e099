"""Files that are written whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from redrive_events import BadInput


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of ``path`` once all of it is written; for its owner alone, as a log is.

    What a link leads to is replaced, not the link; into a pipe or a device is written, since none may take its place.
    """
    part = None
    try:
        path = Path(os.path.realpath(path)) if path.is_symlink() else path
        if path.exists() and not (path.is_file() or path.is_dir()):
            with path.open("wb") as device:
                yield device
            return
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
