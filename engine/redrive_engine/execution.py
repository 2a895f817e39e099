"""Tools put to work: one call, and what came of it, whatever the function does."""

from __future__ import annotations

import contextvars
import inspect
import math
import threading
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal, cast

import anyio
from anyio import from_thread, lowlevel

from redrive_engine.envelope import Observed, Trust, is_json
from redrive_engine.tools import Call, Landed, NotLanded, Tool, ToolError
from redrive_events import BadInput, Json, canonical, mended, parse_json

# How far back a cut looks for the beginning of what is read as one character.
CLUSTER_CHARS_MAX = 32

_JOINER = "\u200d"
_MARKS = {"Mn", "Mc", "Me"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call, in its envelope; ``size_bytes`` is the size before ``cut`` bytes were left out."""

    status: Literal["ok", "error", "unknown"]
    content: str | None = None
    media_type: str = "text/plain"
    size_bytes: int = 0
    cut: int = 0
    source: str = ""
    error: Literal["", "limits"] = ""
    tenant: str = ""
    trust: Trust = "untrusted"
    schema_version: str = ""
    as_of: datetime | None = None
    redirects: int = 0


async def execute(tool: Tool, call: Call, running: set[object] | None = None) -> Outcome:
    """Run the function on typed arguments, once; ``running`` is not empty as long as anything of it runs.

    A tool that raises anything but `ToolError` has failed if it only reads; if it writes, nobody knows whether it
    acted. A library's own text never gets in. Limits of time are the caller's: it cancels, and a function that is not
    async then goes on alone, its result dropped.
    """
    declared = tool.declaration
    try:
        by_position, by_name = tool.arguments.bound(call.arguments)
    except BadInput as error:
        return _outcome(tool, "error", f"{declared.name}: {error.problem}")
    if tool.arguments.wants_call:
        by_name["call"] = call
    value, raised = await _attempt(partial(tool.run, *by_position, **by_name), set() if running is None else running)
    if raised is None:
        try:
            return _returned(tool, value)
        except Exception as error:  # noqa: BLE001 - a result that has no spelling is no result
            raised = error
    if isinstance(raised, ToolError):
        return _outcome(tool, "error", str(raised) or f"{declared.name} failed")
    if declared.effect == "read":
        return _outcome(tool, "error", f"{declared.name} failed: {type(raised).__name__}")
    return _outcome(tool, "unknown", f"{declared.name}: not known whether it was done: {type(raised).__name__}")


async def ask_reconcile(tool: Tool, call: Call) -> tuple[Literal["landed", "not_landed", "unknown"], Outcome | None]:
    """What the authority says became of ``call``; if it landed, with what would have been observed."""
    if tool.reconciler is None:
        return "unknown", None
    found, _ = await _attempt(partial(tool.reconciler, call), set())
    if isinstance(found, NotLanded):
        return "not_landed", None
    if isinstance(found, Landed):
        try:
            return "landed", _returned(tool, found.value)
        except Exception:  # noqa: BLE001 - an answer that has no spelling says nothing
            return "unknown", None
    return "unknown", None


async def _attempt(work: partial[object], running: set[object]) -> tuple[object, BaseException | None]:
    """What ``work`` returned, or what it raised."""
    task = object()
    running.add(task)
    try:
        if inspect.iscoroutinefunction(work.func):
            return await cast("Awaitable[object]", work()), None
        value, raised = await _in_thread(work, running)
        if raised is None and inspect.isawaitable(value):
            return await value, None
    except anyio.get_cancelled_exc_class() as error:
        await lowlevel.checkpoint_if_cancelled()  # raises if it was cancelled; else the tool's own work was
        return None, error
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool may raise anything
        return None, error
    finally:
        running.discard(task)
    return value, raised


async def _in_thread(work: Callable[[], object], running: set[object]) -> tuple[object, BaseException | None]:
    """Run ``work`` in a daemon thread of its own: nobody waits for one that was abandoned, not even at exit."""
    token, over = lowlevel.current_token(), anyio.Event()
    running.add(over)
    came: list[tuple[object, BaseException | None]] = []

    def run() -> None:
        try:
            came.append((work(), None))
        except BaseException as error:  # noqa: BLE001 - nor may it end the worker, with SystemExit for one
            came.append((None, error))
        running.discard(over)
        try:
            from_thread.run_sync(over.set, token=token)
        except RuntimeError:  # the loop has ended, so nobody waits
            return

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="redrive tool", daemon=True).start()
    await over.wait()
    return came[0]


def _returned(tool: Tool, value: object) -> Outcome:
    """A result in its envelope, cut to size; one that may not come in leaves its place to the reason why."""
    declared, bounds = tool.declaration, tool.declaration.bounds
    seen: Observed[object] = value if isinstance(value, Observed) else Observed(value)
    is_text = isinstance(seen.value, str)
    media_type = seen.media_type or ("text/plain" if is_text else "application/json")
    source = seen.source or declared.source
    as_text = is_text and not is_json(media_type)
    plain = _plain(tool, seen.value)
    try:
        plain = plain if as_text or not is_text else parse_json(plain)
        problem = bounds.problem(media_type, seen.redirects, None if as_text else plain)
    except BadInput:
        problem = f"the result is said to be {media_type} and cannot be read as such"
    if problem:  # what writes has acted all the same
        status: Literal["ok", "error"] = "error" if declared.effect == "read" else "ok"
        outcome = _outcome(tool, status, f"{declared.name}: {problem}")
        return replace(outcome, error="limits", source=source, redirects=seen.redirects)
    whole = plain if as_text else canonical(plain).decode()
    outcome = _outcome(tool, "ok", whole if as_text else canonical(bounds.rows(plain)).decode(), whole=whole)
    return replace(
        outcome,
        media_type=media_type,
        source=source,
        tenant=seen.tenant,
        trust=declared.trust,
        schema_version=seen.schema_version or declared.schema_version,
        as_of=seen.as_of,
        redirects=seen.redirects,
    )


def _plain(tool: Tool, value: object) -> Json:
    if isinstance(value, str):
        return mended(str.__str__(value))
    value = mended(value)
    if not _finite(tool.result.dump_python(value, warnings=False)):  # as JSON it may be null without a word
        raise BadInput("NaN and Infinity are no JSON numbers")
    return mended(tool.result.dump_python(value, mode="json", warnings=False))


def _finite(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _outcome(tool: Tool, status: Literal["ok", "error", "unknown"], text: str, *, whole: str = "") -> Outcome:
    text = mended(text)
    size = len((whole or text).encode())
    kept = cut_text(text, tool.declaration.output_max_bytes)
    return Outcome(
        status=status,
        content=kept,
        size_bytes=size,
        cut=size - len(kept.encode()),
        source=tool.declaration.source,
    )


def cut_text(text: str, limit_bytes: int) -> str:
    """The longest beginning of ``text`` of at most ``limit_bytes`` in UTF-8 that does not end inside a character.

    A character is what a reader sees as one: marks, joined emoji and flags stay whole, unless they alone are too long.
    """
    data = text.encode()
    if len(data) <= limit_bytes:
        return text
    most = len(data[:limit_bytes].decode(errors="ignore"))
    end = most
    while end and most - end < CLUSTER_CHARS_MAX and _inside(text, end):
        end -= 1
    return text[: most if not end or _inside(text, end) else end]


def _inside(text: str, end: int) -> bool:
    """Whether a cut before ``text[end]`` would part what is read as one character."""
    after = text[end]
    if text[end - 1] == _JOINER or after == _JOINER or unicodedata.category(after) in _MARKS:
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff":  # skin tones
        return True
    return _is_flag_half(after) and _flag_halves_before(text, end) % 2 == 1


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_halves_before(text: str, end: int) -> int:
    start = end
    while start and _is_flag_half(text[start - 1]):
        start -= 1
    return end - start
