"""Small runs for the history: a refund with a denied call, a failed tool, a fact and a remark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from redrive_events import (
    AnnotationMade,
    DecisionMade,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    Event,
    EventLog,
    FactCommitted,
    FinishRefused,
    LeaseGranted,
    Limits,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    ObservationRefused,
    ObservationVerified,
    Part,
    ProposedCall,
    Reading,
    ReconcileAsked,
    Record,
    ReplyRefused,
    RunEnded,
    RunStarted,
    Source,
    StopDecided,
    Terms,
    Text,
    ToolCalled,
    ToolUse,
    Usage,
    VerdictGiven,
    digest,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIND = digest({"tool": "find", "arguments": {"id": "7"}})
PAY = digest({"tool": "pay", "arguments": {"cents": 900}})


def told(run_id: str, *appends: Sequence[tuple[Event, int]], after: int = 0) -> list[Record]:
    """Records of a run, behind position ``after``: each append is a second later, each event stands with its cause."""
    made: list[Record] = []
    for second, events in enumerate(appends):
        for left, (event, cause) in zip(range(len(events) - 1, -1, -1), events, strict=True):
            made.append(
                Record(
                    run_id=run_id,
                    position=after + len(made) + 1,
                    at=NOON + timedelta(seconds=after + second),
                    cause=cause,
                    left=left,
                    event=event,
                )
            )
    return made


def put(log: EventLog, records: Sequence[Record]) -> None:
    """Write them, append by append."""
    pending: list[Record] = []
    for record in records:
        pending.append(record)
        if not record.left:
            log.append(record.run_id, pending, expected=pending[0].position - 1)
            pending = []


def asked(kept: int, *new: int) -> ModelAsked:
    """The model is asked."""
    return ModelAsked(kept=kept, new=new, request="r", state="s")


def replied(text: str, tool: str = "", arguments: str = "") -> ModelReplied:
    """The model says something, and may call a tool."""
    call = (ToolUse(name=tool, arguments=arguments),) if tool else ()
    return ModelReplied(content=(Text(text=text), *call), usage=Usage(input=90, output=10), cost_micros=7)


def decided(call: int, tool: str, summary: str) -> DecisionMade:
    """The reply's second block is a call."""
    return DecisionMade(kind="call", summary=summary, calls=(ProposedCall(call=call, tool=tool, block=1),))


def called(call: int, attempt: int = 1) -> ToolCalled:
    """The order is looked up."""
    return ToolCalled(call=call, tool="find", arguments={"id": "7"}, digest=FIND, effect="read", attempt=attempt)


def refund(run_id: str = "refund") -> list[Record]:
    """An order is found, a payment denied, the same order looked up in vain, and the run gives its answer."""
    started = RunStarted(
        goal="Refund 7",
        agent="desk",
        version="2",
        nonce="n",
        contract=Terms(model="m-1", budget=Limits(currency="EUR")),
        rules=1,
        principal="ana",
        tenant="shop",
        parts={"policy": Part(digest="p")},
        labels={"arm": "loop", "suite": "s"},
        source=Source(format="own", sha256="f", grade="full", missing=("times",)),
    )
    found = ObservationReceived(call=1, status="ok", content='{"iban":"DE"}', size_bytes=13, source="orders")
    failed = ObservationReceived(call=3, status="error", content="gone", size_bytes=4, cut=1, source="orders")
    denied = VerdictGiven(
        call=2,
        verdict="deny",
        rule="small sums",
        reason="too much",
        text="Not allowed.",
        read=(Reading(path="arguments.cents", operator="at_most", value=900, limit=500),),
    )
    known = FactCommitted(key="iban", value="DE", verifier="right", evidence=(8, 6), supersedes=None)
    return told(
        run_id,
        [(started, 0)],
        [(LeaseGranted(worker="w", epoch=1), 0), (asked(0, 1), 2)],
        [
            (replied("Look.", "find", '{"id":"7"}'), 3),
            (decided(1, "find", "look it up"), 4),
            (VerdictGiven(call=1, verdict="allow", rule="looking is free"), 5),
            (called(1), 6),
        ],
        [(found, 7), (ObservationVerified(call=1, verifier="right"), 8), (known, 9), (asked(1, 4, 8), 10)],
        [
            (replied("Pay.", "pay", '{"cents":900}'), 11),
            (decided(2, "pay", "pay it"), 12),
            (denied, 13),
            (asked(3, 12, 14), 14),
        ],
        [
            (replied("Look again.", "find", '{"id":"7"}'), 15),
            (decided(3, "find", "look again"), 16),
            (VerdictGiven(call=3, verdict="allow", rule="looking is free"), 17),
            (called(3), 18),
        ],
        [(failed, 19), (asked(5, 16, 20), 20)],
        [
            (replied("No refund."), 21),
            (DecisionMade(kind="finish", answer="No refund."), 22),
            (StopDecided(status="finished", reason="the agent is done"), 23),
            (RunEnded(status="finished", reason="the agent is done", state="s", answer="No refund."), 24),
        ],
    )


