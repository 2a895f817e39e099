"""An auditor of logs: what every append must keep, worked out from the records alone and never asked of the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from typing import Any, ClassVar, Protocol, TypeAlias

from redrive_engine.loop import ACTING
from redrive_engine.program import Program
from redrive_events import (
    CONCLUSIONS,
    INPUTS,
    REQUESTS,
    STRANGERS,
    ApprovalAsked,
    ApprovalGiven,
    BudgetWarned,
    CallIntercepted,
    CancelRequested,
    Content,
    DecisionMade,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    Event,
    FactCommitted,
    Failure,
    FinishRefused,
    Json,
    LeaseGranted,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    OutcomeStated,
    PersonAsked,
    PlanDrawn,
    ReconcileAsked,
    Record,
    RecoveryChosen,
    ReflectionNoted,
    ReplyRefused,
    RunEnded,
    RunForked,
    RunStarted,
    StopDecided,
    ToolCalled,
    VerdictGiven,
    canonical,
)
from tests.audit_approvals import OWN_CALLS, Approvals
from tests.audit_effects import Doubts, Effects, Leases
from tests.audit_envelope import Envelopes, is_envelope
from tests.audit_people import People
from tests.audit_policy import Verdicts
from tests.watchdog import Escalations, Guards, Quotas, fails, mends

Append: TypeAlias = Sequence[Record]
Words: TypeAlias = dict[str, Json]
Notice: TypeAlias = BudgetWarned | RecoveryChosen | ReflectionNoted | PlanDrawn

ANSWERED = {
    ModelReplied: ModelAsked,
    ModelFailed: ModelAsked,
    ObservationReceived: ToolCalled,
    EffectReconciled: ReconcileAsked,
}
IN_DOUBT = {"timeout", "unknown"}
PEOPLE = (PersonAsked, ApprovalAsked)


class Rule(Protocol):
    """One rule of the loop, held over the appends of a run in order."""

    def take(self, append: Append) -> None:
        """One append further."""
        ...


class OfForks(Protocol):
    """A rule that goes on otherwise where the run was forked; ``not_run`` are the calls that were under way there."""

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """What follows is another run's."""
        ...


class Auditor:
    """All rules at once, for the run of a program, however it is driven."""

    def __init__(self, program: Program) -> None:
        self._requests = Requests()
        self._rules: list[Rule] = [
            Shape(),
            Causes(),
            self._requests,
            Calls(program),
            Verdicts(program),
            Envelopes(program),
            Approvals(program),
            Effects(program),
            Leases(),
            Transcript(),
            Knowledge(),
            Consequences(program),
            Spending(program),
            Signals(),
            Quotas(program),
            Guards(program),
            Escalations(),
            People(program),
        ]

    def take(self, append: Append) -> None:
        """One append further."""
        first = append[0]
        not_run = self._requests.under_way() if isinstance(first.event, RunForked) else frozenset()
        for rule in self._rules:
            if isinstance(first.event, RunForked) and (forked := getattr(rule, "forked", None)) is not None:
                forked(first, not_run)
            rule.take(append)


class Shape:
    """One input per append, one time, a countdown; positions without gaps; nothing is derived after the end."""

    def __init__(self) -> None:
        self.position, self.at, self.ended = 0, datetime.min.replace(tzinfo=UTC), False

    def take(self, append: Append) -> None:
        """One append further."""
        first, rest = append[0], append[1:]
        assert type(first.event) in INPUTS
        assert not rest or type(first.event) not in STRANGERS, "a stranger's signal derives nothing"
        assert not [one for one in rest if type(one.event) in INPUTS], "one input per append"
        assert {one.at for one in append} == {first.at}
        assert first.at >= self.at, "time never falls"
        assert [one.position for one in append] == [self.position + 1 + index for index in range(len(append))]
        assert [one.left for one in append] == list(range(len(append) - 1, -1, -1))
        assert not self.ended or type(first.event) in STRANGERS, "the end is the end"
        ends = [index for index, one in enumerate(append) if type(one.event) is RunEnded]
        assert ends in ([], [len(append) - 1]), "the end is the last event"
        self.position, self.at, self.ended = append[-1].position, first.at, self.ended or bool(ends)


