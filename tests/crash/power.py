"""Power that fails at every step of a caller's work, again and again, on a disk that also fails in other ways."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from redrive_events import EventLog, SqliteLog
from tests.crash.caller import Caller, Clock
from tests.crash.count import Count
from tests.crash.disk import FAILURES, Disk, FailingVfs, Fault, File, Image
from tests.crash.journal import Entry
from tests.crash.oracle import examine, verified
from tests.crash.over_apsw import over

LOG = "log.db"
LIVES = 3
ACTS = 10
# Memory, where there is some: a step is a step wherever the files are.
FOLDER = Path("/dev/shm") if Path("/dev/shm").is_dir() else None


@dataclass(frozen=True)
class Point:
    """The power fails here: what is left of the files, and how much its caller knew."""

    image: Image
    known: int
    now_s: float


@dataclass(frozen=True)
class Setting:
    """What the caller works with, to see what less care comes to.

    A disk that does not sync, statements that SQLite hears as others, another store, a promise less than ``durable``.
    """

    lying: bool = False
    misheard: tuple[str, str] = ("", "")
    store: Callable[[Path], EventLog] = SqliteLog
    durable: bool = True


USUAL = Setting()
# Nothing that was acknowledged need survive the power, but what does is all that was written up to some append.
LAZY = Setting(store=lambda path: SqliteLog(path, durability="os"), durable=False)


@dataclass
class Life:
    """A process from its start to the power failure that ends it."""

    folder: Path
    chance: Random
    journal: list[Entry]
    image: Image
    clock: Clock
    setting: Setting
    points: list[Point] = field(default_factory=list)

    def lead(self, vfs: str) -> Disk:
        """Work on a failing disk; before every step that changes something the power may fail."""
        seen: set[bytes] = set()
        still = known = 0

        def watch() -> None:
            # Within a long transaction one step is like the other: the longer it is, the fewer are looked at.
            nonlocal still, known
            still, known = (still + 1, known) if known == len(self.journal) else (0, len(self.journal))
            if self.chance.random() * (still + 10) > 10:
                return
            image = disk.image(self.chance)
            looks = b"".join(hashlib.sha256(content).digest() for _, content in sorted(image.items()))
            mark = b"%d %s" % (len(self.journal), looks)
            if mark not in seen:
                seen.add(mark)
                self.points.append(Point(image, len(self.journal), self.clock.seconds))

        files = {name: File(content) for name, content in self.image.items()}
        disk = Disk(self._faults(), watch, self.setting.lying, files)
        for name, content in self.image.items():
            (self.folder / name).write_bytes(content)
        kept = FailingVfs(vfs, disk)
        with over(vfs, misheard=self.setting.misheard):
            path = self.folder / LOG
            caller = Caller("c", self.chance, path, self.journal.append, self.clock, store=self.setting.store)
            caller.goes_on(list(self.journal))
            caller.work(ACTS)
            watch()
            disk.dead = True
            caller.close()
        kept.unregister()
        return disk

    def _faults(self) -> list[Fault]:
        many = self.chance.choice([0, 0, 1, 2, 4])
        starts = sorted(self.chance.randint(0, 150) for _ in range(many))
        return [Fault(start, self.chance.choice(FAILURES), self.chance.choice([1, 1, 2, 6])) for start in starts]


def story(seed: str, setting: Setting = USUAL, lives: int = LIVES) -> Count:
    """Some lives one after the other on the same disk; the points at which each may end are examined.

    Raises:
        PromiseBroken: at some point the log did not keep its promise.
    """
    chance, clock, count = Random(seed), Clock(), Count()
    journal: list[Entry] = []
    image: Image = {LOG: b""}
    with clock.set(), _folder() as folder:
        for number in range(lives):
            place = folder / str(number)
            place.mkdir()
            life = Life(place, chance, journal, image, clock, setting)
            disk = life.lead(f"failing-{number}")
            for step, point in enumerate(life.points):
                look(folder / f"{number}-{step}", journal, point, setting)
            count.power += len(life.points)
            count.faults += disk.met
            verified(folder / f"{number}-0" / LOG)
            end = chance.choice(life.points)
            image, clock.seconds = end.image, end.now_s
            del journal[end.known :]
    return count


def lazy_story(seed: str) -> Count:
    """A story of a log that promises less."""
    return story(seed, LAZY, lives=1)


def look(folder: Path, journal: list[Entry], point: Point, setting: Setting) -> None:
    """Start the machine again from what is left at that point."""
    folder.mkdir()
    for name, content in point.image.items():
        (folder / name).write_bytes(content)
    with Clock(point.now_s).set():
        examine(folder / LOG, [journal[: point.known]], Clock(point.now_s), durable=setting.durable)


@contextmanager
def _folder() -> Iterator[Path]:
    with ExitStack() as stack:
        yield Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crash-", dir=FOLDER)))
