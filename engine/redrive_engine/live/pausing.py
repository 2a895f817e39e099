"""How long a model that gave no answer is left alone before it is asked again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from redrive_engine.world import Waiting
from redrive_events import ModelAsked, Request


@dataclass(frozen=True)
class Patience:
    """How long the world waits, in seconds: for a model, for what is open when a run ends, between looks at the log.

    A model that failed is asked again after as long as its provider says, but no more than ``pause_max_s``. Where it
    says nothing, that is about ``pause_s``, and twice as long after each further failure in a row.
    """

    model_s: float = 120.0
    grace_s: float = 5.0
    lease_s: float = 5.0
    look_s: float = 0.05
    pause_s: float = 1.0
    pause_max_s: float = 60.0


def pause_of(
    request: Request, waiting: Waiting, patience: Patience, *, chance: Callable[[], float] = random.random
) -> float:
    """The seconds before ``request`` is put to the world; chance parts runs that failed together.

    Nothing of it is recorded but the time that passes, which counts as wall time.
    """
    failure = waiting.failure
    if not isinstance(request, ModelAsked) or failure is None or failure.kind == "cancelled":
        return 0.0
    if failure.retry_after_ms is not None:
        return min(failure.retry_after_ms / 1000, patience.pause_max_s)
    doubled = patience.pause_s * 2.0 ** min(waiting.failures - 1, 30)
    return min(doubled, patience.pause_max_s) * (0.5 + chance() / 2)
