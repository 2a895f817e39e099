"""A run goes on from a position of another one: what is inherited, what is asked for again, and what is not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_engine import Budget, Contract, Happened, append_of, fork, say, with_given
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_engine.program import Program
from redrive_events import (
    ANSWERS,
    ApprovalAsked,
    BadInput,
    CallIntercepted,
    CancelRequested,
    EffectReconciled,
    Event,
    Input,
    LeaseGranted,
    Limits,
    MemoryLog,
    ModelAsked,
    ObservationReceived,
    OutcomeStated,
    PersonAsked,
    PlanTerms,
    Quotas,
    Record,
    SignalsHeard,
    StopDecided,
    Terms,
    ToolCalled,
    VerdictGiven,
    damage_of,
)
from redrive_projections import RunState, answered_by, effects, fold
from redrive_replays import appends, replay_records
from tests.random_runs import (
    CAREFUL,
    AuditedLog,
    doubtful_programs,
    driven_programs,
    programs,
    random_fork,
    random_run,
    tapes,
)
from tests.shop import NOON, Asking, answer_to_pay, recorded, seen, shop


def ends_of(records: list[Record]) -> list[int]:
    """Where a run may be forked."""
    found = []
    for append in appends(records):
        if any(isinstance(one.event, StopDecided) for one in append):
            break
        found.append(append[-1].position)
    return found


@settings(max_examples=60, deadline=None)
@given(st.data(), tapes, tapes, programs | driven_programs | doubtful_programs)
def test_a_fork_of_any_run_goes_on_to_an_end_that_replays(
    data: st.DataObject, tape: bytes, other: bytes, program: Program
) -> None:
    """Wherever it is forked, the state that was driven is that of the records, and nothing follows otherwise."""
    parent = random_run(tape, program)
    log = AuditedLog(program)
    log.append("run", parent, expected=0)
    before = list(log.lines("run"))
    place = data.draw(st.sampled_from(ends_of(parent)))
    fork(log, "run", place, new_id="fork", at=NOON + timedelta(days=1))
    records = random_fork(other, program, log, "fork")
    assert records[:place] == parent[:place]
    assert replay_records("fork", records, program).outcome == "same"
    assert fold(log.read("fork")).end is not None
    assert [damage_of(log, head) for head in log.runs()] == [None, None]
    assert list(log.lines("run")) == before


# What is open where a run is forked


LEASE = LeaseGranted(worker="w2", epoch=2)
ASK = reply("", use("price_of", item="tea"), use("pay", item="tea", cents=5))
DAY = timedelta(days=1)


def forked(program: Program, *inputs: Input, at: int = 0, **given: Any) -> tuple[MemoryLog, RunState]:
    """A run of these inputs, forked at its end (or at an event) a day later and taken up."""
    log = MemoryLog()
    records = recorded(program, *inputs)
    log.append("run", records, expected=0)
    fork(log, "run", at or records[-1].position, new_id="fork", at=NOON + DAY, **given)
    return log, driven(log, program, LEASE)


def driven(log: MemoryLog, program: Program, *inputs: Input, run_id: str = "fork") -> RunState:
    """The run, once these inputs have happened to it, a second apart."""
    state = fold(log.read(run_id))
    for event in inputs:
        assert state.now is not None
        cause = answered_by(state.requests, event) if type(event) in ANSWERS else 0
        happened = Happened(event, state.now + timedelta(seconds=1), cause)
        expected = state.position
        log.append(run_id, append_of(program, state, happened), expected=expected)
    assert state == fold(log.read(run_id))
    return state


def own(log: MemoryLog, run_id: str = "fork") -> list[Event]:
    """What is the run's own, behind its start and its lease."""
    return [one.event for one in log.read(run_id) if one.run_id == run_id][2:]