class Causes:
    """The latest event about the same call, else the latest conclusion, else the input."""

    def take(self, append: Append) -> None:
        """One append further."""
        for index, record in enumerate(append[1:], start=1):
            before = append[:index]
            mine = about(record.event)
            decides = type(record.event) is DecisionMade
            candidates = [] if decides else [one for one in before if mine & about(one.event)]
            conclusions = [one for one in before[1:] if type(one.event) in CONCLUSIONS]
            expected = (candidates or conclusions or [append[0]])[-1]
            assert record.cause == expected.position, record


def about(event: Event) -> set[int]:
    """The calls that an event is about."""
    if isinstance(event, DecisionMade):
        return {one.call for one in event.calls}
    call = getattr(event, "call", None)
    return set() if call is None else {call}


class Requests:
    """Each request is closed exactly once, by what may close it; a stop leaves nothing but reconciliations to ask."""

    def __init__(self) -> None:
        self.open: dict[int, Event] = {}
        self.closed: set[int] = set()
        self.stopped = False
        self.stated: set[int] = set()

    def take(self, append: Append) -> None:
        """One append further."""
        first = append[0]
        if (wanted := ANSWERED.get(type(first.event))) is not None:
            request = self.open.get(first.cause)
            assert type(request) is wanted, "an answer is to a request that is open"
            assert about(request) == about(first.event)
            self._close(first.cause)
        else:
            assert first.cause == 0
        if isinstance(first.event, MessageReceived):
            self._heard(first.event, first.at)
        if isinstance(first.event, ApprovalGiven):
            self._approved(first.event, first.at)
        if isinstance(first.event, OutcomeStated):
            self._stated(first.event, first.at)
        for record in append[1:]:
            self._derived(record, taken_up=first.position if type(first.event) is LeaseGranted else 0)
        if type(first.event) not in STRANGERS:
            self.stated = set()
            ended = type(append[-1].event) is RunEnded
            if type(first.event) is LeaseGranted:
                lost = [one for at, one in self.open.items() if at < first.position and isinstance(one, ToolCalled)]
                assert not [one for one in lost if one.effect in ACTING], (
                    "what a lost worker may have done is not simply asked again"
                )
            assert bool(self.open) != ended, "a run that has not ended waits for something"
            late = [one for one in self.open.values() if isinstance(one, PEOPLE) and _over(one, first.at)]
            assert not late, "a person is waited for no longer than was said"

    def _derived(self, record: Record, *, taken_up: int) -> None:
        event = record.event
        if type(event) is StopDecided:
            assert not self.stopped, "stopped once"
            self.stopped = True
            self._close_people()
        if isinstance(event, VerdictGiven) and event.verdict == "deny":
            for position in self._approvals(event.call):
                self._close(position)
        if type(event) is EffectInDoubt and taken_up:
            lost = [at for at, one in self.open.items() if type(one) is ToolCalled and about(one) == about(event)]
            assert len(lost) == 1, "what a lost worker left open is put in doubt"
            assert lost[0] < taken_up, "nobody can have begun what is only asked now"
            self._close(lost[0])
        if type(event) in REQUESTS:
            assert not self.stopped or type(event) is ReconcileAsked, "nothing is begun after a stop"
            waits = type(event) is ModelAsked or (isinstance(event, PersonAsked) and event.why != "doubt")
            assert not self.open or not waits, "asked when all answers are in"
            self.open[record.position] = event
        if type(event) is RunEnded:
            assert self.stopped
            assert not self.open, "nothing is open at the end"

    def _heard(self, said: MessageReceived, at: datetime) -> None:
        """Anybody's words are a reply; only those of whom it was made to, or the last word, answer an escalation."""
        for position, asked in list(self.open.items()):
            if not isinstance(asked, PersonAsked) or (asked.expires is not None and at >= asked.expires):
                continue
            spoken_to = asked.why == "reply" or (asked.why == "escalation" and asked.actor == said.actor)
            if spoken_to or said.last:
                self._close(position)

    def _stated(self, stated: OutcomeStated, at: datetime) -> None:
        """A person's word about an effect answers only the question about it, in time."""
        for position, asked in list(self.open.items()):
            if isinstance(asked, PersonAsked) and asked.effect == stated.call and not _over(asked, at):
                self._close(position)
                self.stated.add(stated.call)

    def under_way(self) -> frozenset[int]:
        """The calls that a fork made here cannot go on with: what may act, children, and effects in doubt."""
        open_ = {
            one.call
            for one in self.open.values()
            if isinstance(one, ReconcileAsked) or (isinstance(one, ToolCalled) and one.effect != "read")
        }
        asked = {one.effect for one in self.open.values() if isinstance(one, PersonAsked) and one.effect is not None}
        return frozenset(open_ | asked | self.stated)

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """Nothing is open, and nobody waits for anything."""
        for position in list(self.open):
            self._close(position)

    def _approved(self, given: ApprovalGiven, at: datetime) -> None:
        """An approval answers what was shown, in time."""
        for position in self._approvals(given.call):
            asked = self.open[position]
            if isinstance(asked, ApprovalAsked) and asked.digest == given.digest and not _over(asked, at):
                self._close(position)

    def _approvals(self, call: int) -> list[int]:
        return [at for at, one in self.open.items() if isinstance(one, ApprovalAsked) and one.call == call]

    def _close_people(self) -> None:
        for position in [at for at, one in self.open.items() if isinstance(one, PEOPLE)]:
            self._close(position)

    def _close(self, position: int) -> None:
        assert position not in self.closed, "closed once"
        del self.open[position]
        self.closed.add(position)


