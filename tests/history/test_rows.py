"""What stands in each table, row by row."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from redrive_events import (
    ApprovalAsked,
    ApprovalGiven,
    DeadlinePassed,
    DecisionMade,
    EffectCompensated,
    EffectConfirmed,
    EffectInDoubt,
    Event,
    LeaseGranted,
    Limits,
    Lineage,
    MemoryLog,
    ModelFailed,
    ObservationReceived,
    OutcomeStated,
    PersonAsked,
    PlanDrawn,
    PlannedStep,
    ProposedCall,
    ReflectionNoted,
    Returned,
    RunStarted,
    StopDecided,
    Terms,
    ToolCalled,
    VerdictGiven,
)
from redrive_projections.history import Answer, Column, ask, schema
from tests.history.story import FIND, NOON, PAY, asked, begun, decided, put, refund, remark, replied, run_of, told

RUN = {"run_id": "refund", "run": 1}
END = "the agent is done"


def at(seconds: int) -> datetime:
    """So many seconds behind noon."""
    return NOON + timedelta(seconds=seconds)


def rows_of(answer: Answer) -> list[dict[str, Any]]:
    """The rows, each by the names of its columns."""
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def row(table: str, **values: Any) -> dict[str, Any]:
    """A row of a table in which all other columns are NULL."""
    (names,) = [[column.name for column in found.columns] for found in schema() if found.name == table]
    return {**dict.fromkeys(names), **RUN, **values}


LOOKED = {"tool": "find", "arguments": '{"id":"7"}', "digest": FIND}
BY_THEN = {"source": "orders", "latency_ms": 1000}
FOUND = {**LOOKED, "effect": "read", "source": "orders", "latency_ms": 1000}
WANTED: dict[str, list[dict[str, Any]]] = {
    "runs": [
        row(
            "runs",
            agent="desk",
            version="2",
            principal="ana",
            tenant="shop",
            goal="Refund 7",
            status="finished",
            reason=END,
            answer="No refund.",
            unable=False,
            claims="[]",
            started_at=at(0),
            ended_at=at(7),
            last_at=at(7),
            clock="utc",
            records=25,
            quarantined=0,
            steps=4,
            tokens=400,
            tool_calls=2,
            denials=1,
            cost_micros=28,
            currency="EUR",
            wall_ms=6000,
            model="m-1",
            grade="full",
            missing=["times"],
            source_format="own",
            source_sha256="f",
            labels={"arm": "loop", "suite": "s"},
            arm="loop",
            parts={"policy": "p"},
            rules=1,
            people_asked=0,
            escalations=0,
            workers=1,
        )
    ],
    "steps": [
        row(
            "steps",
            step=1,
            call=1,
            position=5,
            decided_at=at(2),
            decision="call",
            summary="look it up",
            **FOUND,
            repeat=False,
            verdict="allow",
            rule="looking is free",
            attempts=1,
            status="ok",
            size_bytes=13,
            verified=True,
        ),
        row(
            "steps",
            step=2,
            call=2,
            position=13,
            decided_at=at(4),
            decision="call",
            summary="pay it",
            tool="pay",
            arguments='{"cents":900}',
            digest=PAY,
            repeat=False,
            verdict="deny",
            rule="small sums",
            attempts=0,
        ),
        row(
            "steps",
            step=3,
            call=3,
            position=17,
            decided_at=at(5),
            decision="call",
            summary="look again",
            **FOUND,
            repeat=True,
            verdict="allow",
            rule="looking is free",
            attempts=1,
            status="error",
            size_bytes=4,
        ),
        row("steps", step=4, position=23, decided_at=at(7), decision="finish", attempts=0),
    ],
    "tool_calls": [
        row(
            "tool_calls",
            call=1,
            attempt=1,
            **FOUND,
            position=7,
            asked_at=at(2),
            answer_position=8,
            answered_at=at(3),
            status="ok",
            media_type="text/plain",
            size_bytes=13,
            cut_bytes=0,
            verifier="right",
            verified=True,
        ),
        row(
            "tool_calls",
            call=3,
            attempt=1,
            **FOUND,
            position=19,
            asked_at=at(5),
            answer_position=20,
            answered_at=at(6),
            status="error",
            media_type="text/plain",
            size_bytes=4,
            cut_bytes=1,
        ),
    ],
    "verdicts": [
        row(
            "verdicts",
            position=6,
            judged_at=at(2),
            step=1,
            call=1,
            tool="find",
            verdict="allow",
            rule="looking is free",
            read="[]",
        ),
        row(
            "verdicts",
            position=14,
            judged_at=at(4),
            step=2,
            call=2,
            tool="pay",
            verdict="deny",
            rule="small sums",
            reason="too much",
            text="Not allowed.",
            read='[{"limit":500,"operator":"at_most","path":"arguments.cents","value":900}]',
        ),
        row(
            "verdicts",
            position=18,
            judged_at=at(5),
            step=3,
            call=3,
            tool="find",
            verdict="allow",
            rule="looking is free",
            read="[]",
        ),
    ],
    "model_calls": [
        row(
            "model_calls",
            position=3,
            asked_at=at(1),
            step=1,
            purpose="act",
            model="m-1",
            view="chat.1",
            messages=1,
            kept=0,
            request="r",
            answer_position=4,
            answered_at=at(2),
            status="replied",
            latency_ms=1000,
            calls=1,
            input_tokens=90,
            cache_read_tokens=0,
            cache_write_tokens=0,
            output_tokens=10,
            reasoning_tokens=0,
            cost_micros=7,
        ),
        row(
            "model_calls",
            position=11,
            asked_at=at(3),
            step=2,
            purpose="act",
            model="m-1",
            view="chat.1",
            messages=3,
            kept=1,
            request="r",
            answer_position=12,
            answered_at=at(4),
            status="replied",
            latency_ms=1000,
            calls=1,
            input_tokens=90,
            cache_read_tokens=0,
            cache_write_tokens=0,
            output_tokens=10,
            reasoning_tokens=0,
            cost_micros=7,
        ),
        row(
            "model_calls",
            position=15,
            asked_at=at(4),
            step=3,
            purpose="act",
            model="m-1",
            view="chat.1",
            messages=5,
            kept=3,
            request="r",
            answer_position=16,
            answered_at=at(5),
            status="replied",
            latency_ms=1000,
            calls=1,
            input_tokens=90,
            cache_read_tokens=0,
            cache_write_tokens=0,
            output_tokens=10,
            reasoning_tokens=0,
            cost_micros=7,
        ),
        row(
            "model_calls",
            position=21,
            asked_at=at(6),
            step=4,
            purpose="act",
            model="m-1",
            view="chat.1",
            messages=7,
            kept=5,
            request="r",
            answer_position=22,
            answered_at=at(7),
            status="replied",
            latency_ms=1000,
            calls=0,
            input_tokens=90,
            cache_read_tokens=0,
            cache_write_tokens=0,
            output_tokens=10,
            reasoning_tokens=0,
            cost_micros=7,
        ),
    ],
    "decisions": [
        row(
            "decisions",
            position=5,
            decided_at=at(2),
            step=1,
            decision="call",
            summary="look it up",
            calls=1,
            dropped=[],
            missing=[],
            unsupported=[],
        ),
        row(
            "decisions",
            position=13,
            decided_at=at(4),
            step=2,
            decision="call",
            summary="pay it",
            calls=1,
            dropped=[],
            missing=[],
            unsupported=[],
        ),
        row(
            "decisions",
            position=17,
            decided_at=at(5),
            step=3,
            decision="call",
            summary="look again",
            calls=1,
            dropped=[],
            missing=[],
            unsupported=[],
        ),
        row(
            "decisions",
            position=23,
            decided_at=at(7),
            step=4,
            decision="finish",
            calls=0,
            answer="No refund.",
            dropped=[],
            missing=[],
            unsupported=[],
        ),
    ],
    "observations": [
        row(
            "observations",
            position=8,
            observed_at=at(3),
            step=1,
            call=1,
            attempt=1,
            tool="find",
            rule="looking is free",
            status="ok",
            source="orders",
            trust="untrusted",
            redirects=0,
            media_type="text/plain",
            size_bytes=13,
            cut_bytes=0,
            latency_ms=1000,
            excerpt='{"iban":"DE"}',
            verifier="right",
            verified=True,
        ),
        row(
            "observations",
            position=20,
            observed_at=at(6),
            step=3,
            call=3,
            attempt=1,
            tool="find",
            rule="looking is free",
            status="error",
            source="orders",
            trust="untrusted",
            redirects=0,
            media_type="text/plain",
            size_bytes=4,
            cut_bytes=1,
            latency_ms=1000,
            excerpt="gone",
        ),
    ],
    "budgets": [
        row("budgets", dimension="steps", spent=4, exhausted=False),
        row("budgets", dimension="tokens", spent=400, exhausted=False),
        row("budgets", dimension="wall_time", spent=6000, exhausted=False),
        row("budgets", dimension="tool_calls", spent=2, exhausted=False),
        row("budgets", dimension="cost", spent=28, currency="EUR", exhausted=False),
    ],
    "messages": [
        row("messages", position=1, said_at=at(0), step=0, actor="principal", text="Refund 7", final=False),
        row("messages", position=4, said_at=at(2), step=1, actor="model", text="Look.", final=False),
        row("messages", position=12, said_at=at(4), step=2, actor="model", text="Pay.", final=False),
        row("messages", position=16, said_at=at(5), step=3, actor="model", text="Look again.", final=False),
        row("messages", position=22, said_at=at(7), step=4, actor="model", text="No refund.", final=False),
    ],
    "effects": [],
    "lineage": [],
    "facts": [
        row(
            "facts",
            position=10,
            step=1,
            committed_at=at(3),
            key="iban",
            value='"DE"',
            verifier="right",
            evidence=[8, 6],
        )
    ],
    "annotations": [
        row(
            "annotations",
            note=1,
            annotated_at=at(0),
            position=24,
            name="reward",
            value="0.5",
            value_number=0.5,
            source="judge",
        )
    ],
}


@pytest.fixture(scope="module")
def log() -> MemoryLog:
    """One run and one remark about it."""
    log = MemoryLog()
    put(log, refund())
    put(log, remark("refund", "reward", 0.5, position=24))
    return log


@pytest.mark.parametrize("table", WANTED)
def test_a_run_in_the_table(table: str, log: MemoryLog) -> None:
    """Whole rows: what does not apply is NULL."""
    assert rows_of(ask(log, f"FROM {table}")) == WANTED[table]


def test_events_are_the_records_as_they_are_stored(log: MemoryLog) -> None:
    """Byte for byte, in a record's own order."""
    query = (
        "SELECT position, happened_at, cause, remaining, kind, payload FROM events JOIN payloads USING (run, position)"
    )
    found = ask(log, f"{query} ORDER BY position").rows
    stored = [line.line.decode() for line in log.lines("refund")]
    assert len(found) == len(stored)
    for (position, happened_at, cause, remaining, kind, payload), line in zip(found, stored, strict=True):
        spelled = happened_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        assert line == (
            f'{{"at":"{spelled}","cause":{cause},"event":{payload},"left":{remaining},'
            f'"position":{position},"run_id":"refund"}}'
        )
        assert f'"event":"{kind}"' in payload


