"""Timing by alternated slices: the machine's moods hit subject and limit alike, so their ratio can be believed."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: seconds a unit of the subject and of its limit, and the median of their paired ratios."""

    name: str
    limit: str
    units: int
    subject_s: float
    limit_s: float
    ratio: float
    note: str = ""

    def __str__(self) -> str:
        each, raw = (1e6 * seconds / self.units for seconds in (self.subject_s, self.limit_s))
        return (
            f"{self.name:<44} {each:>10.2f} µs   {self.limit:<34} {raw:>10.2f} µs   {self.ratio:>6.2f} x  {self.note}"
        )


def compared(  # noqa: PLR0913 - what is compared, and how
    name: str,
    subject: Work,
    limit_name: str,
    limit: Work,
    *,
    units: int = 1,
    rounds: int = 15,
    computing: bool = False,
) -> Figure:
    """Run both in turn, ``rounds`` times; each does ``units`` of its work in one slice.

    What waits for nothing is only ``computing``, and measured by the time of the processor: others may be at work.
    """
    clock = time.process_time if computing else time.perf_counter
    subject(), limit()
    pairs = [(_seconds(subject, clock), _seconds(limit, clock)) for _ in range(rounds)]
    return Figure(
        name=name,
        limit=limit_name,
        units=units,
        subject_s=statistics.median(one for one, _ in pairs),
        limit_s=statistics.median(raw for _, raw in pairs),
        ratio=statistics.median(one / raw for one, raw in pairs),
    )


@contextmanager
def one_core() -> Iterator[None]:
    """What is begun meanwhile, threads and processes, has one core, where the system lets us say so."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def _seconds(work: Work, clock: Callable[[], float]) -> float:
    gc.collect()
    began = clock()
    work()
    return clock() - began