def _over(asked: PersonAsked | ApprovalAsked, at: datetime) -> bool:
    return asked.expires is not None and at >= asked.expires


class Calls:
    """Verdicts in reply order; denied never called; keys and arguments stand over attempts; doubt is reconciled."""

    def __init__(self, program: Program) -> None:
        self.terms = program.terms
        self.effects: dict[str, str] = {name: one.effect for name, one in (program.tools or {}).items()}
        self.verified = {one.tool for one in program.verifiers}
        self.nonce = ""
        self.calls = 0
        self.verdicts: dict[int, VerdictGiven] = {}
        self.attempts: dict[int, list[ToolCalled]] = {}
        self.unsettled: set[int] = set()
        self.retry: set[int] = set()
        self.open: set[int] = set()
        self.lost: set[int] = set()
        self.undoing: set[int] = set()
        self.doubts = Doubts()

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """Its keys are its own, and a read that was open is asked again."""
        assert isinstance(fork.event, RunForked)
        assert fork.event.nonce.startswith(f"{self.nonce.partition('/')[0]}/fork-")
        self.nonce = fork.event.nonce
        self.unsettled = set()
        self.lost |= {call for call, made in self.attempts.items() if made[-1].effect == "read" and call in self.open}
        self.doubts.forked()

    def take(self, append: Append) -> None:
        """One append further."""
        events = [one.event for one in append]
        if isinstance(events[0], RunStarted):
            self.nonce = events[0].nonce
        if isinstance(events[0], ObservationReceived):
            self._observed(events[0], events[1:])
        self._settled(append)
        decided = [event for event in events if isinstance(event, DecisionMade) and event.calls]
        assert len(decided) <= 1
        self._judged(decided[0] if decided else None, events)
        self._effects(events)

    def _settled(self, append: Append) -> None:
        """By an authority, or by a person who was asked, once their word is heard."""
        first = append[0]
        for record in [*self.doubts.heard(append), *([first] if isinstance(first.event, EffectReconciled) else [])]:
            assert isinstance(record.event, EffectReconciled | OutcomeStated)
            self._reconciled(record.event, [one.event for one in append[1:]])
        for record in append:
            self.doubts.take(record)

    def _effects(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, EffectInDoubt):
                self.unsettled.add(event.call)
                assert self.attempts[event.call][-1].effect != "read"
                assert ReconcileAsked(call=event.call, key=self.attempts[event.call][-1].key) in events
            if isinstance(event, VerdictGiven) and event.rule in OWN_CALLS:
                self.verdicts[event.call] = event
            if isinstance(event, ToolCalled):
                self._called(event)

    def _judged(self, decision: DecisionMade | None, events: list[Event]) -> None:
        verdicts = [event for event in events if isinstance(event, VerdictGiven) and event.rule not in OWN_CALLS]
        numbers = [one.call for one in decision.calls] if decision else []
        assert numbers == [self.calls + 1 + index for index in range(len(numbers))], "our labels count"
        self.calls += len(numbers)
        self.verdicts |= {one.call: one for one in verdicts}
        if decision is None:
            return
        proposed = [one for one in verdicts if one.call in set(numbers)]
        judged = [call for call, _ in groupby(one.call for one in proposed)]
        assert judged == (numbers if decision.kind == "call" else []), (
            "each judged to its end, in reply order; a way out needs no verdict"
        )
        if judged:
            self._made({call: self.verdicts[call] for call in judged}, events)

    def _made(self, verdicts: dict[int, VerdictGiven], events: list[Event]) -> None:
        called = [event.call for event in events if isinstance(event, ToolCalled | ApprovalAsked)]
        called = [call for call in called if call in verdicts]
        wanted = [call for call, one in verdicts.items() if one.verdict in {"allow", "ask"}]
        ends = {"schema": "tell", "alone": "tell", "unknown tool": self.terms.on_unknown}
        blocking = [
            one
            for one in verdicts.values()
            if one.verdict == "deny" and ends.get(one.rule, self.terms.on_denied) == "block"
        ]
        stops = [event.status for event in events if isinstance(event, StopDecided)]
        held = {event.call for event in events if isinstance(event, CallIntercepted)} & set(verdicts)
        assert held <= set(wanted), "only what is allowed, or asked about, can be held back"
        if blocking:
            assert (called, held, stops) == ([], set(), ["blocked"]), "if one blocks the run, none starts"
        elif called or not stops:
            assert called == [call for call in wanted if call not in held], "what may be is made, in reply order"

    def _called(self, event: ToolCalled) -> None:
        before = self.attempts.setdefault(event.call, [])
        if event.compensates is not None and not before:
            assert event.call == self.calls + 1, "our labels count"
            self.calls += 1
            self.undoing.add(event.call)
        assert self.verdicts[event.call].verdict == "allow", "denied is never called"
        bound = self.terms.read_attempts if event.effect == "read" else self.terms.attempts
        assert event.attempt == len(before) + 1, "attempts are counted"
        assert event.call in self.lost or len(before) < max(1, bound), "and bounded"
        assert event.effect == ("run" if event.tool == "run" else self.effects.get(event.tool, "unknown"))
        keyed = self.effects.get(event.tool, "read") != "read"
        assert event.key == (f"{self.nonce}:{event.call}" if keyed else ""), "what may act has a key"
        assert event.digest == hashlib.sha256(canonical({"arguments": event.arguments, "tool": event.tool})).hexdigest()
        if before and event.call not in self.lost:
            assert event.call in self.retry, "only what did not happen is tried again"
            assert [(one.key, one.arguments) for one in before] == [(event.key, event.arguments)] * len(before)
        assert event.call not in self.unsettled, "attempts never overlap"
        self.retry.discard(event.call)
        self.lost.discard(event.call)
        self.open.add(event.call)
        before.append(event)

    def _observed(self, event: ObservationReceived, rest: list[Event]) -> None:
        self.open.discard(event.call)
        effect = self.attempts[event.call][-1].effect
        doubtful = event.status in IN_DOUBT and effect not in {"read", "run"}
        assert (EffectConfirmed(call=event.call) in rest) == (event.status == "ok" and effect == "write")
        assert bool([one for one in rest if isinstance(one, EffectInDoubt)]) == doubtful
        if effect == "read" and (event.status == "timeout" or event.error == "unavailable"):
            self.retry.add(event.call)
        if event.status != "ok" and event.returned is None:
            assert not [
                one for one in rest if isinstance(one, ObservationVerified | ObservationRefused | FactCommitted)
            ]

    def _reconciled(self, event: EffectReconciled | OutcomeStated, rest: list[Event]) -> None:
        self.unsettled.discard(event.call)
        again = [one for one in rest if isinstance(one, ToolCalled) and one.call == event.call]
        assert (EffectConfirmed(call=event.call) in rest) == (event.outcome == "landed")
        self._looked_at(event.call, rest, known=event.outcome == "landed")
        if event.outcome == "not_landed":
            self.retry.add(event.call)
        else:
            assert not again, "what landed, or may have, is not tried again"

    def _looked_at(self, call: int, rest: list[Event], *, known: bool) -> None:
        """What the tool's verifiers can judge they do, whichever way it came; nothing else becomes fact."""
        looked = [one for one in rest if isinstance(one, ObservationVerified | ObservationRefused)]
        found = [one for one in looked if one.call == call and not is_envelope(one)]
        judged = call not in self.undoing and self.attempts[call][-1].tool in self.verified
        misfits = any(is_envelope(one) and one.call == call for one in looked)
        assert bool(found) == (known and judged and not misfits)
        assert looked or not [one for one in rest if isinstance(one, FactCommitted)]


