"""A disk that fails: what was synced stays, of what was not chance decides sector by sector, and any step may fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import apsw

SECTOR = 512

Step: TypeAlias = Literal["open", "write", "truncate", "sync", "delete", "read"]
Failure: TypeAlias = Literal[
    "full",  # nothing is written
    "short",  # half of it is written
    "unread",  # nothing is read
    "uncut",  # the file keeps its length
    "unsynced",  # the kernel gives up what it had to sync, and the next sync is well without it
    "synced",  # all is durable, and yet the caller hears of an error
]
FAILURES: tuple[Failure, ...] = get_args(Failure)
# Where a failure can happen, and what SQLite is told.
_TOLD: dict[Failure, tuple[Step, int]] = {
    "full": ("write", apsw.SQLITE_FULL),
    "short": ("write", apsw.SQLITE_IOERR_WRITE),
    "unread": ("read", apsw.SQLITE_IOERR_READ),
    "uncut": ("truncate", apsw.SQLITE_IOERR_TRUNCATE),
    "unsynced": ("sync", apsw.SQLITE_IOERR_FSYNC),
    "synced": ("sync", apsw.SQLITE_IOERR_FSYNC),
}

Image: TypeAlias = dict[str, bytes]


class Fault(NamedTuple):
    """A trouble that begins with the first fitting step from ``after`` on, and is over when it was met ``times``."""

    after: int
    failure: Failure
    times: int


class Change(NamedTuple):
    """Bytes at an offset, or, where ``data`` is None, a file that ends there, after zero bytes if it was shorter."""

    offset: int
    data: bytes | None

    def sectors(self) -> Iterator[Change]:
        """The parts that reach the disk each for itself."""
        if self.data is None:
            yield self
            return
        start = 0
        while start < len(self.data):
            end = start + SECTOR - (self.offset + start) % SECTOR
            yield Change(self.offset + start, self.data[start:end])
            start = end


@dataclass
class File:
    """``durable`` would survive now; ``before`` is what its name stood for as long as the name itself may be lost."""

    durable: bytes = b""
    pending: list[Change] = field(default_factory=list)
    named: bool = True
    gone: bool = False
    before: bytes | None = None

    @property
    def size(self) -> int:
        """How long it is while the power is on."""
        size = len(self.durable)
        for offset, data in self.pending:
            size = offset if data is None else max(size, offset + len(data))
        return size

    def survivor(self, chance: Random) -> bytes | None:
        """What a reader finds after the power came back; None if there is no such file."""
        if not self.named and chance.random() < 0.5:
            return self.before
        if self.gone:
            return None
        content = bytearray(self.durable)
        for part in _survivors([part for change in self.pending for part in change.sectors()], chance):
            _apply(content, part)
        return bytes(content)

    def sync(self) -> None:
        """All that was written is durable."""
        content = bytearray(self.durable)
        for change in self.pending:
            _apply(content, change)
        self.durable = bytes(content)
        self.pending.clear()


@dataclass
class Disk:
    """The files of one folder: every step is counted, told to ``watch`` before it happens, and may meet a fault.

    ``lying`` is a disk that says it has synced and has not: what no log survives.
    """

    faults: list[Fault] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None
    lying: bool = False
    files: dict[str, File] = field(default_factory=dict)
    steps: int = 0
    met: int = 0
    dead: bool = False

    def image(self, chance: Random) -> Image:
        """The files as they may be found if the power fails now."""
        found = {name: file.survivor(chance) for name, file in self.files.items()}
        return {name: content for name, content in found.items() if content is not None}

    def step(self, kind: Step) -> Failure | None:
        """Count a step, and say what goes wrong with it."""
        if kind != "read":
            self.watch()
            self.steps += 1
        for number, (after, failure, times) in enumerate(self.faults):
            if self.steps > after and _TOLD[failure][0] == kind:
                self.faults[number : number + 1] = [Fault(after, failure, times - 1)] if times > 1 else []
                self.met += 1
                return failure
        return None

    def opened(self, name: str) -> None:
        """A file is there, or is made now."""
        file = self.files.get(name)
        if file is None or file.gone:
            self.files[name] = File(named=False, before=file.before if file else None)

    def synced(self, name: str) -> None:
        """A file's bytes are durable; with a new one SQLite syncs the folder, and so are the names of all."""
        self.files[name].sync()
        if not self.files[name].named:
            for file in self.files.values():
                file.named, file.before = True, None

    def deleted(self, name: str, *, durably: bool) -> None:
        """A file's name is taken away; it may come back until the folder is synced."""
        before = self.files[name].durable if self.files[name].named else self.files[name].before
        self.files[name] = File(gone=True, named=durably, before=None if durably else before)


