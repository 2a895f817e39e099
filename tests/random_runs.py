"""Random programs and a random world: whatever may happen to a run happens, and the run is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from random import Random
from typing import Any, Final, Literal, TypeVar

import msgspec
from hypothesis import strategies as st

from redrive_engine.drive import drive, lease_of, without_waiting, write
from redrive_engine.models import reply
from redrive_engine.policy import FunctionPolicy, PolicyList, Question, RulesPolicy, Ruling, ask, edit
from redrive_engine.program import Program
from redrive_engine.signals import cancel, say, signal
from redrive_engine.world import Happened, Waiting
from redrive_events import (
    STRANGERS,
    ApprovalAsked,
    ApprovalGiven,
    BadInput,
    DeadlinePassed,
    EffectReconciled,
    Event,
    GuardTerms,
    Input,
    LeaseGranted,
    LeaseHeld,
    LeaseRevoked,
    Limits,
    MemoryLog,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    OutcomeStated,
    PersonAsked,
    PlanTerms,
    Quotas,
    ReconcileAsked,
    Record,
    RepeatTerms,
    Returned,
    SignalsHeard,
    StagnationTerms,
    Status,
    StepTerms,
    Terms,
    Text,
    ToolCalled,
    ToolUse,
    Usage,
    canonical,
    shown_digest,
)
from redrive_projections import OF_PEOPLE, RunState, fold
from redrive_replays import appends
from tests.auditor import Auditor
from tests.shop import NOON, Asking, beginning, observed, shop

T = TypeVar("T")
RUN = "run"
TROUBLE_MAX = 25  # so many inputs are as bad as chance wants; after them the world is kind
INPUTS_MAX = 200  # no run takes more once the world is kind

STATUSES: Final[tuple[Literal["ok", "error", "timeout", "unknown", "cancelled"], ...]] = ("ok",) * 8 + (
    "error",
    "timeout",
    "unknown",
    "cancelled",
)
ERRORS: Final[tuple[Literal["", "refused", "unavailable", "failed"], ...]] = (
    "",
    "refused",
    "unavailable",
    "unavailable",
    "failed",
)
OUTCOMES: Final[tuple[Literal["landed", "not_landed", "unknown"], ...]] = (
    "landed",
    "not_landed",
    "not_landed",
    "unknown",
    "unknown",
    "unknown",
)

CAREFUL = """\
[[rule]]
name = "no large sums"
when = { tool = "pay", arguments.cents = { at_least = 6 } }
then = "deny"
[[rule]]
name = "the price is known"
when = { tool = "pay", facts.price = { known = false } }
then = "deny"
[[rule]]
name = "all else"
when = { principal = "ana" }
then = "allow"
"""

CHANGING = """\
[[rule]]
name = "no more than the price"
when = { tool = "pay", arguments.cents = { at_least = 6 }, facts.price = { known = true } }
then = "edit"
set = { arguments.cents = "$facts.price" }
[[rule]]
name = "whole sums"
when = { tool = "pay", arguments.cents = 9 }
then = "edit"
set = { arguments.cents = 7 }
[[rule]]
name = "a person looks"
when = { tool = "pay", arguments.cents = { at_least = 5 }, at = { not_after = "2026-01-01T12:00:02Z" } }
then = "ask"
text = "Pay less."
[[rule]]
name = "all else"
when = { hour = { at_least = 12 } }
then = "allow"
"""


# In what an observation may come: mostly it is as it should be.
ENVELOPES: Final[list[dict[str, Any]]] = [
    *([{}] * 12),
    *({"tenant": "other"}, {"error": "limits"}, {"cut": 3, "size_bytes": 9}),
]


def by_hand(question: Question) -> Ruling | None:
    """A policy that is a function: it says something of some calls, and trips over others."""
    if question.tool == "count" and question.arguments["item"] == "gold":
        return ask("gold is counted by two")
    if question.tool == "pay" and question.arguments["cents"] > 8:
        return edit({**question.arguments, "cents": question.facts["price"]}, "at its price")
    return None


# How a reply leaves the loop, by dialect, first of all in a way that the contract always grants.
NATIVE_ENDS: Final = ("Done.", "It is 5.", "It is 77, see “the price”.")
ENDS: Final[dict[str, tuple[str, ...]]] = {
    "json": (
        '{"type":"final"}',
        '{"type":"final","summary":"ok","answer":"It is 5."}',
        '{"type":"final","answer":"It is 77."}',
        '{"type":"unable","answer":"No tea."}',
        '{"type":"escalate","reason":"Which tea?"}',
    ),
    "react": (
        "Final Answer: Done.",
        "Thought: ok\nFinal Answer: It is 5.",
        "最终答案：It is 77.",
        "无法完成：No tea.",
        "Escalate: Which tea?\nAction: pay",
    ),
}

budgets = st.builds(
    Limits,
    steps=st.sampled_from([9, 6, 4, 2, 1]),
    tokens=st.sampled_from([None, None, 25]),
    wall_time_ms=st.sampled_from([None, None, 3000, 4 * 3_600_000]),
    tool_calls=st.sampled_from([None, None, 1, 5]),
    cost_micros=st.sampled_from([None, None, 15]),
)
guards = st.builds(
    GuardTerms,
    repeats=st.none()
    | st.builds(
        RepeatTerms,
        times=st.sampled_from([1, 2]),
        window=st.sampled_from([None, 2, 5]),
        write_resets=st.booleans(),
        polling=st.sampled_from([(), ("count",)]),
    ),
    stagnation=st.none() | st.builds(StagnationTerms, thoughts=st.sampled_from([2, 3])),
    barren_turns=st.sampled_from([None, None, 1, 3]),
    warn=st.booleans(),
    last_step=st.booleans(),
)
terms = st.builds(
    Terms,
    tools=st.sampled_from(
        [None, None, {"price_of": {}, "count": {}, "pay": {"cents": {"at_most": 5}}}, {"price_of": {}, "pay": {}}]
    ),
    exclude=st.sampled_from([{}, {"count": {"item": {"is": "gold"}}}]),
    done=st.sampled_from([{}, {"paid": {"known": True}}, {"price": {"is": 5}}]),
    answer=st.sampled_from(["", "Paid {paid} at {price}."]),
    budget=budgets,
    quotas=st.builds(
        Quotas,
        unreadable=st.sampled_from([None, 1, 3]),
        model_failed=st.sampled_from([None, 1, 3]),
        arguments=st.sampled_from([None, None, 2]),
        denied=st.sampled_from([None, None, 2]),
        tool_failed=st.sampled_from([None, None, 1, 2]),
        refused=st.sampled_from([None, None, 2]),
        finish=st.sampled_from([None, None, 2]),
        infrastructure=st.sampled_from([None, None, 2]),
    ),
    recovery=st.sampled_from(
        [
            (),
            (),
            ("another_way", "stronger_model", "escalate"),
            ("stronger_model", "another_way", "stronger_model"),
            ("escalate", "another_way", "another_way"),
            ("compensate",),
            ("another_way", "compensate", "escalate"),
        ]
    ),
    models=st.just(("big", "bigger")),
    escalation=st.sampled_from(["wait", "end"]),
    guards=guards,
    partial=st.sampled_from(["", "It costs {price}.\nPaid {paid}."]),
    attempts=st.integers(1, 3),
    read_attempts=st.integers(1, 3),
    on_denied=st.sampled_from(["tell", "tell", "block"]),
    on_unknown=st.sampled_from(["tell", "tell", "block"]),
    on_refused=st.sampled_from(["tell", "tell", "fail"]),
    on_doubt=st.sampled_from(["tell", "escalate", "wait", "wait"]),
    dialect=st.sampled_from(["native", "native", "recorded", "json", "react"]),
    view=st.sampled_from(["chat", "chat", "facts"]),
    dialogue=st.booleans(),
    person_ms=st.sampled_from([None, 3, 4 * 3_600_000]),
    approval_ms=st.sampled_from([None, 3, 4 * 3_600_000]),
    ways_out=st.sampled_from([(), ("unable",), ("escalate", "finish", "unable")]),
    claims=st.sampled_from(["free", "supported"]),
)
# Whoever asks a person, changes what is asked for, or comes to no end with that.
asking = st.builds(
    Asking,
    tools=st.sampled_from([("pay",), ("pay", "count"), ("count", "price_of", "pay", "poke"), ()]),
    cap=st.sampled_from([None, 5, 7]),
    denies=st.sampled_from([None, 8]),
    spoils=st.sampled_from([{}, {9: "nine"}, {5: 9, 9: 5}, {9: 9}]),
)
ruling = st.sampled_from(
    [
        RulesPolicy.from_toml(CHANGING),
        PolicyList([FunctionPolicy(by_hand), RulesPolicy.from_toml(CHANGING)]),
        PolicyList([FunctionPolicy(by_hand), RulesPolicy.from_toml(CAREFUL)]),
    ]
)
policies = st.sampled_from([None, None, RulesPolicy.from_toml(CAREFUL)]) | asking | ruling
programs = st.builds(shop, terms, prompt=st.sampled_from(["", "Serve."]), policy=policies)
driven = st.builds(
    msgspec.structs.replace,
    terms,
    arm=st.sampled_from(["loop", "plan", "plan", "workflow", "direct"]),
    reflection=st.sampled_from(["none", "rule", "model"]),
    plan=st.just(PlanTerms(steps=2, step_budget=2, revisions=1)),
    workflow=st.just(
        (
            StepTerms(tool="price_of", arguments={"item": "tea"}),
            StepTerms(tool="pay", arguments={"item": "tea", "cents": "{price}"}),
        )
    ),
)
# The same shop, driven in every way there is.
driven_programs = st.builds(shop, driven, policy=policies)
# The shop where much is paid, little is certain, and whoever gives up gives the money back.
doubtful_programs = st.builds(
    shop,
    st.builds(
        msgspec.structs.replace,
        terms,
        tools=st.none(),
        exclude=st.just({}),
        dialect=st.just("native"),
        budget=st.builds(Limits, steps=st.sampled_from([9, 4]), wall_time_ms=st.sampled_from([None, 4 * 3_600_000])),
        quotas=st.builds(Quotas, tool_failed=st.sampled_from([1, 2]), refused=st.sampled_from([None, 1])),
        recovery=st.sampled_from([("compensate",), ("another_way", "compensate"), ("compensate", "escalate")]),
        guards=st.just(GuardTerms()),
        on_doubt=st.sampled_from(["wait", "wait", "escalate", "tell"]),
    ),
)
# As many bytes as a long run takes. Those of a seed are evener than what hypothesis draws; its own it can shrink.
tapes = st.integers(0, 2**64).map(lambda seed: Random(seed).randbytes(500)) | st.binary(min_size=500, max_size=500)


class WorkerLost(Exception):
    """The worker's process was killed."""