class Transcript:
    """The request that the log says was asked, rebuilt from its references, is what the model should have read."""

    def __init__(self) -> None:
        self.rest: Words = {}
        self.tools: Words = {}
        self.purpose = "act"
        self.facts_view = False
        self.said_at: dict[int, list[Words]] = {}
        self.opening: list[Words] = []
        self.said: list[Words] = []
        self.late: list[Words] = []
        self.unanswered: list[Words] = []
        self.turn: dict[int, Words | None] = {}
        self.labels: dict[int, str | None] = {}
        self.own: set[int] = set()
        self.doubts = Doubts()
        self.reply: Content = ""
        self.asked: list[Words] = []
        self.view: dict[str, Json] = {"step": 1, "consecutive_parse_errors": 0, "facts": {}}

    def take(self, append: Append) -> None:
        """One append further."""
        self.doubts.heard(append)
        for record in append:
            if self.doubts.take(record):
                self._answered(record.event, record.position)
            if (step := self._STEPS.get(type(record.event))) is not None:
                step(self, record.event, record.position)

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """What a person has said of an effect, and nobody has heard, is dropped."""
        self.doubts.forked()

    def _started(self, event: RunStarted, position: int) -> None:
        tools = event.parts["tools"].data if "tools" in event.parts else {}
        terms = event.contract
        self.rest = {"parameters": terms.parameters}
        ways = {way: tools[way] for way in terms.ways_out}
        self.tools = {"act": ways if terms.arm in {"direct", "workflow"} else tools}
        self.facts_view = terms.view == "facts"
        prompt = event.parts["prompt"].data if "prompt" in event.parts else ()
        self.opening = [dict(one) for one in prompt]
        self.opening += [{"role": "user", "content": event.goal}] if event.goal else []
        self.said, self.said_at[position] = list(self.opening), self.opening

    def _message(self, event: MessageReceived, position: int) -> None:
        roles = {"user": "user", "operator": "system", "agent": "assistant", "tool": "tool"}
        said = [{"role": event.role or roles[event.actor], "content": event.content}] if event.content else []
        self.late += said
        self.said_at[position] = said

    def _replied(self, event: ModelReplied, position: int) -> None:
        said = {"role": "assistant", "content": event.content}
        self.reply, self.said_at[position], self.unanswered = event.content, [said], []
        self.said += [said] if self.purpose == "act" else []
        self.view["step"] += 1

    def _noticed(self, event: Notice, position: int) -> None:
        """The engine's own words stand behind the responses."""
        match event:
            case ReflectionNoted():
                text = event.lesson
            case PlanDrawn():
                text = "\n".join(["The plan:", *(f"{n}. {one.words}" for n, one in enumerate(event.steps, start=1))])
            case _:
                text = event.text
        said = [{"role": "user", "content": text}] if text else []
        self.late += said
        self.said_at[position] = said

    def _held(self, event: CallIntercepted, position: int) -> None:
        self._respond(event.call, event.text, position)

    def _way_out(self, event: FinishRefused | PersonAsked, position: int) -> None:
        if event.call is not None:
            self._respond(event.call, event.text, position)
        elif isinstance(event, FinishRefused):
            self._told(event, position)

    def _told(self, event: ReplyRefused | FinishRefused, position: int) -> None:
        said = {"role": "user", "content": event.text}
        self.said_at[position] = [said]
        self.said.append(said)
        self.view["consecutive_parse_errors"] += type(event) is ReplyRefused

    def _decided(self, event: DecisionMade, position: int) -> None:
        self.turn |= {one.call: None for one in event.calls}
        self.view["consecutive_parse_errors"] = 0
        for one in event.calls:
            block: Any = None if one.block is None else self.reply[one.block]
            self.labels[one.call] = None if block is None else block.id

    def _verdict(self, event: VerdictGiven, position: int) -> None:
        if event.rule in OWN_CALLS:
            self.own.add(event.call)
        if event.verdict == "deny":
            self._respond(event.call, event.text, position)

    def _answered(self, event: Any, position: int) -> None:
        cut = getattr(event, "cut", 0)
        left_out = f"\n[Cut: {cut} of {event.size_bytes} bytes are left out.]" if cut else ""
        self._respond(event.call, f"{event.content}{left_out}" if cut else event.content, position)

    def _refused(self, event: ObservationRefused, position: int) -> None:
        self._respond(event.call, event.text, position)

    def _respond(self, call: int, content: Content | None, position: int) -> None:
        if call in self.own:  # the model has never asked for it
            return
        label = self.labels[call]
        said: Words = {"role": "user" if label is None else "tool", "content": content}
        said |= {"call_id": label} if label else {}
        self.turn[call] = None if content is None else said
        self.said_at[position] = [said]

    def _fact(self, event: FactCommitted, position: int) -> None:
        self.view["facts"][event.key] = event.value

    def _asked(self, event: ModelAsked, position: int) -> None:
        self.said += [one for one in self.turn.values() if one is not None]
        self.said += self.late
        self.unanswered += self.late
        self.turn, self.late = {}, []
        now = self.asked[: event.kept]
        for one in event.new:
            now += self.said_at[one] if isinstance(one, int) else [{"role": one.role, "content": one.text}]
        view = [*self.opening, *self.unanswered, {"role": "user", "content": canonical(self.view).decode()}]
        own = [] if event.purpose == "act" else now[-1:]
        assert now == [*(view if self.facts_view else self.said), *own], "responses in reply order, one for each call"
        rest = {**self.rest, "model": event.model, "tools": self.tools.get(event.purpose, {})}
        assert event.request == self._digest(now, rest), "the digest is that of the request in the log"
        self.asked, self.purpose = now, event.purpose

    def _digest(self, messages: Iterable[Words], rest: Words) -> str:
        each = [hashlib.sha256(canonical(message)).digest() for message in messages]
        return hashlib.sha256(b"".join([*each, canonical(rest)])).hexdigest()

    _STEPS: ClassVar[dict[type, Callable[[Transcript, Any, int], None]]] = {
        RunStarted: _started,
        MessageReceived: _message,
        ModelReplied: _replied,
        ReplyRefused: _told,
        FinishRefused: _way_out,
        PersonAsked: _way_out,
        DecisionMade: _decided,
        VerdictGiven: _verdict,
        ObservationReceived: _answered,
        EffectReconciled: _answered,
        ObservationRefused: _refused,
        CallIntercepted: _held,
        BudgetWarned: _noticed,
        RecoveryChosen: _noticed,
        ReflectionNoted: _noticed,
        PlanDrawn: _noticed,
        FactCommitted: _fact,
        ModelAsked: _asked,
    }


