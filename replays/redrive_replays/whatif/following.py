"""A branch as far as it goes the way of its recording: what happened happens again, in its order and at its times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from redrive_engine import Happened, Program, append_of, mint, waiting_of
from redrive_events import (
    ANSWERS,
    INPUTS,
    STRANGERS,
    Answer,
    ApprovalAsked,
    DeadlinePassed,
    Input,
    LeaseGranted,
    Record,
    Request,
    RunForked,
    RunStarted,
    SignalsHeard,
    ToolCalled,
)
from redrive_projections import OF_PEOPLE
from redrive_replays.beginning import Beginning
from redrive_replays.replayer import appends, changed_parts
from redrive_replays.whatif.branch import Branch, Label, Labelled
from redrive_replays.whatif.changes import Changes, Doorway
from redrive_replays.whatif.course import course_of
from redrive_replays.whatif.flips import alike
from redrive_replays.whatif.live import Asking
from redrive_replays.whatif.nearby import given_to
from redrive_replays.whatif.reading import happened
from redrive_replays.whatif.recorded import Recorded


class Following:
    """One branch up to where something is otherwise than it was recorded, and where it stands in its recording then.

    ``stopped`` is when the run began to end; ``turn``, ``behind`` and ``noted`` say where in its turn it is, and which
    signals its recording had heard by then. ``said_last`` is whether one was said that nobody heard there, ``taken``
    whether somebody took the run up. ``idle`` is how long nobody waited for what is open, since a worker was lost.
    """

    def __init__(
        self, program: Program, begins: Beginning, recorded: Recorded, changes: Changes, living: Asking | None
    ) -> None:
        self.branch = Branch(program, recorded, begins.state(), inherited=begins.inherited)
        self.begins, self.changes, self.living = begins, changes, living
        self.course = course_of(begins.inherited)
        self.stopped: datetime | None = None
        self.turn, self.behind, self.noted, self.said_last = 0, 0, 0, False
        self.taken, self.idle = False, defaultdict[int, timedelta](timedelta)
        self._parts = begins.drove
        self._answers = {one.cause: one for one in begins.own if type(one.event) in ANSWERS}
        self._passed = 0

    def follow(self) -> None:
        """As it was recorded, up to an input that is changed, or else to what follows otherwise."""
        last = self.begins.first.at
        for append in appends(self.begins.own):
            first, before = append[0], set(self.branch.state.requests)
            if not self._happens(append):
                return
            label: Label = "recomputed" if isinstance(first.event, DeadlinePassed | SignalsHeard) else "recorded"
            batch = self._append(Happened(self._as_here(first), first.at, first.cause), label)
            self._pass(first)
            if isinstance(first.event, LeaseGranted):
                self._take_up(first, before, first.at - last)
            last = first.at
            follows = zip(append[1:], batch[1:], strict=False)
            if len(append) != len(batch) or not all(one == it or alike(one.event, it.event) for one, it in follows):
                return

    def _happens(self, append: Sequence[Record]) -> bool:
        """Whether the next of the recorded inputs is the next one here."""
        first, state = append[0], self.branch.state
        kind, requests = type(first.event), state.requests
        if append[-1].left or kind not in INPUTS or state.end is not None:
            return False
        if kind in ANSWERS and first.cause not in requests:
            return False  # nothing asked for it
        if not self.taken:
            return True  # nobody waits yet, neither for an answer nor with a limit
        return self._is_in_time(first) and not any(self._is_changed(at, requests[at], first) for at in requests)

    def _is_in_time(self, first: Record) -> bool:
        """Whether no limit of time passes before this that another contract may have set, and none is lifted."""
        program, event = self.branch.program, first.event
        if self._parts.get("contract") == program.digests.get("contract"):
            return True
        waiting = waiting_of(self.branch.state, program.terms.budget)
        if isinstance(event, DeadlinePassed):
            return (waiting.limit, waiting.deadline) == (event.which, first.at)
        return waiting.deadline is None or waiting.deadline > first.at

    def _is_changed(self, position: int, request: Request, first: Record) -> bool:
        """Whether an open request is answered by something else, before ``first`` or in its place."""
        asked, recorded = self.course.open[position], self.branch.recorded
        key, answer = self.course.key(position), self._answers.get(position)
        if isinstance(request, ApprovalAsked) and self.changes.approvals != "stop":
            known = recorded.peek(key, asked)
            return known is None or known.open
        if self._is_other_child(request):
            return True
        door = self._doorway(request)
        if door is not None and door.before(position, request, asked.at) is not None:
            return True
        if door is not None and answer is not None:
            said: Answer = answer.event  # type: ignore[assignment]
            if door.behind(position, request, said, answer.at) is not None:
                return True
        given = given_to(recorded, request, asked, key, self.changes)
        return given is not None and (answer is None or answer is first)

    def _as_here(self, first: Record) -> Input:
        """The input as it is under the program of the branch."""
        program, state, event = self.branch.program, self.branch.state, first.event
        if isinstance(event, RunStarted | RunForked):
            acts = self.living is not None and "writes" in self.living.live.kinds
            return happened(self.begins.under(program, nonce=mint() if acts else ""))
        if not isinstance(event, LeaseGranted):
            return happened(first)
        self._parts = event.parts or self._parts
        if self.begins.inherited or not self.taken:
            return self.begins.lease(event, state, program)
        return replace(event, parts={} if program.digests == state.parts else program.digests)

    def _pass(self, first: Record) -> None:
        """What was recorded up to this happens no more."""
        recorded, position = self.branch.recorded, first.position
        answers = recorded.answers
        while self._passed < len(answers) and answers[self._passed].position <= position:
            recorded.mark(answers[self._passed])
            self._passed += 1
        for passed in (recorded.unasked, recorded.lapses):
            while passed and passed[0].position <= position:
                passed.popleft()
        self.behind = recorded.behind[position]
        self.taken |= type(first.event) not in STRANGERS
        if type(first.event) in STRANGERS and first is not self.begins.first:
            self.noted = recorded.heard.get(position, 0)
            self.said_last |= position in recorded.unheard

    def _take_up(self, first: Record, before: set[int], idle: timedelta) -> None:
        """What a lost worker had begun has come to its end here as well; what it had asked is asked by the next one."""
        still = before & self.branch.state.requests.keys()
        for position in still:
            self.idle[position] += idle
        for one in self.branch.recorded.waiting():
            if one.asked in before - still and one.asked < first.position:
                self.branch.recorded.mark(one)

    def _is_other_child(self, request: Request) -> bool:
        """Whether it begins a child run under another program than the recorded one had: nobody drove that."""
        other = changed_parts(self.begins.drove, self.branch.program.digests)
        return isinstance(request, ToolCalled) and request.effect == "run" and bool(other)

    def _doorway(self, request: Request) -> Doorway | None:
        """What stands in the door: nothing in that of people, nor once the run is ending."""
        return self.changes.doorway if self.branch.state.stop is None and type(request) not in OF_PEOPLE else None

    def _append(self, what: Happened, label: Label) -> list[Record]:
        """What happened, and all that follows from it."""
        state, assumptions = self.branch.state, tuple(range(1, len(self.branch.assumptions) + 1))
        batch = append_of(self.branch.program, state, what)
        self.course.take(state, batch)
        if self.living is not None:
            self.living.take(batch)
        self.branch.records.append(Labelled(batch[0], label, assumptions))
        self.branch.records += [Labelled(record, "recomputed", assumptions) for record in batch[1:]]
        if state.steps != self.turn:
            self.turn, self.behind = state.steps, 0
        if self.stopped is None and state.stop is not None:
            self.stopped = state.now
        return batch