def test_a_read_and_a_write_that_were_under_way() -> None:
    """The read is judged and asked again and counts once; the write gets a response, and no effect is claimed."""
    program = shop(Terms())
    log, state = forked(program, ASK)
    held, verdict, called = own(log)
    assert isinstance(held, CallIntercepted)
    assert (held.call, held.guard, held.window) == (2, "forked", (state.position - 4,))
    assert isinstance(verdict, VerdictGiven)
    assert isinstance(called, ToolCalled)
    assert (called.call, called.attempt, state.tool_calls) == (1, 2, 2)
    state = driven(log, program, seen(1, {"item": "tea", "cents": 5}), reply("I do not know whether it is paid."))
    assert state.end is not None
    assert state.facts.keys() == {"price"}
    assert effects(log.read("fork")) == []
    assert [one.stage for one in effects(log.read("run"))] == ["planned"]
    assert replay_records("fork", log.read("fork"), program).same


def test_a_write_in_doubt_is_the_other_runs() -> None:
    """Neither an authority nor a person is asked for the fork."""
    terms = Terms(on_doubt="wait")
    timeout = ObservationReceived(call=1, status="timeout", content="No answer.")
    unknown = EffectReconciled(call=1, outcome="unknown", content="Not known.")
    pay = reply("", use("pay", item="tea", cents=5))
    several: list[list[Input]] = [[pay, timeout], [pay, timeout, unknown]]
    for inputs in several:
        log, state = forked(shop(terms), *inputs)
        held, asked = own(log)
        assert isinstance(held, CallIntercepted)
        assert isinstance(asked, ModelAsked)
        assert state.messages[-1].content == held.text


def test_a_person_whose_word_on_an_effect_nobody_has_heard() -> None:
    """The other run will hear of it; the fork does not know."""
    program = shop(Terms(on_doubt="wait"))
    timeout = ObservationReceived(call=1, status="timeout", content="No answer.")
    unknown = EffectReconciled(call=1, outcome="unknown", content="Not known.")
    landed = OutcomeStated(call=1, by="bo", outcome="landed", content='{"item":"tea","cents":5}')
    log, state = forked(program, reply("", use("pay", item="tea", cents=5)), timeout, unknown, landed)
    assert [type(one) for one in own(log)] == [CallIntercepted, ModelAsked]
    assert state.facts == {}


@pytest.mark.parametrize("heard", [False, True], ids=["open", "granted, and not heard"])
def test_an_approval_is_good_for_one_run(heard: bool) -> None:
    """It is asked for again, by today's rules, and with another time to wait; the old answer counts nothing."""
    program = shop(Terms(approval_ms=60_000), policy=Asking())
    pay = reply("", use("pay", item="tea", cents=5))
    log, state = forked(program, pay, *([answer_to_pay("grant", 5)] if heard else []))
    verdict, asked = own(log)
    assert isinstance(verdict, VerdictGiven)
    assert isinstance(asked, ApprovalAsked)
    assert asked.expires == NOON + DAY + timedelta(seconds=61)
    state = driven(log, program, answer_to_pay("grant", 5), SignalsHeard())
    (called,) = state.requests.values()
    assert isinstance(called, ToolCalled)
    assert called.key.startswith("n0/fork-")


@pytest.mark.parametrize("heard", [False, True], ids=["open", "granted, and not heard"])
def test_what_people_were_asked_is_told_as_open(heard: bool) -> None:
    """Whether or not they have answered: the answer is no good for the fork."""
    program = shop(Terms(), policy=Asking())
    pay = reply("", use("pay", item="tea", cents=5))
    log = MemoryLog()
    records = recorded(program, pay, *([answer_to_pay("grant", 5)] if heard else []))
    log.append("run", records, expected=0)
    made = fork(log, "run", len(records), new_id="fork", at=NOON + DAY)
    assert [(type(one), one.call) for one in made.open if isinstance(one, ApprovalAsked)] == [(ApprovalAsked, 1)]
    assert len(made.open) == 1


def test_what_stands_of_every_run_that_it_goes_on_from() -> None:
    """A fork of a fork: what the first run paid behind the first fork is outside of the second one, too."""
    program = shop(Terms())
    log = MemoryLog()
    pay, paid = reply("", use("pay", item="tea", cents=5)), seen(1, {"item": "tea", "cents": 5})
    before = len(recorded(program))
    log.append("run", recorded(program, pay, paid), expected=0)
    fork(log, "run", before, new_id="fork", at=NOON + DAY)
    state = driven(log, program, LEASE)
    made = fork(log, "fork", state.position, new_id="below", at=NOON + DAY)
    assert [(one.run_id, one.call, one.stage) for one in made.standing] == [("run", 1, "confirmed")]


