"""What would have happened in a fork: what it inherits is as it is, and a change takes effect in its own part."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from msgspec import structs

from redrive_engine import Program, fork
from redrive_engine.drive import drive, state_of, without_waiting, write
from redrive_engine.models import reply, use
from redrive_engine.world import waiting_of
from redrive_events import (
    BadInput,
    Input,
    LeaseGranted,
    MemoryLog,
    MessageReceived,
    ModelAsked,
    ObservationReceived,
    Record,
    RunForked,
    Terms,
    ToolCalled,
    VerdictGiven,
    encode,
)
from redrive_projections import fold
from redrive_replays import replay_records
from redrive_replays.whatif import Branch, Changes, branched, edge_report
from redrive_replays.whatif.flips import first_flip
from tests.engine.test_forking import driven, ends_of
from tests.random_runs import AuditedLog, doubtful_programs, driven_programs, programs, random_fork, random_run, tapes
from tests.replays.test_whatif import ALL, ALLOW_READS, ITEM, NO_PRICES, leases, policy
from tests.replays.test_whatif_oracle import Case, cases, held
from tests.shop import NOON, recorded, seen, shop
from tests.shop import beginning as begun
from tests.warehouse import Warehouse, warehouse

DAY = timedelta(days=1)
LEASE = LeaseGranted(worker="w2", epoch=2)
LOOK = reply("", use("price_of", item="tea"))
PAY = reply("", use("pay", item="tea", cents=5))


def own(records: Sequence[Record]) -> list[Record]:
    """What is a fork's own."""
    return [one for one in records if one.run_id == records[-1].run_id]


def of(branch: Branch) -> list[Record]:
    """The records of a branch."""
    return [one.record for one in branch.records]


class _Unaudited(AuditedLog):
    """A log that keeps what it is given."""

    append = MemoryLog.append


@settings(max_examples=100, deadline=None)
@given(st.data(), tapes, tapes, programs | driven_programs | doubtful_programs)
def test_a_fork_in_which_nothing_is_changed_comes_out_as_it_was(
    data: st.DataObject, tape: bytes, other: bytes, program: Program
) -> None:
    """To the byte, wherever it was forked, and whatever was open there; also a fork of a fork."""
    log = _Unaudited(program)  # an audit knows no fork of a fork
    log.append("run", random_run(tape, program), expected=0)
    parent = "run"
    for name in ("fork", "below"):
        place = data.draw(st.sampled_from(ends_of(list(log.read(parent)))))
        fork(log, parent, place, new_id=name, at=NOON + 9 * DAY)
        records = random_fork(other, program, log, name)
        parent = name
        branch = branched(records, program)
        event(f"of a {'fork' if name == 'below' else 'run'}, {'lost' if leases(own(records)) > 1 else 'driven by one'}")
        assert list(map(encode, of(branch))) == list(map(encode, own(records)))
        assert (branch.edge, branch.assumptions, branch.state) == (None, [], fold(records))
        assert edge_report(records, branch).sureness == "same"


# Against what really happens


def until(program: Program, world: Warehouse, place: int) -> tuple[MemoryLog, Warehouse]:
    """A run in a warehouse up to its append number ``place``, and the warehouse as it then is; nothing is under way."""
    log = MemoryLog()
    log.append("run", [begun(program)], expected=0)
    state = state_of(log, "run")
    state = without_waiting(write(log, program, state, without_waiting(world.begin(state, "w"))))
    for _ in range(place):
        before = deepcopy(world)
        happened = without_waiting(world.answer(waiting_of(state, program.terms.budget)))
        trial = MemoryLog()
        trial.append("run", list(log.read("run")), expected=0)
        state = without_waiting(write(trial, program, state, happened))
        if state.stop is not None:
            world = before
            break
        log = trial
    world.coming.clear()
    return log, world


def gone_on(log: MemoryLog, program: Program, world: Warehouse) -> list[Record]:
    """The fork as it is driven in a warehouse of its own."""
    here = MemoryLog()
    for run_id in ("run", "fork"):
        records = [one for one in log.read(run_id) if one.run_id == run_id]
        here.append(run_id, records, expected=records[0].position - 1)
    without_waiting(drive("fork", log=here, world=deepcopy(world), program=program, worker="w"))
    return list(here.read("fork"))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases, st.integers(0, 6))
