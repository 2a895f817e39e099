"""A function called once, as a task or in a thread of its own, for which nobody has to wait, not even the process."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, cast

import anyio
from anyio import lowlevel


@dataclass(frozen=True, slots=True)
class Came:
    """What a function returned, or what it raised."""

    value: object = None
    raised: BaseException | None = None


# Who is told, in whatever thread, what came of a function for which nobody waits any more.
Late: TypeAlias = Callable[[Came], None]


def dropped(came: Came) -> None:
    """What comes too late says nothing to anybody."""


async def attempt(work: partial[object], running: set[object], late: Late = dropped) -> Came:
    """Call ``work``; ``running`` is not empty as long as anything of it runs.

    If this is cancelled, an async function is too; another one goes on alone, and what comes of it is ``late``.
    """
    task = object()
    running.add(task)
    try:
        if inspect.iscoroutinefunction(work.func):
            return Came(await cast("Awaitable[object]", work()))
        came = await _in_thread(work, running, late)
        return Came(await came.value) if inspect.isawaitable(came.value) else came
    except anyio.get_cancelled_exc_class() as error:
        await lowlevel.checkpoint_if_cancelled()  # raises if it was cancelled; else the function's own work was
        if (current := asyncio.current_task()) is not None and current.cancelling():
            raise
        return Came(raised=error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool may raise anything
        return Came(raised=error)
    finally:
        running.discard(task)


async def _in_thread(work: Callable[[], object], running: set[object], late: Late) -> Came:
    """Run ``work`` in a daemon thread: it may block for ever, and the process ends all the same."""
    loop, over, deciding = asyncio.get_running_loop(), asyncio.Event(), threading.Lock()
    running.add(over)
    came: list[Came] = []
    left: list[bool] = []

    def run() -> None:
        try:
            outcome = Came(work())
        except BaseException as error:  # noqa: BLE001 - nor may it end the worker, with SystemExit for one
            outcome = Came(raised=error)
        running.discard(over)
        with deciding:
            came.append(outcome)
            awaited = not left
        if awaited:
            loop.call_soon_threadsafe(over.set)
        else:
            late(outcome)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="redrive tool", daemon=True).start()
    try:
        await over.wait()
    except BaseException:
        with deciding:
            left.append(True)
        for missed in came:  # it came in this very moment
            late(missed)
        raise
    return came[0]


def let_go(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Wait no longer for tasks that do not let themselves be cancelled: whoever closes the event loop does not either.

    They are forgotten by the loop's list of tasks, which is what those who end it go by.
    """
    for task in tasks:
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        asyncio.tasks._unregister_task(task)
        _FORGOTTEN.add(task)


# Nothing may tear such a task down in the midst of what it does.
_FORGOTTEN: set[asyncio.Task[None]] = set()