def test_a_cancellation_that_nobody_has_heard_is_of_the_other_run() -> None:
    """The fork goes on; the other one is stopped by it."""
    program = shop(Terms())
    log, state = forked(program, CancelRequested(by="ana"))
    assert state.running
    assert [type(one) for one in own(log)] == [ModelAsked]
    assert driven(log, program, SignalsHeard(), run_id="run").stop is not None


def test_a_person_who_was_asked_is_asked_again() -> None:
    """With another time to wait, and not if somebody has spoken since."""
    program = shop(Terms(dialogue=True, person_ms=60_000))
    log, _ = forked(program, reply("What may it be?"))
    (asked,) = own(log)
    assert isinstance(asked, PersonAsked)
    assert (asked.why, asked.expires) == ("reply", NOON + DAY + timedelta(seconds=61))
    fork(log, "run", fold(log.read("run")).position, new_id="other", at=NOON + DAY)
    say(log, "other", "Tea.", at=NOON + DAY)
    driven(log, program, LEASE, run_id="other")
    assert type(own(log, "other")[-1]) is ModelAsked


def test_a_child_that_was_under_way() -> None:
    """It is not begun a second time: the rest of the plan is drawn anew."""
    program = shop(Terms(arm="plan", plan=PlanTerms(steps=2, step_budget=2, revisions=1)))
    log, state = forked(program, reply('["Look.", "Buy."]'))
    held, asked = own(log)
    assert isinstance(held, CallIntercepted)
    assert isinstance(asked, ModelAsked)
    assert asked.purpose == "plan"
    assert "was under way" in state.off_plan


def test_the_day_between_counts_for_nothing() -> None:
    """Wall time goes on where it stood."""
    program = shop(Terms(budget=Limits(wall_time_ms=10_000)))
    log, state = forked(program, ASK)
    assert state.running
    assert state.wall_us == fold(log.read("run")).wall_us


def test_both_go_on_under_keys_of_their_own() -> None:
    """A run that is under way is not touched; the budget counts what was used before."""
    program = shop(Terms())
    log, state = forked(program)
    assert (state.steps, state.requests != {}) == (0, True)
    pay, paid = reply("", use("pay", item="tea", cents=5)), seen(1, {"item": "tea", "cents": 5})
    for run_id in ("run", "fork"):
        driven(log, program, pay, paid, reply("Bought."), run_id=run_id)
        assert replay_records(run_id, log.read(run_id), program).outcome == "same"
    keys = [one.event.key for _, one in log.read_all() if isinstance(one.event, ToolCalled)]
    assert len(set(keys)) == 2
    assert keys[0] == "n0:1"


def test_a_fork_of_a_fork_and_of_what_it_inherits() -> None:
    """What stands in front is forked where it is kept; what was open in front of both is asked for again."""
    program = shop(Terms(dialogue=True))
    log, _ = forked(program, reply("What may it be?"))
    last = fold(log.read("run")).position
    inherited = fork(log, "fork", last, new_id="sister", at=NOON + DAY)
    assert (inherited.parent, inherited.position) == ("run", last)
    below = fork(log, "fork", last + 1, new_id="below", at=NOON + DAY)
    assert (below.parent, below.open) == ("fork", ())
    for run_id in ("sister", "below"):
        driven(log, program, LEASE, run_id=run_id)
        assert [type(one) for one in own(log, run_id)] == [PersonAsked]
        assert replay_records(run_id, log.read(run_id), program).outcome == "same, unfinished"
        assert damage_of(log, log.head(run_id)) is None


