"""A list of heads: how far each stream of a log had come, sealed as a whole, to be kept where the log is not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import msgspec

from redrive_events.codec import UNREADABLE, canonical
from redrive_events.errors import BadInput, NewerFormat
from redrive_events.log import Damage, EventLog, Head, Span

HEADS_VERSION = 0

# The signature of 32 bytes; and whether these bytes, the second, are a signature of those.
Signer: TypeAlias = Callable[[bytes], bytes]
Checker: TypeAlias = Callable[[bytes, bytes], bool]

_FORMAT = "redrive heads"
_MAGIC = b'{"format":"redrive heads",'
_Hex: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_T = TypeVar("_T", bound=msgspec.Struct)


class _Version(msgspec.Struct, frozen=True):
    version: int


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    offset: Annotated[int, msgspec.Meta(ge=0)]
    order: _Hex
    version: int


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    digest: _Hex
    position: Annotated[int, msgspec.Meta(ge=1)]
    run_id: str


class _Seal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    digest: _Hex
    signature: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{2})*$")] = ""


class Heads:
    """A list of heads in a file, found to be as it was written; with ``check``, to be signed as it must.

    Raises:
        BadInput: the file cannot be read, is no list of heads, was changed, or is not signed by the key that is asked.
        NewerFormat: a later version of this program wrote it.
    """

    def __init__(self, path: str | os.PathLike[str], *, check: Checker | None = None) -> None:
        self.path = Path(path)
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise BadInput((error.strerror or "cannot be read").lower(), place=str(path)) from error
        if not data.startswith(_MAGIC):
            raise BadInput("no list of heads", place=str(path))
        *lines, seal = data.splitlines(keepends=True)
        version = self._read(lines[0] if lines else seal, 1, _Version).version
        if version > HEADS_VERSION:
            problem = f"format version {version}, and this program reads up to {HEADS_VERSION}"
            raise NewerFormat(problem, place=str(path))
        sealed = self._read(seal, len(lines) + 1, _Seal)
        digest = hashlib.sha256(data[: len(data) - len(seal)])
        if sealed.digest != digest.hexdigest():
            raise BadInput("it is not as it was written", place=str(path))
        if check is not None and not check(digest.digest(), bytes.fromhex(sealed.signature)):
            problem = "not signed by this key" if sealed.signature else "not signed"
            raise BadInput(problem, place=str(path))
        header = self._read(lines[0], 1, _Header)
        self.offset, self.order = header.offset, header.order
        told = (self._read(line, number, _Line) for number, line in enumerate(lines[1:], start=2))
        self.runs = tuple(Head(one.run_id, one.position, bytes.fromhex(one.digest)) for one in told)

    def _read(self, line: bytes, number: int, kind: type[_T]) -> _T:
        try:
            return msgspec.json.decode(line, type=kind)
        except UNREADABLE as error:
            raise BadInput("it is not as it was written", place=f"{self.path}:{number}") from error


def heads_of(log: EventLog, *, sign: Signer | None = None) -> Iterator[bytes]:
    """The lines of a list of all heads of ``log`` at this moment; the last one seals those before it."""
    digest = hashlib.sha256()
    for line in _told(log):
        digest.update(line)
        yield line
    seal = _Seal(digest.hexdigest(), sign(digest.digest()).hex() if sign is not None else "")
    yield canonical(seal) + b"\n"


def against(log: EventLog, heads: Heads, *, only: Collection[str] = ()) -> Iterator[Damage]:
    """What ``log`` lacks of all that it held when the list was made; what has been appended since is no damage.

    With ``only`` some streams, their order among the others is not looked at.
    """
    sound = True
    for head in heads.runs:
        if (not only or head.run_id in only) and (damage := _lacking(log, head)) is not None:
            sound = False
            yield damage
    # Where records are missing, so is their place in the order.
    if sound and not only and _order(_until(log.order(), heads.offset)) != (heads.offset, heads.order):
        yield Damage("", 0, "order", "the order over all runs is another than it was")


def _lacking(log: EventLog, head: Head) -> Damage | None:
    run_id, position, digest = log.head(head.run_id)
    if not position:
        return Damage(run_id, 0, "removed", f"removed, {head.position} records were there")
    if position < head.position:
        return Damage(run_id, position + 1, "cut off", f"cut off, {head.position} records were there")
    if position > head.position:
        digest = next((stored.digest for stored in log.lines(run_id, after=head.position - 1)), b"")
    if digest != head.digest:
        return Damage(run_id, head.position, "replaced", "replaced, another run was there up to here")
    return None


def _told(log: EventLog) -> Iterator[bytes]:
    offset, order = _order(log.order())
    yield canonical(_Header(_FORMAT, offset, order, HEADS_VERSION)) + b"\n"
    for head in log.runs():
        yield canonical(_Line(head.digest.hex(), head.position, head.run_id)) + b"\n"


def _order(spans: Iterable[Span]) -> tuple[int, str]:
    """The last offset, and a digest of the order up to there: of a line for each stretch of records of one run."""
    digest, reached = hashlib.sha256(), 0
    for stretch in _stretches(spans):
        digest.update(f"{stretch.run_id} {stretch.position - stretch.records + 1} {stretch.position}\n".encode())
        reached = stretch.offset
    return reached, digest.hexdigest()


def _stretches(spans: Iterable[Span]) -> Iterator[Span]:
    """Neighbouring spans of one run as one."""
    stretch: Span | None = None
    for span in spans:
        if stretch is not None and stretch.run_id == span.run_id:
            stretch = span._replace(records=stretch.records + span.records)
        else:
            if stretch is not None:
                yield stretch
            stretch = span
    if stretch is not None:
        yield stretch


def _until(spans: Iterable[Span], offset: int) -> Iterator[Span]:
    """The spans up to an offset, the last of them cut there."""
    for span in spans:
        over = span.offset - offset
        if over >= span.records:
            return
        yield span if over <= 0 else Span(offset, span.run_id, span.position - over, span.records - over)
