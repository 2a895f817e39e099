"""What is changed in a run that is driven again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol

import msgspec

from redrive_engine import Contract, Mask, Program
from redrive_engine.masking import Door, masked_content
from redrive_engine.policy import Policy
from redrive_events import Answer, BadInput, Content, ObservationReceived, Request, RunStarted
from redrive_replays.beginning import Beginning


class InPlace(NamedTuple):
    """What comes in place of an answer, how much later, and what is assumed with it, if anything is."""

    answer: Answer
    later: timedelta = timedelta()
    assumption: str = ""


class Doorway(Protocol):
    """What stands in the door of a branch; of the same request it says the same, however often it is asked."""

    def before(self, position: int, request: Request, at: datetime) -> InPlace | None:
        """What is answered in place of what was recorded, which then waits for another request."""
        ...

    def behind(self, position: int, request: Request, answer: Answer, at: datetime) -> InPlace | None:
        """What becomes of the recorded answer."""
        ...


@dataclass(frozen=True, slots=True)
class Changes:
    """What takes the place of what was recorded; all of it can be combined.

    ``observations`` by call and ``replies`` by step are given in the place of the recorded ones; content alone is that
    of a call that went well. ``approvals`` is what
    becomes of an approval that the recording has not. With ``beyond`` the branch goes on where the recording cannot
    surely answer, each answer an assumption of its own. ``doorway`` may put other answers in the place of any.
    """

    policy: Policy | None = None
    contract: Contract | None = None
    prompt: str | None = None
    model: str | None = None
    dropped: tuple[str, ...] = ()
    observations: Mapping[int, Content | ObservationReceived] = field(default_factory=dict)
    replies: Mapping[int, Content] = field(default_factory=dict)
    approvals: Literal["stop", "grant", "refuse"] = "stop"
    beyond: bool = False
    doorway: Doorway | None = None

    def masked(self, door: Door) -> Changes:
        """The same changes, with what ``door`` masks of what they give."""
        if not door.is_masking:
            return self
        return dataclasses.replace(
            self,
            prompt=self.prompt and door.text(self.prompt),
            observations={call: _masked(door, said) for call, said in self.observations.items()},
            replies={step: masked_content(door, said) for step, said in self.replies.items()},
        )

    @property
    def gives(self) -> bool:
        """Whether anything is given that nobody has masked yet."""
        return self.prompt is not None or bool(self.observations) or bool(self.replies)

    @property
    def every_request(self) -> bool:
        """Whether no request to the model can be what it was."""
        return self.prompt is not None or self.model is not None or bool(self.dropped)

    def program(self, program: Program) -> Program:
        """``program`` with its changed parts.

        Raises:
            BadInput: a tool is dropped that it does not have.
        """
        terms = program.terms if self.contract is None else self.contract.terms()
        if self.model is not None:
            terms = msgspec.structs.replace(terms, model=self.model)
        tools = program.tools
        for name in self.dropped:
            if tools is None or name not in tools:
                raise BadInput(f"no tool {name!r} to drop; there are {', '.join(sorted(tools or {})) or 'none'}")
            tools = {known: one for known, one in tools.items() if known != name}
        prompt = program.prompt if self.prompt is None else ({"role": "system", "content": self.prompt},)
        policy = program.policy if self.policy is None else self.policy
        return dataclasses.replace(program, terms=terms, tools=tools, prompt=prompt, policy=policy)


def _masked(door: Door, said: Content | ObservationReceived) -> Content | ObservationReceived:
    if isinstance(said, ObservationReceived):
        content = said.content
        return said if content is None else msgspec.structs.replace(said, content=masked_content(door, content))
    return masked_content(door, said)


def door_of(started: RunStarted, mask: Mask | None, *, run_id: str) -> Door:
    """What is masked of what comes into a branch: as in its run, and with a ``mask`` also where that had none.

    What it seals is kept in memory alone, since a branch leaves nothing behind.

    Raises:
        BadInput: the run is masked, and its key is not here.
    """
    apart = mask and mask.apart()
    if apart is not None and not started.mask_key:
        return Door(apart, tenant=started.tenant, nonce=started.nonce)
    return Door.of(started, apart, run_id=run_id)


def check_own(changes: Changes, begins: Beginning) -> None:
    """What is given takes the place of what is the run's own.

    Raises:
        BadInput: the call or the step is one that it inherits; the run is named that has it.
    """
    for step in changes.replies:
        _check(f"--set-reply {step}", "step", begins, begins.inherited_step(step))
    for number in changes.observations:
        _check(f"--set-observation {number}", "call", begins, begins.inherited_call(number))


def _check(place: str, what: str, begins: Beginning, owner: str) -> None:
    if owner:
        why = f"run {begins.run_id} inherits this {what} from run {owner}: ask it of that run"
        raise BadInput(why, place=place)
