"""What is to be said at the edge of a branch: what flipped, which effects that touches, and what nobody can know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from redrive_engine import Program, occurs
from redrive_engine.loop import ACTING
from redrive_events import (
    ApprovalAsked,
    DecisionMade,
    Json,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    Record,
    ToolCalled,
    VerdictGiven,
    canonical,
    text_of,
)
from redrive_projections import Asked, Message, Outcome, RunState, effects, evolve, requests, start_of
from redrive_replays.beginning import Beginning, beginning
from redrive_replays.causes import with_model
from redrive_replays.replayer import changed_parts
from redrive_replays.whatif.branch import Branch, Edge
from redrive_replays.whatif.flips import Flip, Sureness, first_flip, sureness

# A value shorter than this may stand anywhere by chance.
VALUE_CHARS_MIN = 3


class Effect(NamedTuple):
    """A write of the recording: its verdict as recorded, and what the ledger says became of it."""

    call: int
    tool: str
    arguments: Json
    verdict: str
    outcome: Outcome
    position: int


class Ungrounded(NamedTuple):
    """A later call of the recording with a value that only observations show which the branch does not have."""

    call: int
    tool: str
    value: str


@dataclass(frozen=True, slots=True)
class EdgeReport:
    """How far a branch surely goes, and what follows from that.

    ``turn`` counts the replies that the branch has, ``turns`` those of the recording. ``before`` are the recorded
    effects that landed in the branch too, ``prevented`` those that did not, and ``after`` those of later turns or of
    which nothing is known yet, with their verdicts as recorded. ``changed_parts`` are those of the program. ``asked``
    and ``would_ask`` are the messages of the recorded request and of the one the model would have had. ``live`` is what
    was answered now, ``flags`` are the options that go on, ``unused`` those that gave what nothing asked for.
    """

    run_id: str
    sureness: Sureness
    changed_parts: tuple[str, ...]
    status: str
    recorded_status: str
    turn: int
    turns: int
    flip: Flip | None
    edge: Edge | None
    before: tuple[Effect, ...]
    prevented: tuple[Effect, ...]
    after: tuple[Effect, ...]
    asked: tuple[Message, ...]
    would_ask: tuple[Message, ...]
    ungrounded: tuple[Ungrounded, ...]
    live: tuple[Record, ...]
    assumptions: tuple[str, ...]
    flags: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 where nothing would have been otherwise, else 1: a finding."""
        return 0 if self.sureness == "same" else 1

    def data(self) -> dict[str, Json]:
        """The report as plain data, for ``--json``."""
        return {
            "run_id": self.run_id,
            "sureness": self.sureness,
            "changed_parts": list(self.changed_parts),
            "turn": self.turn,
            "turns": self.turns,
            "status": self.status,
            "recorded_status": self.recorded_status,
            "flip": self.flip
            and {
                "recorded": _side(self.flip.recorded),
                "here": _side(self.flip.branched),
            },
            "edge": self.edge and {"turn": self.edge.turn, "request": msgspec.to_builtins(self.edge.request)},
            "effects": {
                "stand": [one._asdict() for one in self.before],
                "prevented": [one._asdict() for one in self.prevented],
                "open": [one._asdict() for one in self.after],
            },
            "would_ask": [one.data() for one in self.would_ask],
            "ungrounded": [one._asdict() for one in self.ungrounded],
            "live": [_side(one) for one in self.live],
            "assumptions": list(self.assumptions),
            "goes_on_with": list(self.flags),
            "unused": list(self.unused),
        }


def _side(record: Record | None) -> Json:
    return record and {"position": record.position, "event": msgspec.to_builtins(record.event)}


def edge_report(records: Sequence[Record], branch: Branch) -> EdgeReport:
    """What a branch of the run with these records has come to."""
    flip = first_flip(records, branch)
    replies = sum(type(one.event) is ModelReplied for one in records)
    turn = branch.state.steps
    begins = beginning(records)
    before, prevented, after = _effects(records, begins, branch)
    recorded, would = _requests(records, branch)
    return EdgeReport(
        run_id=branch.state.run_id,
        sureness=sureness(records, branch, flip),
        changed_parts=_changed(begins.drove, records, branch.program),
        status=branch.state.end.status if branch.state.end else "",
        recorded_status=_status(records),
        turn=turn,
        turns=replies,
        flip=flip,
        edge=branch.edge,
        before=before,
        prevented=prevented,
        after=after,
        asked=recorded,
        would_ask=would,
        ungrounded=tuple(_ungrounded(records, branch)) if branch.edge else (),
        live=tuple(one.record for one in branch.records if one.label == "live"),
        assumptions=tuple(branch.assumptions),
        flags=_flags(branch.edge) if branch.edge else (),
        unused=branch.unused,
    )


def _changed(parts: dict[str, str], records: Iterable[Record], program: Program) -> tuple[str, ...]:
    """The parts that are others here, and the model if another one is asked."""
    changed, started = changed_parts(parts, program.digests), start_of(records)
    return changed if started is None else with_model(changed, started.contract, program.terms)


def _status(records: Iterable[Record]) -> str:
    state = RunState()
    for record in records:
        evolve(state, record)
    return state.end.status if state.end else ""


