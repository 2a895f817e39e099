"""The ledger of effects: each write from its request to what is known of it in the end, from the records alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_events import (
    AnnotationMade,
    EffectConfirmed,
    EffectReconciled,
    Input,
    LeaseGranted,
    Limits,
    ObservationReceived,
    OutcomeStated,
    Record,
    Terms,
    ToolCalled,
)
from redrive_projections import LATE_OUTCOME, Effect, effects, fold
from tests.random_runs import doubtful_programs, random_run, tapes
from tests.renew_recordings import records_of
from tests.shop import recorded, seen, shop

PAY = reply("", use("pay", item="tea", cents=5))
TIMEOUT = ObservationReceived(call=1, status="timeout", content="No answer within 3000 ms.")
TOOK = {"item": "tea", "cents": 5}


def reconciled(outcome: Any) -> EffectReconciled:
    """The authority's word on it."""
    return EffectReconciled(call=1, outcome=outcome, content="?")


def standing(effect: Effect) -> dict[str, Any]:
    """What is known of an effect, without what was asked for."""
    told = {name: getattr(effect, name) for name in ("stage", "outcome", "why", "by", "reason", "attempts")}
    return {name: value for name, value in told.items() if value not in ("", 1)}


@pytest.mark.parametrize(
    ("terms", "inputs", "known"),
    [
        pytest.param({}, [], {"stage": "planned"}, id="asked for"),
        pytest.param({}, [seen(1, TOOK)], {"stage": "confirmed", "outcome": "landed"}, id="told by the tool"),
        pytest.param(
            {},
            [ObservationReceived(call=1, status="error", content="Closed.")],
            {"stage": "not done", "outcome": "not_landed"},
            id="refused by the tool",
        ),
        pytest.param(
            {},
            [ObservationReceived(call=1, status="cancelled", content="Not begun.")],
            {"stage": "not done", "outcome": "not_landed"},
            id="never begun",
        ),
        pytest.param({}, [TIMEOUT], {"stage": "in doubt", "why": "timeout"}, id="not heard of"),
        pytest.param(
            {}, [LeaseGranted(worker="v", epoch=2)], {"stage": "in doubt", "why": "worker lost"}, id="of a lost worker"
        ),
        pytest.param(
            {},
            [TIMEOUT, reconciled("landed")],
            {"stage": "reconciled", "outcome": "landed", "why": "timeout", "by": "authority"},
            id="known to the authority",
        ),
        pytest.param(
            {"attempts": 1},
            [TIMEOUT, reconciled("not_landed")],
            {"stage": "reconciled", "outcome": "not_landed", "why": "timeout", "by": "authority"},
            id="unknown to the authority",
        ),
        pytest.param(
            {},
            [TIMEOUT, reconciled("not_landed")],
            {"stage": "planned", "why": "timeout", "attempts": 2},
            id="asked for again",
        ),
        pytest.param(
            {},
            [TIMEOUT, reconciled("unknown")],
            {"stage": "in doubt", "outcome": "unknown", "why": "timeout"},
            id="nobody knows",
        ),
        pytest.param(
            {"on_doubt": "wait"},
            [TIMEOUT, reconciled("unknown"), OutcomeStated(call=1, by="bo", outcome="landed", reason="seen")],
            {"stage": "reconciled", "outcome": "landed", "why": "timeout", "by": "bo", "reason": "seen"},
            id="known to a person",
        ),
        pytest.param(
            {},
            [TIMEOUT, reconciled("unknown"), OutcomeStated(call=1, by="bo", outcome="landed")],
            {"stage": "in doubt", "outcome": "unknown", "why": "timeout"},
            id="a person whom nobody asked",
        ),
    ],
)
def test_an_effect_stands_as_far_as_it_is_known(terms: Any, inputs: list[Input], known: dict[str, Any]) -> None:
    """Planned, confirmed or in doubt, reconciled by whoever knew."""
    (effect,) = effects(recorded(shop(Terms(**terms)), PAY, *inputs))
    assert standing(effect) == known
    assert (effect.run_id, effect.call, effect.tool, effect.key) == ("run", 1, "pay", "n0:1")
    assert effect.arguments == TOOK


