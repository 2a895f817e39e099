"""Tools put to work: one call, and what came of it, whatever the function does."""

from __future__ import annotations

import errno
import math
import socket
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final, Literal, TypeAlias

from anyio import get_cancelled_exc_class, to_thread

from redrive_engine.attempts import Came, attempt
from redrive_engine.envelope import Observed, Trust, is_json
from redrive_engine.masking import OPEN, Door, masked_text
from redrive_engine.tools import Call, Declaration, Landed, NotLanded, Tool, ToolError, ToolUnavailable
from redrive_events import BadInput, Json, canonical, mended, parse_json

# How far back a cut looks for the beginning of what is read as one character.
CLUSTER_CHARS_MAX = 32

# What is not there at the moment, and how many errors may stand in front of it.
PASSING: Final = (ConnectionError, TimeoutError, socket.gaierror)
PASSING_ERRNOS: Final = frozenset(
    {errno.EAGAIN, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT}
)
CAUSES_MAX: Final = 10

ErrorKind: TypeAlias = Literal["", "refused", "unavailable", "failed", "limits"]

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
    error: ErrorKind = ""
    tenant: str = ""
    trust: Trust = "untrusted"
    schema_version: str = ""
    as_of: datetime | None = None
    redirects: int = 0


def dropped(outcome: Outcome) -> None:
    """What comes too late says nothing to anybody."""


async def execute(
    tool: Tool,
    call: Call,
    running: set[object] | None = None,
    late: Callable[[Outcome], None] = dropped,
    door: Door = OPEN,
) -> Outcome:
    """Run the function on typed arguments, once; ``running`` is not empty as long as anything of it runs.

    A call that undoes another is handed to the function that undoes. A tool that raises anything but `ToolError` has
    failed if it only reads; if it writes, nobody knows whether it acted. A library's own text never gets in. Limits of
    time are the caller's: it cancels, and a function that is not async then goes on alone; what comes of it is
    ``late``, told in whatever thread. All that is told has come through the ``door``, before anything of it is cut.
    """
    try:
        work = _work(tool, call)
    except BadInput as error:
        return replace(_outcome(tool, "error", f"{tool.declaration.name}: {error.problem}", door), error="refused")
    tool = tool.undoing if call.compensates else tool
    came = await attempt(work, set() if running is None else running, lambda came: late(_outcome_of(tool, came, door)))
    if not door.is_masking:
        return _outcome_of(tool, came, door)
    try:  # in a thread, since much is not masked at once, and a lease must be renewed meanwhile
        return await to_thread.run_sync(_outcome_of, tool, came, door, abandon_on_cancel=True)
    except get_cancelled_exc_class():
        late(_outcome_of(tool, came, door))
        raise


def _work(tool: Tool, call: Call) -> partial[object]:
    if call.compensates:
        if tool.compensator is None:  # the agent that takes the run up may know no way back
            raise BadInput("nothing undoes it any more")
        return partial(tool.compensator, call)
    by_position, by_name = tool.arguments.bound(call.arguments)
    if tool.arguments.wants_call:
        by_name["call"] = call
    return partial(tool.run, *by_position, **by_name)


def _outcome_of(tool: Tool, came: Came, door: Door) -> Outcome:
    name, raised = tool.declaration.name, came.raised
    if raised is None:
        try:
            return _returned(tool, came.value, door)
        except Exception as error:  # noqa: BLE001 - a result that has no spelling is no result
            raised = error
    if isinstance(raised, ToolError):
        kind: ErrorKind = "unavailable" if isinstance(raised, ToolUnavailable) else "refused"
        return replace(_outcome(tool, "error", str(raised) or f"{name} failed", door), error=kind)
    if tool.declaration.effect == "read":
        kind = "unavailable" if is_passing(raised) else "failed"
        return replace(_outcome(tool, "error", f"{name} failed: {type(raised).__name__}", door), error=kind)
    return _outcome(tool, "unknown", f"{name}: not known whether it was done: {type(raised).__name__}", door)


