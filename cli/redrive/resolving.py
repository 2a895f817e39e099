"""A person's word on what became of an effect: read from the command line, and put where it is heard."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from redrive.chosen import Choice
from redrive.speaking import spoken, target
from redrive.terminal import say, say_json
from redrive_engine import Landing, state_outcome
from redrive_events import BadInput, canonical, parse_json

RESOLVE: Final = "--resolve RUN CALL landed|not-landed"
_LANDINGS: Final[dict[str, Landing]] = {"landed": "landed", "not-landed": "not_landed", "not_landed": "not_landed"}


class Stated(NamedTuple):
    """Who says it, how they know, what would have been observed; then of which effect, and what became of it."""

    by: str
    reason: str
    content: str | None
    run: str = ""
    call: int = 0
    outcome: Landing = "landed"


def stated(words: Sequence[str], said: Stated) -> Stated:
    """What the words behind --resolve say.

    Raises:
        BadInput: they are not a run, the number of a call, and what became of it; or the content cannot be read.
    """
    if len(words) != 3:
        raise BadInput(f"give a run, a call and what became of it: {RESOLVE}", place="--resolve")
    run, call, outcome = words
    if not call.isascii() or not call.isdecimal() or len(call) > 9:
        raise BadInput(f"the number of a call is wanted, not {call!r}: {RESOLVE}", place="--resolve")
    if outcome not in _LANDINGS:
        raise BadInput(f"landed or not-landed is wanted, not {outcome!r}: {RESOLVE}", place="--resolve")
    content = None if said.content is None else _content(said.content)
    return said._replace(run=run, call=int(call), outcome=_LANDINGS[outcome], content=content)


def resolved(choice: Choice, said: Stated, *, as_json: bool) -> int:
    """Append what a person says, and tell of it; the exit code."""
    to = target(choice, said.run)
    kind, content = _kind(said.content)
    position = state_outcome(
        to.log,
        to.run_id,
        said.call,
        said.outcome,
        by=said.by,
        at=datetime.now(UTC),
        content=content,
        media_type=kind,
        reason=said.reason,
        mask=to.mask,
    )
    what = f"call {said.call} {'landed' if said.outcome == 'landed' else 'did not land'}, says {said.by}"
    if position is not None:
        return spoken(to, position, what, as_json=as_json)
    if as_json:
        say_json({"run_id": to.run_id, "position": None, "driven": False})
    else:
        say(f"{to.run_id}  noted beside the run, which is over: {what}")
    return 0


def _content(written: str) -> str:
    """The content itself, or that of the file behind an ``@``."""
    if not written.startswith("@"):
        return written
    place = written.removeprefix("@") or "."
    try:
        return Path(place).read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), place=place) from error
    except UnicodeDecodeError as error:
        raise BadInput("not UTF-8", place=place) from error


def _kind(content: str | None) -> tuple[str, str | None]:
    """Its media type, and how it is spelled: JSON as a tool's own result is, anything else as it is."""
    if content is None:
        return "text/plain", None
    try:
        return "application/json", canonical(parse_json(content)).decode()
    except BadInput:
        return "text/plain", content
