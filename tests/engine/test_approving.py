"""A person's answer to whether a call may be made: what is one, what is none, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from redrive_engine import append_of, approve, cancel, react
from redrive_engine.models import reply, use
from redrive_engine.program import Program
from redrive_engine.world import Happened
from redrive_events import (
    ApprovalAsked,
    ApprovalGiven,
    BadInput,
    DeadlinePassed,
    EventLog,
    Input,
    LeaseGranted,
    Limits,
    MemoryLog,
    Quotas,
    Record,
    SignalsHeard,
    StaleAppend,
    StopDecided,
    Terms,
    ToolCalled,
    VerdictGiven,
    shown_digest,
)
from redrive_projections import Approval, approvals, fold, open_approvals, state_at
from tests.shop import NOON, Asking, answer_to_pay, recorded, seen, shop

RUN = "run"
ASK = reply("", use("pay", item="tea", cents=9))
LATER = NOON + timedelta(minutes=1)
SHOWN = shown_digest("pay", {"item": "tea", "cents": 9}, "tea")


def asking(*inputs: Input, policy: Asking | None = None, **terms: Any) -> tuple[Program, EventLog]:
    """A run in which a person is asked about a payment of 9 cents, unless other things happened."""
    program = shop(Terms(**terms), policy=policy or Asking())
    log = MemoryLog()
    appended: list[Record] = []
    for record in recorded(program, *(inputs or (ASK,))):
        appended.append(record)
        if record.left == 0:
            log.append(RUN, appended, expected=appended[0].position - 1)
            appended = []
    return program, log


def then(program: Program, log: EventLog, event: Input, *, after_s: float = 120) -> list[Record]:
    """What the driver appends when this happens."""
    state = fold(log.read(RUN))
    batch = append_of(program, state, Happened(event, NOON + timedelta(seconds=after_s)))
    log.append(RUN, batch, expected=batch[0].position - 1)
    return batch


def follows(batch: Sequence[Record]) -> list[str]:
    """The kinds of what was derived, verdicts with verdict and rule."""
    told = []
    for record in batch[1:]:
        event = record.event
        said = f" {event.verdict} by {event.rule}" if isinstance(event, VerdictGiven) else ""
        told.append(type(event).__name__ + said)
    return told


def test_what_a_person_is_shown() -> None:
    """All that would happen, and until when they may answer."""
    _, log = asking(approval_ms=5000)
    (asked,) = open_approvals(log, RUN)
    assert asked == Approval(
        run_id=RUN,
        call=1,
        position=7,
        asked_at=NOON + timedelta(seconds=2),
        tool="pay",
        arguments={"item": "tea", "cents": 9},
        object="tea",
        destination=None,
        effect="write",
        reason="a person looks",
        digest=SHOWN,
        expires=NOON + timedelta(seconds=7),
    )


@pytest.mark.parametrize(
    ("given", "derived"),
    [
        pytest.param({}, ["VerdictGiven allow by approval", "ToolCalled"], id="granted"),
        pytest.param(
            {"digest": SHOWN[:8].upper()}, ["VerdictGiven allow by approval", "ToolCalled"], id="to the digest"
        ),
        pytest.param({"answer": "refuse"}, ["VerdictGiven deny by not approved", "ModelAsked"], id="refused"),
        pytest.param(
            {"answer": "edit", "arguments": {"item": "tea", "cents": 4}},
            ["VerdictGiven edit by approval", "VerdictGiven allow by approval", "ToolCalled"],
            id="edited",
        ),
        pytest.param(
            {"answer": "edit", "arguments": {"item": "tea", "cents": 11}},
            ["VerdictGiven edit by approval", "VerdictGiven deny by too much", "ModelAsked"],
            id="edited beyond what a rule lets be",
        ),
        pytest.param(
            {"answer": "edit", "arguments": {"item": "tea", "cents": "four"}},
            ["VerdictGiven edit by approval", "VerdictGiven deny by schema", "ModelAsked"],
            id="edited into what fits nowhere",
        ),
        pytest.param(
            {"answer": "edit", "arguments": {"item": "tea", "cents": 3}},
            [
                "VerdictGiven edit by approval",
                "VerdictGiven edit by spoiled",
                "VerdictGiven ask by a person looks",
                "ApprovalAsked",
            ],
            id="edited into what a rule changes: asked anew",
        ),
    ],
)
def test_an_answer_is_heard_and_the_call_judged_again(given: dict[str, Any], derived: list[str]) -> None:
    """A denial stands whatever a person says, and what they have not seen is not allowed by them."""
    program, log = asking(policy=Asking(denies=10, spoils={3: 2}))
    approve(log, RUN, 1, by="bo", at=LATER, **given)
    assert open_approvals(log, RUN) == []
    assert follows(then(program, log, SignalsHeard())) == derived


def test_an_edit_is_what_is_called() -> None:
    """With a key and a digest of its own, and the model is told of what came of that."""
    program, log = asking()
    approve(log, RUN, 1, by="bo", at=LATER, answer="edit", arguments={"item": "milk", "cents": 4})
    (called,) = [one.event for one in then(program, log, SignalsHeard()) if isinstance(one.event, ToolCalled)]
    assert (called.arguments, called.key, called.attempt) == ({"item": "milk", "cents": 4}, "n0:1", 1)


def test_what_a_person_made_of_a_call_is_no_slip_of_the_model() -> None:
    """It counts for no quota of arguments, and the model is not told to mend it."""
    program, log = asking(quotas=Quotas(arguments=1))
    approve(log, RUN, 1, by="bo", at=LATER, answer="edit", arguments={"item": "tea", "cents": "four"})
    then(program, log, SignalsHeard())
    state = fold(log.read(RUN))
    assert (state.running, state.watch.failures) == (True, {})
    assert "its arguments were changed" in str(state.transcript()[-1].content)


@pytest.mark.parametrize(
    ("call", "given", "problem"),
    [
        pytest.param(2, {}, "call 2: nobody asks whether it may be made; call 1 waits for an approval", id="another"),
        pytest.param(
            1, {"digest": "00000000"}, f"call 1: the digest of what is shown is {SHOWN}, not 00000000", id="digest"
        ),
        pytest.param(
            1,
            {"digest": SHOWN[:7]},
            f"call 1: the digest is given by its first 8 digits at least, not by {SHOWN[:7]}",
            id="short",
        ),
        pytest.param(1, {"answer": "edit"}, "edit: the arguments of a call are a JSON object", id="no arguments"),
        pytest.param(
            1, {"answer": "edit", "arguments": [1]}, "edit: the arguments of a call are a JSON object", id="a list"
        ),
        pytest.param(
            1,
            {"answer": "edit", "arguments": {"item": "tea", "cent": 4}},
            "edit: pay: no argument 'cent'; there are cents, item",
            id="no such argument",
        ),
        pytest.param(1, {"answer": "edit", "arguments": {"item": "tea"}}, "edit: pay: cents is missing", id="missing"),
    ],
)
def test_what_is_no_answer_appends_nothing(call: int, given: dict[str, Any], problem: str) -> None:
    """In one line: what is asked, and what is not."""
    _, log = asking()
    before = log.head(RUN)
    with pytest.raises(BadInput) as told:
        approve(log, RUN, call, by="bo", at=LATER, **given)
    assert str(told.value).removeprefix("run run: ") == problem
    assert log.head(RUN) == before


def test_the_second_answer_is_none() -> None:
    """Whoever comes second is told who was first, however the first answered, and whether it was heard or not."""
    program, log = asking()
    approve(log, RUN, 1, by="bo", at=LATER, answer="refuse")
    for _ in range(2):
        with pytest.raises(BadInput, match="call 1: it was answered already: refuse by bo"):
            approve(log, RUN, 1, by="ana", at=LATER)
        then(program, log, SignalsHeard())


def test_of_two_who_answer_at_once_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log refuses the second append; on what it then reads there is nothing to answer."""
    _, log = asking()
    append = log.append
    first = count()

    def between(run_id: str, records: Sequence[Record], *, expected: int) -> None:
        if next(first) == 0:
            approve(log, RUN, 1, by="bo", at=LATER)
            with pytest.raises(StaleAppend):
                append(run_id, records, expected=expected)
            raise StaleAppend(run_id, expected=expected, actual=expected + 1)
        append(run_id, records, expected=expected)

    monkeypatch.setattr(log, "append", between)
    with pytest.raises(BadInput, match="it was answered already: grant by bo"):
        approve(log, RUN, 1, by="ana", at=LATER)
    assert [one.event.by for one in log.read(RUN) if isinstance(one.event, ApprovalGiven)] == ["bo"]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(answer_to_pay("grant", 8), id="another digest"),
        pytest.param(answer_to_pay("edit", 8, arguments={"item": "tea", "cents": 9}), id="an edit of something else"),
        pytest.param(answer_to_pay("refuse", 9, call=2), id="another call"),
    ],
)
def test_what_somebody_appends_all_the_same_counts_nothing(given: ApprovalGiven) -> None:
    """Whoever writes to the log can write anything: it is a record, and no answer."""
    program, log = asking()
    then(program, log, given)
    assert follows(then(program, log, SignalsHeard())) == []
    assert [one.call for one in open_approvals(log, RUN)] == [1]


