"""A recorded run driven again as a branch: with the recorded answers, and no further than they surely go."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from redrive_engine import Happened, Mask, Program, waiting_of
from redrive_engine.live import given_up
from redrive_engine.loop import ACTING
from redrive_engine.masking import OPEN
from redrive_events import (
    ApprovalAsked,
    ApprovalGiven,
    DeadlinePassed,
    LeaseGranted,
    OutcomeStated,
    PersonAsked,
    ReconcileAsked,
    Record,
    Request,
    SignalsHeard,
    ToolCalled,
)
from redrive_projections import OF_PEOPLE
from redrive_replays.beginning import Beginning, beginning
from redrive_replays.whatif.branch import Branch, Edge, Label
from redrive_replays.whatif.changes import Changes, InPlace, check_own, door_of
from redrive_replays.whatif.course import Open
from redrive_replays.whatif.following import Following
from redrive_replays.whatif.live import LIVES, Asking, Live, asking
from redrive_replays.whatif.nearby import ASSUMED, assumable, given_to, is_of_another, may_finish, number_of, unused
from redrive_replays.whatif.reading import recorded_in
from redrive_replays.whatif.recorded import Answered, Recorded, Unasked, as_of_call, later

# When an answer comes of which the recording says that it did not come in time.
FAR = datetime.max.replace(tzinfo=UTC)


class _Served(NamedTuple):
    """An answer for an open request: when it comes, and what it is worth."""

    at: datetime
    order: int
    position: int
    happened: Happened
    label: Label


def branched(
    records: Sequence[Record],
    program: Program,
    changes: Changes | None = None,
    *,
    live: Live | None = None,
    mask: Mask | None = None,
) -> Branch:
    """Drive a recorded run again under ``program``, changed by ``changes``, with its recorded answers.

    Each answer is served once, to what it surely answers; time is virtual. No tool, model or person is asked but those
    that are ``live``, and these only for what the recording surely has not. ``mask`` is that of the run, which a masked
    one needs where something is given or asked. What a fork inherits is taken as it is.

    Raises:
        CannotReplay: the records do not begin with the start of a run, or it was imported as a mere view.
        BadInput: a change cannot be made, or what is new in a masked run cannot be masked.
    """
    changes = changes or Changes()
    begins = beginning(records)
    begins.check_driven()
    check_own(changes, begins)
    door = door_of(begins.started, mask, run_id=begins.run_id) if live or changes.gives else OPEN
    door.learn(records)
    changes = changes.masked(door)
    program = changes.program(program)
    with asking(live, program, begins, door) as asked:
        drive = _Drive(program, begins, recorded_in(records, changes, program.tools or {}), changes, asked)
        drive.run()
    drive.branch.unused = tuple(unused(changes, drive.branch))
    return drive.branch


class _Drive(Following):
    """One branch on its way; what is open in it stands under the position of its request.

    Beyond what it shares with its recording, ``matched`` are the recorded answers that are to come, ``came`` those of
    the living; ``unsure`` are the requests whose recorded answer is none here, ``assumed`` those that an assumption
    answers, ``asked_live`` those that the living were asked. ``given`` is what has been said by its number,
    ``called_live`` the calls that were really made.
    """

    def __init__(
        self, program: Program, begins: Beginning, recorded: Recorded, changes: Changes, living: Asking | None
    ) -> None:
        super().__init__(program, begins, recorded, changes, living)
        self.matched: dict[int, Answered] = {}
        self.assumed: set[int] = set()
        self.unsure: set[int] = set()
        self.given: set[tuple[type, int]] = set()
        self.asked_live: set[int] = set()
        self.called_live: set[int] = set()
        self.came: dict[int, _Served] = {}

    def run(self) -> None:
        """From its start to its end, or to its edge."""
        self.follow()
        state = self.branch.state
        if not self.taken and self.said_last:
            self.branch.unheard = True
        elif not self.taken:  # nobody did, or under a limit of time that another contract sets
            assert state.now is not None
            lease = self.begins.lease(LeaseGranted(worker="branch", epoch=1), state, self.branch.program)
            self._append(Happened(lease, state.now), "recorded")
        while state.end is None and self.branch.edge is None and not self.branch.unheard:
            self._further()

    def _further(self) -> None:
        """One input further: a signal in its turn, the answer that comes first, or a limit of time before it."""
        state, signals = self.branch.state, self.branch.recorded.unasked
        assert state.now is not None
        self._in_time()
        if signals and (signals[0].turn, signals[0].behind) <= (self.turn, self.behind):
            self._heard(signals.popleft())
        elif state.unheard and not self._answered_before_heard():
            self._noted(state.now)
        elif (served := self._first()) is not None:
            waiting = waiting_of(state, self.branch.program.terms.budget)
            if self._is_unknown(served, waiting.deadline):
                self.branch.edge = self._edge(served.position)
                return
            if waiting.deadline is not None and waiting.deadline <= served.at and not self._is_late(served.position):
                self._append(Happened(DeadlinePassed(which=waiting.limit), waiting.deadline), "recomputed")
                self.behind += 1
                return
            self.matched.pop(served.position, None)
            self.came.pop(served.position, None)
            self._in_time(served.order)
            self._append(served.happened, served.label)
            self.behind += 1
            self.noted = self.branch.recorded.heard.get(served.order, self.noted)
            self.said_last |= served.order in self.branch.recorded.unheard

    def _in_time(self, order: int = 0) -> None:
        """A worker is there, and in time, also where none was in the recording: what follows rests on that.

        So does what was recorded behind it, at ``order``.
        """
        lapses = self.branch.recorded.lapses
        while lapses and ((lapses[0].turn, lapses[0].behind) <= (self.turn, self.behind) or lapses[0].position < order):
            turn, _, worker, position = lapses.popleft()
            here = "is not lost" if worker == "lost" else "is in time"
            self._note(turn, f"the worker that was {worker} at {position} {here} here")

    def _noted(self, at: datetime) -> None:
        """Somebody takes note of what was said, unless nobody did where the recording ends."""
        if self.said_last:
            self.branch.unheard = True
        else:
            self._append(Happened(SignalsHeard(), at), "recomputed")

    def _answered_before_heard(self) -> bool:
        """Whether in the recording an answer came before anybody took note of the signal, or did so itself."""
        requests = self.branch.state.requests.items()
        known = (self.branch.recorded.peek(self.course.key(at), self.course.open[at]) for at, _ in requests)
        said = (self._given(at, request) for at, request in requests)
        found = [one for one in (*known, *said, *self.matched.values()) if one is not None]
        return any(0 < one.position <= self.noted for one in found)

    def _heard(self, signal: Unasked) -> None:
        """A signal keeps its turn; that an idle worker took note of it is said again only where there is one."""
        state = self.branch.state
        assert state.now is not None
        if isinstance(signal.event, ApprovalGiven | OutcomeStated) and self._asked_about(signal.event.call):
            return  # it came too late then, or spoke of something else
        if state.unheard or not isinstance(signal.event, SignalsHeard):
            label: Label = "recomputed" if isinstance(signal.event, SignalsHeard) else "recorded"
            self._append(Happened(signal.event, later(state.now, signal.since)), label)
            self.noted = self.branch.recorded.heard.get(signal.position, 0)
            self.said_last |= signal.position in self.branch.recorded.unheard

    def _asked_about(self, call: int) -> bool:
        """Whether a person is asked about this call."""
        asked = [one for one in self.branch.state.requests.values() if isinstance(one, ApprovalAsked | PersonAsked)]
        return any(call == (one.call if isinstance(one, ApprovalAsked) else one.effect) for one in asked)

    def _first(self) -> _Served | None:
        """The answer that comes first; None at the edge. The living are asked once all others are known."""
        while True:
            found, living, missing = list[_Served](), list[int](), list[int]()
            for position, request in self.branch.state.requests.items():
                served = self.came.get(position) or self._served(position, request)
                if served is None:
                    (living if self._lives(position, request) else missing).append(position)
                else:
                    found.append(served)
            if missing and not (found and all(self._waits(one, min(found)) for one in missing)):
                self.branch.edge = self._edge(missing[0])
                return None
            first = min([*found, *([self._lived(living)] if living else [])])
            if self._is_over(first.at) or self._is_sure(first.position):
                return first
            self._drop(first.position)

    def _waits(self, position: int, served: _Served) -> bool:
        """Whether a recorded answer comes behind that of a person, beside a write that they allow only then."""
        allows = isinstance(self.branch.state.requests[served.position], ApprovalAsked)
        return allows and self.branch.recorded.awaits(self.course, position, served.at, served.order)

    def _is_late(self, position: int) -> bool:
        """Whether the recorded worker noticed by this answer alone that the time was over."""
        answer = self.matched.get(position)
        return answer is not None and answer.answer is not None and answer.overdue == "late"

    def _is_unknown(self, served: _Served, deadline: datetime | None) -> bool:
        """Whether the recording ends before this answer, or has none in time and there is no such limit here."""
        if served.position in self.matched and self.matched[served.position].open:
            return deadline is None or deadline >= served.at
        return served.at == FAR and deadline is None

    def _is_over(self, at: datetime) -> bool:
        """Whether a limit of time passes before this."""
        deadline = waiting_of(self.branch.state, self.branch.program.terms.budget).deadline
        return deadline is not None and deadline <= at

    def _is_sure(self, position: int) -> bool:
        """Whether what came to pass beside a call is what did in the recording, before its answer and behind it."""
        answer, state = self.matched.get(position), self.branch.state
        if answer is None or answer.given or position in self.assumed:
            return True
        if answer.stopped is not None and self.stopped is None:
            return False
        if not isinstance(answer.request, ToolCalled):
            return True
        if self.course.settled(self.course.open[position]) != answer.settled:
            return False
        beside = (at for at, one in state.requests.items() if isinstance(one, ToolCalled) and one.effect in ACTING)
        return all(at in self.matched and not self.matched[at].given for at in beside if at != position)

    def _drop(self, position: int) -> None:
        """The recorded answer of a request is none here, and may be one elsewhere."""
        self.unsure.add(position)
        self.branch.recorded.served.discard(self.matched.pop(position).number)

    def _edge(self, position: int) -> Edge:
        request, asked = self.branch.state.requests[position], self.course.open[position]
        nearby = not self.changes.beyond and assumable(self.branch.recorded, request, asked) is not None
        return Edge(position, request, asked.turn, nearby)

    def _served(self, position: int, request: Request) -> _Served | None:
        """The answer to an open request; None if the recording has none that is sure, or may be assumed."""
        asked, key = self.course.open[position], self.course.key(position)
        door = self._doorway(request)
        if door is not None and (given := door.before(position, request, asked.at)) is not None:
            return self._in_place(given, position, asked.at, 0)
        answer = self.matched.get(position)
        if answer is not None and answer.key != key and not answer.given and position not in self.assumed:
            self._drop(position)  # another write has begun beside it since it was asked
            answer = None
        if answer is None and position not in self.asked_live:
            by_number = self._given(position, request)
            answer = None if by_number is None or is_of_another(self.branch.recorded, by_number) else by_number
            if answer is None and position not in self.unsure and not self._is_other_child(request):
                answer = self.branch.recorded.peek(key, asked)
            if answer is None or answer.open:
                lives = by_number is None and self._lives(position, request)
                answer = None if lives else by_number or self._assumed(position, request, asked) or answer
            if answer is not None:
                self.matched[position] = self.branch.recorded.mark(answer)
                self.given |= {(type(request), number_of(answer))} if answer.given else set()
        if answer is None or (answer.open and self.stopped is not None and answer.stopped is None):
            return self._without(position, request, asked)
        return self._answered(position, request, asked, answer)

    def _given(self, position: int, request: Request) -> Answered | None:
        """What was given for a request of this number, unless it has answered already."""
        asked, key = self.course.open[position], self.course.key(position)
        found = given_to(self.branch.recorded, request, asked, key, self.changes)
        return None if found is None or (type(request), number_of(found)) in self.given else found

    def _lives(self, position: int, request: Request) -> bool:
        """Whether the living are asked: after a stop nothing new is begun, but what became of a write can be known."""
        if self.living is None:
            return False
        if position in self.asked_live:
            return True
        if isinstance(request, ReconcileAsked):
            return request.call in self.called_live
        return self.branch.state.stop is None and position not in self.matched and self.living.live.asks(request)

    def _lived(self, positions: Sequence[int]) -> _Served:
        """What comes first of the living; if that is a limit of time, it is found where that is looked at."""
        assert self.living is not None
        state = self.branch.state
        assert state.now is not None
        for position in positions:
            request = state.requests[position]
            if position not in self.asked_live:
                self._note(self.course.open[position].turn, LIVES[type(request)].format(request=request))
            self.asked_live.add(position)
            self.called_live |= {request.call} if isinstance(request, ToolCalled) else set()
        waiting = waiting_of(state, self.branch.program.terms.budget)
        asked = {position: state.requests[position] for position in positions}
        event, at, cause = self.living.answer(dataclasses.replace(waiting, requests=asked), state.now)
        if not cause:
            return _Served(FAR, 0, positions[0], Happened(event, FAR), "live")
        self.came[cause] = _Served(at, 0, cause, Happened(event, at, cause), "live")
        return self.came[cause]

    def _answered(self, position: int, request: Request, asked: Open, answer: Answered) -> _Served | None:
        begun = asked.at + self.idle[position]
        if answer.answer is None:
            at = later(begun, answer.took) if answer.open else FAR
            return _Served(at, answer.position, position, Happened(SignalsHeard(), at), "recorded")
        at, order, ending = later(begun, answer.took), answer.position, self._ending(request, answer)
        if self.stopped is not None and ending is not None:
            if answer.stopped is None or answer.given:
                over = given_up(request, stopping=True)
                return _Served(ending, 0, position, Happened(over, ending, position), "recomputed")
            at, order = ending, 0  # all that is given up then is so in the order of the requests
        number = request.effect if isinstance(request, PersonAsked) else getattr(request, "call", None)
        event = as_of_call(answer.answer, number or 0)
        label: Label = "recorded" if asked.turn == answer.turn else "recorded, moved"
        label = "given" if answer.given else "assumed" if position in self.assumed else label
        limit_ms = request.timeout_ms if isinstance(request, ToolCalled) else None
        if isinstance(answer.request, ToolCalled) and limit_ms != answer.request.timeout_ms:
            if getattr(event, "status", "") == "timeout":
                return None  # nobody recorded what came later
            if limit_ms is not None and answer.took > timedelta(milliseconds=limit_ms):
                at, label = later(begun, timedelta(milliseconds=limit_ms)), "recomputed"
                event = given_up(request, stopping=False)
        door = self._doorway(request)
        if door is not None and (given := door.behind(position, request, event, at)) is not None:  # type: ignore[arg-type]
            return self._in_place(given, position, at, answer.position)
        cause = 0 if type(request) in OF_PEOPLE else position
        return _Served(at, order, position, Happened(event, at, cause), label)

    def _in_place(self, given: InPlace, position: int, at: datetime, order: int) -> _Served:
        if given.assumption:
            self._assume(position, given.assumption)
        happened = Happened(given.answer, later(at, given.later), position)
        return _Served(happened.at, order, position, happened, "assumed" if given.assumption else "given")

    def _ending(self, request: Request, answer: Answered) -> datetime | None:
        """When a request is given up as the run is ending; None for a write that ends within the grace."""
        if self.stopped is None:
            return None
        if answer.stopped is not None:
            return later(self.stopped, answer.stopped)
        return None if answer.overdue or may_finish(request) else self.stopped

    def _without(self, position: int, request: Request, asked: Open) -> _Served | None:
        """A request without an answer is given up when the run has stopped; an approval may be assumed.

        Of a write nobody knows what would have been heard within the grace.
        """
        now = self.branch.state.now or asked.at
        if self.branch.state.stop is not None and not may_finish(request):
            return _Served(now, 0, position, Happened(given_up(request, stopping=True), now, position), "recomputed")
        if isinstance(request, ApprovalAsked) and self.changes.approvals != "stop":
            answer = self.changes.approvals
            self._assume(position, f"the approval of call {request.call} is answered by {answer!r}")
            given = ApprovalGiven(call=request.call, digest=request.digest, by="what-if", answer=answer)
            return _Served(now, 0, position, Happened(given, now), "assumed")
        return None

    def _assumed(self, position: int, request: Request, asked: Open) -> Answered | None:
        """The answer that is taken for one, if the branch goes beyond what is sure."""
        if not self.changes.beyond:
            return None
        found = assumable(self.branch.recorded, request, asked)
        if found is not None:
            self._assume(position, f"{ASSUMED[type(request)]} at {found.position} is the answer here too")
        return found

    def _assume(self, position: int, what: str) -> None:
        if position not in self.assumed:
            self.assumed.add(position)
            self._note(self.course.open[position].turn, what)

    def _note(self, turn: int, what: str) -> None:
        """An assumption by its turn: all that follows rests on it."""
        self.branch.assumptions.append(f"turn {turn + 1}: {what}")
