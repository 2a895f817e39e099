"""What a guard holds back, warns of and stops, and on which evidence; and what is no failing of a model's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from redrive_engine.drive import append_of
from redrive_engine.models import reply, use
from redrive_engine.world import Happened
from redrive_events import (
    BudgetWarned,
    CallIntercepted,
    Dimension,
    EffectReconciled,
    GuardTerms,
    Input,
    Limits,
    MessageReceived,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ObservationReceived,
    Reading,
    Record,
    RepeatTerms,
    RunEnded,
    StagnationTerms,
    StopDecided,
    Terms,
    ToolCalled,
    Usage,
    VerdictGiven,
)
from redrive_projections import fold, requests
from redrive_replays import replay_records
from tests.shop import Asking, recorded, seen, shop

PAID = {"paid": {"known": True}}
COUNT = reply("", use("count", item="tea"))


def run(*inputs: Input, step_s: float = 1.0, **terms: Any) -> list[Record]:
    """The records of a run that is not done before it has paid; its replay is the same, as it must always be."""
    program = shop(Terms(done=PAID, **terms))
    records = recorded(program, *inputs, step_s=step_s)
    assert replay_records("run", records, program).same
    return records


def of(records: list[Record], kind: type[Any]) -> list[Any]:
    """The events of one kind."""
    return [one.event for one in records if isinstance(one.event, kind)]


def places(records: list[Record], kind: type[Any]) -> list[int]:
    """Where they stand."""
    return [one.position for one in records if isinstance(one.event, kind)]


def counted(number: int) -> tuple[Input, Input]:
    """A call of the shelf, and its answer."""
    return COUNT, seen(number, 3)


PRICE = reply("", use("price_of", item="tea"))
NO_FIT = reply("", use("count", it=1))
PAY = reply("", use("pay", item="tea", cents=5))


def paid(number: int) -> tuple[Input, Input]:
    """A payment that landed."""
    return PAY, seen(number, {"item": "tea", "cents": 5})


@pytest.mark.parametrize(
    ("repeats", "inputs", "held"),
    [
        pytest.param(RepeatTerms(), (*counted(1), COUNT), [2], id="once is enough"),
        pytest.param(RepeatTerms(times=2), (*counted(1), *counted(2), COUNT), [3], id="twice is enough"),
        pytest.param(RepeatTerms(window=1), (*counted(1), PRICE, seen(2, 5), COUNT), [], id="window"),
        pytest.param(RepeatTerms(polling=("count",)), (*counted(1), *counted(2), COUNT), [], id="polling"),
        pytest.param(RepeatTerms(), (*counted(1), *paid(2), COUNT), [], id="a write resets"),
        pytest.param(RepeatTerms(), (*counted(1), *paid(2), PAY), [3], id="but not itself"),
        pytest.param(RepeatTerms(write_resets=False), (*counted(1), *paid(2), COUNT), [3], id="no reset"),
        pytest.param(RepeatTerms(), (reply("", use("pay", item="a", cents=5), use("pay", cents=5, item="a")),), [2],
            id="in one reply, its arguments in another order"),
        pytest.param(
            RepeatTerms(), (COUNT, ObservationReceived(call=1, status="timeout"), COUNT), [], id="a read that timed out"
        ),
        pytest.param(
            RepeatTerms(), (COUNT, ObservationReceived(call=1, status="error"), COUNT), [2], id="a read that failed"
        ),
        pytest.param(
            RepeatTerms(),
            (
                PAY,
                ObservationReceived(call=1, status="timeout"),
                EffectReconciled(call=1, outcome="unknown", content="Not known."),
                PAY,
            ),
            [2],
            id="a write of which nobody knows",
        ),
        pytest.param(
            RepeatTerms(),
            (
                PAY,
                ObservationReceived(call=1, status="timeout"),
                EffectReconciled(call=1, outcome="not_landed", content="No."),
                PAY,
            ),
            [],
            id="a write that did not land",
        ),
        pytest.param(RepeatTerms(), (*counted(1), reply("", use("count", item="milk"))), [], id="other arguments"),
        pytest.param(RepeatTerms(), (NO_FIT, NO_FIT), [], id="never made"),
    ],
)  # fmt: skip
def test_a_repeated_call(repeats: RepeatTerms, inputs: tuple[Input, ...], held: list[int]) -> None:
    """Only calls that were really made count, and what infrastructure lost may be asked for again."""
    records = run(*inputs, guards=GuardTerms(repeats=repeats), on_doubt="tell", attempts=1)
    intercepted = of(records, CallIntercepted)
    assert [one.call for one in intercepted] == held
    assert not {one.call for one in of(records, ToolCalled)} & set(held)
    for one in intercepted:
        assert one.guard == "repeated"
        assert one.window
        assert {type(records[place - 1].event) for place in one.window} <= {ToolCalled, ModelReplied}


def test_a_call_that_waits_for_a_person_moves_no_window_on() -> None:
    """It may never be made: what the last two calls were stays known, and the read beside it is held back."""
    both = reply("", use("pay", item="tea", cents=5), use("price_of", item="tea"))
    inputs = (PRICE, seen(1, 5), *counted(2), both)
    for policy, held in ((None, []), (Asking(), [4])):
        program = shop(Terms(guards=GuardTerms(repeats=RepeatTerms(window=2, write_resets=False))), policy=policy)
        records = recorded(program, *inputs)
        assert replay_records("run", records, program).same
        assert [one.call for one in of(records, CallIntercepted)] == held


def test_what_is_held_back_is_no_call_of_the_budget() -> None:
    """Of three equal calls one is made, which is as many as there may be."""
    three = reply("", *[use("count", item="tea")] * 3)
    records = run(three, guards=GuardTerms(repeats=RepeatTerms()), budget=Limits(steps=9, tool_calls=1))
    assert (len(of(records, CallIntercepted)), len(of(records, ToolCalled)), of(records, StopDecided)) == (2, 1, [])


@pytest.mark.parametrize(
    ("budget", "warning"),
    [
        pytest.param(Limits(steps=3), (2, "steps", 1, "1 step is"), id="steps"),
        pytest.param(Limits(steps=1), (0, "steps", 1, "1 step is"), id="the only step"),
        pytest.param(Limits(tokens=3000), (2, "tokens", 1000, "1,000 tokens are"), id="tokens"),
        pytest.param(Limits(cost_micros=2500), (2, "cost", 500, "0.000500 USD are"), id="cost"),
        pytest.param(Limits(wall_time_ms=6000), (2, "wall_time", 2000, "2.0 s of time are"), id="wall time"),
        pytest.param(Limits(steps=9, tool_calls=3), (2, "tool_calls", 1, "1 tool call is"), id="tool calls"),
        pytest.param(Limits(steps=9, tokens=50_000), None, id="plenty of all"),
    ],
)
def test_the_end_of_a_budget_is_told_before_the_last_step(
    budget: Limits, warning: tuple[int, Dimension, int, str] | None
) -> None:
    """When what is left is no more than the last step took, once, in the request that may be the last."""
    usage = Usage(input=700, cache_read=200, output=100, reasoning=60)
    inputs: list[Input] = []
    for call in (1, 2):
        inputs += [reply("", use("count", item=str(call)), usage=usage, cost_micros=1000), seen(call, 3)]
    records = run(*inputs[: 2 * (budget.steps or 2)], budget=budget, guards=GuardTerms(warn=True))
    found = of(records, BudgetWarned)
    if warning is None:
        assert found == []
        return
    asked, dimension, left, words = warning
    assert found == [
        BudgetWarned(
            dimension=dimension,
            left=left,
            text=f"Important: {words} left. Give the final answer now, from what you know, and begin nothing new.",
        )
    ]
    assert places(records, BudgetWarned)[0] + 1 == places(records, ModelAsked)[asked]


def test_nobody_is_warned_unasked() -> None:
    """A guard is turned on by the contract."""
    assert of(run(*counted(1), budget=Limits(steps=2)), BudgetWarned) == []


@pytest.mark.parametrize("budget", [Limits(steps=1), Limits(tokens=5), Limits(cost_micros=5)])
def test_no_call_starts_on_the_last_step(budget: Limits) -> None:
    """Whichever budget ended with the reply: none of its calls is made, and the run ends."""
    last = reply("", use("count", item="tea"), use("ghost"), usage=Usage(output=5), cost_micros=5)
    records = run(last, budget=budget, guards=GuardTerms(last_step=True))
    assert [(one.guard, one.call) for one in of(records, CallIntercepted)] == [("last_step", 1)]
    assert [one.window for one in of(records, CallIntercepted)] == [tuple(places(records, ModelReplied))]
    assert (of(records, ToolCalled), of(records, RunEnded)[0].status) == ([], "exhausted")


A, B = "I should look at the shelf before I buy.", "I should look at the shelf, before I buy!"


@pytest.mark.parametrize(
    ("inputs", "stops"),
    [
        pytest.param((reply(A), reply(B)), True, id="the same thought twice"),
        pytest.param((reply(A), reply("Tea is what she wants.")), False, id="another thought"),
        pytest.param((reply(A, use("count", item="a")), seen(1, 3), reply(B)), False, id="an action that was new"),
        pytest.param(
            (
                *counted(1),
                reply(A, use("count", item="tea")),
                seen(2, 3),
                reply(B, use("count", item="tea")),
                seen(3, 3),
            ),
            True,
            id="actions that were not",
        ),
        pytest.param((reply(A), MessageReceived(actor="user", content="Yes?"), reply(B)), False, id="a person spoke"),
        pytest.param((reply(A), ModelFailed(kind="timeout", retryable=True), reply(B)), True, id="the model was lost"),
        pytest.param(
            (*counted(1), reply(A, use("count", item="tea")), ObservationReceived(call=2, status="timeout"), reply(B)),
            False,
            id="a tool was lost",
        ),
        pytest.param((COUNT, seen(1, 3), COUNT, seen(2, 3), COUNT, seen(3, 3)), False, id="no thoughts at all"),
    ],
)
def test_stagnation(inputs: tuple[Input, ...], stops: bool) -> None:
    """Near-identical thoughts in a row, with nothing new done and nothing new said in between."""
    records = run(*inputs, guards=GuardTerms(stagnation=StagnationTerms(similarity_percent=85)))
    stop = of(records, StopDecided)
    assert [one.reason for one in stop] == ["stagnation"] * stops
    if stops:
        assert list(stop[0].window) == places(records, ModelReplied)[-2:]
        assert stop[0].read == (
            Reading(
                path="thoughts.dice_of_bigrams_percent", operator="at_least", value=stop[0].read[0].value, limit=85
            ),
        )


def test_a_tool_that_may_be_polled_is_no_stagnation() -> None:
    """Who waits thinks the same again."""
    guards = GuardTerms(stagnation=StagnationTerms(), repeats=RepeatTerms(polling=("count",)))
    waits = (
        reply("Still waiting.", use("count", item="tea")),
        seen(1, 3),
        reply("Still waiting.", use("count", item="tea")),
    )
    assert of(run(*waits, seen(2, 3), guards=guards), StopDecided) == []


def test_the_guards_are_those_of_the_program_that_drives_the_run() -> None:
    """A run that another contract began is watched over by this one, its polling included."""
    repeats = RepeatTerms(polling=("count",))
    began = shop(Terms(done=PAID, guards=GuardTerms(stagnation=StagnationTerms(), repeats=repeats)))
    waits = reply("Still waiting.", use("count", item="tea"))
    records = recorded(began, waits, seen(1, 3), waits, seen(2, 3), waits)
    strict = GuardTerms(stagnation=StagnationTerms(), repeats=RepeatTerms(times=9))
    for guards, stops in ((began.terms.guards, []), (strict, ["stagnation"])):
        state = fold(records)
        program = shop(msgspec.structs.replace(began.terms, guards=guards))
        at = records[-1].at
        open_call = next(iter(state.requests))
        events = [one.event for one in append_of(program, state, Happened(seen(3, 3), at, open_call))]
        assert [one.reason for one in events if isinstance(one, StopDecided)] == stops


@pytest.mark.parametrize("failure", [(), (ModelFailed(kind="timeout", retryable=True),)], ids=["answered", "retried"])
def test_who_is_given_no_chat_is_told_all_the_same(failure: tuple[Input, ...]) -> None:
    """A notice, and a person's words, stand in front of the view until a reply has come; then they are gone."""
    said = MessageReceived(actor="user", content="Green tea 🍵")
    records = run(
        *(COUNT, said, seen(1, 3), *failure),
        view="facts",
        budget=Limits(steps=2),
        guards=GuardTerms(warn=True),
    )
    *_, last = requests(records)
    (warned,) = of(records, BudgetWarned)
    view = '{"consecutive_parse_errors":0,"facts":{"stock":3},"step":2}'
    assert [one.content for one in last.messages] == ["Serve.", "Buy tea", "Green tea 🍵", warned.text, view]
    later = run(COUNT, said, seen(1, 3), reply("", use("count", item="gold")), seen(2, 3), view="facts")
    *_, last = requests(later)
    assert len(last.messages) == 3


