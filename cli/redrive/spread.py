"""Work on many things at once, on all cores: in other processes where there is enough of it."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Fewer things than this are done before another process has begun.
ALONE_MAX = 100
AT_ONCE = 20


def cores() -> int:
    """How many cores there are for this process and those it begins."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(
    work: Callable[[T], R],
    things: Sequence[T],
    *,
    here: Callable[[T], R],
    alone_max: int = ALONE_MAX,
    at_once: int = AT_ONCE,
) -> Iterator[R]:
    """What ``work`` makes of each thing, in order; both it and they can be sent to other processes.

    Where there is too little of it, it is done ``here``, which may know what it needs already.
    """
    if len(things) <= alone_max or cores() == 1:
        yield from map(here, things)
        return
    with ProcessPoolExecutor(cores(), mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(work, things, chunksize=at_once)
