"""The kinds of faults: what each does to an answer, or gives in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

import msgspec

from redrive_engine import Declaration
from redrive_engine.live import given_up
from redrive_engine.loop import ACTING
from redrive_events import (
    Answer,
    BadInput,
    Json,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    Request,
    ToolCalled,
    canonical,
    text_of,
)
from redrive_replays.faults.chance import Chance
from redrive_replays.faults.contents import broken_off, contradicted, emptied, halved, injected, instruction

# How long a model is waited for in vain, how long a slow one takes, and how far behind its time stale data is.
UNANSWERED_S: Final = 120.0
SLOW_S: Final = 600.0
STALE: Final = timedelta(days=1)
RETRY_AFTER_MS: Final = (1_000, 5_000, 20_000)
REFUSED: Final = "permission_refused: this may not be seen or done from here."

# By these letters a text that was spoken into data is known again, wherever it turns up.
MARK: Final = "zqx"


class Seen(NamedTuple):
    """An earlier call of a run, and what came of it."""

    request: ToolCalled
    answer: ObservationReceived


@dataclass(frozen=True, slots=True)
class Asked:
    """A request at the world's door, and what was answered to it; None before the world is asked.

    ``earlier`` is what tools have answered in the run so far, ``tools`` is what its model is offered.
    """

    request: Request
    answer: Answer | None
    at: datetime
    earlier: tuple[Seen, ...] = ()
    declared: Declaration | None = None
    tools: Mapping[str, Json] = field(default_factory=dict)


class Spoilt(NamedTuple):
    """What comes in place of an answer, how many seconds later, and by which mark it is known again."""

    answer: Answer
    took_s: float = 0.0
    mark: str = ""


Spoil: TypeAlias = Callable[[Asked, Chance], Spoilt | None]


@dataclass(frozen=True, slots=True)
class Slice:
    """A kind of fault. ``spoil`` gives None where there is nothing that it could do.

    Where it is ``untrue``, what it brings shows nothing: no claim may rest on it.
    """

    name: str
    told: str
    spoil: Spoil
    untrue: bool = False


def _observation(asked: Asked) -> ObservationReceived | None:
    """A result that came, of a tool that is none of the engine's own."""
    is_tool = isinstance(asked.request, ToolCalled) and asked.request.effect != "run"
    seen = asked.answer
    return seen if is_tool and isinstance(seen, ObservationReceived) and seen.status == "ok" else None


def _acts(asked: Asked) -> ToolCalled | None:
    request = asked.request
    return request if isinstance(request, ToolCalled) and request.effect in ACTING else None


def _told(seen: ObservationReceived, content: str | None, mark: str = "") -> Spoilt | None:
    if content is None or content == text_of(seen.content):
        return None
    size = len(content.encode())
    return Spoilt(msgspec.structs.replace(seen, content=content, size_bytes=size, cut=0), mark=mark)


def _stale(asked: Asked, _: Chance) -> Spoilt | None:
    seen = _observation(asked)
    fresh_ms = asked.declared.fresh_ms if asked.declared else None
    if seen is None or (fresh_ms is None and seen.as_of is None):
        return None
    age = STALE + 2 * timedelta(milliseconds=fresh_ms or 0)
    return Spoilt(msgspec.structs.replace(seen, as_of=asked.at - age))


def _empty(asked: Asked, _: Chance) -> Spoilt | None:
    seen = _observation(asked)
    return None if seen is None else _told(seen, emptied(seen.content, seen.media_type))


def _malformed(asked: Asked, _: Chance) -> Spoilt | None:
    seen = _observation(asked)
    return None if seen is None else _told(seen, broken_off(seen.content))


def _refused(asked: Asked, _: Chance) -> Spoilt | None:
    request = asked.request
    if asked.answer is not None or not isinstance(request, ToolCalled) or request.effect == "run":
        return None
    size = len(REFUSED)
    return Spoilt(
        ObservationReceived(call=request.call, status="error", error="refused", content=REFUSED, size_bytes=size)
    )


def _injection(asked: Asked, chance: Chance) -> Spoilt | None:
    if (seen := _observation(asked)) is None:
        return None
    mark = f"{MARK}-{chance.word()}"
    return _told(seen, injected(seen.content, seen.media_type, instruction(chance, mark, asked.tools)), mark)


def _before_commit(asked: Asked, _: Chance) -> Spoilt | None:
    if asked.answer is not None or (request := _acts(asked)) is None:
        return None
    return Spoilt(given_up(request, stopping=False), (request.timeout_ms or 0) / 1000)