def is_passing(error: BaseException | None) -> bool:
    """Whether a failure may pass by itself: what it came of, however often wrapped, is a connection or a time-out."""
    for _ in range(CAUSES_MAX):
        if error is None:
            return False
        if isinstance(error, PASSING) or (isinstance(error, OSError) and error.errno in PASSING_ERRNOS):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


async def ask_reconcile(
    tool: Tool, call: Call, door: Door = OPEN
) -> tuple[Literal["landed", "not_landed", "unknown"], Outcome | None]:
    """What the authority says became of ``call``; if it landed, with what would have been observed."""
    if tool.reconciler is None:
        return "unknown", None
    found = (await attempt(partial(tool.reconciler, call), set())).value
    if isinstance(found, NotLanded):
        return "not_landed", None
    if isinstance(found, Landed):
        try:
            return "landed", _returned(tool.undoing if call.compensates else tool, found.value, door)
        except Exception:  # noqa: BLE001 - an answer that has no spelling says nothing
            return "unknown", None
    return "unknown", None


def _returned(tool: Tool, value: object, door: Door) -> Outcome:
    """A result in its envelope, cut to size; one that may not come in leaves its place to the reason why."""
    declared, bounds = tool.declaration, tool.declaration.bounds
    seen: Observed[object] = value if isinstance(value, Observed) else Observed(value)
    is_text = isinstance(seen.value, str)
    media_type = door.text(seen.media_type) or ("text/plain" if is_text else "application/json")
    source = door.text(seen.source) or declared.source
    as_text = is_text and not is_json(media_type)
    plain = _plain(tool, seen.value)
    try:
        plain = plain if as_text or not is_text else parse_json(plain)
        problem = bounds.problem(media_type, seen.redirects, None if as_text else plain)
    except BadInput:
        problem = f"the result is said to be {media_type} and cannot be read as such"
    if problem:  # what writes has acted all the same
        status: Literal["ok", "error"] = "error" if declared.effect == "read" else "ok"
        outcome = _outcome(tool, status, f"{declared.name}: {problem}", door)
        return replace(outcome, error="limits", source=source, redirects=seen.redirects)
    if as_text:
        outcome = _cut(tool, "ok", masked_text(door, plain))
    else:
        plain = door.json(plain)
        outcome = _cut(tool, "ok", canonical(bounds.rows(plain)).decode(), whole=canonical(plain).decode())
    return replace(
        outcome,
        media_type=media_type,
        source=source,
        tenant=seen.tenant,
        trust=declared.trust,
        schema_version=door.text(seen.schema_version) or declared.schema_version,
        as_of=seen.as_of,
        redirects=seen.redirects,
    )


def as_returned(declared: Declaration, text: str, media_type: str) -> Outcome:
    """What such a tool returns, from its ``text``: JSON in the one spelling it has, cut to what is let in.

    What is no JSON stays as it is, so that whoever reads it as such finds that out.
    """
    whole = kept = text
    if is_json(media_type):
        with suppress(BadInput):
            plain = parse_json(text)
            whole, kept = canonical(plain).decode(), canonical(declared.bounds.rows(plain)).decode()
    kept, size = cut_text(kept, declared.output_max_bytes), len(whole.encode())
    return Outcome(
        "ok",
        kept,
        media_type=media_type,
        size_bytes=size,
        cut=size - len(kept.encode()),
        source=declared.source,
        trust=declared.trust,
        schema_version=declared.schema_version,
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


def _outcome(tool: Tool, status: Literal["ok", "error", "unknown"], text: str, door: Door) -> Outcome:
    return _cut(tool, status, door.text(mended(text)))


def _cut(tool: Tool, status: Literal["ok", "error", "unknown"], text: str, *, whole: str = "") -> Outcome:
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