def test_a_long_thought_is_compared_whole() -> None:
    """Two that differ behind the cut of their summaries are two."""
    long = "On the one hand this, on the other hand that; " * 5
    guards = GuardTerms(stagnation=StagnationTerms(similarity_percent=90))
    assert of(run(reply(long + "tea " * 60), reply(long + "milk" * 90), guards=guards), StopDecided) == []


def test_turns_without_a_new_fact_come_to_an_end() -> None:
    """One may be barren, two are not: the known count is nothing new."""
    records = run(*counted(1), *counted(2), *counted(3), guards=GuardTerms(barren_turns=1))
    (stop,) = of(records, StopDecided)
    assert list(stop.window) == places(records, ModelReplied)[1:]
    assert stop.read == (Reading(path="turns.without_new_fact", operator="at_most", value=2, limit=1),)


def test_a_turn_that_was_lost_is_not_barren() -> None:
    """Infrastructure is not the model's failing."""
    lost = (COUNT, ObservationReceived(call=2, status="timeout"))
    last = (COUNT, ObservationReceived(call=3, status="unknown"))
    assert of(run(*counted(1), *lost, *last, guards=GuardTerms(barren_turns=1)), StopDecided) == []


@pytest.mark.parametrize(
    ("on_denied", "on_unknown", "reason"),
    [
        ("tell", "tell", ""),
        ("block", "tell", ""),
        ("block", "block", "call 1 of ghost: unknown tool"),
        ("tell", "block", "call 1 of ghost: unknown tool"),
    ],
)
def test_an_unknown_tool_is_told_or_blocks(on_denied: str, on_unknown: str, reason: str) -> None:
    """As the contract says, which may be otherwise than for a call that is denied."""
    terms = msgspec.convert({"on_denied": on_denied, "on_unknown": on_unknown}, dict[str, Any])
    records = run(reply("", use("ghost")), **terms)
    (verdict,) = of(records, VerdictGiven)
    assert verdict.text == "There is no tool 'ghost' here. The tools are: count, pay, poke, price_of."
    assert [one.reason for one in of(records, StopDecided)] == ([reason] if reason else [])


def test_what_there_was_is_kept() -> None:
    """The lines whose facts are known, in the contract's words; none where the run came to its own end."""
    partial = "It costs {price}.\n{stock} are left.\nPaid {paid}."
    ended = of(run(*counted(1), budget=Limits(steps=1), partial=partial), RunEnded)[0]
    assert (ended.status, ended.answer, ended.partial) == ("exhausted", None, "3 are left.")
    assert of(run(*paid(1), reply("Done."), partial=partial), RunEnded)[0].partial is None
    assert of(run(*counted(1), budget=Limits(steps=1)), RunEnded)[0].partial is None