class Knowledge:
    """A fact rests on the answer before it, and says what it supersedes; only facts make a success."""

    def __init__(self) -> None:
        self.facts: dict[str, Record] = {}
        self.done: set[str] = set()
        self.doubts = Doubts()

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """What a person has said of an effect, and nobody has heard, is dropped."""
        self.doubts.forked()

    def take(self, append: Append) -> None:
        """One append further."""
        first = append[0].event
        if isinstance(first, RunStarted):
            self.done = set(first.contract.done)
        told = [(one.position,) for one in self.doubts.heard(append)]
        told += [(append[0].position,)] if isinstance(first, ObservationReceived | EffectReconciled) else []
        for record in append:
            event = record.event
            self.doubts.take(record)
            if isinstance(event, FactCommitted):
                assert event.evidence in told, "facts come of answers, and of what a person stated"
                before = self.facts.get(event.key)
                assert event.supersedes == (before.position if before else None)
                self.facts[event.key] = record
            if isinstance(event, StopDecided):
                assert event.status != "succeeded" or self.done <= self.facts.keys()
                assert event.status not in {"succeeded", "finished"} or (event.status == "succeeded") == bool(self.done)


class Consequences:
    """What the contract says of failures and refusals is what follows, and follows only then."""

    def __init__(self, program: Program) -> None:
        self.terms = program.terms
        self.events: list[Event] = []
        self.stopped = False

    def take(self, append: Append) -> None:
        """One append further."""
        events = [one.event for one in append]
        self.events += events
        stops = [event for event in events if isinstance(event, StopDecided)]
        for event, follows in pairwise(events):
            if isinstance(event, DecisionMade) and event.kind in {"finish", "escalate"}:
                self._left(event, follows, spoken=self._unread(events))
        if not self.stopped and not stops:
            for index, event in enumerate(events):
                assert not self._must_stop(event), event
                again = [
                    one for one in events[index + 1 :] if about(one) == about(event) or type(one) is RecoveryChosen
                ]
                assert not self._must_retry(event) or {type(one) for one in again} & {ToolCalled, RecoveryChosen}
        self.stopped |= bool(stops)

    def _left(self, event: DecisionMade, follows: Event, *, spoken: bool) -> None:
        """A reply that leaves the loop is accepted, refused, or put off since somebody spoke meanwhile."""
        granted = {one.tool for one in event.calls} | ({"unable"} if event.unable else set())
        assert granted | ({"escalate"} if event.kind == "escalate" else set()) <= {*self.terms.ways_out}
        assert len(event.calls) <= 1
        match follows:
            case FinishRefused():
                assert follows.call == (event.calls[0].call if event.calls else None)
                why = bool(follows.missing or follows.unsupported)
                assert why != spoken
                assert not why or (event.kind, event.unable) == ("finish", False)
                assert not follows.unsupported or self.terms.claims == "supported"
            case PersonAsked():
                assert event.kind == "escalate"
            case StopDecided(status="escalated"):
                assert event.kind == "escalate" or spoken
            case StopDecided(status="failed", reason="unable"):
                assert event.unable
            case StopDecided(status="failed") if self.terms.arm in {"direct", "workflow"}:
                assert follows.reason.startswith("not done: ") or spoken, "one answer, whatever it lacks"
            case ModelAsked() | StopDecided() | BudgetWarned():
                own = follows == StopDecided(status="succeeded" if self.terms.done else "finished", reason="done")
                assert spoken or (own and (event.kind, event.unable) == ("finish", False))
            case _:
                raise AssertionError(follows)

    def _unread(self, events: list[Event]) -> bool:
        """Whether somebody spoke after the request that this append answers."""
        for event in reversed(self.events[: -len(events)]):
            if isinstance(event, ModelAsked):
                return False
            if isinstance(event, MessageReceived) and event.content:
                return True
        return False

    def _must_stop(self, event: Event) -> bool:
        match event:
            case ModelFailed():
                return not event.retryable and not any(isinstance(one, RecoveryChosen) for one in self.events)
            case ObservationRefused():
                return self.terms.on_refused == "fail"
            case EffectReconciled(outcome="unknown"):
                return self.terms.on_doubt == "escalate"
            case _:
                return False

    def _must_retry(self, event: Event) -> bool:
        if isinstance(event, ObservationReceived):
            calls = [one for one in self.events if isinstance(one, ToolCalled) and one.call == event.call]
            passing = event.status == "timeout" or event.error == "unavailable"
            return passing and calls[-1].effect == "read" and len(calls) < self.terms.read_attempts
        if not isinstance(event, EffectReconciled) or event.outcome != "not_landed":
            return False
        calls = [one for one in self.events if isinstance(one, ToolCalled) and one.call == event.call]
        return len(calls) < self.terms.attempts