def test_what_was_undone_says_by_which_call() -> None:
    """And what undid it is an effect of its own, as is what undid nothing."""
    found = effects(records_of("undone-before-the-run-is-given-up"))
    assert [(one.call, one.stage, one.compensates, one.compensated_by) for one in found] == [
        (1, "compensated", None, 4),
        (2, "confirmed", None, None),
        (4, "confirmed", 1, None),
        (5, "not done", 2, None),
    ]


IN_DOUBT = recorded(shop(Terms(done={"paid": {"known": True}})), PAY, TIMEOUT, reconciled("unknown"))


def remark(value: Any, name: str = LATE_OUTCOME) -> AnnotationMade:
    """A remark on the run."""
    return AnnotationMade(name=name, value=value, source="w")


@pytest.mark.parametrize(
    ("remarks", "stage"),
    [
        pytest.param([], "in doubt", id="nothing was learnt"),
        pytest.param([remark({"call": 1, "outcome": "landed"})], "reconciled", id="learnt late"),
        pytest.param([remark({"call": 2, "outcome": "landed"})], "in doubt", id="of another call"),
        pytest.param([remark({"call": 1, "outcome": "perhaps"})], "in doubt", id="no outcome"),
        pytest.param([remark({"outcome": "landed"})], "in doubt", id="of no call"),
        pytest.param([remark({"call": {}, "outcome": []})], "in doubt", id="nonsense"),
        pytest.param([remark([1])], "in doubt", id="a list"),
        pytest.param([remark({"call": 1, "outcome": "landed"}, name="reward")], "in doubt", id="another remark"),
    ],
)
def test_what_was_learnt_late_is_read_beside_the_run(remarks: list[AnnotationMade], stage: str) -> None:
    """A remark may be anything; one that is none of an outcome says nothing."""
    (effect,) = effects(IN_DOUBT, remarks)
    assert effect.stage == stage


def test_what_is_known_is_not_learnt_again() -> None:
    """The first word stands, whatever comes later."""
    late = [remark({"call": 1, "outcome": "not_landed"}), remark({"call": 1, "outcome": "landed"})]
    (effect,) = effects(IN_DOUBT, late)
    assert effect.outcome == "not_landed"
    (effect,) = effects(recorded(shop(Terms()), PAY, seen(1, TOOK)), late)
    assert (effect.stage, effect.outcome) == ("confirmed", "landed")


def test_what_nobody_drives_is_in_doubt() -> None:
    """Its worker may have done it before it was lost."""
    (effect,) = effects(recorded(shop(Terms()), PAY), held=False)
    assert (effect.stage, effect.why) == ("in doubt", "worker lost")


def test_a_call_of_which_nobody_knows_whether_it_acts_is_an_effect_once_it_is_in_doubt() -> None:
    """Most of what is imported is of this kind."""
    poke = reply("", use("poke"))
    assert effects(recorded(shop(Terms()), poke, seen(1, "poked"))) == []
    (effect,) = effects(recorded(shop(Terms()), poke, ObservationReceived(call=1, status="unknown")))
    assert (effect.tool, effect.stage, effect.why) == ("poke", "in doubt", "unknown")


@settings(max_examples=100, deadline=None)
@given(tapes, doubtful_programs)
def test_the_ledger_of_any_run_is_that_of_its_events(tape: bytes, program: Program) -> None:
    """What was confirmed is never in doubt again, and each write that was asked for stands in it."""
    records = random_run(tape, program)
    found = {one.call: one for one in effects(records)}
    asked = {one.event.call for one in records if isinstance(one.event, ToolCalled) and one.event.effect == "write"}
    assert asked <= found.keys()
    for call in {one.event.call for one in records if isinstance(one.event, EffectConfirmed)}:
        assert found[call].outcome == "landed"
        assert found[call].stage in {"confirmed", "reconciled", "compensated"}
    assert {call for call, one in found.items() if one.stage == "compensated"} == _undone(records)


def _undone(records: list[Record]) -> set[int]:
    state = fold(records)
    done = {one.event.call for one in records if isinstance(one.event, EffectConfirmed)}
    undoing = {one.event.call: one.event.compensates for one in records if isinstance(one.event, ToolCalled)}
    return {of for call, of in undoing.items() if of is not None and call in done and of not in state.not_undone}


def test_the_budget_is_no_effect() -> None:
    """A run that did nothing has an empty ledger."""
    assert effects(recorded(shop(Terms(budget=Limits(steps=1))), reply("Hello."))) == []
