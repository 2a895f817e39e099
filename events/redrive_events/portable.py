"""Runs as one file that can be sent: a header, then a line a record, its bytes as they were stored."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, NamedTuple

import msgspec

from redrive_events.chain import START, checked, link
from redrive_events.codec import UNREADABLE, decode, decode_page, is_canonical, time_of
from redrive_events.errors import BadInput, BrokenChain, NewerFormat, NoSuchRun, UnknownEvent
from redrive_events.log import Batch, EventLog, Head, StoredLine, check_batch
from redrive_events.quarantine import Quarantined
from redrive_events.record import NOTES, check_run_id
from redrive_events.stores import MemoryLog
from redrive_events.vocabulary import RunForked

PORTABLE_VERSION = 0
# No store holds a longer one.
LINE_BYTES_MAX = 1_000_000_000

_MAGIC = b'{"format":"redrive",'
_ZSTD = b"\x28\xb5\x2f\xfd"

# A line is `{"d":"<64 hex digits>","r":<record>}`.
_HEX = slice(len('{"d":"'), len('{"d":"') + 64)
_RECORD = slice(_HEX.stop + len('","r":'), -len("}"))


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A run, which may begin behind a position, and may be there only as far as another one was forked from it."""

    behind: Annotated[int, msgspec.Meta(ge=0)] = 0
    digest: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    inherited: bool = False
    position: Annotated[int, msgspec.Meta(ge=1)]
    run_id: str


class _Version(msgspec.Struct, frozen=True):
    format: str
    version: int


class _Header(_Version, frozen=True, forbid_unknown_fields=True):
    runs: tuple[_Head, ...]


class _Place(msgspec.Struct, frozen=True):
    """What of a record says where it stands; the rest of it is not looked at."""

    run_id: str
    position: int
    left: int


class _Append(NamedTuple):
    """A whole append as it stands in the file; ``number`` is that of its first line."""

    run_id: str
    number: int
    lines: list[StoredLine]


_read_place = msgspec.json.Decoder(_Place).decode
_CHANGED = "the bytes are not those that were written"


def is_portable(first_bytes: bytes) -> bool:
    """Whether a file that begins like this is in the portable form; its first 128 KiB always tell."""
    if first_bytes.startswith(_ZSTD):
        import zstandard

        try:
            first_bytes = zstandard.ZstdDecompressor().decompressobj().decompress(first_bytes)
        except zstandard.ZstdError:
            return False
    return first_bytes.startswith(_MAGIC)


def write_portable(log: EventLog, run_ids: Iterable[str], file: IO[bytes], *, compressed: bool = False) -> None:
    """Write runs of one log into ``file``, see `write_runs`."""
    write_runs(((log, run_id) for run_id in run_ids), file, compressed=compressed)


def write_runs(runs: Iterable[tuple[EventLog, str]], file: IO[bytes], *, compressed: bool = False) -> None:
    """Write runs into ``file``, each followed by what was said beside it; the same runs give the same bytes.

    In front of a fork stand the runs that it was forked from, as far as it inherits them.

    A run that goes on meanwhile is written as far as it had come. All that is written was checked. What is kept in
    memory is the heads of the runs, and one line.

    Raises:
        NoSuchRun: nobody began one of the runs.
        BadInput: two different runs have the same id.
        BrokenChain: a log does not hold what was written to it; what is in ``file`` by then is of no use.
    """
    streams = _streams(runs)
    header = msgspec.json.encode(_Header("redrive", PORTABLE_VERSION, tuple(one.told() for one in streams)))
    with ExitStack() as stack:
        out = stack.enter_context(_packing(file)) if compressed else file
        # Where it is packed, its beginning is a block of its own, so that a few bytes tell what the file is.
        out.write(_MAGIC)
        out.flush()
        out.write(header[len(_MAGIC) :] + b"\n")
        for log, head, _, _ in streams:
            for stored in checked(head.run_id, islice(log.lines(head.run_id), head.position), head=head):
                if not stored.owner:
                    out.write(b'{"d":"%b","r":%b}\n' % (stored.digest.hex().encode(), stored.line))


def load_portable(path: str | os.PathLike[str]) -> tuple[MemoryLog, Portable]:
    """A log in memory with all whole appends of a portable file, byte for byte; ``torn`` of the other says what is not.

    Raises: as `Portable` and its `batches`, but for what is inside the events: that is seen when they are read.
    """
    log, portable = MemoryLog(), Portable(path)
    for append in portable._appends():
        log.keep(append.run_id, append.lines)
    return log, portable


