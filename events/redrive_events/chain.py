"""The digest chain of a run: each line is sealed together with all before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from redrive_events.errors import BrokenChain
from redrive_events.log import Head, StoredLine

START = bytes(32)


def link(previous: bytes, line: bytes) -> bytes:
    """SHA-256 over the digest before and the canonical line."""
    return hashlib.sha256(previous + line).digest()


def checked(run_id: str, lines: Iterable[StoredLine], *, head: Head | None = None) -> Iterator[StoredLine]:
    """``lines`` of one run from its beginning, each as soon as its place and digest are found right.

    With ``head``, which was read before them, they must also come as far as it says, and be sealed by its digest.

    Raises:
        BrokenChain: a line is missing, out of place, or not the one that was written.
    """
    digest, position = START, 0
    for position, stored in enumerate(lines, start=1):
        if stored.position != position:
            raise BrokenChain(run_id, position=position, problem=f"missing, position {stored.position} stands here")
        digest = link(digest, stored.line)
        if stored.digest != digest or (head and head.position == position and head.digest != digest):
            raise BrokenChain(run_id, position=position, problem="the bytes are not those that were written")
        yield stored
    if head and head.position > position:
        raise BrokenChain(run_id, position=position + 1, problem=f"missing, {head.position} records were written")