def test_a_call_that_was_answered_is_asked_about_again_once_it_is_another() -> None:
    """An answer is good for what was shown: the next question about the call is answered for itself."""
    program, log = asking(policy=Asking(spoils={3: 2}))
    approve(log, RUN, 1, by="bo", at=LATER, answer="edit", arguments={"item": "tea", "cents": 3})
    then(program, log, SignalsHeard())
    with pytest.raises(BadInput, match="the digest of what is shown is"):
        approve(log, RUN, 1, by="bo", at=LATER, digest=SHOWN)
    approve(log, RUN, 1, by="bo", at=LATER)
    assert follows(then(program, log, SignalsHeard())) == ["VerdictGiven allow by approval", "ToolCalled"]
    assert [one.answer for one in approvals(log.read(RUN))] == ["edit", "grant"]


def test_an_answer_after_its_time_is_none() -> None:
    """Whether anybody has noted that or not; an approval that is in the log all the same counts nothing."""
    program, log = asking(approval_ms=5000)
    with pytest.raises(BadInput, match="its time was over at 2026-01-01 12:00:07 UTC, and no answer in time is a no"):
        approve(log, RUN, 1, by="bo", at=NOON + timedelta(seconds=7))
    then(program, log, answer_to_pay("grant", 9), after_s=7)
    assert follows(then(program, log, DeadlinePassed(which="approval"))) == [
        "VerdictGiven deny by approval expired",
        "ModelAsked",
    ]
    with pytest.raises(BadInput, match="nobody answered it in time, so it was denied"):
        approve(log, RUN, 1, by="bo", at=NOON)
    assert [one.answer for one in approvals(log.read(RUN))] == ["expired"]


