"""A person's answer to whether a call may be made: bound to what they were shown, in time, and once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, TypeAlias

from redrive_engine.drive import state_of
from redrive_engine.masking import Mask
from redrive_engine.signals import append
from redrive_events import ApprovalGiven, BadInput, EventLog, Json, Part, StaleAppend, canonical
from redrive_projections import Approval, approvals, one_line

Answer: TypeAlias = Literal["grant", "refuse", "edit"]

# So much of a digest tells which one is meant.
DIGEST_CHARS_MIN = 8


def approve(
    log: EventLog,
    run_id: str,
    call: int,
    *,
    by: str,
    at: datetime,
    answer: Answer = "grant",
    arguments: Json = None,
    reason: str = "",
    digest: str = "",
    mask: Mask | None = None,
) -> int:
    """Answer whether a call of a run may be made; the position of the answer.

    An ``edit`` allows the call with other ``arguments``, which are judged like any others. With a ``digest``, or the
    beginning of one, it is an answer to that and to nothing else. Of several who answer at once, one does.

    Raises:
        NoSuchRun: nobody began that run.
        UnknownEvent: one of its events cannot be read.
        BadInput: nothing of that kind is asked: the run has ended, nobody waits for an answer about this call, or not
            any more, or the digest is another; or the arguments are none.
    """
    while True:
        state = state_of(log, run_id)
        if state.end is not None:
            raise BadInput(f"has ended ({state.end.status})", place=f"run {run_id}")
        moment = max(at, state.now or at)
        asked = _asked(approvals(log.read(run_id)), run_id, call, moment)
        if 0 < len(digest) < DIGEST_CHARS_MIN:
            problem = f"the digest is given by its first {DIGEST_CHARS_MIN} digits at least, not by {one_line(digest)}"
            raise BadInput(problem, place=_place(run_id, call))
        if digest and not asked.digest.startswith(digest.lower()):
            problem = f"the digest of what is shown is {asked.digest}, not {one_line(digest)}"
            raise BadInput(problem, place=_place(run_id, call))
        if answer == "edit":
            tools = state.started.parts.get("tools") if state.started else None
            _check(arguments, asked, tools)
        given = ApprovalGiven(call=call, digest=asked.digest, by=by, answer=answer, arguments=arguments, reason=reason)
        try:
            return append(log, run_id, given, expected=state.position, at=moment, mask=mask)
        except StaleAppend:
            continue


def _asked(found: list[Approval], run_id: str, call: int, at: datetime) -> Approval:
    """The open question about a call."""
    of_call = [one for one in found if one.call == call]
    for one in of_call:
        if not one.answer and not one.is_over(at):
            return one
    raise BadInput(_nothing_to_answer(of_call, found, at), place=_place(run_id, call))


def _nothing_to_answer(of_call: list[Approval], found: list[Approval], at: datetime) -> str:
    """Why there is nothing to answer, and about which calls there is."""
    if not of_call:
        waiting = [str(one.call) for one in found if not one.answer and not one.is_over(at)]
        others = f"; call {', '.join(waiting)} waits" if waiting else "; no call of it waits"
        return f"nobody asks whether it may be made{others} for an approval"
    last = of_call[-1]
    match last.answer:
        case "":
            return f"its time was over at {last.expires:%Y-%m-%d %H:%M:%S} UTC, and no answer in time is a no"
        case "expired":
            return "nobody answered it in time, so it was denied"
        case "withdrawn":
            return "the run was stopped, so it is not asked any more"
        case _:
            return f"it was answered already: {last.answer} by {one_line(last.by)}"


def _check(arguments: Json, asked: Approval, tools: Part | None) -> None:
    """Whether the arguments of an edit can be those of the tool, by name; the run judges them whole.

    Raises:
        BadInput: they are no object, or not of the names that the tool has.
    """
    if not isinstance(arguments, dict):
        raise BadInput("the arguments of a call are a JSON object", place="edit")
    canonical(arguments)
    told = tools.data.get(asked.tool) if tools is not None and isinstance(tools.data, dict) else None
    schema = told.get("schema") if isinstance(told, dict) else None
    for problem in _misfits(arguments, schema if isinstance(schema, dict) else {}):
        raise BadInput(f"{asked.tool}: {problem}", place="edit")


def _misfits(arguments: dict[str, Json], schema: dict[str, Json]) -> Iterator[str]:
    known = schema.get("properties", {})
    if schema.get("additionalProperties") is False:
        for name in arguments:
            if name not in known:
                yield f"no argument {one_line(name)!r}; there are {', '.join(known)}"
    for name in schema.get("required", ()):
        if name not in arguments:
            yield f"{name} is missing"


def _place(run_id: str, call: int) -> str:
    return f"run {run_id}: call {call}"