class Spending:
    """What was used, counted anew at each request and at the end, is what is sealed there, and within the budget."""

    def __init__(self, program: Program) -> None:
        self.budget = program.terms.budget
        self.records: list[Record] = []
        self.requests = Requests()
        self.people_only: list[bool] = []

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """What was open is open no longer."""
        self.requests.forked(fork, not_run)

    def take(self, append: Append) -> None:
        """One append further."""
        self.requests.take(append)
        waiting = self.requests.open.values()
        for record in append:
            self.records.append(record)
            self.people_only.append(bool(waiting) and all(isinstance(one, PEOPLE) for one in waiting))
            if isinstance(record.event, ModelAsked | RunEnded):
                assert record.event.state == hashlib.sha256(canonical(self._used())).hexdigest()
            if type(record.event) is ModelAsked:
                self._affordable()
        limit_ms = self.budget.wall_time_ms
        if limit_ms is not None and type(append[0].event) not in STRANGERS and not self.requests.stopped:
            assert self._wall() < timedelta(milliseconds=limit_ms), "the run stops when its time is over"

    def _used(self) -> dict[str, Json]:
        events = [one.event for one in self.records]
        replies = [event for event in events if isinstance(event, ModelReplied)]
        usages = [one.usage for one in replies if one.usage is not None]
        return {
            "facts": {
                one.event.key: [one.event.value, one.position]
                for one in self.records
                if isinstance(one.event, FactCommitted)
            },
            "steps": len(replies),
            "tokens": sum(one.input + one.cache_read + one.cache_write + one.output for one in usages),
            "tool_calls": len({event.call for event in events if isinstance(event, ToolCalled)}),
            "cost_micros": sum(one.cost_micros or 0 for one in replies),
            "wall_us": self._wall() // timedelta(microseconds=1),
            "unreadable": _in_a_row(events, "unreadable"),
            "model_failed": _in_a_row(events, "model_failed"),
        }

    def _wall(self) -> timedelta:
        """Without the time in which only people were awaited, and without that between two workers."""
        total, pending = timedelta(), timedelta()
        for before, after, people in zip(self.records, self.records[1:], self.people_only, strict=False):
            pending += timedelta() if people else after.at - before.at
            if type(after.event) in STRANGERS:
                continue
            total += timedelta() if type(after.event) is LeaseGranted else pending
            pending = timedelta()
        return total

    def _affordable(self) -> None:
        used, budget = self._used(), self.budget
        assert budget.steps is None or used["steps"] < budget.steps
        assert budget.tokens is None or used["tokens"] < budget.tokens
        assert budget.cost_micros is None or used["cost_micros"] < budget.cost_micros
        assert budget.tool_calls is None or used["tool_calls"] <= budget.tool_calls
        assert budget.wall_time_ms is None or used["wall_us"] < budget.wall_time_ms * 1000


def _in_a_row(events: Iterable[Event], kind: Failure) -> int:
    found = 0
    for event in events:
        found = 0 if kind in mends(event) else found + (fails(event) == kind)
    return found


class Signals:
    """A cancellation takes effect with the driver's next append, before anything else follows."""

    def __init__(self) -> None:
        self.cancelled, self.stopped = False, False

    def forked(self, fork: Record, not_run: frozenset[int]) -> None:
        """A cancellation that nobody has heard is of the other run alone."""
        self.cancelled = False

    def take(self, append: Append) -> None:
        """One append further."""
        first = append[0].event
        if type(first) in STRANGERS:
            self.cancelled |= isinstance(first, CancelRequested)
            return
        if self.cancelled and not self.stopped:
            assert isinstance(append[1].event, StopDecided), "a cancellation is heard before the next action"
        self.cancelled = False
        self.stopped |= any(type(one.event) is StopDecided for one in append)