class FailingVfs(apsw.VFS):
    """SQLite's door to the files of ``disk``: they are kept as real files too, so that shared memory works as ever."""

    def __init__(self, name: str, disk: Disk) -> None:
        super().__init__(name, "unix")
        self.disk = disk

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> FailingFile:  # noqa: N802
        """Open or make a file."""
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "")
        if path.name not in self.disk.files and not self.disk.dead:
            self.disk.step("open")
            self.disk.opened(path.name)
        elif self.disk.files[path.name].gone:
            self.disk.opened(path.name)
        return FailingFile(self.disk, path.name, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        """Take a file's name away."""
        if not self.disk.dead:
            self.disk.step("delete")
            super().xDelete(filename, syncdir)
            self.disk.deleted(Path(filename).name, durably=syncdir)


class FailingFile(apsw.VFSFile):
    """A file on a `Disk`; when the disk is dead, what is written to it goes nowhere."""

    def __init__(self, disk: Disk, name: str, opened: Any, flags: list[int]) -> None:
        super().__init__("unix", opened, flags)
        self._disk, self._name = disk, name

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        """Read, unless the disk cannot."""
        self._meet("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        """Write all of it, a half, or nothing."""
        if self._disk.dead:
            return
        self._lengthened()
        failure = self._disk.step("write")
        kept = bytes(data)[: 0 if failure == "full" else len(data) // 2 if failure == "short" else None]
        if kept:
            self._file.pending.append(Change(offset, kept))
            super().xWrite(kept, offset)
        _tell(failure)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        """Let the file end where it is told."""
        if self._disk.dead:
            return
        self._meet("truncate")
        self._file.pending.append(Change(newsize, None))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        """Let what was written be durable, and let it be so in truth."""
        if self._disk.dead:
            return
        failure = self._disk.step("sync")
        if failure == "unsynced":
            self._file.pending.clear()
        elif not self._disk.lying:
            self._disk.synced(self._name)
        _tell(failure)

    def _lengthened(self) -> None:
        """The store gives a file its length past SQLite; that, too, may be lost."""
        if (real := self.xFileSize()) > self._file.size:
            self._file.pending.append(Change(real, None))

    @property
    def _file(self) -> File:
        return self._disk.files[self._name]

    def _meet(self, kind: Step) -> None:
        if not self._disk.dead:
            _tell(self._disk.step(kind))


def _tell(failure: Failure | None) -> None:
    if failure is not None:
        raise apsw.exception_for(_TOLD[failure][1])


def _apply(content: bytearray, change: Change) -> None:
    if change.data is None:
        content[change.offset :] = bytes(max(0, change.offset - len(content)))
        return
    if len(content) < change.offset:
        content.extend(bytes(change.offset - len(content)))
    content[change.offset : change.offset + len(change.data)] = change.data


def _survivors(parts: list[Change], chance: Random) -> list[Change]:
    """All, none, the first ones, or any: the disk writes in whatever order it likes."""
    luck = chance.choice([0.0, 1.0, 0.5, 0.9, 0.1, None])
    if luck is None:
        return parts[: chance.randint(0, len(parts))]
    return [part for part in parts if chance.random() < luck]
