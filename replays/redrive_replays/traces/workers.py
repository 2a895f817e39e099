"""Several files at once: what each holds is built in processes of their own, and handed over as lines."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import NamedTuple

from redrive_events import BadInput, decode_page, encode, is_portable
from redrive_replays.traces.building import TOLD_BY, Run, built, content
from redrive_replays.traces.finding import Found
from redrive_replays.traces.reading import LARGE_BYTES
from redrive_replays.traces.recordings import NAME
from redrive_replays.traces.report import FileReport

# Below this it takes longer to start a process than to do the work.
WORTH_BYTES = 4 << 20
# So many files more than processes are built before they are asked for.
AHEAD = 2


class Packed(NamedTuple):
    """A run as its lines, which are cheaper to hand over than records."""

    run_id: str
    records: list[bytes]
    notes: list[bytes]

    def unpacked(self) -> Run:
        """The run that it was."""
        lines, notes = (list(decode_page(self.run_id, one, after=0)) for one in (self.records, self.notes))
        return Run(self.run_id, lines, notes)


class Built(NamedTuple):
    """What a file holds, and what is to be told of it."""

    report: FileReport
    runs: list[Packed]


def built_ahead(files: Sequence[Found], processes: int, importer: str) -> Iterator[Built | None]:
    """What each of ``files`` holds, in their order; None where the caller does better to build it.

    That is: a large file, a recording, and all of them where it would not pay.
    """
    small = [file for file in files if _bytes_of(file) <= LARGE_BYTES]
    count = min(processes, len(small))
    if count < 2 or sum(map(_bytes_of, small)) < WORTH_BYTES:
        yield from (None for _ in files)
        return
    kinds = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in kinds else "spawn")
    pool = ProcessPoolExecutor(count, context, initializer=_begin)
    try:
        yield from _in_order(pool, files, count + AHEAD, importer)
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(pool: ProcessPoolExecutor, files: Sequence[Found], ahead: int, importer: str) -> Iterator[Built | None]:
    """A process that was ended from outside has built nothing, and no other is started in its place."""
    waiting: deque[Future[Built | None] | None] = deque()
    rest = iter(files)
    for _ in files:
        for file in islice(rest, ahead - len(waiting)):
            large = _bytes_of(file) > LARGE_BYTES
            try:
                waiting.append(None if large else pool.submit(_build, file, importer))
            except BrokenProcessPool:
                waiting.append(None)
        first = waiting.popleft()
        try:
            made = first.result() if first else None
        except BrokenProcessPool:
            made = None
        yield made


def _begin() -> None:
    """An interrupt ends a worker without a word: what is told is told by the one who started it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _build(file: Found, importer: str) -> Built | None:
    report = FileReport(str(file.path))
    if file.read_with is not None:
        return None
    try:
        with content(file.path) as data:
            if importer == NAME or (not importer and is_portable(data[:TOLD_BY])):
                return None
            with built(data, report.path, report, importer=importer, beside=file.beside) as runs:
                packed = [Packed(run.run_id, [*map(encode, run.records)], [*map(encode, run.notes)]) for run in runs]
    except BadInput as error:
        return Built(file.declined(error), [])
    return Built(report, packed)


def _bytes_of(file: Found) -> int:
    try:
        return file.path.stat().st_size if not file.problem and file.path.is_file() else 0
    except OSError:
        return 0