def run_of(turns: Sequence[str], run_id: str = "a") -> list[Record]:
    """A run of one turn after another, each one of `TURNS`."""
    batches: list[list[tuple[Event, int]]] = [[(begun(run_id)[0].event, 0)], [(asked(0, 1), 0)]]
    call = 0
    for turn in turns:
        call += turn not in {"refused", "unfinished"}
        batches.extend([(event, 0) for event in events] for events in TURNS[turn](call))
        batches[-1].append((asked(0), 0))
    return told(run_id, *batches)


def _found(call: int) -> list[list[Event]]:
    observation = ObservationReceived(call=call, status="ok", content="{}", source="orders")
    fact = FactCommitted(key="iban", value=call, verifier="right", evidence=())
    return [[*_proposed(call), called(call)], [observation, ObservationVerified(call=call, verifier="right"), fact]]


def _lost(call: int) -> list[list[Event]]:
    """A write of which nobody knows whether it landed, which then is tried again."""
    request = msgspec.structs.replace(called(call), effect="write", key=f"n:{call}")
    again = msgspec.structs.replace(request, attempt=2)
    return [
        [*_proposed(call), request],
        [
            ObservationReceived(call=call, status="timeout"),
            EffectInDoubt(call=call, why="timeout"),
            ReconcileAsked(call=call, key=f"n:{call}"),
        ],
        [EffectReconciled(call=call, outcome="not_landed"), again],
        [
            ObservationReceived(call=call, status="ok", content="paid"),
            EffectConfirmed(call=call),
            ObservationRefused(call=call, verifier="right", reason="another sum", text="Not accepted."),
        ],
    ]


def _proposed(call: int) -> list[Event]:
    verdict = VerdictGiven(call=call, verdict="allow", rule="looking is free")
    return [replied("Look.", "find", '{"id":"7"}'), decided(call, "find", "look"), verdict]


TURNS: dict[str, Callable[[int], list[list[Event]]]] = {
    "find": _found,
    "lost": _lost,
    "denied": lambda call: [
        [*_proposed(call)[:2], VerdictGiven(call=call, verdict="deny", rule="none", text="Not allowed.")]
    ],
    "refused": lambda _: [[replied("?"), ReplyRefused(reason="no decision", text="Say what to do.")]],
    "unfinished": lambda _: [
        [
            replied("Done."),
            DecisionMade(kind="finish", answer="Done."),
            FinishRefused(missing=("paid", "sent"), text="No."),
        ]
    ],
}


def remark(
    run_id: str, name: str, value: object, *, note: int = 1, position: int | None = None, source: str = "judge"
) -> list[Record]:
    """One remark about a run."""
    made = AnnotationMade(name=name, value=value, source=source, position=position)
    return told(f"{run_id}@notes", [(made, 0)], after=note - 1)


def begun(run_id: str, goal: str = "go") -> list[Record]:
    """A run that was only asked for."""
    return told(run_id, [(RunStarted(goal=goal, agent="desk", nonce="n", contract=Terms(), rules=1), 0)])


def begin_all(log: EventLog, run_ids: Iterable[str], goal: str = "go") -> None:
    """Runs that were only asked for."""
    for run_id in run_ids:
        put(log, begun(run_id, goal))