def test_a_write_in_doubt_has_a_row_for_each_attempt() -> None:
    """What the authority says belongs to the attempt that it was asked about, the confirmation to the next one."""
    log = MemoryLog()
    put(log, run_of(["lost"]))
    query = "SELECT attempt, key, status, verified, refusal, outcome FROM tool_calls ORDER BY position"
    assert ask(log, query).rows == [
        (1, "n:1", "timeout", None, None, "not_landed"),
        (2, "n:1", "ok", False, "another sum", "landed"),
    ]
    assert ask(log, "SELECT attempts, status, verified FROM steps").rows == [(2, "ok", False)]


def test_a_write_in_doubt_is_one_effect() -> None:
    """Over all attempts: what is known of it at last, and why it was in doubt before."""
    log = MemoryLog()
    put(log, run_of(["find", "lost"]))
    query = "SELECT call, effect, key, attempts, position, stage, outcome, why, authority_asked, settled_position"
    assert ask(log, f"{query} FROM effects").rows == [
        (2, "write", "n:2", 2, 14, "confirmed", "landed", "timeout", 1, 21)
    ]


def test_an_effect_that_was_undone() -> None:
    """By a call of the engine's own, which nobody decided."""
    log = MemoryLog()
    paid = ToolCalled(call=1, tool="pay", arguments={}, digest=PAY, effect="write", key="n:1")
    undo = ToolCalled(call=2, tool="pay", arguments={}, digest=PAY, effect="write", key="n:2", compensates=1)
    appends: list[list[Event]] = [
        [begun("a")[0].event, paid],
        [ObservationReceived(call=1, status="ok"), EffectConfirmed(call=1), undo],
        [ObservationReceived(call=2, status="ok"), EffectConfirmed(call=2), EffectCompensated(call=1, by=2)],
    ]
    put(log, told("a", *([(event, 0) for event in events] for events in appends)))
    query = "SELECT call, stage, compensates, compensated_by, settled_position FROM effects ORDER BY call"
    assert ask(log, query).rows == [(1, "compensated", None, 2, 8), (2, "confirmed", 1, None, 7)]


