"""The scenario's promises: the message goes out once, to the registered phone, or not at all, and it is known why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import redrive as rd
from orders_sms import GOAL, agent, make_agent, variants
from orders_sms.script import DONE
from orders_sms.world import CUSTOMER, World
from redrive_engine import load_agent
from redrive_events import (
    CallIntercepted,
    DecisionMade,
    EffectReconciled,
    FinishRefused,
    ObservationReceived,
    StopDecided,
    ToolCalled,
    VerdictGiven,
)
from redrive_projections.history import ask
from trajectories import Make, ends_alike_wherever_it_is_cut, found, replays_the_same, told

ORDER = {"order_id": "ord_1002", "date": "2026-11-18", "phone": "13800002222"}
CALLS = ["query_orders", "get_logistics", "send_sms"]
LOST = ["get_logistics"] * 2
# The registered number in the wide digits of Chinese text.
WIDE = "13800002222".translate({ord("0") + n: 0xFF10 + n for n in range(10)})
TRACKED = "The tracking number is SF1390002."

# Each agent, and how its run ends: status, reason, steps, the tools that were asked to act, what it had when stopped.
ENDS: list[tuple[Make, str, str, int, list[str], str | None]] = [
    (make_agent, "succeeded", "done", 4, CALLS, None),
    (
        variants.side_by_side,
        "succeeded",
        "done",
        4,
        ["query_orders", "get_logistics", "get_logistics", "send_sms"],
        None,
    ),
    (variants.writing, "succeeded", "done", 4, CALLS, None),
    (variants.repeating, "succeeded", "done", 5, CALLS, None),
    (variants.slipping, "succeeded", "done", 5, CALLS, None),
    (
        variants.failing,
        "failed",
        "3 tool failures in a row",
        3,
        ["query_orders", "get_logistics", "query_orders"],
        None,
    ),
    (variants.flickering, "succeeded", "done", 8, [*LOST, "query_orders", *LOST, *CALLS[1:]], None),
    (variants.inventing, "failed", "3 denied calls in a row", 5, CALLS[:2], TRACKED),
    (variants.unknown, "failed", "unable", 2, CALLS[:1], None),
    (variants.honest, "failed", "unable", 2, CALLS[:1], None),
    (variants.contrite, "failed", "unable", 4, CALLS[:2], TRACKED),
    (variants.unanswered, "succeeded", "done", 4, CALLS, None),
    (variants.long_winded, "succeeded", "done", 4, CALLS, None),
    (variants.endless, "exhausted", "steps", 15, [*CALLS[:2], *["query_orders"] * 13], TRACKED),
    (variants.hasty, "succeeded", "done", 5, CALLS, None),
]
MAKES = [pytest.param(make, id=make.__name__) for make, *_ in ENDS]


def run_of(asked: rd.Agent, *, log: rd.MemoryLog | rd.SqliteLog | None = None, run_id: str = "run") -> rd.Run:
    """A run of the scenario in surroundings that never differ."""
    return asked.run(GOAL, log=log or rd.MemoryLog(), run_id=run_id, surroundings=rd.Surroundings.fixed())


@pytest.mark.parametrize(
    ("make", "status", "reason", "steps", "calls", "partial"), [pytest.param(*end, id=end[0].__name__) for end in ENDS]
)
def test_the_run_ends(make: Make, status: str, reason: str, steps: int, calls: list[str], partial: str | None) -> None:
    """Each with its known reason, after these tools; one that was stopped says what it had by then."""
    run = run_of(make())
    assert run.state.end is not None
    assert (run.status, run.state.end.reason, run.state.steps) == (status, reason, steps)
    assert [called.tool for called in found(run, ToolCalled)] == calls
    assert ((run.answer == DONE), run.partial) == (status == "succeeded", partial)


def test_what_is_known_of_the_newest_order() -> None:
    """The newer of two, its waybill, and the key that the service confirms."""
    world = World()
    run = run_of(make_agent(world=world))
    (key,) = world.sent
    assert {name: fact.value for name, fact in run.facts.items()} == {
        "order": ORDER,
        "tracking_number": "SF1390002",
        "sms_sent": key,
    }
    assert world.sent[key].phone == "13800002222"
    assert "SF1390002" in world.sent[key].text


def test_the_same_call_is_not_made_again() -> None:
    """Its arguments stand in another order, which makes no difference; the guard tells where the first one stands."""
    world = World()
    run = run_of(variants.repeating(world))
    (held,) = found(run, CallIntercepted)
    (first,) = (one.position for one in run.records() if isinstance(one.event, ToolCalled) and one.event.call == 3)
    assert (held.call, held.guard, held.window) == (4, "repeated", (first,))
    assert held.text == (
        "Not called again: send_sms was called once with the same arguments, and that result stands. "
        "Take another way, or finish with what there is."
    )
    assert len(world.sent) == 1


def test_a_bad_argument_is_answered_with_what_is_allowed() -> None:
    """The place, the problem, and what there is; none of these calls is made."""
    run = run_of(variants.slipping())
    assert [(one.rule, one.text) for one in found(run, VerdictGiven) if one.verdict == "deny"] == [
        ("schema", "send_sms: phone: a text is expected"),
        ("schema", "get_logistics: order_id: missing"),
        ("schema", "query_orders: limit: no such argument; there are: name"),
        (
            "unknown tool",
            "There is no tool 'send_email' here. The tools are: get_logistics, query_orders, send_sms, unable.",
        ),
    ]


@pytest.mark.parametrize("phone", ["+86 138-0000-2222", "138 0000 2222", WIDE, "(138) 0000-2222", "008613800002222"])
def test_a_phone_may_be_written_as_people_write_it(phone: str) -> None:
    """It is the registered one all the same."""
    run = run_of(variants.writing(phone))
    assert (run.status, {one.verdict for one in found(run, VerdictGiven)}) == ("succeeded", {"allow"})


@pytest.mark.parametrize(
    "phone", ["13800002223", "1380000222", "138000022222", "+1 13800002222x", "13912345678", "", "Wang Fang's phone"]
)
def test_a_phone_that_nobody_gave_is_never_written_to(phone: str) -> None:
    """Not one digit may differ: the call is denied, and the message service hears nothing."""
    run = run_of(variants.writing(phone or " "))
    assert {one.rule for one in found(run, VerdictGiven) if one.verdict == "deny"} == {"grounded"}
    assert (run.status, "send_sms" in [one.tool for one in found(run, ToolCalled)]) == ("failed", False)


def test_an_invented_phone_is_denied() -> None:
    """With the value and the rule in the record, and to the model no hint at how to get around it."""
    world = variants.no_phone()
    run = run_of(variants.inventing(world))
    denied = [one for one in found(run, VerdictGiven) if one.verdict == "deny"]
    assert [(one.rule, one.read[0].path, one.read[0].value) for one in denied] == [
        ("grounded", "arguments.phone", phone) for phone in variants.INVENTED
    ]
    assert {one.text for one in denied} == {
        "send_sms: phone is a value that nobody gave and nothing showed, so the call was not made."
    }
    (stop,) = found(run, StopDecided)
    assert [run.records()[place - 1].event for place in stop.window] == denied
    assert world.sent == {}


@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (variants.unknown, "No order was found for Wang Fang. Please confirm the name."),
        (variants.honest, "No phone is registered for ord_1002, so there is nowhere to send it to."),
        (variants.contrite, "No phone is registered for ord_1002, so there is nowhere to send it to."),
    ],
)
def test_what_cannot_be_done_is_said(make: Make, answer: str) -> None:
    """By the way out that the contract grants: no second spelling, and no number that somebody made up."""
    run = run_of(make())
    (last,) = (one for one in found(run, DecisionMade) if one.kind != "call")
    assert (run.answer, last.unable) == (answer, True)
    assert "send_sms" not in [one.tool for one in found(run, ToolCalled)]


def test_an_answer_that_is_lost_is_asked_for() -> None:
    """The service is asked what became of the key before anything else, so the message is sent once."""
    world = World()
    run = run_of(variants.unanswered(world))
    assert [one.outcome for one in found(run, EffectReconciled)] == ["landed"]
    assert len([one for one in found(run, ToolCalled) if one.tool == "send_sms"]) == len(world.sent) == 1


def test_a_long_page_is_cleaned_and_cut() -> None:
    """The record says by how much, and Chinese signs stay whole."""
    run = run_of(variants.long_winded())
    page = found(run, ObservationReceived)[1]
    text = str(page.content)
    assert text.splitlines()[:3] == ["ord_1002", "waybill SF1390002", "2026-11-20 depot 1, 转运中"]
    assert len(text.encode()) + page.cut == page.size_bytes > 2048 >= len(text.encode()) > 2048 - 4


def test_an_answer_before_the_message_is_refused() -> None:
    """With what is missing."""
    assert [one.missing for one in found(run_of(variants.hasty()), FinishRefused)] == [("sms_sent",)]


def test_each_call_says_why() -> None:
    """One sentence of judgement and intent is the decision's summary."""
    decisions = [one for one in found(run_of(agent), DecisionMade) if one.kind == "call"]
    assert len(decisions) == 3
    assert all(one.summary.endswith(".") for one in decisions)


