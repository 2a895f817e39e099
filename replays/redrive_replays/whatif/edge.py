"""What is to be said at the edge of a branch: what flipped, which effects that touches, and what nobody can know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from redrive_engine import Program
from redrive_events import (
    ApprovalAsked,
    EventLog,
    Json,
    ModelAsked,
    ModelReplied,
    Record,
    ToolCalled,
    kind_of,
)
from redrive_projections import Asked, Message, RunState, evolve, requests, start_of
from redrive_replays.beginning import beginning
from redrive_replays.causes import with_model
from redrive_replays.replayer import changed_parts
from redrive_replays.whatif.branch import Branch, Edge, Labelled
from redrive_replays.whatif.flips import Flip, Sureness, first_flip, sureness
from redrive_replays.whatif.standing import Effect, standing
from redrive_replays.whatif.ungrounded import Ungrounded, ungrounded


@dataclass(frozen=True, slots=True)
class EdgeReport:
    """How far a branch surely goes, and what follows from that.

    ``turn`` counts the replies that the branch has, ``turns`` those of the recording. ``before`` are the recorded
    effects that stand in the branch too, ``prevented`` those that do not, and ``after`` those of later turns or of
    which nothing is known yet, with their verdicts as recorded. ``changed_parts`` are those of the program. ``asked``
    and ``would_ask`` are the messages of the recorded request and of the one the model would have had. ``records`` are
    the branch's own, each with its label; ``live`` is what was answered now, ``flags`` are the options that go on,
    ``unused`` those that gave what nothing asked for. It may end ``unheard`` where the recording does.
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
    unheard: bool
    before: tuple[Effect, ...]
    prevented: tuple[Effect, ...]
    after: tuple[Effect, ...]
    asked: tuple[Message, ...]
    would_ask: tuple[Message, ...]
    ungrounded: tuple[Ungrounded, ...]
    records: tuple[Labelled, ...]
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
            "unheard": self.unheard,
            "effects": {
                "stand": [one._asdict() for one in self.before],
                "prevented": [one._asdict() for one in self.prevented],
                "open": [one._asdict() for one in self.after],
            },
            "events": [_label(one) for one in self.records],
            "asked": [one.data() for one in self.asked],
            "would_ask": [one.data() for one in self.would_ask],
            "ungrounded": [one._asdict() for one in self.ungrounded],
            "live": [_side(one) for one in self.live],
            "assumptions": list(self.assumptions),
            "goes_on_with": list(self.flags),
            "unused": list(self.unused),
        }


def _label(one: Labelled) -> Json:
    """Where an event of the branch comes from, and what it rests on."""
    record = one.record
    told = {"position": record.position, "event": kind_of(record.event), "label": one.label}
    return {**told, "assumptions": list(one.assumptions)}


def _side(record: Record | None) -> Json:
    return record and {"position": record.position, "event": msgspec.to_builtins(record.event)}


def edge_report(records: Sequence[Record], branch: Branch, *, log: EventLog | None = None) -> EdgeReport:
    """What a branch of the run with these records has come to; the ``log`` has what its child runs did."""
    flip = first_flip(records, branch)
    replies = sum(type(one.event) is ModelReplied for one in records)
    turn = branch.state.steps
    begins = beginning(records)
    lacking = tuple(ungrounded(records, branch))
    effects = standing(records, begins, branch, {one.call for one in lacking}, log)
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
        unheard=branch.unheard,
        before=effects.stands,
        prevented=effects.prevented,
        after=effects.open,
        asked=recorded,
        would_ask=would,
        ungrounded=lacking,
        records=tuple(branch.records),
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