ASKED = ApprovalAsked(call=1, digest="d", object="7", destination="DE", reason="too much", expires=at(60))
GRANTED = ApprovalGiven(call=1, digest="d", by="bo", answer="grant", reason="fine")
OTHER = msgspec.structs.replace(GRANTED, digest="other")
DENIED = VerdictGiven(call=1, verdict="deny", rule="no answer")


@pytest.mark.parametrize(
    ("then", "found"),
    [
        pytest.param([], (None, None, None, None), id="open"),
        pytest.param([GRANTED], ("grant", "bo", 7, 1000), id="granted"),
        pytest.param([OTHER, GRANTED], ("grant", "bo", 8, 2000), id="another"),
        pytest.param([DeadlinePassed(which="approval"), DENIED], ("expired", None, 8, 2000), id="too late"),
        pytest.param([StopDecided(status="cancelled", reason="")], ("withdrawn", None, 7, 1000), id="stopped"),
    ],
)  # fmt: skip
def test_an_approval_and_its_answer(then: list[Event], found: tuple[Any, ...]) -> None:
    """Only what counts as an answer is one: to what was shown, in time."""
    log = MemoryLog()
    ask_first = VerdictGiven(call=1, verdict="ask", rule="large sums")
    proposed: list[Event] = [replied("Pay.", "pay", "{}"), decided(1, "pay", "pay it"), ask_first]
    appends: list[list[Event]] = [[begun("a")[0].event], [asked(0, 1)], proposed, [ASKED], *([event] for event in then)]
    put(log, told("a", *([(event, 0) for event in events] for events in appends)))
    query = "SELECT answer, answered_by, answer_position, waited_ms FROM approvals"
    assert ask(log, query).rows == [found]


