"""Logs of many runs in realistic shapes, for measuring what is asked of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, NamedTuple

import msgspec

from redrive_engine import RULES as BEHAVIOUR
from redrive_events import (
    AnnotationMade,
    Batch,
    DecisionMade,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    Event,
    EventLog,
    FactCommitted,
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
    RunEnded,
    RunStarted,
    Status,
    StopDecided,
    Terms,
    Text,
    ToolCalled,
    ToolUse,
    Usage,
    VerdictGiven,
    call_digest,
    canonical,
    digest,
    encode,
)

AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
# As many unlike runs are made; the rest of a large log are these under other names and at other times.
UNLIKE: Final = 2_000
BATCH_RUNS: Final = 200
DENIALS: Final = 0.04
# Tools with what share of the calls is theirs, and how often one fails.
TOOLS: Final = (
    ("search", 0.34, 0.05),
    ("read_file", 0.30, 0.08),
    ("run_tests", 0.12, 0.35),
    ("edit_file", 0.14, 0.06),
    ("query_orders", 0.07, 0.02),
    ("send_message", 0.03, 0.04),
)
WRITES: Final = frozenset({"edit_file", "send_message"})
RULES: Final = ("looking is free", "only granted files", "small changes", "people only when asked")
MODELS: Final = ("m-large", "m-large", "m-large", "m-small")
_TEXT: Final = (
    "the order was found and its state looks fine so next comes a look at what the callback does with the key that "
    "login wrote since both have to agree before any change makes sense 订单 已 取消 请 确认 收件人 电话"
)
WORDS: Final = tuple(_TEXT.split())


class Shape(NamedTuple):
    """A run without its name: its records, and the remark of a judge on it."""

    records: list[Record]
    reward: float


def fill(
    log: EventLog, events: int, *, seed: int = 1, unlike: int = UNLIKE, denials: float = DENIALS
) -> tuple[int, int]:
    """Put runs into ``log`` until there are as many ``events``; how many runs and events there are then.

    ``denials`` is the share of calls that are denied.
    """
    shapes = [shape(Random(f"{seed}/{number}"), denials) for number in range(unlike)]
    spelled = [[encode(record) for record in one.records] for one in shapes]
    runs = written = 0
    while written < events:
        batches: list[Batch] = []
        while written < events and len(batches) < BATCH_RUNS:
            which = runs % unlike
            batches += _named(f"run-{runs:07}", runs, shapes[which], spelled[which])
            written += len(shapes[which].records)
            runs += 1
        log.append_all(batches)
    return runs, written


def more(log: EventLog, events: int, *, seed: int = 2) -> int:
    """Append ``events`` more, as live runs do: append by append to a few runs at a time; how many runs that were."""
    chance, written, runs = Random(seed), 0, 0
    while written < events:
        records = _moved(shape(chance).records, f"live-{seed}-{runs}", 0)
        runs += 1
        for append in appends(records):
            log.append(append[0].run_id, append, expected=append[0].position - 1)
            written += len(append)
            if written >= events:
                break
    return runs


def appends(records: Sequence[Record]) -> Iterator[list[Record]]:
    """The records of a run, append by append."""
    pending: list[Record] = []
    for record in records:
        pending.append(record)
        if not record.left:
            yield pending
            pending = []


def shape(chance: Random, denials: float = DENIALS) -> Shape:
    """One run: it looks around, writes now and then, fails sometimes, repeats itself, and mostly gets there."""
    run = _Run(chance, denials)
    steps = min(60, max(1, round(chance.lognormvariate(2.3, 0.6))))
    for step in range(1, steps + 1):
        run.step(last=step == steps)
    return Shape(run.records, float(chance.random() < 0.7))


class _Run:
    """A run in the making."""

    def __init__(self, chance: Random, denials: float) -> None:
        self.chance, self.denials, self.records, self.calls = chance, denials, list[Record](), 0
        self.at = AT + timedelta(seconds=chance.randrange(30 * 86_400))
        self.made: list[tuple[str, dict[str, str | int]]] = []
        self.messages = 1
        started = RunStarted(
            goal=f"{_words(chance, 12)} {chance.randrange(400)}",
            agent=chance.choice(("desk", "coder", "analyst")),
            version=str(chance.randrange(1, 5)),
            nonce=f"{chance.getrandbits(64):016x}",
            contract=Terms(
                tools={name: {} for name, *_ in TOOLS},
                budget=Limits(steps=60, tokens=2_000_000, cost_micros=5_000_000),
                model=chance.choice(MODELS),
            ),
            rules=BEHAVIOUR,
            principal=chance.choice(("ana", "ben", "chen")),
            tenant=chance.choice(("north", "south")),
            parts={name: Part(digest=digest([name, chance.randrange(3)])) for name in ("policy", "prompt", "tools")},
            labels={"suite": chance.choice(("nightly", "live")), "task": f"task-{chance.randrange(400)}"},
        )
        self._append([started])
        self._append([LeaseGranted(worker="w", epoch=1), self._asked()])

    def step(self, *, last: bool) -> None:
        """A reply, and what comes of it."""
        chance = self.chance
        if last:
            self._finish()
            return
        calls = [self._chosen() for _ in range(1 if chance.random() < 0.85 else 2)]
        uses = [
            ToolUse(name=tool, arguments=canonical(given).decode(), id=f"c{n}") for n, (tool, given) in enumerate(calls)
        ]
        reply = self._reply(*uses)
        first = self.calls + 1
        self.calls += len(calls)
        proposed = tuple(ProposedCall(call=first + n, tool=tool, block=n + 1) for n, (tool, _) in enumerate(calls))
        decided = DecisionMade(kind="call", summary=_words(chance, 12), calls=proposed)
        verdicts, made = list[Event](), list[tuple[int, str, dict[str, str | int]]]()
        for number, (tool, given) in enumerate(calls, start=first):
            denied = chance.random() < self.denials
            verdicts.append(_verdict(chance, number, denied=denied))
            made += [] if denied else [(number, tool, given)]
        asked: list[Event] = [self._called(number, tool, given) for number, tool, given in made] or [self._asked()]
        self._append([reply, decided, *verdicts, *asked])
        for left, (number, tool, _) in zip(range(len(made) - 1, -1, -1), made, strict=True):
            self._answered(number, tool, again=[] if left else [self._asked()])

    def _answered(self, number: int, tool: str, again: list[Event]) -> None:
        chance = self.chance
        fails = next(rate for name, _, rate in TOOLS if name == tool)
        if tool in WRITES and chance.random() < 0.01:
            self._append(
                [
                    ObservationReceived(call=number, status="timeout"),
                    EffectInDoubt(call=number, why="timeout"),
                    ReconcileAsked(call=number, key=f"k:{number}"),
                ]
            )
            self._append([EffectReconciled(call=number, outcome="landed"), *again])
            return
        if chance.random() < fails:
            said = f"Error: {chance.choice(('no such file', 'timed out after', 'exit code'))} {chance.randrange(90)}"
            self._append(
                [
                    ObservationReceived(call=number, status="error", content=said, size_bytes=len(said), source=tool),
                    *again,
                ]
            )
            return
        said = _words(chance, round(chance.lognormvariate(4, 1)))
        seen = ObservationReceived(call=number, status="ok", content=said, size_bytes=len(said.encode()), source=tool)
        follows: list[Event] = [EffectConfirmed(call=number)] if tool in WRITES else []
        if chance.random() < 0.06:
            follows.append(ObservationRefused(call=number, verifier="shape", reason="no rows", text="Not accepted."))
        else:
            follows.append(ObservationVerified(call=number, verifier="shape"))
            if chance.random() < 0.3:
                follows.append(
                    FactCommitted(
                        key=f"seen.{number}", value=said[:40], verifier="shape", evidence=(len(self.records) + 1,)
                    )
                )
        self._append([seen, *follows, *again])

    def _finish(self) -> None:
        chance, answer = self.chance, _words(self.chance, 20)
        status: Status = chance.choices(
            ("succeeded", "finished", "failed", "exhausted", "escalated"), (60, 15, 12, 9, 4)
        )[0]
        if chance.random() < 0.03:
            return  # it was left where it is
        self._append(
            [
                self._reply(),
                DecisionMade(kind="finish", answer=answer),
                StopDecided(status=status, reason="done"),
                RunEnded(status=status, reason="done", state=digest(answer), answer=answer),
            ]
        )

    def _chosen(self) -> tuple[str, dict[str, str | int]]:
        if self.made and self.chance.random() < 0.12:
            return self.chance.choice(self.made)
        tool = self.chance.choices([name for name, *_ in TOOLS], [share for _, share, _ in TOOLS])[0]
        made: tuple[str, dict[str, str | int]] = (
            tool,
            {"path": f"src/{_words(self.chance, 2)}.ts", "line": self.chance.randrange(900)},
        )
        self.made.append(made)
        return made

    def _called(self, number: int, tool: str, given: dict[str, str | int]) -> ToolCalled:
        writes = tool in WRITES
        return ToolCalled(
            call=number,
            tool=tool,
            arguments=given,
            digest=call_digest(tool, given),
            effect="write" if writes else "read",
            key=f"k:{number}" if writes else "",
            timeout_ms=30_000,
        )

    def _reply(self, *uses: ToolUse) -> ModelReplied:
        chance = self.chance
        return ModelReplied(
            content=(Text(text=_words(chance, 25)), *uses),
            finish="tool_use" if uses else "stop",
            model="m-large-2026-01",
            response_id=f"r-{chance.getrandbits(48):012x}",
            usage=Usage(
                input=chance.randrange(300, 4_000),
                cache_read=chance.randrange(30_000),
                output=chance.randrange(20, 600),
            ),
            cost_micros=chance.randrange(500, 40_000),
        )

    def _asked(self) -> ModelAsked:
        kept, self.messages = self.messages - 1, self.messages + 2
        last = len(self.records)
        return ModelAsked(kept=max(kept, 0), new=(max(1, last),), request=digest(last), state=digest([last]))

    def _append(self, events: Sequence[Event]) -> None:
        self.at += timedelta(milliseconds=self.chance.randrange(5, 4_000))
        first = len(self.records)
        for left, event in zip(range(len(events) - 1, -1, -1), events, strict=True):
            position = len(self.records) + 1
            cause = first if left == len(events) - 1 else position - 1
            self.records.append(Record(run_id="x", position=position, at=self.at, cause=cause, left=left, event=event))


def _verdict(chance: Random, number: int, *, denied: bool) -> VerdictGiven:
    read = (Reading(path="effect", operator="is", value="read", limit="read"),)
    if denied:
        return VerdictGiven(
            call=number, verdict="deny", rule=RULES[3], reason="nobody asked", read=read, text="Not allowed."
        )
    return VerdictGiven(call=number, verdict="allow", rule=chance.choice(RULES[:3]), read=read)


def _words(chance: Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=max(1, count)))


def _named(run_id: str, number: int, made: Shape, spelled: list[bytes]) -> Iterator[Batch]:
    """A shape as a run of that name: its lines are spelled already, but for the name."""
    records = _moved(made.records, run_id, 0)
    name = b'"run_id":"%b"}' % run_id.encode()
    yield Batch(run_id, records, 0, [line[: -len(b'"run_id":"x"}')] + name for line in spelled])
    if number % 2:
        note = AnnotationMade(name="task_success", value=made.reward, source="judge")
        notes = f"{run_id}@notes"
        yield Batch(notes, [Record(run_id=notes, position=1, at=records[-1].at, cause=0, left=0, event=note)], 0)


def _moved(records: Sequence[Record], run_id: str, days: int) -> list[Record]:
    later = timedelta(days=days)
    return [msgspec.structs.replace(record, run_id=run_id, at=record.at + later) for record in records]