def _effects(
    records: Sequence[Record], begins: Beginning, branch: Branch
) -> tuple[tuple[Effect, ...], tuple[Effect, ...], tuple[Effect, ...]]:
    """The run's own recorded writes: those of the branch too, those it prevents, those of turns it does not reach."""
    made = _made(branch)
    verdicts = {one.event.call: one.event.verdict for one in begins.own if isinstance(one.event, VerdictGiven)}
    outcomes = {one.call: one.outcome for one in effects(records)}
    found: dict[str, list[Effect]] = {"before": [], "prevented": [], "after": []}
    turn = sum(type(one.event) is ModelReplied for one in begins.inherited)
    for record in begins.own:
        event = record.event
        turn += type(event) is ModelReplied
        if not isinstance(event, ToolCalled) or event.effect not in ACTING or event.attempt > 1:
            continue
        outcome, reached = outcomes.get(event.call, ""), turn <= branch.state.steps
        where = _where((event.tool, canonical(event.arguments)), made, landed=outcome == "landed", reached=reached)
        verdict = verdicts.get(event.call, "")
        found[where].append(Effect(event.call, event.tool, event.arguments, verdict, outcome, record.position))
    return tuple(found["before"]), tuple(found["prevented"]), tuple(found["after"])


_Came: TypeAlias = Literal["landed", "not landed", "open"]
_Made: TypeAlias = Counter[tuple[str, bytes, _Came]]


def _where(call: tuple[str, bytes], made: _Made, *, landed: bool, reached: bool) -> str:
    """Where a recorded write stands, by what came of the same one in the branch, which is taken out of ``made``.

    ``reached`` is whether the branch has come to its turn.
    """
    recorded: _Came = "landed" if landed else "not landed"
    known: tuple[_Came, ...] = (recorded, "open", "not landed")
    for came in known:
        if made[*call, came]:
            made[*call, came] -= 1
            return "before" if came == recorded else "after" if came == "open" else "prevented"
    return "prevented" if reached else "after"


def _made(branch: Branch) -> _Made:
    """The writes of a branch, and what came of each; that is open as long as nothing, or no person's word, has come."""
    requests, calls = branch.state.requests.values(), branch.state.calls
    events = [one.record.event for one in branch.records]
    waiting = {one.call for one in requests if isinstance(one, ToolCalled)}
    landed = {one.call for one in effects(branch.whole) if one.outcome == "landed"}
    made: _Made = Counter()
    for one in events:
        if isinstance(one, ToolCalled) and one.attempt == 1:
            came: _Came = "open" if one.call in waiting else "landed" if one.call in landed else "not landed"
            made[one.tool, canonical(one.arguments), came] += 1
    for asked in requests:
        if isinstance(asked, ApprovalAsked):
            made[calls[asked.call].tool, canonical(calls[asked.call].arguments), "open"] += 1
    return made


def _requests(records: Sequence[Record], branch: Branch) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """What the model was asked in the turn of the edge, and what it would have been; nothing if it is none of those."""
    if branch.edge is None or not isinstance(branch.edge.request, ModelAsked):
        return (), ()
    return _request_of(records, branch.edge.turn), tuple(branch.state.asked)


def _request_of(records: Sequence[Record], turn: int) -> tuple[Message, ...]:
    asked: Asked | None = None
    turns = {one.position: at for at, one in _asked(records)}
    for request in requests(records):
        if turns.get(request.position) == turn:
            asked = request
    return asked.messages if asked else ()


def _asked(records: Iterable[Record]) -> Iterator[tuple[int, Record]]:
    turn = 0
    for record in records:
        turn += type(record.event) is ModelReplied
        if type(record.event) is ModelAsked:
            yield turn, record


def _ungrounded(records: Sequence[Record], branch: Branch) -> Iterator[Ungrounded]:
    """The calls of later turns that use what only observations before them show which the branch does not have."""
    had = {text_of(event.content) for event in _observations(branch.whole)}
    lacking = list[str]()
    told = [text_of(message.content) for message in branch.state.transcript()]
    turn, state = 0, RunState()
    for record in records:
        evolve(state, record)
        lacking += [words for one in _observations([record]) if (words := text_of(one.content)) not in had]
        turn += type(record.event) is ModelReplied
        if not isinstance(record.event, DecisionMade) or turn <= branch.state.steps:
            continue
        for proposed in record.event.calls:
            call = state.calls[proposed.call]
            for value in _values(call.arguments):
                if any(occurs(value, words) for words in lacking) and not any(occurs(value, words) for words in told):
                    yield Ungrounded(call.number, call.tool, value)


def _observations(records: Iterable[Record]) -> Iterator[ObservationReceived]:
    return (one.event for one in records if isinstance(one.event, ObservationReceived))


def _values(arguments: Json) -> Iterator[str]:
    if isinstance(arguments, Mapping):
        for one in arguments.values():
            yield from _values(one)
    elif isinstance(arguments, list | tuple):
        for one in arguments:
            yield from _values(one)
    elif isinstance(arguments, str | int | float) and len(str(arguments)) >= VALUE_CHARS_MIN:
        yield str(arguments)


def _flags(edge: Edge) -> tuple[str, ...]:
    """By which options the branch could go on."""
    beyond = ("--beyond recorded",) if edge.nearby else ()
    match edge.request:
        case ModelAsked():
            return "--live model", *beyond, f"--set-reply {edge.turn + 1}=FILE"
        case ToolCalled(call=call, effect="read"):
            return "--live reads", *beyond, f"--set-observation {call}=FILE"
        case ToolCalled(call=call):
            return *beyond, f"--set-observation {call}=FILE"
        case ApprovalAsked():
            return *beyond, "--approvals grant", "--approvals refuse"
        case _:
            return beyond