def test_an_outcome_that_a_person_stated() -> None:
    """If they were asked for it."""
    log = MemoryLog()
    paid = ToolCalled(call=1, tool="pay", arguments={}, digest=PAY, effect="write", key="n:1")
    lost: list[Event] = [ObservationReceived(call=1, status="timeout"), EffectInDoubt(call=1, why="timeout")]
    stated = OutcomeStated(call=1, by="bo", outcome="landed")
    asked_for = PersonAsked(why="doubt", effect=1)
    appends: list[list[Event]] = [[begun("a")[0].event], [paid], lost, [stated], [asked_for], [stated]]
    put(log, told("a", *([(event, 0) for event in events] for events in appends)))
    query = "SELECT stage, outcome, known_by, settled_position FROM effects"
    assert ask(log, query).rows == [("reconciled", "landed", "bo", 7)]
    assert ask(log, "SELECT people_asked, escalations FROM runs").rows == [(1, 0)]


def test_a_request_that_got_no_reply() -> None:
    """A row of its own, with the reason."""
    log = MemoryLog()
    failed = ModelFailed(kind="rate_limited", retryable=True, status=429)
    put(log, told("a", [(begun("a")[0].event, 0)], [(asked(0, 1), 0)], [(failed, 2), (asked(1), 3)]))
    query = "SELECT position, answer_position, step, status, retryable, http_status, latency_ms FROM model_calls"
    assert ask(log, f"{query} ORDER BY position").rows == [
        (2, 3, None, "rate_limited", True, 429, 1000),
        (4, None, None, None, None, None, None),
    ]


