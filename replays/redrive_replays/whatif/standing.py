"""What becomes of the recorded effects in a branch: they stand, are prevented, or are open."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from redrive_engine.loop import ACTING
from redrive_events import (
    ApprovalAsked,
    DecisionMade,
    EventLog,
    Json,
    ModelReplied,
    ObservationReceived,
    Record,
    ToolCalled,
    VerdictGiven,
    canonical,
)
from redrive_projections import Outcome, RunState, effects, fold
from redrive_replays.beginning import Beginning
from redrive_replays.recording import recording_of
from redrive_replays.whatif.branch import Branch

# What has come of a call by the end of a branch; one that has no answer yet is waiting.
Came: TypeAlias = Literal["landed", "not_landed", "in_doubt", "waiting", "not_asked"]
Group: TypeAlias = Literal["stands", "prevented", "open"]

_RUN = "run"


class Effect(NamedTuple):
    """A write of the recording: its verdict as recorded, and what the ledger says became of it; and ``here``.

    One of a child run has the ``run_id`` and the position of that. Of a child run whose records are not known the call
    stands for all that it did.
    """

    call: int
    tool: str
    arguments: Json
    verdict: str
    outcome: Outcome
    position: int
    run_id: str = ""
    here: Came = "not_asked"


class _Target(NamedTuple):
    """Which call it is, whatever its number."""

    tool: str
    arguments: bytes
    undoes: bool


class _Recorded(NamedTuple):
    """A recorded call that may have acted: in which turn, and whether a reply, or the engine of itself, made it."""

    record: Record
    event: ToolCalled
    turn: int
    of_reply: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """The recorded effects of a run and its child runs, by what becomes of them."""

    stands: tuple[Effect, ...]
    prevented: tuple[Effect, ...]
    open: tuple[Effect, ...]


def standing(
    records: Sequence[Record], begins: Beginning, branch: Branch, ungrounded: Collection[int], log: EventLog | None
) -> Standing:
    """The run's own recorded writes, and with the ``log`` that has them those of its child runs.

    A write stands if it came to be in the branch, or to the same as in the recording. It is prevented if it did not, or
    if nothing asks for it any more. All else is open: those of later turns, what waits for an answer, what is in doubt
    here alone, what a child run did that is answered by another one here, and what is ``ungrounded``.
    """
    calls = list(_recorded(begins))
    here = _Here(branch, {one.event.call: _target(one.event) for one in calls})
    told = _Told(records)
    found: dict[Group, list[Effect]] = {"stands": [], "prevented": [], "open": []}
    for one in calls:
        number, child = one.event.call, one.event.effect == _RUN
        came = here.came(one, child=child)
        if came == "not_asked":
            group: Group = "open" if here.may_come(one) else "prevented"
        else:  # of a child run with another answer nobody knows what it did
            group = _group("landed" if child else told.came(number), came)
        effect = told.effect(one.record, came)
        group = "open" if group == "stands" and number in ungrounded else group
        found[group] += [effect] if not child else _of_child(effect, f"{one.record.run_id}/{number}", log)
    return Standing(tuple(found["stands"]), tuple(found["prevented"]), tuple(found["open"]))


def _group(recorded: Came, here: Came) -> Group:
    """What becomes of a recorded write that was asked for here as well, by what came of both."""
    if here == "waiting":
        return "open"
    if here in {"landed", recorded}:
        return "stands"
    return "prevented" if here == "not_landed" else "open"


def _recorded(begins: Beginning) -> Iterator[_Recorded]:
    """The run's own calls that may have acted, each once, however often it was tried."""
    turn = sum(type(one.event) is ModelReplied for one in begins.inherited)
    replied, seen = set[int](), set[int]()
    for record in begins.own:
        event = record.event
        turn += type(event) is ModelReplied
        if isinstance(event, DecisionMade) and not event.step:
            replied |= {one.call for one in event.calls}
        if isinstance(event, ToolCalled) and event.effect in {*ACTING, _RUN} and event.call not in seen:
            seen.add(event.call)
            if event.attempt == 1:
                yield _Recorded(record, event, turn, event.call in replied)


