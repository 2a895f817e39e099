"""Recordings beside the tests: which file is a test's, how it is written, and what it holds."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from redrive_events import NOTES, BadInput, EventLog, Record, load_portable, write_portable
from redrive_replays.recording import Recording, recording_of

FOLDER: Final = "__recordings__"
SUFFIX: Final = ".jsonl"
NAME_CHARS_MAX: Final = 120
# Placeholders in recordings of tests have to be the same wherever they are made, so this key is no secret. What it
# protects is that no value stands in a file that is checked in.
KEY: Final = b"redrive: recordings of tests, not a secret"

_UNWANTED: Final = re.compile(r"[^\w.,=+\[\]()~-]+")


@lru_cache(maxsize=10_000)
def plain_name(name: str) -> str:
    """A test's name as a file may be called; two tests never have the same."""
    plain = _UNWANTED.sub("_", name)[:NAME_CHARS_MAX]
    # Some file systems know no case, so that a name with capitals in it is told apart as well.
    if plain.casefold() != name:
        plain = f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return plain


def file_name(name: str, index: int = 1) -> str:
    """The recording of a test, or a further one."""
    return f"{plain_name(name)}{f'.{index}' if index > 1 else ''}{SUFFIX}"


def run_id_of(name: str) -> str:
    """What the run of a test is called: the same each time it is recorded."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60]
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}".strip("-")


def read(path: Path) -> dict[str, Recording]:
    """The runs of a recording by their ids, the first one first; what others inherit stands in front of these alone.

    Raises:
        BadInput: it cannot be read, or holds no run.
    """
    log, portable = load_portable(path)
    own = (head for head in portable.runs if head.run_id not in portable.inherited)
    heads = [head for head in own if not head.run_id.endswith(NOTES)]
    if not heads:
        raise BadInput("it holds no run", place=str(path))
    if portable.torn:
        raise BadInput(portable.torn, place=str(path))
    return {head.run_id: recording_of(log, head.run_id, head=head) for head in heads}


def written(log: EventLog, path: Path) -> None:
    """Write all runs of a log as the recording at ``path``, whole or not at all.

    Raises:
        BadInput: it cannot be written.
    """
    part = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            part = Path(file.name)
            write_portable(log, [head.run_id for head in log.runs() if not head.run_id.endswith(NOTES)], file)
        os.chmod(part, 0o644)  # noqa: PTH101 - it is checked in, and others read it
        part.replace(path)
        part = None
    except OSError as error:
        raise BadInput(f"the recording cannot be written: {(error.strerror or '').lower()}", place=str(path)) from error
    finally:
        if part is not None:
            with suppress(OSError):
                part.unlink()


def records_of(recordings: Iterable[Recording]) -> dict[str, tuple[Record, ...]]:
    """The records of each run."""
    return {one.run_id: tuple(one.records) for one in recordings}