class AuditedLog(MemoryLog):
    """A log that has every append audited as soon as it is written; ``writer`` is the worker who now drives.

    A fork is audited together with all that it inherits.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program, self._auditors = program, dict[str, Auditor]()
        self._holder = self.writer = ""
        self._epoch = 0

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Write, then audit."""
        super().append(run_id, records, expected=expected)
        if run_id not in self._auditors:
            self._auditors[run_id] = Auditor(self._program)
            for inherited in appends(islice(self.read(run_id), expected)):
                self._auditors[run_id].take(inherited)
        for append in appends(records):
            self._auditors[run_id].take(append)
        first = records[0].event
        if isinstance(first, LeaseGranted):
            self._holder, self._epoch = first.worker, first.epoch
        if isinstance(first, LeaseRevoked) and first.epoch == self._epoch:
            self._holder = ""
        assert type(first) in STRANGERS or self._holder == self.writer, "a worker that lost its lease writes nothing"


@dataclass
class Chance:
    """A tape that hypothesis draws: a byte decides; at its end, and when it shrinks, the first option is taken."""

    tape: Iterator[int]

    def of(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[0] if len(options) == 1 else options[next(self.tape, 0) % len(options)]


@dataclass
class RandomWorld:
    """Answers whatever is open, in any order, badly as often as well; strangers and rivals come between."""

    chance: Chance
    log: AuditedLog
    program: Program
    inputs: int = 0
    seconds: float = 0.0
    waits: list[Waiting] = field(default_factory=list)
    run_id: str = RUN

    async def begin(self, state: RunState, worker: str) -> Happened:
        """The lease, with whatever comes between reading the log and writing it."""
        self._meanwhile()
        return Happened(lease_of(state, worker, self.program), self._now())

    async def answer(self, waiting: Waiting) -> Happened:
        """An answer to some open request, a deadline, or the news that a signal is there."""
        self.inputs += 1
        assert self.inputs < INPUTS_MAX, "the run does not end"
        self.waits.append(waiting)
        self._meanwhile()
        options: list[tuple[Input, int]] = [
            (self._answer(request, waiting), position)
            for position, request in waiting.requests.items()
            if type(request) not in OF_PEOPLE
        ]
        if waiting.unheard or not options:
            options.append((SignalsHeard(), 0))
        if not options[0][1] and not waiting.unheard:
            self._speak(waiting)
        event, cause = self.chance.of(options)
        if waiting.deadline is not None and not self.kind and self.chance.of([False] * 40 + [True]):
            late = (waiting.deadline - NOON) / timedelta(seconds=1)
            self.seconds = max(self.seconds, late)
            return Happened(DeadlinePassed(which=waiting.limit), self._now())
        return Happened(event, self._now(), cause)

    @property
    def kind(self) -> bool:
        """Whether the trouble is over."""
        return self.inputs > TROUBLE_MAX

    def _now(self) -> datetime:
        """Time goes on, stands still, or the clock goes back."""
        self.seconds += 0.001 if self.kind else self.chance.of([0.001] * 9 + [0.0, 0.0, 0.2, 0.2, -3600.0, 3600.0])
        self.seconds = max(self.seconds, 0.0)
        return NOON + timedelta(seconds=self.seconds)

    def _meanwhile(self) -> None:
        """Somebody else writes to the log, or the worker is lost."""
        if not self.kind:
            self.chance.of(self._surprises)()

    @property
    def _surprises(self) -> list[Callable[[], object]]:
        log, run_id = self.log, self.run_id
        hurry = MessageReceived(actor="operator", content=(Text(text="Be quick."),))
        rare: list[Callable[[], object]] = [
            lambda: say(log, run_id, "And sugar.", at=self._now()),
            lambda: say(log, run_id, "And milk.", at=self._now()),
            lambda: say(log, run_id, "", at=self._now()),
            lambda: say(log, run_id, "Bye.", at=self._now(), last=True),
            lambda: signal(log, run_id, hurry, at=self._now()),
            lambda: cancel(log, run_id, by="ana", at=self._now(), reason=self.chance.of(["", "enough"])),
            self._approve,
            self._approve,
            self._approve,
            self._state,
            self._state,
            self._revoke,
            self._rival,
            self._lost,
            self._lost,
        ]
        return [lambda: None] * 50 + rare

    def _rival(self) -> None:
        state, worker = fold(self.log.read(self.run_id)), self.log.writer
        self.log.writer = "rival"
        lease = Happened(lease_of(state, "rival", self.program), self._now())
        without_waiting(write(self.log, self.program, state, lease))
        self.log.writer = worker

    def _lost(self) -> None:
        raise WorkerLost

    def _approve(self, *, for_sure: bool = False) -> None:
        """A person answers about some call: as it is shown or otherwise, in time or not, for the first time or not."""
        state = fold(self.log.read(self.run_id))
        asked = [one for one in state.requests.values() if isinstance(one, ApprovalAsked)]
        known = [one.event for one in self.log.read(self.run_id) if isinstance(one.event, ApprovalAsked)]
        about = asked[0] if for_sure else self.chance.of(asked or known or [None])
        if about is None or state.end is not None:
            return
        answer: Literal["grant", "refuse", "edit"] = "grant"
        digest, arguments = about.digest, None
        if not for_sure:
            answer = self.chance.of(("grant", "grant", "refuse", "edit", "edit"))
            digest = self.chance.of([digest] * 5 + [shown_digest("pay", {"item": "milk"})])
        if answer == "edit":
            arguments = self.chance.of([{"item": "tea", "cents": 4}, {"item": "tea", "cents": 9}, {"item": 7}, None])
        given = ApprovalGiven(call=about.call, digest=digest, by="bo", answer=answer, arguments=arguments)
        signal(self.log, self.run_id, given, at=self._now())

    def _state(self, *, for_sure: bool = False) -> None:
        """A person says what became of some effect, asked or not, in time or not."""
        state = fold(self.log.read(self.run_id))
        asked = [one.effect for one in state.requests.values() if isinstance(one, PersonAsked) and one.effect]
        known = [one.event.call for one in self.log.read(self.run_id) if isinstance(one.event, ToolCalled)]
        call = asked[0] if for_sure else self.chance.of(asked or known or [0])
        if not call or state.end is not None:
            return
        outcome: Literal["landed", "not_landed"] = "landed" if for_sure else self.chance.of(("landed", "not_landed"))
        made = state.calls.get(call)
        arguments = made.arguments if made is not None and isinstance(made.arguments, dict) else {}
        right = canonical(observed(made.tool if made else "pay", arguments)).decode()
        words = right if for_sure else self.chance.of([right, "It is there.", None])
        stated = OutcomeStated(call=call, by="bo", outcome=outcome, content=words, media_type="application/json")
        signal(self.log, self.run_id, stated, at=self._now())

    def _revoke(self) -> None:
        """Somebody takes the run from its worker, or from one who has it no longer."""
        state = fold(self.log.read(self.run_id))
        if state.end is None:
            epoch = self.chance.of([state.epoch, max(0, state.epoch - 1)])
            signal(self.log, self.run_id, LeaseRevoked(by="bo", epoch=epoch), at=self._now())

    def _speak(self, waiting: Waiting) -> None:
        """Only a person is awaited, so one does something, or lets the time pass."""
        does: dict[str, Callable[[], object]] = {
            "speaks": lambda: say(self.log, self.run_id, "Tea, please.", at=self._now()),
            "decides": lambda: say(self.log, self.run_id, "Go on.", at=self._now(), actor="operator"),
            "cancels": lambda: cancel(self.log, self.run_id, by="ana", at=self._now()),
            "answers": self._approve,
            "states": self._state,
            "is silent": lambda: self._until(waiting.deadline),
        }
        with suppress(BadInput):  # a rival has taken the run up too late, and so ended it
            if self.kind and any(isinstance(one, ApprovalAsked) for one in waiting.requests.values()):
                self._approve(for_sure=True)
            elif self.kind and any(isinstance(one, PersonAsked) and one.effect for one in waiting.requests.values()):
                self._state(for_sure=True)
            elif self.kind:
                say(self.log, self.run_id, "Bye.", at=self._now(), last=True)
            else:
                answers = ["answers"] * 4 if ApprovalAsked in map(type, waiting.requests.values()) else []
                answers += ["states"] * 4 * any(getattr(one, "effect", 0) for one in waiting.requests.values())
                does[self.chance.of([*answers, "speaks", "decides", "decides", "cancels", "is silent"])]()

    def _until(self, moment: datetime | None) -> None:
        self.seconds = max(self.seconds, (moment - NOON) / timedelta(seconds=1) if moment else 0.0)

    def _answer(self, request: Event, waiting: Waiting) -> Input:
        match request:
            case ModelAsked():
                return self._planned() if request.purpose == "plan" else self._model()
            case ToolCalled():
                return self._tool(request)
            case ReconcileAsked():
                return self._authority(request, waiting)
            case _:
                raise AssertionError(request)

    def _model(self) -> Input:
        dialect = self.program.terms.dialect
        words = ENDS.get(dialect, NATIVE_ENDS)
        if self.kind:
            return reply(words[0])
        kinds: dict[str, Callable[[], Input]] = {
            "calls": {"json": self._json_call, "react": self._react_call}.get(dialect, self._calls),
            "final": lambda: reply(self.chance.of(words)),
            "odd": lambda: reply(self.chance.of(["", " ", "{", "[1]", '{"type":"action"}', '{"type":"final","x":1}'])),
            "failed": lambda: ModelFailed(kind=self.chance.of(["timeout", "broken"]), retryable=True),
            "broken": lambda: ModelFailed(kind="refused", retryable=self.chance.of([True, False])),
        }
        return kinds[self.chance.of(["calls"] * 12 + ["final", "odd", "odd", "failed", "broken"])]()

    def _planned(self) -> Input:
        return self._model() if not self.kind and self.chance.of([False] * 5 + [True]) else reply('["Buy tea."]')

    def _calls(self) -> ModelReplied:
        calls = [self._call() for _ in range(self.chance.of([1, 1, 2, 3]))]
        usage = self.chance.of([Usage(input=10, cache_read=2, output=3), Usage(output=7), None])
        return reply(self.chance.of(["", "Let me see."]), *calls, usage=usage, cost_micros=self.chance.of([None, 9]))

    def _call(self) -> ToolUse:
        tool = self.chance.of([*["price_of", "count", "pay"] * 4, "poke", "ghost", "finish", "unable", "escalate"])
        return ToolUse(name=tool, arguments=canonical(self._arguments(tool)).decode() if self._fits() else "{not json")

    def _json_call(self) -> ModelReplied:
        tool = self.chance.of(["price_of", "pay", "count", "ghost"])
        call = {"type": "action", "tool": tool, "input": self._arguments(tool), "summary": "next"}
        return reply(canonical(call).decode())

    def _react_call(self) -> ModelReplied:
        tool = self.chance.of(["price_of", "pay", "count", "ghost", "finish", "escalate"])
        return reply(f"Thought: next\nAction: {tool}\nAction Input: {canonical(self._arguments(tool)).decode()}")

    def _arguments(self, tool: str) -> dict[str, Any]:
        fits: dict[str, dict[str, Any]] = {
            "price_of": {"item": "tea"},
            "count": {"item": self.chance.of(["tea", "gold"])},
            "pay": {"item": "tea", "cents": self.chance.of([5, 9])},
            "finish": {"answer": self.chance.of(["It is 5.", "It is 77."])},
            "unable": {"reason": "No tea."},
            "escalate": {"reason": "Which tea?"},
        }
        return fits.get(tool, {}) if self._fits() else {"item": 7}

    def _fits(self) -> bool:
        return self.chance.of([True] * 15 + [False])

    def _tool(self, request: ToolCalled) -> ObservationReceived:
        if request.effect == "run":
            return self._child(request)
        arguments = request.arguments if isinstance(request.arguments, dict) else {}
        right = canonical(observed(request.tool, arguments)).decode()
        if self.kind:
            return ObservationReceived(call=request.call, status="ok", content=right, media_type="application/json")
        status = self.chance.of(STATUSES)
        content = self.chance.of([right] * 5 + ["sold out", '{"item":"gold","cents":1}', "0", None])
        kind = self.chance.of(["application/json", "application/json", "text/plain"])
        error = self.chance.of(ERRORS) if status == "error" else ""
        seen = ObservationReceived(call=request.call, status=status, content=content, media_type=kind, error=error)
        return msgspec.structs.replace(seen, **self.chance.of(ENVELOPES)) if status == "ok" and content else seen

    def _child(self, request: ToolCalled) -> ObservationReceived:
        ends: list[Status] = ["finished", "finished", "exhausted", "cancelled", "escalated", "blocked"]
        status: Status = "finished" if self.kind else self.chance.of(ends)
        facts = self.chance.of([{}, {"price": 5}, {"price": 5, "paid": 5}])
        back = Returned(status=status, answer="Bought.", facts=facts, tokens=3, tool_calls=1, cost_micros=9)
        undone: Literal["error", "unknown"] = self.chance.of(("error", "unknown"))
        return ObservationReceived(
            call=request.call, status="ok" if status == "finished" else undone, content="Bought.", returned=back
        )

    def _authority(self, request: ReconcileAsked, waiting: Waiting) -> EffectReconciled:
        call = waiting.calls[request.call]
        if not self.kind:
            outcome = self.chance.of(OUTCOMES)
            if outcome != "landed":
                return EffectReconciled(call=request.call, outcome=outcome, content="Not there.")
        right = canonical(observed(call.tool, call.arguments if isinstance(call.arguments, dict) else {})).decode()
        landed = EffectReconciled(call=request.call, outcome="landed", content=right, media_type="application/json")
        return landed if self.kind else msgspec.structs.replace(landed, **self.chance.of(ENVELOPES[:-1]))


def random_run(tape: bytes, program: Program) -> list[Record]:
    """The audited records of a run that chance has driven to its end, over as many workers as it took."""
    log = AuditedLog(program)
    log.append(RUN, [beginning(program, RUN)], expected=0)
    return driven_to_its_end(RandomWorld(Chance(iter(tape)), log, program))


def random_fork(tape: bytes, program: Program, log: AuditedLog, run_id: str) -> list[Record]:
    """The records of a run that was forked in ``log``, with all that it inherits, driven to its end by chance."""
    behind = (fold(log.read(run_id)).now or NOON) - NOON
    world = RandomWorld(Chance(iter(tape)), log, program, run_id=run_id, seconds=behind / timedelta(seconds=1))
    return driven_to_its_end(world)


def driven_to_its_end(world: RandomWorld) -> list[Record]:
    """All records of the run, once it has ended."""
    log, program, run_id = world.log, world.program, world.run_id
    for number in range(INPUTS_MAX):
        log.writer = f"worker-{number}"
        try:
            state = without_waiting(drive(run_id, log=log, world=world, program=program, worker=log.writer))
        except (WorkerLost, LeaseHeld):
            continue
        assert state.end is not None
        return list(log.read(run_id))
    raise AssertionError("the run does not end")