def test_who_takes_the_run_up_too_late_denies() -> None:
    """Nobody ran it when the time passed; the lease of the next worker is the first to say so."""
    program, log = asking(approval_ms=5000)
    batch = then(program, log, LeaseGranted(worker="v", epoch=2), after_s=7)
    assert follows(batch) == ["VerdictGiven deny by approval expired", "ModelAsked"]


def test_an_approval_given_while_nobody_runs_counts_for_the_next_worker() -> None:
    """Although the time is over when it is taken up: it was given in time."""
    program, log = asking(approval_ms=5000)
    approve(log, RUN, 1, by="bo", at=NOON + timedelta(seconds=6))
    batch = then(program, log, LeaseGranted(worker="v", epoch=2), after_s=900)
    assert follows(batch) == ["VerdictGiven allow by approval", "ToolCalled"]


def test_a_denial_ends_the_run_where_the_contract_says_so() -> None:
    """A person's no is a denial like any other, and closes what else was asked."""
    two = reply("", use("pay", item="tea", cents=9), use("pay", item="tea", cents=8))
    program, log = asking(two, on_denied="block")
    approve(log, RUN, 1, by="bo", at=LATER, answer="refuse")
    batch = then(program, log, SignalsHeard())
    assert [one.event for one in batch if isinstance(one.event, StopDecided)] == [
        StopDecided(status="blocked", reason="call 1 of pay: not approved")
    ]
    assert [one.answer for one in approvals(log.read(RUN))] == ["refuse", "withdrawn"]
    with pytest.raises(BadInput, match="has ended"):
        approve(log, RUN, 2, by="bo", at=LATER)