def test_what_is_served_is_what_would_have_been(case: Case, place: int) -> None:
    """The fork is really lived on under the change, in the world as it was there: no event and no moment differs."""
    old, changed = warehouse(*case.before), warehouse(*case.after)
    log, world = until(old, case.world(message=case.message), place)
    fork(log, "run", log.head("run").position, new_id="fork", at=world.now + DAY)
    world.now += DAY
    records = gone_on(log, old, world)
    inherited = fold(log.read("fork"))
    events = [one.event for one in own(records)]
    seen = (one for one in events if isinstance(one, ObservationReceived) and one.status in {"ok", "error"})
    asked = {one.call for one in seen}
    world.forced = {call: structs.replace(one, call=call) for call, one in case.forced.items() if call in asked}
    world.message = case.message if any(isinstance(one, MessageReceived) for one in events) else None
    oracle = gone_on(log, changed, world)
    replies = {step: said for step, said in enumerate([*case.script, "Done."], start=1) if step > inherited.steps}
    branch = branched(records, changed, Changes(observations=world.forced, replies=replies, beyond=case.beyond))
    sure = held(replace(branch, records=branch.records[1:]), own(oracle)[1:])  # but for what it was forked with
    flipped = first_flip(records, branch)
    event("no flip" if flipped is None else "an edge" if branch.edge else "to the end")
    if flipped and flipped.branched:
        behind = [one for one in sure if one.record.position > flipped.branched.position]
        event(f"{sum(one.label.startswith('recorded') for one in behind) > 0} recorded behind")


# What a change means there


def forked(
    program: Program, *inputs: Input, then: Sequence[Input] = (), takes: Program | None = None, **given: Any
) -> list[Record]:
    """A run of these inputs, forked at its end a day later and taken up by ``takes``, to which ``then`` happens."""
    log = MemoryLog()
    log.append("run", recorded(program, *inputs), expected=0)
    fork(log, "run", log.head("run").position, new_id="fork", at=NOON + DAY, **given)
    takes = takes or program
    state = state_of(log, "fork")
    named = {} if takes.digests == state.parts else takes.digests
    driven(log, takes, structs.replace(LEASE, parts=named), *then)
    return list(log.read("fork"))


def words_of(branch: Branch) -> list[str]:
    """What the model is asked with at the edge, by its beginning."""
    return [str(one.content) for one in branch.state.asked]


SHOP = shop(Terms(), policy=policy(ALL))
PRICED = (LOOK, seen(1, ITEM))
BOUGHT = (PAY, seen(2, ITEM), reply("Bought."))


def test_another_policy_rules_in_the_forks_own_part() -> None:
    """The price that was asked for in front of it stays asked for, whatever is said of such calls now."""
    records = forked(SHOP, *PRICED, then=BOUGHT)
    branch = branched(records, SHOP, Changes(policy=policy(NO_PRICES)))
    assert first_flip(records, branch) is None
    assert edge_report(records, branch).sureness == "same"
    branch = branched(records, SHOP, Changes(policy=policy(ALLOW_READS)))
    report = edge_report(records, branch)
    assert (report.sureness, report.turn, report.turns, report.changed_parts) == ("exact to turn", 2, 3, ("policy",))
    assert report.flip is not None
    assert report.flip.branched is not None
    assert isinstance(report.flip.branched.event, VerdictGiven)
    assert [one.call for one in report.prevented] == [2]
    assert branch.whole[: len(branch.inherited)] == records[: len(branch.inherited)]


def test_what_was_written_in_front_of_a_fork_is_no_effect_of_it() -> None:
    """It is neither prevented nor open: the other run did it."""
    records = forked(SHOP, PAY, seen(1, ITEM), then=(LOOK, seen(2, ITEM), reply("Bought.")))
    report = edge_report(records, branched(records, SHOP, Changes(policy=policy(ALLOW_READS))))
    assert (report.sureness, report.before, report.prevented, report.after) == ("same", (), (), ())


def test_a_prompt_takes_the_place_of_the_opening_from_the_fork_on() -> None:
    """As with an agent that is given for a fork, and as a strict replay has it."""
    records = forked(SHOP, *PRICED, then=BOUGHT)
    branch = branched(records, SHOP, Changes(prompt="Be brief."))
    assert (branch.edge is not None, branch.state.steps) == (True, 1)
    first, *rest = words_of(branch)
    assert first == "Be brief."
    assert rest == [str(one.content) for one in fold(records[: branch.state.position - 1]).asked][1:]
    begun = branch.records[0].record.event
    assert isinstance(begun, RunForked)
    assert begun.parts["prompt"].data == [{"role": "system", "content": "Be brief."}]
    changed = replace(SHOP, prompt=({"role": "system", "content": "Be brief."},))
    assert replay_records("fork", branch.whole, changed).outcome == "same, unfinished"