def test_a_plan_and_what_became_of_its_steps() -> None:
    """A row for each step, of each revision; the call that began it, and how its run ended."""
    log = MemoryLog()
    plan = PlanDrawn(steps=(PlannedStep(words="count"), PlannedStep(words="tell", budget=2)))
    begin = DecisionMade(kind="call", calls=(ProposedCall(call=1, tool="run", arguments={"goal": "count"}),), step=1)
    child = ToolCalled(call=1, tool="run", arguments={"goal": "count"}, digest="d", effect="run")
    back = ObservationReceived(call=1, status="error", returned=Returned(status="exhausted", reason="steps"))
    again = PlanDrawn(steps=(PlannedStep(words="count less"),), revision=2, reason="step 1 ended exhausted")
    appends: list[list[Event]] = [[begun("a")[0].event], [plan, begin, child], [back, again]]
    put(log, told("a", *([(event, 0) for event in events] for events in appends)))
    query = "SELECT revision, number, words, step_budget, call, status, reason FROM plans ORDER BY ALL"
    assert ask(log, query).rows == [
        (1, 1, "count", None, 1, "exhausted", None),
        (1, 2, "tell", 2, None, None, None),
        (2, 1, "count less", None, None, None, "step 1 ended exhausted"),
    ]
    assert ask(log, "SELECT count(*) FROM effects").rows == [(0,)]


def test_lessons_and_what_they_are_drawn_from() -> None:
    """By a rule, or by the model."""
    log = MemoryLog()
    lessons = [ReflectionNoted(lesson="Look first.", window=(2, 3), rule="after an error"),
               ReflectionNoted(lesson="Ask.", window=())]  # fmt: skip
    put(log, told("a", [(begun("a")[0].event, 0)], [(lesson, 0) for lesson in lessons]))
    assert ask(log, "SELECT position, lesson, rule, failures FROM reflections").rows == [
        (2, "Look first.", "after an error", [2, 3]),
        (3, "Ask.", None, []),
    ]


def test_a_budget_and_what_is_left_of_it() -> None:
    """Never less than nothing, and by which dimension the run was stopped."""
    log = MemoryLog()
    budget = Limits(steps=1, tokens=1_000, cost_micros=5, currency="EUR")
    started = RunStarted(goal="", agent="a", nonce="n", contract=Terms(budget=budget), rules=1)
    stop = StopDecided(status="exhausted", reason="steps", dimension="steps")
    put(log, told("a", [(started, 0)], [(asked(0, 1), 0)], [(replied("Hm."), 2), (stop, 3)]))
    query = "SELECT dimension, ceiling, spent, remaining, currency, exhausted FROM budgets WHERE ceiling IS NOT NULL"
    assert ask(log, query).rows == [
        ("steps", 1, 1, 0, None, True),
        ("tokens", 1_000, 100, 900, None, False),
        ("cost", 5, 7, 0, "EUR", False),
    ]


@pytest.mark.parametrize(
    ("value", "position", "found"),
    [
        pytest.param(
            {"position": 7, "cause": "policy", "kind": "verdict_given", "pointer": "/verdict", "recorded": "allow",
             "replayed": None},
            None, (7, "policy", "verdict_given", "/verdict", '"allow"', "null"), id="whole",
        ),
        pytest.param({"cause": "clock"}, 3, (3, "clock", None, None, None, None), id="at the remark's place"),
        pytest.param({"position": "7", "cause": 1}, None, (None,) * 6, id="of other types"),
        pytest.param("somewhere", None, (None,) * 6, id="no object"),
    ],
)  # fmt: skip
def test_a_divergence_that_was_kept(value: object, position: int | None, found: tuple[Any, ...]) -> None:
    """From a remark of that name, which is a row among the annotations too."""
    log = MemoryLog()
    put(log, refund("a"))
    put(log, remark("a", "divergence", value, position=position, source="redrive"))
    query = "SELECT position, cause, kind, pointer, recorded, replayed FROM divergences"
    assert ask(log, query).rows == [found]
    assert ask(log, "SELECT note, source, detail = (SELECT value FROM annotations) FROM divergences").rows == [
        (1, "redrive", True)
    ]


