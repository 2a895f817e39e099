"""Requests under way: each a task that belongs to nobody, so that one which does not end keeps nobody waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import datetime

import anyio

from redrive_engine.attempts import let_go
from redrive_events import Request


@dataclass(eq=False)
class Flight:
    """An open request under way, and when it is given up.

    ``begun`` says whether anything of it has started, ``stopped`` whether a child run was told to end.
    """

    request: Request
    due: datetime | None
    begun: bool = False
    stopped: bool = False
    task: asyncio.Task[None] | None = None


class Tasks:
    """The tasks of one world, and of those of its child runs."""

    def __init__(self, above: Tasks | None = None) -> None:
        self._cancelled: dict[asyncio.Task[None], float | None] = {}
        self._below: list[Tasks] = []
        if above is not None:
            above._below.append(self)

    def begin(self, steps: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Set it going."""
        task = asyncio.get_running_loop().create_task(steps)
        self._cancelled[task] = None
        task.add_done_callback(lambda done: self._cancelled.pop(done, None))
        return task

    def cancel(self, task: asyncio.Task[None] | None) -> None:
        """Ask a task to end; nobody waits for that but `close`, and only within the grace."""
        if task is not None and not task.done():
            self._cancelled[task] = asyncio.get_running_loop().time()
            task.cancel()

    async def close(self, grace_s: float) -> None:
        """Cancel what is under way, and let go of what has not ended within the grace from when it was asked to."""
        clock = asyncio.get_running_loop().time
        for task in [task for task, at in self._cancelled.items() if at is None]:
            self.cancel(task)
        if self._cancelled:
            until = max(at or 0.0 for at in self._cancelled.values()) + grace_s
            with anyio.CancelScope(shield=True):
                await asyncio.wait(list(self._cancelled), timeout=max(0.0, until - clock()))
        self._let_go()

    def _let_go(self) -> None:
        let_go(self._cancelled)
        for below in self._below:
            below._let_go()