class Portable:
    """A portable file: its ``runs`` as they were when it was written, and its batches.

    ``inherited`` are those that nobody asked for, and that are there as far as others were forked from them.
    ``torn`` is empty until a reading has come to the end of a file that was cut off, and then says what is missing.

    Raises:
        BadInput: the file cannot be read, or is not in the portable form.
        NewerFormat: a later version of this program wrote it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.torn = ""
        with _opened(self.path) as file:
            told = self._heads(next(self._lines(file), (1, b""))[1])
        self.runs = tuple(Head(one.run_id, one.position, bytes.fromhex(one.digest)) for one in told)
        self.inherited = frozenset(one.run_id for one in told if one.inherited)
        self._behind = {one.run_id: one.behind for one in told}

    def batches(self) -> Iterator[Batch]:
        """The whole appends in their order, each as a batch, checked and decoded.

        Raises:
            BrokenChain: a line is missing, out of place, or not the one that was written.
            UnknownEvent: a line is not a record of this vocabulary.
            BadInput: a line is not as this program would write it, or the file cannot be read on.
        """
        last = before = ""
        for run_id, number, stored in self._appends():
            expected = stored[0].position - 1
            last, before = last if run_id == before else "", run_id
            lines = [one.line for one in stored]
            records = decode_page(run_id, lines, after=expected)
            for place, (record, line) in enumerate(zip(records, lines, strict=True), start=number):
                if type(record.event) is Quarantined:
                    raise UnknownEvent(record.event.reason, run_id=run_id, position=record.position)
                if not is_canonical(record, line):
                    raise self._bad("the record is not in its canonical spelling", place)
                if (at := time_of(line)) < last:
                    raise self._bad("the time falls", place)
                last = at
            try:
                check_batch(run_id, records, expected=expected)
            except ValueError as error:
                raise self._bad(str(error), number) from error
            yield Batch(run_id, records, expected, lines)

    def _appends(self) -> Iterator[_Append]:
        self.torn = ""
        with _opened(self.path) as file:
            numbered = self._lines(file)
            next(numbered, None)
            for index, head in enumerate(self.runs, start=1):
                whole = self._behind[head.run_id]
                for append in self._appends_of(head, numbered):
                    yield append
                    whole = append.lines[-1].position
                if whole < head.position:
                    missing = len(self.runs) - index
                    behind = f", and {missing} more {'is' if missing == 1 else 'are'} missing" if missing else ""
                    self.torn = f"run {head.run_id} is cut off at position {whole} of {head.position}{behind}"
                    return
            for number, _ in numbered:
                raise self._bad("more than the header tells", number)

    def _appends_of(self, head: Head, numbered: Iterator[tuple[int, bytes]]) -> Iterator[_Append]:
        """The whole appends of a run; fewer than the head says where the file is cut off."""
        digest, still, pending, behind = START, 0, list[StoredLine](), self._behind[head.run_id]
        for position in range(behind + 1, head.position + 1):
            number, line = next(numbered, (0, b""))
            place = _place(line, head.run_id, position)
            if place is None:
                return
            record = line.removesuffix(b"\n")[_RECORD]
            if behind and position == behind + 1:
                digest = self._joint(record, number)
            digest = link(digest, record)
            if line[_HEX] != digest.hex().encode():
                raise BrokenChain(head.run_id, position=position, problem=_CHANGED)
            if (still and place.left != still - 1) or (position == head.position and place.left):
                raise self._bad("an append that is not whole", number)
            still = place.left
            pending.append(StoredLine(position, digest, record))
            if not still:
                yield _Append(head.run_id, number + 1 - len(pending), pending)
                pending = []
        if digest != head.digest:
            raise BrokenChain(head.run_id, position=head.position, problem="the header has another digest")

    def _joint(self, record: bytes, number: int) -> bytes:
        """The digest behind which a run begins that was forked from another, as its first record says."""
        event = decode(record).event
        if isinstance(event, RunForked):
            with suppress(ValueError):
                return bytes.fromhex(event.digest)
        problem = "a run that begins behind a position, and was not forked from another"
        raise self._bad(event.reason if isinstance(event, Quarantined) else problem, number)

    def _lines(self, file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
        """Lines with their numbers; packed, a few bytes may come to more than any memory holds."""
        for number, line in enumerate(iter(lambda: file.readline(LINE_BYTES_MAX), b""), start=1):
            if len(line) == LINE_BYTES_MAX:
                raise self._bad("a line that is longer than any record", number)
            yield number, line

    def _heads(self, line: bytes) -> tuple[_Head, ...]:
        """What the header says; a version that is too new is told before anything else that may be new with it."""
        if not line.startswith(_MAGIC):
            raise self._bad("not a Redrive recording", 1)
        try:
            version = msgspec.json.decode(line, type=_Version).version
            if version > PORTABLE_VERSION:
                problem = f"format version {version}, and this program reads up to {PORTABLE_VERSION}"
                raise NewerFormat(problem, place=str(self.path))
            heads = msgspec.json.decode(line, type=_Header).runs
        except UNREADABLE as error:
            problem = "the header cannot be read" if line.endswith(b"\n") else "cut off in the header, before any event"
            raise self._bad(problem, 1) from error
        for head in heads:
            check_run_id(head.run_id)
        if len({head.run_id for head in heads}) < len(heads):
            raise self._bad("the header names a run twice", 1)
        return heads

    def _bad(self, problem: str, number: int) -> BadInput:
        return BadInput(problem, place=f"{self.path}:{number}")


def _place(line: bytes, run_id: str, position: int) -> _Place | None:
    """Where the record on this line stands, if that is where it should; None where the file was cut off.

    Raises:
        BrokenChain: it is not, or the line is none that was written.
    """
    whole = line.removesuffix(b"\n")
    place = None
    if whole.startswith(b'{"d":"') and whole[_HEX.stop : _RECORD.start] == b'","r":' and whole.endswith(b"}"):
        with suppress(*UNREADABLE):
            place = _read_place(whole[_RECORD])
    if place is None and whole == line:
        return None
    if place is None:
        raise BrokenChain(run_id, position=position, problem=_CHANGED)
    if (place.run_id, place.position) != (run_id, position):
        problem = f"missing, run {place.run_id} position {place.position} stands here"
        raise BrokenChain(run_id, position=position, problem=problem)
    return place


class _Stream(NamedTuple):
    """What is to be written of a run: behind which position, and whether only because others inherit it."""

    log: EventLog
    head: Head
    behind: int = 0
    inherited: bool = False

    def told(self) -> _Head:
        """What the header says of it."""
        digest = self.head.digest.hex()
        run_id, position, _ = self.head
        return _Head(behind=self.behind, digest=digest, inherited=self.inherited, position=position, run_id=run_id)


def _streams(runs: Iterable[tuple[EventLog, str]]) -> list[_Stream]:
    """What is to be written, in its order: each run once, behind what it inherits, and with what was said beside it."""
    found: dict[str, _Stream] = {}
    for log, run_id in runs:
        if not log.head(run_id).position:
            raise NoSuchRun("nobody began this run", place=f"run {run_id}")
        behind = 0
        for head in _inherited(log, run_id):
            _add(found, _Stream(log, head, behind, inherited=True))
            behind = head.position
        _add(found, _Stream(log, log.head(run_id), behind))
        notes = log.head(run_id.removesuffix(NOTES) + NOTES)
        if notes.position:
            _add(found, _Stream(log, notes))
    return list(found.values())


def _add(found: dict[str, _Stream], stream: _Stream) -> None:
    """One stream more; of a run that is there already, what reaches further counts."""
    there = found.setdefault(stream.head.run_id, stream)
    longer, shorter = (there, stream) if there.head.position >= stream.head.position else (stream, there)
    run_id, position, digest = shorter.head
    both_whole = not (stream.inherited or there.inherited)
    if _digest(longer, position) != digest or (both_whole and there.head != stream.head):
        raise BadInput("two runs are called this, and they differ", place=f"run {run_id}")
    found[run_id] = longer._replace(inherited=there.inherited and stream.inherited)


def _digest(stream: _Stream, position: int) -> bytes:
    if position == stream.head.position:
        return stream.head.digest
    return next((one.digest for one in stream.log.lines(stream.head.run_id, after=position - 1)), b"")


def _inherited(log: EventLog, run_id: str) -> list[Head]:
    """The ends of the runs that stand in front of a run's own records, in their order."""
    ends = dict[str, Head]()
    for stored in log.lines(run_id):
        if not stored.owner:
            break
        ends[stored.owner] = Head(stored.owner, stored.position, stored.digest)
    return list(ends.values())


@contextmanager
def _packing(file: IO[bytes]) -> Iterator[IO[bytes]]:
    import zstandard

    with zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as packing:
        yield packing


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """A file to be read line by line, unpacked where it is packed.

    Raises:
        BadInput: it cannot be read.
    """
    unreadable: tuple[type[Exception], ...] = (OSError,)
    try:
        with ExitStack() as stack:
            file: IO[bytes]
            file = plain = stack.enter_context(path.open("rb"))
            if plain.peek(len(_ZSTD)).startswith(_ZSTD):
                import zstandard

                unreadable += (zstandard.ZstdError,)
                unpacking = zstandard.ZstdDecompressor().stream_reader(plain, read_across_frames=True, closefd=False)
                file = stack.enter_context(io.BufferedReader(unpacking))
            yield file
    except unreadable as error:
        problem = error.strerror if isinstance(error, OSError) else None
        raise BadInput((problem or "its packed data are damaged").lower(), place=str(path)) from error