def test_refusals_are_steps() -> None:
    """A reply that was no decision, and a finish that came too early."""
    log = MemoryLog()
    put(log, run_of(["refused", "unfinished"]))
    assert ask(log, "SELECT step, decision, refusal FROM steps ORDER BY step").rows == [
        (1, "refused", "no decision"),
        (2, "finish", "paid, sent"),
    ]
    assert ask(log, "SELECT status, reason, ended_at, answer FROM runs").rows == [("unfinished", None, None, None)]


def test_calls_of_one_reply_share_their_step() -> None:
    """One row for each; the same call twice in one reply is a repetition too."""
    log = MemoryLog()
    calls = tuple(ProposedCall(call=call, tool="find", arguments={"id": "7"}) for call in (1, 2))
    reply = run_of(["refused"])[2].event
    both = [(reply, 0), (DecisionMade(kind="call", calls=calls), 0)]
    put(log, told("a", [(begun("a")[0].event, 0)], both))
    assert ask(log, "SELECT step, call, tool, digest, repeat FROM steps ORDER BY call").rows == [
        (1, 1, "find", FIND, False),
        (1, 2, "find", FIND, True),
    ]


@pytest.mark.parametrize("block", [-1, 0, 9])
def test_a_call_that_the_reply_does_not_have(block: int) -> None:
    """A recording may say so; the call is there, its arguments are not."""
    log = MemoryLog()
    reply = run_of(["find"])[2].event
    decision = DecisionMade(kind="call", calls=(ProposedCall(call=1, tool="find", block=block),))
    put(log, told("a", [(begun("a")[0].event, 0)], [(reply, 0), (decision, 0)]))
    assert ask(log, "SELECT step, call, tool, arguments FROM steps").rows == [(1, 1, "find", "null")]


def test_without_a_clock_nothing_has_a_duration() -> None:
    """Its times say no more than the order of the records."""
    log = MemoryLog()
    started = RunStarted(goal="", agent="a", nonce="n", contract=Terms(), rules=1, clock="none")
    put(log, told("a", [(started, 0)], *[[(record.event, 0)] for record in run_of(["find"])[1:]]))
    assert ask(log, "SELECT clock, (SELECT any_value(latency_ms) FROM steps) FROM runs").rows == [("none", None)]


def test_without_a_clock_nothing_has_a_time() -> None:
    """What the records hold in its place is no time, so no table shows it as one."""
    log = MemoryLog()
    first, *rest = refund("r")
    put(log, [msgspec.structs.replace(first, event=msgspec.structs.replace(first.event, clock="none")), *rest])
    times = [
        (table.name, column.name) for table in schema() for column in table.columns if column.type == "TIMESTAMPTZ"
    ]
    for table, column in times:
        if table != "annotations":
            assert ask(log, f"SELECT count({column}) FROM {table}").rows == [(0,)], (table, column)


def test_a_child_knows_its_parent() -> None:
    """By its run id, or because an import says so."""
    log = MemoryLog()
    for run_id in ("a", "a/2", "a/2/1"):
        put(log, begun(run_id))
    for run_id, lineage in [("b", Lineage(run_id="a", call=3)), ("c", Lineage(run_id="a"))]:
        started = RunStarted(goal="", agent="a", nonce="n", contract=Terms(), rules=1, parent=lineage)
        put(log, told(run_id, [(started, 0)]))
    put(log, begun("d"))
    put(log, remark("d", "parent", {"run_id": "b", "call": 4}))
    found = [("a/2", "a", 2), ("a/2/1", "a/2", 1), ("b", "a", 3), ("c", "a", None), ("d", "b", 4)]
    assert ask(log, "SELECT run_id, parent, parent_call FROM runs ORDER BY run").rows == [("a", None, None), *found]
    assert ask(log, "SELECT run_id, parent_id, parent_call FROM lineage ORDER BY run").rows == found
    known_by = [("name",), ("name",), ("start",), ("start",), ("remark",)]
    assert ask(log, "SELECT known_by FROM lineage ORDER BY run").rows == known_by