class _Told:
    """What a recording says of its calls."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._verdicts = {one.event.call: one.event.verdict for one in records if isinstance(one.event, VerdictGiven)}
        self._outcomes = {one.call: one.outcome for one in effects(records)}
        self._state = fold(records)

    def came(self, call: int) -> Came:
        """What the recording knows of a call in the end."""
        return _came(call, self._outcomes, self._state)

    def effect(self, record: Record, here: Came) -> Effect:
        """The effect that a record of its call begins."""
        event = record.event
        assert isinstance(event, ToolCalled)
        verdict, outcome = self._verdicts.get(event.call, ""), self._outcomes.get(event.call, "")
        return Effect(event.call, event.tool, event.arguments, verdict, outcome, record.position, record.run_id, here)


def _came(call: int, outcomes: Mapping[int, Outcome], state: RunState) -> Came:
    """What the ledger says; and of what may not be an effect at all, whether its tool says that it did nothing."""
    outcome = outcomes.get(call)
    if outcome:
        return "in_doubt" if outcome == "unknown" else outcome
    failed = outcome is None and call in state.calls and state.calls[call].outcome in {"error", "cancelled"}
    return "not_landed" if failed else "in_doubt"


class _Here:
    """What a branch made of the recorded calls.

    Which of its calls is which is told by the number where that is an equal one, and else by their order.
    """

    def __init__(self, branch: Branch, recorded: Mapping[int, _Target]) -> None:
        state = branch.state
        self._state, self._outcomes = state, {one.call: one.outcome for one in effects(branch.whole)}
        self._waiting = {getattr(one, "call", None) or getattr(one, "effect", None) for one in state.requests.values()}
        self._labels = {
            one.record.event.call: one.label
            for one in branch.records
            if isinstance(one.record.event, ObservationReceived)
        }
        made: dict[int, _Target] = {}
        for one in branch.records:
            if isinstance(one.record.event, ToolCalled):
                made.setdefault(one.record.event.call, _target(one.record.event))
        for request in state.requests.values():
            if isinstance(request, ApprovalAsked):
                call = state.calls[request.call]
                made[call.number] = _Target(call.tool, canonical(call.arguments), undoes=False)
        self._same = _matched(recorded, made)
        self._decided = {(one.tool, canonical(one.arguments)) for one in state.calls.values()}

    def came(self, one: _Recorded, *, child: bool) -> Came:
        """What came of the call; a child run has done what it did if its recorded answer is the one here."""
        number = self._same.get(one.event.call)
        if number is None:
            return "not_asked"
        if number in self._waiting:
            return "waiting"
        if child:
            served = self._labels.get(number) in {"recorded", "recorded, moved", "assumed"}
            return "landed" if served else "in_doubt"
        return _came(number, self._outcomes, self._state)

    def may_come(self, one: _Recorded) -> bool:
        """Whether a call that is not asked for may still be: of a later turn, or the engine's own of this one."""
        state = self._state
        if state.end is not None:
            return False
        decided = (one.event.tool, canonical(one.event.arguments)) in self._decided
        return one.turn > state.steps or (one.turn == state.steps and not one.of_reply and not decided)


def _matched(recorded: Mapping[int, _Target], made: Mapping[int, _Target]) -> dict[int, int]:
    """The call of a branch that each recorded one is."""
    same = {number: number for number, target in recorded.items() if made.get(number) == target}
    left: dict[_Target, deque[int]] = defaultdict(deque)
    for number, target in made.items():
        if number not in same:
            left[target].append(number)
    for number, target in recorded.items():
        if number not in same and left[target]:
            same[number] = left[target].popleft()
    return same


def _target(event: ToolCalled) -> _Target:
    return _Target(event.tool, canonical(event.arguments), undoes=event.compensates is not None)


def _of_child(call: Effect, run_id: str, log: EventLog | None) -> Iterator[Effect]:
    """What a child run did to the world, with those below it; the call itself where its records are not known."""
    records = recording_of(log, run_id).records if log is not None else ()
    if not records:
        yield call
        return
    told = _Told(records)
    for record in records:
        event = record.event
        if not isinstance(event, ToolCalled) or event.attempt > 1:
            continue
        if event.effect in ACTING:
            effect = told.effect(record, call.here)
            yield effect._replace(here=told.came(event.call)) if call.here == "landed" else effect
        elif event.effect == _RUN:
            yield from _of_child(told.effect(record, call.here), f"{run_id}/{event.call}", log)
