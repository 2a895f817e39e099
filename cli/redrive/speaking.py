"""What verbs that speak into a run share: which run it is, whom it waits for, and what is told afterwards."""

from __future__ import annotations

from typing import Literal, NamedTuple

from redrive.chosen import Choice
from redrive.masking import mask_here
from redrive.terminal import say, say_json
from redrive_engine import Mask
from redrive_events import BadInput, EventLog, PersonAsked
from redrive_projections import fold, one_line


class Target(NamedTuple):
    """A run in the log, whom it waits for, if it does, and what masks what is said to it, if it is masked."""

    run_id: str
    log: EventLog
    awaited: Literal["user", "operator"] | None
    mask: Mask | None


def target(choice: Choice, name: str) -> Target:
    """The run that is spoken to.

    Raises:
        NoSuchRun: there is none, or there are several.
        BadInput: it is the file of a recording.
    """
    chosen = choice.one(name)
    if chosen.log is not choice.log:
        raise BadInput("a recording stays as it is: a run in the log is wanted", place=name)
    state = fold(chosen.log.read(chosen.run_id))
    awaited = next((one.actor for one in state.requests.values() if isinstance(one, PersonAsked)), None)
    masked = state.started is not None and state.started.mask_key
    return Target(chosen.run_id, chosen.log, awaited, mask_here(choice.path) if masked else None)


def spoken(to: Target, position: int, what: str, *, as_json: bool) -> int:
    """Tell what was appended, and whether anybody drives the run; the exit code."""
    top = to.run_id.partition("/")[0]  # a child run is driven with it
    held = to.log.holder(top) is not None
    if as_json:
        say_json({"run_id": to.run_id, "position": position, "driven": held})
        return 0
    say(f"{to.run_id}  event {position}: {one_line(what)}")
    if not held:
        say(f"nobody drives it now: redrive run … --run-id {top} goes on with it")
    return 0