def test_a_stop_closes_what_is_asked() -> None:
    """While a write is brought to its end nothing more can be allowed."""
    both = reply("", use("poke"), use("pay", item="tea", cents=9))
    program, log = asking(both)
    cancel(log, RUN, by="ana", at=LATER)
    then(program, log, SignalsHeard())
    with pytest.raises(BadInput, match="call 2: the run was stopped, so it is not asked any more"):
        approve(log, RUN, 2, by="bo", at=LATER)


@pytest.mark.parametrize("first", ["approve", "cancel"])
def test_a_cancellation_is_heard_before_an_approval(first: str) -> None:
    """Whichever came first: after it nothing begins."""
    program, log = asking()
    if first == "approve":
        approve(log, RUN, 1, by="bo", at=LATER)
        cancel(log, RUN, by="ana", at=LATER)
    else:
        cancel(log, RUN, by="ana", at=LATER)
        approve(log, RUN, 1, by="bo", at=LATER)
    assert follows(then(program, log, SignalsHeard())) == ["StopDecided", "RunEnded"]


def test_what_is_approved_beyond_the_time_of_the_run_does_not_begin() -> None:
    """Wall time goes on while a tool works beside the question."""
    both = reply("", use("poke"), use("pay", item="tea", cents=9))
    program, log = asking(both, budget=Limits(wall_time_ms=9000))
    approve(log, RUN, 2, by="bo", at=NOON + timedelta(seconds=11))
    batch = then(program, log, SignalsHeard(), after_s=12)
    assert follows(batch) == ["StopDecided"]


def test_waiting_for_an_approval_takes_no_time_of_the_run() -> None:
    """Nothing but a person is awaited."""
    program, log = asking(budget=Limits(wall_time_ms=9000))
    approve(log, RUN, 1, by="bo", at=NOON + timedelta(hours=1))
    assert "ToolCalled" in follows(then(program, log, SignalsHeard(), after_s=3601))


def test_other_calls_of_the_reply_go_on_meanwhile() -> None:
    """What needs nobody's word is made at once; the model is asked when all of it is in."""
    both = reply("", use("price_of", item="tea"), use("pay", item="tea", cents=9))
    program, log = asking(both, seen(1, {"item": "tea", "cents": 5}))
    assert [type(one) for one in fold(log.read(RUN)).requests.values()] == [ApprovalAsked]
    approve(log, RUN, 2, by="bo", at=LATER)
    assert follows(then(program, log, SignalsHeard())) == ["VerdictGiven allow by approval", "ToolCalled"]


def test_another_program_that_shows_another_target_asks_again() -> None:
    """What a person allowed is what they were shown, and this they were not."""
    program, log = asking()
    approve(log, RUN, 1, by="bo", at=LATER)
    assert program.tools is not None
    moved = replace(program, tools={**program.tools, "pay": replace(program.tools["pay"], destination="item")})
    batch = then(moved, log, SignalsHeard())
    assert follows(batch) == ["VerdictGiven ask by a person looks", "ApprovalAsked"]


def test_what_follows_is_pure() -> None:
    """The same state and answer give the same verdicts: an approval replays like anything else."""
    program, log = asking()
    approve(log, RUN, 1, by="bo", at=LATER)
    batch = then(program, log, SignalsHeard())
    state = state_at(log, RUN, batch[0].position)
    assert next(react(program, state, batch[0])) == batch[1].event