@pytest.mark.parametrize(
    ("position", "problem"),
    [
        (0, "event 0 is not the last of its append; it can be forked at 1"),
        (2, "event 2 is not the last of its append; it can be forked at 1 or 3"),
        (6, "at event 6 its end was decided; it can be forked at 3"),
        (99, "at event 6 its end was decided; it can be forked at 3"),
    ],
)
def test_it_is_forked_at_the_end_of_an_append_before_its_end_is_decided(position: int, problem: str) -> None:
    """Else one line names the nearest places."""
    log = MemoryLog()
    log.append("run", recorded(shop(Terms()), reply("Done.")), expected=0)
    with pytest.raises(BadInput, match=f"^run run: {problem}$"):
        fork(log, "run", position, at=NOON)
    assert [head.run_id for head in log.runs()] == ["run"]


def test_an_id_is_given_once() -> None:
    """Neither that of a run, nor one that belongs to another run."""
    log = MemoryLog()
    log.append("run", recorded(shop(Terms())), expected=0)
    fork(log, "run", 1, new_id="fork", at=NOON)
    for taken in ("run", "fork"):
        with pytest.raises(BadInput, match="the id is taken by another run"):
            fork(log, "run", 1, new_id=taken, at=NOON)
    with pytest.raises(BadInput, match="a fork is a run of its own"):
        fork(log, "run", 1, new_id="run/1", at=NOON)


def test_what_is_given_holds_whichever_program_takes_it_up() -> None:
    """Contract and policy stand in the log; a fork of it has them too, and labels are its own."""
    contract = Contract(tools={"price_of": {}, "pay": {}}, budget=Budget(steps=3))
    policy = RulesPolicy.from_toml(CAREFUL)
    log = MemoryLog()
    program = shop(Terms())
    log.append("run", recorded(program), expected=0)
    fork(log, "run", 3, new_id="fork", at=NOON, contract=contract, policy=policy, labels={"try": "2"})
    fork(log, "fork", 4, new_id="below", at=NOON)
    for run_id in ("fork", "below"):
        state = fold(log.read(run_id))
        assert state.terms == contract.terms()
        assert state.started is not None
        assert state.started.labels == {"try": "2"}
        given = with_given(program, state.forked)
        assert (given.terms, given.policy and given.policy.digest) == (contract.terms(), policy.digest)
        state = driven(log, given, LEASE, reply("", use("pay", item="tea", cents=6)), run_id=run_id)
        (denied,) = [one for one in own(log, run_id) if isinstance(one, VerdictGiven)]
        assert (denied.verdict, denied.rule) == ("deny", "no large sums")
        assert replay_records(run_id, log.read(run_id), given).outcome == "same, unfinished"


def test_what_stands_behind_the_fork_is_listed() -> None:
    """Writes that landed or may have, behind it or under way there; nothing that had landed before."""
    program = shop(Terms())
    pays = [reply("", use("pay", item=item, cents=5)) for item in ("tea", "milk")]
    log = MemoryLog()
    records = recorded(program, pays[0], seen(1, {"item": "tea", "cents": 5}), pays[1])
    log.append("run", records, expected=0)
    places = {type(one.event): one.position for one in records}
    first = fork(log, "run", 3, at=NOON)
    assert [(one.call, one.stage) for one in first.standing] == [(1, "confirmed"), (2, "planned")]
    last = fork(log, "run", places[ToolCalled], at=NOON)
    assert [(one.call, one.stage) for one in last.standing] == [(2, "planned")]
    assert [type(one) for one in last.open] == [ToolCalled]


def test_what_was_done_before_is_the_other_runs_to_undo() -> None:
    """Whoever gives up undoes what it did itself."""
    program = shop(Terms(quotas=Quotas(tool_failed=1), recovery=("compensate",)))
    paid = (reply("", use("pay", item="tea", cents=5)), seen(1, {"item": "tea", "cents": 5}))
    log, _ = forked(program, *paid)
    failed = ObservationReceived(call=2, status="error", content="Closed.", error="failed")
    for run_id, undone in (("run", [1]), ("fork", [])):
        driven(log, program, reply("", use("price_of", item="tea")), failed, run_id=run_id)
        calls = [one.event for one in log.read(run_id) if isinstance(one.event, ToolCalled)]
        assert [one.compensates for one in calls if one.compensates is not None] == undone
