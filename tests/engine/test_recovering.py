"""What becomes of failures in a row: each kind has its quota, each quota the next rung of the contract's ladder."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from redrive_engine.contract import Contract, check_contract
from redrive_engine.drive import append_of
from redrive_engine.models import reply, use
from redrive_engine.world import Happened
from redrive_events import (
    BadInput,
    Failure,
    GuardTerms,
    Input,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ObservationReceived,
    PersonAsked,
    Quotas,
    Record,
    RecoveryChosen,
    RepeatTerms,
    RunEnded,
    Rung,
    SignalsHeard,
    StopDecided,
    Terms,
)
from redrive_projections import fold, rebuilt, requests
from redrive_replays import replay_records
from tests.shop import NOON, recorded, seen, shop

PAID = {"paid": {"known": True}}
LADDER: tuple[Rung, ...] = ("another_way", "stronger_model", "escalate")


def run(*inputs: Input, **terms: Any) -> list[Record]:
    """The records of a run that is not done before it has paid; its replay is the same, as it must always be."""
    usual: dict[str, Any] = {"done": PAID, "tools": {"count": {}, "price_of": {}}}
    program = shop(Terms(**usual | terms))
    records = recorded(program, *inputs)
    assert replay_records("run", records, program).same
    return records


def of(records: list[Record], kind: type[Any]) -> list[Any]:
    """The events of one kind."""
    return [one.event for one in records if isinstance(one.event, kind)]


def asks(tool: str, **arguments: Any) -> Input:
    """The model asks for a tool."""
    return reply("", use(tool, **arguments))


def came(call: int, status: Any) -> Input:
    """A tool did not do what it should."""
    return ObservationReceived(call=call, status=status, content="Closed.")


COUNT, PRICE = asks("count", item="tea"), asks("price_of", item="tea")
GOLD = seen(1, {"item": "gold", "cents": 5})
TWICE: dict[Failure, tuple[tuple[Input, ...], tuple[Input, ...]]] = {
    "unreadable": ((reply(" "),), (reply(" "),)),
    "model_failed": ((ModelFailed(kind="timeout", retryable=True),), (ModelFailed(kind="broken", retryable=True),)),
    "arguments": ((asks("count", it=1),), (asks("ghost"),)),
    "denied": ((asks("pay", item="tea", cents=5),), (asks("poke"),)),
    "tool_failed": ((COUNT, came(1, "error")), (COUNT, came(2, "error"))),
    "refused": ((PRICE, seen(1, {"item": "gold", "cents": 5})), (PRICE, seen(2, {"item": "gold", "cents": 5}))),
    "finish": ((reply("Done."),), (reply("Done!"),)),
    "infrastructure": ((COUNT, came(1, "timeout")), (COUNT, came(2, "cancelled"))),
}
GOOD: dict[Failure, tuple[Input, ...]] = {
    "unreadable": (reply("Done."),),
    "model_failed": (reply(" "),),
    "arguments": (COUNT, seen(1, 3)),
    "denied": (COUNT, seen(1, 3)),
    "tool_failed": (COUNT, seen(1, 3)),
    "refused": (COUNT, seen(1, 3)),
    "finish": (COUNT, seen(1, 3)),
    "infrastructure": (COUNT, came(1, "error")),
}
REASONS: dict[Failure, str] = {
    "unreadable": "2 unreadable replies in a row",
    "model_failed": "model: broken",
    "arguments": "2 calls with bad arguments in a row",
    "denied": "2 denied calls in a row",
    "tool_failed": "2 tool failures in a row",
    "refused": "2 refused observations in a row",
    "finish": "2 refused finishes in a row",
    "infrastructure": "2 failures of infrastructure in a row",
}


def shifted(inputs: tuple[Input, ...], by: int) -> tuple[Input, ...]:
    """The same, behind ``by`` calls."""
    return tuple(
        ObservationReceived(
            call=one.call + by, status=one.status, content=one.content, media_type=one.media_type, size_bytes=0
        )
        if isinstance(one, ObservationReceived)
        else one
        for one in inputs
    )


@pytest.mark.parametrize("kind", TWICE)
def test_a_quota_that_is_reached_ends_the_run(kind: Failure) -> None:
    """With the reason, and the two positions where it failed."""
    first, second = TWICE[kind]
    records = run(*first, *second, quotas=Quotas(**{kind: 2}))
    (stop,) = of(records, StopDecided)
    assert (stop.status, stop.reason, len(stop.window)) == ("failed", REASONS[kind], 2)


@pytest.mark.parametrize("kind", TWICE)
def test_a_success_begins_the_row_anew(kind: Failure) -> None:
    """Of its own kind: two failures with one of these between them do not add up."""
    first, second = TWICE[kind]
    good = GOOD[kind]
    calls = sum(isinstance(one, ObservationReceived) for one in first)
    denied = kind in {"arguments", "denied"}
    good = shifted(good, calls + denied)
    after = sum(isinstance(one, ObservationReceived) for one in good)
    records = run(*first, *good, *shifted(second, after), quotas=Quotas(**{kind: 2}))
    assert of(records, StopDecided) == []


@pytest.mark.parametrize("kind", TWICE)
def test_without_a_quota_it_goes_on(kind: Failure) -> None:
    """Only the budget ends it then."""
    first, second = TWICE[kind]
    assert of(run(*first, *second, quotas=Quotas(**{kind: None})), StopDecided) == []


def test_each_quota_takes_the_next_rung() -> None:
    """Another way, a stronger model, a person; whatever the kinds, each rung once, and then the run is given up."""
    records = run(
        *(COUNT, came(1, "error")),
        reply(" "),
        *(COUNT, came(2, "error")),
        MessageReceived(actor="operator", content="Try the other shelf."),
        SignalsHeard(),
        reply(" "),
        quotas=Quotas(tool_failed=1, unreadable=1),
        recovery=LADDER,
        models=("big", "bigger"),
        model="small",
    )
    assert [(one.failure, one.rung, one.model) for one in of(records, RecoveryChosen)] == [
        ("tool_failed", "another_way", ""),
        ("unreadable", "stronger_model", "big"),
        ("tool_failed", "escalate", ""),
    ]
    assert [one.model for one in of(records, ModelAsked)] == ["small", "small", "big", "big"]
    (asked,) = of(records, PersonAsked)
    assert (asked.why, asked.reason) == ("escalation", "a tool failure")
    assert [one.reason for one in of(records, StopDecided)] == ["an unreadable reply"]


def test_who_is_asked_instead_is_in_the_request() -> None:
    """Its digest covers the model, so the request that the log rebuilds is the one that was asked."""
    records = run(reply(" "), quotas=Quotas(unreadable=1), recovery=("stronger_model",), models=("big",), model="small")
    place = next(one.position for one in reversed(records) if isinstance(one.event, ModelAsked))
    assert rebuilt(records, place).model == "big"


def test_the_model_is_told() -> None:
    """What failed, and to take another way; a stronger model, what it goes on from."""
    records = run(
        reply(" "), reply(" "), quotas=Quotas(unreadable=1), recovery=("another_way", "stronger_model"), models=("big",)
    )
    assert [one.text for one in of(records, RecoveryChosen)] == [
        "Stop here: an unreadable reply. This way does not work; take another one, or finish with what there is.",
        "You go on in place of another model, which was given up on: an unreadable reply. Look at what it tried first.",
    ]


def test_a_model_that_gives_no_answer_is_not_told_to_take_another_way() -> None:
    """A stronger one is asked instead, for one that will not pass too; the rung skipped is still there."""
    records = run(
        ModelFailed(kind="refused"),
        *(COUNT, came(1, "error")),
        quotas=Quotas(tool_failed=1),
        recovery=LADDER,
        models=("big",),
    )
    assert [(one.failure, one.rung) for one in of(records, RecoveryChosen)] == [
        ("model_failed", "stronger_model"),
        ("tool_failed", "another_way"),
    ]


def test_there_is_no_stronger_model_than_the_strongest() -> None:
    """The rung is passed over, and the next one taken."""
    records = run(
        *[reply(" ")] * 2,
        quotas=Quotas(unreadable=1),
        recovery=("stronger_model", "stronger_model", "escalate"),
        models=("big",),
        escalation="end",
    )
    assert [one.rung for one in of(records, RecoveryChosen)] == ["stronger_model", "escalate"]
    assert of(records, RunEnded)[0].status == "escalated"


def test_a_program_that_does_not_know_the_stronger_model_asks_its_own() -> None:
    """A deployment may drop it while the run is in flight."""
    terms = Terms(done=PAID, model="small", quotas=Quotas(unreadable=1), recovery=LADDER[1:], models=("big",))
    state = fold(recorded(shop(terms), reply(" "), reply("Hm.")))
    (asked,) = state.requests
    program = shop(msgspec.structs.replace(terms, model="other", models=("huge",)))
    gone = Happened(ModelFailed(kind="cancelled", retryable=True), state.now or NOON, asked)
    again = [one.event for one in append_of(program, state, gone)][-1]
    assert isinstance(again, ModelAsked)
    assert again.model == "other"


def test_a_request_that_nobody_was_asked_is_no_failure() -> None:
    """Another program asks its own in its place, and its model has not failed."""
    gone = ModelFailed(kind="cancelled", retryable=True)
    records = run(gone, gone, reply("Done."), quotas=Quotas(model_failed=1))
    assert of(records, StopDecided) == []


def test_a_lesson_is_asked_of_the_stronger_model() -> None:
    """It has read what failed and that it takes over; both stand in its next request, in this order."""
    records = run(
        *(COUNT, came(1, "error"), reply("It is closed.")),
        quotas=Quotas(tool_failed=1),
        recovery=("stronger_model",),
        models=("big",),
        reflection="model",
    )
    assert [(one.model, one.purpose) for one in of(records, ModelAsked)] == [
        ("", "act"),
        ("big", "reflect"),
        ("big", "act"),
    ]
    *_, last = requests(records)
    (chosen,) = of(records, RecoveryChosen)
    assert [one.content for one in last.messages][-2:] == [chosen.text, "Lesson: It is closed."]


def test_several_calls_of_one_reply_each_get_what_they_are_due() -> None:
    """One is made, one held back, one denied, one unknown, and a way out must come alone: a response to each."""
    calls = ("count", "count", "count", "ghost", "finish")
    given: list[dict[str, Any]] = [{"item": "tea"}, {"item": "tea"}, {"item": "gold"}, {}, {"answer": "Done."}]
    records = run(
        reply("", *(use(tool, **arguments) for tool, arguments in zip(calls, given, strict=True))),
        seen(1, 3),
        guards=GuardTerms(repeats=RepeatTerms()),
        ways_out=("finish",),
        exclude={"count": {"item": {"is": "gold"}}},
    )
    *_, last = requests(records)
    told = [str(one.content).partition(":")[0].partition(" must")[0] for one in last.messages[-5:]]
    assert told == [
        "3",
        "Not called again",
        "This call is not allowed.",
        "There is no tool 'ghost' here. The tools are",
        "finish",
    ]


def test_a_person_is_asked_when_all_answers_are_in() -> None:
    """The other call of the reply is awaited first."""
    records = run(
        reply("", use("count", item="tea"), use("price_of", item="tea")),
        came(1, "error"),
        quotas=Quotas(tool_failed=1),
        recovery=("escalate",),
    )
    assert (len(of(records, RecoveryChosen)), of(records, PersonAsked)) == (1, [])
    records = run(
        reply("", use("count", item="tea"), use("price_of", item="tea")),
        came(1, "error"),
        seen(2, {"item": "tea", "cents": 5}),
        quotas=Quotas(tool_failed=1),
        recovery=("escalate",),
    )
    assert len(of(records, PersonAsked)) == 1


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        ((), "contract.models: recovery has a stronger model, and none is named"),
        (("a", "a"), "contract.models: a model is named twice"),
    ],
)
def test_a_ladder_that_cannot_be_climbed_is_refused(models: tuple[str, ...], problem: str) -> None:
    """Before anything runs."""
    terms = Contract(recovery=("stronger_model",), models=models).terms()
    with pytest.raises(BadInput, match=f"^{problem}$"):
        check_contract(terms, tools=[], commits=[])
