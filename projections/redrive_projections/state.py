"""The authoritative state of a run: all that the loop knows, and nothing that its records do not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from redrive_events import (
    ApprovalAsked,
    EffectReconciled,
    Event,
    Json,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    PersonAsked,
    PlanDrawn,
    Purpose,
    ReconcileAsked,
    Request,
    RunEnded,
    RunForked,
    RunStarted,
    StopDecided,
    Terms,
    ToolCalled,
    Tried,
)
from redrive_projections.transcript import Message, Told
from redrive_projections.watch import Watch

_ANSWERS = {
    ModelReplied: ModelAsked,
    ModelFailed: ModelAsked,
    ObservationReceived: ToolCalled,
    EffectReconciled: ReconcileAsked,
}


class Fact(msgspec.Struct, frozen=True, gc=False):
    """A committed value, where it was committed, and the positions that bear it out."""

    value: Json
    position: int
    evidence: tuple[int, ...]
    verifier: str


class Known(Mapping[str, Json]):
    """The values of facts by their names, each looked up where it is asked for: a run may know very many."""

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        self._facts = facts

    def __getitem__(self, key: str) -> Json:
        return self._facts[key].value

    def __contains__(self, key: object) -> bool:
        return key in self._facts

    def get(self, key: str, default: Json = None) -> Json:
        """The value of a fact, in one step where the mapping of a library would fail and begin anew."""
        fact = self._facts.get(key)
        return default if fact is None else fact.value

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __or__(self, other: Mapping[str, Json]) -> dict[str, Json]:
        return {**self, **other}


class Call(msgspec.Struct, gc=False):
    """A proposed call, as far as it has come; ``id`` is the provider's label, ``observed`` the answer's position.

    ``outcome`` is in one word what became of it: ok, error, timeout, denied, refused …; empty while it is open.
    ``proposed`` are the arguments as the model gave them, ``compensates`` the call that this one undoes. Its latest
    attempt was ``asked`` for then, by the worker of ``epoch``.
    """

    number: int
    tool: str
    arguments: Json
    proposed: Json = None
    id: str = ""
    native: bool = True
    effect: str = "write"
    key: str = ""
    digest: str = ""
    order: int = 0
    attempt: int = 0
    epoch: int = 0
    asked: datetime | None = None
    observed: int = 0
    outcome: str = ""
    compensates: int | None = None
    response: Message | None = None

    def tried(self) -> Tried:
        """The call in short."""
        return Tried(call=self.number, tool=self.tool, outcome=self.outcome or "open")


@dataclass(slots=True)
class RunState:
    """All that the loop knows of a run. A fold owns its state and changes it in place: to keep one, copy it.

    ``counted`` is the moment up to which wall time has been counted; ``model`` the stronger one that is asked by now.
    ``failures`` are the positions of what failed since the model last acted; ``begun`` is the step of the plan or
    workflow, ``done`` what its steps came to, ``off_plan`` why the rest is to be drawn anew.
    ``tried`` are the calls of earlier replies in short. ``undoing`` is why what was done is undone before the run is
    given up: ``effects`` are the calls that landed and were not, ``not_undone`` those of them that were tried in vain.
    ``forked`` is how it was forked from another run, if it was, with all that is given for it; ``people`` were asked
    there, and are asked again.
    ``quarantined`` says why the events at these positions cannot be read: all else is then no more than a guess.
    """

    run_id: str = ""
    position: int = 0
    now: datetime | None = None
    counted: datetime | None = None
    started: RunStarted | None = None
    stop: StopDecided | None = None
    end: RunEnded | None = None
    epoch: int = 0
    worker: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    requests: dict[int, Request] = field(default_factory=dict)
    calls: dict[int, Call] = field(default_factory=dict)
    calls_made: int = 0
    tried: list[Tried] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)
    answer: str = ""
    messages: list[Message] = field(default_factory=list)
    waiting: list[Message] = field(default_factory=list)
    asked: Told = field(default_factory=Told)
    unheard: list[Event] = field(default_factory=list)
    hearing: list[Event] = field(default_factory=list)
    last_word: bool = False
    model: str = ""
    purpose: Purpose = "act"
    lessons: list[str] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    plan: PlanDrawn | None = None
    begun: int = 0
    done: list[str] = field(default_factory=list)
    off_plan: str = ""
    undoing: str = ""
    effects: dict[int, Call] = field(default_factory=dict)
    not_undone: list[int] = field(default_factory=list)
    child_tokens: int = 0
    child_tool_calls: int = 0
    child_cost_micros: int = 0
    steps: int = 0
    tokens: int = 0
    tool_calls: int = 0
    cost_micros: int = 0
    wall_us: int = 0
    watch: Watch = field(default_factory=Watch)
    failure: ModelFailed | None = None
    forked: RunForked | None = None
    people: list[PersonAsked] = field(default_factory=list)
    quarantined: dict[int, str] = field(default_factory=dict)

    @property
    def terms(self) -> Terms:
        """The contract as recorded."""
        return self.started.contract if self.started else Terms()

    @property
    def running(self) -> bool:
        """Whether new requests may still follow."""
        return self.started is not None and self.stop is None and self.end is None

    @property
    def unreadable(self) -> int:
        """How many replies in a row could not be read."""
        return self.watch.in_a_row("unreadable")

    @property
    def model_failed(self) -> int:
        """How often in a row the model gave no answer."""
        return self.watch.in_a_row("model_failed")

    def turn(self) -> list[Message]:
        """The responses to the calls of the last reply, in reply order; only those that say something."""
        return [call.response for call in self.calls.values() if call.response and call.response.content is not None]

    def coming(self) -> list[Message]:
        """What joins the transcript with the next request: responses in reply order, then what was said meanwhile.

        A recorded transcript (view ``recorded``) has its responses as they came, and words in front of them.
        """
        if not self.calls:
            return list(self.waiting)
        if self.terms.view != "recorded" or (len(self.calls) == 1 and not self.waiting):
            return self.turn() + self.waiting
        came = sorted((call for call in self.calls.values() if call.response), key=lambda call: call.observed)
        numbers = {call.number for call in came}
        found: list[Message] = []
        for call in came:
            found += [said for said in self.waiting if said.before == call.number]
            found += [call.response] if call.response and call.response.content is not None else []
        return [*found, *(said for said in self.waiting if said.before not in numbers)]

    def transcript(self) -> list[Message]:
        """All that was said, in the order in which the model reads it."""
        return [*self.messages, *self.coming()]


def answered_by(requests: Mapping[int, Request], event: Event) -> int:
    """The position of the open request that ``event`` answers, the oldest if there are several; 0 if there is none."""
    return next((place for place, request in requests.items() if is_answer(request, event)), 0)


def is_answer(request: Request, event: Event) -> bool:
    """Whether ``event`` answers this request."""
    if type(request) is not _ANSWERS.get(type(event)):
        return False
    return type(request) is ModelAsked or request.call == getattr(event, "call", None)


def close(state: RunState, kind: type[ToolCalled | ApprovalAsked], call: int) -> None:
    """Nobody waits any longer for the answer to what was asked of this kind about a call."""
    for place, request in list(state.requests.items()):
        if isinstance(request, kind) and request.call == call:
            del state.requests[place]