@pytest.mark.parametrize("make", MAKES)
def test_a_recorded_run_replays_the_same(make: Make, tmp_path: Path) -> None:
    """From the file alone, with an agent made anew, whatever the ending."""
    replays_the_same(run_of, make, tmp_path)


@pytest.mark.parametrize("make", MAKES)
def test_a_run_cut_at_any_append_ends_as_it_would_have(make: Make) -> None:
    """Whoever takes it up goes on: the same end, the same facts, the same number of messages."""
    ends_alike_wherever_it_is_cut(run_of, make)


@pytest.mark.parametrize("make", MAKES)
def test_the_trajectory(make: Make, snapshot: SnapshotAssertion) -> None:
    """As people read it."""
    log = rd.MemoryLog()
    run_of(make(), log=log)
    assert told(log) == snapshot


def test_every_run_is_rows_in_sql() -> None:
    """What was held back, denied and left over is asked for like anything else."""
    log = rd.MemoryLog()
    for make in (make_agent, variants.repeating, variants.inventing):
        run_of(make(), log=log, run_id=make.__name__)
    assert ask(log, "SELECT run_id, status, steps, tool_calls, denials, partial FROM runs ORDER BY run").rows == [
        ("make_agent", "succeeded", 4, 3, 0, None),
        ("repeating", "succeeded", 5, 3, 0, None),
        ("inventing", "failed", 5, 2, 3, TRACKED),
    ]
    held = "SELECT run_id, step, call, tool, verdict, intercepted, attempts FROM steps WHERE intercepted IS NOT NULL"
    assert ask(log, held).rows == [("repeating", 4, 4, "send_sms", "allow", "repeated", 0)]
    rules = "SELECT rule, count(*) FROM verdicts WHERE verdict = 'deny' GROUP BY rule"
    assert ask(log, rules).rows == [("grounded", 3)]


def test_nobody_else_s_orders_are_told() -> None:
    """A name that the books do not know has no orders."""
    assert json.loads(World().query_orders("Fang Wang").model_dump_json())["orders"] == []
    assert len(World().query_orders(CUSTOMER).orders) == 2


def test_the_agent_is_found_from_the_folder_of_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `redrive run orders_sms:agent` finds it."""
    monkeypatch.chdir(Path(__file__).parents[1])
    assert load_agent("orders_sms:agent") is agent