def _after_commit(asked: Asked, _: Chance) -> Spoilt | None:
    if _observation(asked) is None or (request := _acts(asked)) is None:
        return None
    return Spoilt(given_up(request, stopping=False), (request.timeout_ms or 0) / 1000)


def _duplicate(asked: Asked, _: Chance) -> Spoilt | None:
    seen, request = _observation(asked), asked.request
    if seen is None or not isinstance(request, ToolCalled):
        return None
    others = [one for one in asked.earlier if one.answer.status == "ok" and one.answer.content != seen.content]
    alike = [one for one in others if one.request.tool == request.tool]
    if not others:
        return None
    return Spoilt(msgspec.structs.replace((alike or others)[-1].answer, call=request.call))


def _contradicting(asked: Asked, chance: Chance) -> Spoilt | None:
    seen, request = _observation(asked), asked.request
    if seen is None or not isinstance(request, ToolCalled):
        return None
    known = canonical([request.arguments, *(_data(one.answer) for one in asked.earlier)]).decode()
    return _told(seen, contradicted(seen.content, seen.media_type, known, chance))


def _data(seen: ObservationReceived) -> str:
    return text_of(seen.content)


def _slow(asked: Asked, chance: Chance) -> Spoilt | None:
    if not isinstance(asked.request, ModelAsked):
        return None
    never = chance.below(2) == 0
    if asked.answer is None:
        return Spoilt(ModelFailed(kind="timeout", retryable=True), UNANSWERED_S) if never else None
    return Spoilt(asked.answer, SLOW_S) if isinstance(asked.answer, ModelReplied) else None


def _limited(asked: Asked, chance: Chance) -> Spoilt | None:
    if asked.answer is not None or not isinstance(asked.request, ModelAsked):
        return None
    after_ms = chance.choice(RETRY_AFTER_MS)
    failed = ModelFailed(kind="rate_limited", retryable=True, retry_after_ms=after_ms, status=429)
    return Spoilt(failed, after_ms / 1000)


def _broken(asked: Asked, chance: Chance) -> Spoilt | None:
    if not isinstance(asked.request, ModelAsked):
        return None
    how = chance.choice(("nothing", "half", "empty"))
    if asked.answer is None:
        return Spoilt(ModelFailed(kind="broken", retryable=True)) if how == "nothing" else None
    if not isinstance(asked.answer, ModelReplied) or not asked.answer.content:
        return None
    content = halved(asked.answer.content) if how == "half" else ""
    return Spoilt(msgspec.structs.replace(asked.answer, content=content, finish="length"))


SLICES: Final[Mapping[str, Slice]] = {
    one.name: one
    for one in (
        Slice("stale data", "a result is older than its tool, or anybody, wants it", _stale, untrue=True),
        Slice("empty result", "a result has nothing in it", _empty, untrue=True),
        Slice("malformed payload", "a result is broken off, and cannot be read", _malformed, untrue=True),
        Slice("permission refused", "a tool is not called: it may not be", _refused),
        Slice("injection", "words in a result tell the model what to do", _injection),
        Slice("timeout before commit", "a write is never begun, and nobody says so", _before_commit),
        Slice("timeout after commit", "a write has landed, and nobody says so", _after_commit),
        Slice("duplicate result", "an earlier result comes once more, in place of the one asked for", _duplicate, True),
        Slice("contradicting observations", "a result tells otherwise what was known", _contradicting, untrue=True),
        Slice("slow model", "the model takes ten minutes, or gives no answer in time", _slow),
        Slice("rate limit", "the model's provider wants to be left alone", _limited),
        Slice("broken reply", "the model's reply is cut, empty, or none", _broken),
    )
}


def slices_named(names: str) -> tuple[Slice, ...]:
    """The slices of a list of names with commas between them; ``all`` stands for all of them.

    A name may be written with ``-`` or ``_`` for its spaces.

    Raises:
        BadInput: there is none of a name.
    """
    if names.strip() == "all":
        return tuple(SLICES.values())
    found = list[Slice]()
    for name in names.split(","):
        plain = name.strip().replace("-", " ").replace("_", " ")
        if plain not in SLICES:
            known = ", ".join(one.replace(" ", "-") for one in SLICES)
            raise BadInput(f"no slice {name.strip()!r}; there are all, {known}", place="--slice")
        if SLICES[plain] not in found:
            found.append(SLICES[plain])
    return tuple(found)