def test_a_program_that_took_a_fork_up_goes_on_in_the_words_that_stood_there() -> None:
    """Its own prompt was none of them; another one is, and so it is where anything else is changed."""
    other = shop(Terms(), prompt="Wait upon them.", policy=policy(ALL))
    records = forked(SHOP, *PRICED, then=BOUGHT, takes=other)
    assert replay_records("fork", records, other).same
    branch = branched(records, other)
    assert (edge_report(records, branch).sureness, edge_report(records, branch).changed_parts) == ("same", ())
    assert of(branch) == own(records)
    denied = branched(records, other, Changes(policy=policy(ALLOW_READS)))
    assert words_of(denied)[0] == "Serve."
    ruled = replace(other, policy=policy(ALLOW_READS))
    assert replay_records("fork", denied.whole, ruled).outcome == "same, unfinished"
    assert words_of(branched(records, other, Changes(prompt="Be brief.")))[0] == "Be brief."


def test_what_was_given_for_a_fork_stays_given() -> None:
    """Until something else takes its place."""
    given = policy(ALLOW_READS)
    ruled = replace(SHOP, policy=given)
    records = forked(SHOP, *PRICED, then=(PAY, reply("It is not allowed.")), takes=ruled, policy=given)
    assert of(branched(records, ruled)) == own(records)
    branch = branched(records, ruled, Changes(policy=policy(ALL)))
    assert isinstance(branch.edge and branch.edge.request, ToolCalled)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (Changes(observations={1: "7"}), "--set-observation 1: run below inherits this call from run run"),
        (Changes(observations={2: "7"}), "--set-observation 2: run below inherits this call from run fork"),
        (Changes(replies={1: "No."}), "--set-reply 1: run below inherits this step from run run"),
        (Changes(replies={2: "No."}), "--set-reply 2: run below inherits this step from run fork"),
    ],
)
def test_what_is_inherited_is_asked_of_the_run_that_has_it(changes: Changes, problem: str) -> None:
    """It is no input of the fork, so nothing could be given in its place."""
    log = MemoryLog()
    log.append("run", recorded(SHOP, *PRICED), expected=0)
    fork(log, "run", log.head("run").position, new_id="fork", at=NOON + DAY)
    driven(log, SHOP, LEASE, PAY, seen(2, ITEM))
    fork(log, "fork", log.head("fork").position, new_id="below", at=NOON + DAY)
    driven(log, SHOP, structs.replace(LEASE, epoch=3), reply("Bought."), run_id="below")
    with pytest.raises(BadInput, match=f"^{problem}: ask it of that run$"):
        branched(list(log.read("below")), SHOP, changes)


def test_what_was_under_way_is_given_where_it_is_asked_again() -> None:
    """A read is called again by the fork; a write is not, so that its answer is the other run's."""
    both = reply("", use("price_of", item="tea"), use("pay", item="tea", cents=5))
    records = forked(SHOP, both, then=(seen(1, ITEM), reply("Five.")))
    branch = branched(records, SHOP, Changes(observations={1: '{"cents":7,"item":"tea"}'}))
    assert branch.state.facts["price"].value == 7
    assert branch.unused == ()
    with pytest.raises(BadInput, match=r"^--set-observation 2: run fork inherits this call from run run"):
        branched(records, SHOP, Changes(observations={2: "{}"}))
    late = branched(records, SHOP, Changes(replies={2: "Five, I say."}))
    assert late.state.end is not None
    assert (late.state.end.answer, late.unused) == ("Five, I say.", ())


def test_an_answer_is_not_moved_past_one_that_was_inherited_and_differs() -> None:
    """Equal calls that came to different results are not taken for each other, in whichever run they were made."""
    other = reply("", use("price_of", item="milk"))
    look, more = seen(1, {"item": "tea", "cents": 5}), seen(3, {"item": "tea", "cents": 5}, trust="trusted")
    then = (other, seen(2, {"item": "milk", "cents": 5}), LOOK, more, reply("Five."))
    branch = branched(forked(SHOP, LOOK, look, then=then), SHOP, Changes(replies={2: LOOK.content}))
    assert isinstance(branch.edge and branch.edge.request, ToolCalled)
    same = (*then[:3], seen(3, {"item": "tea", "cents": 5}), then[4])
    branch = branched(forked(SHOP, LOOK, look, then=same), SHOP, Changes(replies={2: LOOK.content}))
    assert [one.label for one in branch.records if isinstance(one.record.event, ObservationReceived)] == [
        "recorded, moved"
    ]


def test_a_fork_that_nobody_has_taken_up_waits_for_the_model() -> None:
    """Its recording has no answer yet."""
    log = MemoryLog()
    log.append("run", recorded(SHOP, *PRICED), expected=0)
    fork(log, "run", log.head("run").position, new_id="fork", at=NOON + DAY)
    branch = branched(list(log.read("fork")), SHOP)
    assert isinstance(branch.edge and branch.edge.request, ModelAsked)
    assert branch.state.run_id == "fork"