@pytest.mark.parametrize(
    "labels", [{}, {"": "none"}, {"key": "a", "value": "b"}, {"key": ""}, {"A": "1", "a": "2"}], ids=repr
)
def test_labels_may_be_called_anything(labels: dict[str, str]) -> None:
    """Also what DuckDB has other plans for."""
    log = MemoryLog()
    started = RunStarted(goal="", agent="a", nonce="n", contract=Terms(), rules=1, labels=labels)
    put(log, told("a", [(started, 0)]))
    assert ask(log, "SELECT labels FROM runs").rows == [(labels,)]


def test_a_stream_without_a_beginning_is_a_run_all_the_same() -> None:
    """Nothing in the log is left out, however odd."""
    log = MemoryLog()
    put(log, told("odd", [(LeaseGranted(worker="w", epoch=1), 0)]))
    assert ask(log, "SELECT run_id, agent, status, records FROM runs").rows == [("odd", None, "unfinished", 1)]


@pytest.mark.parametrize(
    ("value", "number", "text"),
    [
        pytest.param(2, 2.0, None, id="an integer"),
        pytest.param(0.25, 0.25, None, id="a fraction"),
        pytest.param(True, 1.0, None, id="true"),
        pytest.param(False, 0.0, None, id="false"),
        pytest.param("good", None, "good", id="text"),
        pytest.param("1", None, "1", id="text that looks like a number"),
        pytest.param(None, None, None, id="null"),
        pytest.param({"a": 1}, None, None, id="an object"),
        pytest.param(10**400, None, None, id="no double is so large"),
    ],
)
def test_a_remark_as_number_and_as_text(value: object, number: float | None, text: str | None) -> None:
    """Whichever the value is; true and false count as 1 and 0."""
    log = MemoryLog()
    put(log, remark("a", "reward", value))
    assert ask(log, "SELECT value_number, value_text FROM annotations").rows == [(number, text)]


def test_the_mean_of_a_remark() -> None:
    """By arm, over the runs that have one."""
    log = MemoryLog()
    for run_id, value in [("a", 1), ("b", 0), ("c", True)]:
        put(log, refund(run_id))
        put(log, remark(run_id, "reward", value))
    put(log, refund("d"))
    query = """
        SELECT arm, avg(value_number) AS reward, count(DISTINCT runs.run) AS runs
        FROM runs LEFT JOIN annotations ON annotations.run = runs.run AND name = 'reward' GROUP BY arm"""
    assert ask(log, query).rows == [("loop", 2 / 3, 4)]


def test_every_column_is_told() -> None:
    """In a sentence, once; and every table begins with the run."""
    for table in schema():
        assert table.columns[:2] == schema()[0].columns[:2]
        assert [column.name for column in table.columns[:2]] == ["run_id", "run"]
        assert len({column.name for column in table.columns}) == len(table.columns)
        assert all(told.endswith(".") and told[0] in told[0].upper() + told[0] for _, _, told in table.columns)
        assert table.told.startswith("One row for each")


def test_the_tables_are_as_they_are_told(log: MemoryLog) -> None:
    """Names, types and order."""
    longhand = {"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
    for table in schema():
        answer = ask(log, f"FROM {table.name}")
        assert [*zip(answer.columns, answer.types, strict=True)] == [
            (column.name, longhand.get(column.type, column.type)) for column in table.columns
        ]
    assert Column("run", "BIGINT", schema()[0].columns[1].told) == schema()[0].columns[1]


def test_no_name_needs_quotes(log: MemoryLog) -> None:
    """A column called `at` or `left` would: DuckDB has other plans for these words."""
    for table in schema():
        names = ", ".join(column.name for column in table.columns)
        assert ask(log, f"SELECT {names} FROM {table.name}").columns == tuple(column.name for column in table.columns)
