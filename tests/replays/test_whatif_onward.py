"""How a branch goes on behind what is given: where nothing is otherwise, what it is sure of is what was recorded."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_events import (
    DRIVERS,
    ApprovalAsked,
    ApprovalGiven,
    DeadlinePassed,
    EffectReconciled,
    Event,
    LeaseGranted,
    ObservationReceived,
    OutcomeStated,
    PersonAsked,
    Record,
    SignalsHeard,
    Terms,
    ToolCalled,
)
from redrive_replays.whatif import Branch, Changes, branched
from redrive_replays.whatif.flips import alike, first_flip
from tests.random_runs import doubtful_programs, driven_programs, programs, random_run, tapes
from tests.replays.test_whatif import ITEM, leases
from tests.shop import Asking, recorded, seen, shop

LOOK, PAY = use("price_of", item="tea"), use("pay", item="tea", cents=5)


def answered(records: Sequence[Record]) -> dict[int, ObservationReceived]:
    """The observations that came to calls which were made once, as they were received."""
    seen = [one.event for one in records if isinstance(one.event, ObservationReceived)]
    made = [one.event.call for one in records if isinstance(one.event, ToolCalled)]
    return {one.call: one for one in seen if made.count(one.call) == 1 and one.status in {"ok", "error"}}


def behaviour(records: Sequence[Record]) -> list[Record]:
    """What happened, but for what workers note for themselves, and what people say of calls: verdicts tell of that."""
    return [one for one in records if type(one.event) not in DRIVERS | {ApprovalGiven, OutcomeStated}]


def timeless(event: Event) -> Event:
    """An event but for until when somebody waits: a worker is some milliseconds late for what has an end in time."""
    return replace(event, expires=None) if isinstance(event, ApprovalAsked | PersonAsked) else event


@settings(max_examples=300, deadline=None)
@given(st.data(), tapes, programs | driven_programs | doubtful_programs)
def test_what_is_given_as_it_was_recorded_leads_to_nothing_else(
    data: st.DataObject, tape: bytes, program: Program
) -> None:
    """Whatever is assumed, or not known, is told as such, be it that a worker was lost, or late, or heard nothing."""
    records = random_run(tape, program)
    seen = answered(records)
    if not seen:
        return
    call = data.draw(st.sampled_from(sorted(seen)))
    branch = branched(records, program, Changes(observations={call: seen[call]}))
    event("lost" if leases(records) > 1 else "driven by one")
    event("at an edge" if branch.edge else "assumed" if branch.assumptions else "sure to its end")
    sure = behaviour([one.record for one in branch.records if not one.assumptions])
    theirs = behaviour(records)
    for ours, other in zip(sure, theirs, strict=False):
        assert alike(timeless(other.event), timeless(ours.event)), (other, ours)
    assert branch.edge or branch.unheard or branch.assumptions or len(sure) == len(theirs)


def again(records: Sequence[Record], program: Program) -> Branch:
    """The branch in which the first call is given what it was answered."""
    return branched(records, program, Changes(observations={1: answered(records)[1]}))


def test_a_worker_that_was_lost_is_not_lost_behind_a_change() -> None:
    """The write comes to its end as the next one found out: that no worker is lost is told, and all rests on it."""
    program = shop(Terms())
    paid = EffectReconciled(call=2, outcome="landed", content='{"item":"tea","cents":5}', media_type="application/json")
    lease = LeaseGranted(worker="w2", epoch=2)
    records = recorded(program, reply("", LOOK), seen(1, ITEM), reply("", PAY), lease, paid, reply("Bought."))
    lost = next(one.position for one in records if one.event == lease)
    branch = again(records, program)
    assert branch.assumptions == [f"turn 3: the worker that was lost at {lost} is not lost here"]
    called = next(
        one for one in branch.records if isinstance(one.record.event, ToolCalled) and one.record.event.call == 2
    )
    assert called.assumptions == ()
    assert all(one.assumptions == (1,) for one in branch.records[called.record.position :])


def test_what_was_found_out_of_a_lost_workers_write_came_no_sooner_than_that() -> None:
    """The read beside it was answered before: that rests on nothing, and stands in front."""
    program = shop(Terms())
    paid = EffectReconciled(call=3, outcome="landed", content='{"cents":5,"item":"tea"}', media_type="application/json")
    both = reply("", use("count", item="tea"), PAY)
    lease = LeaseGranted(worker="w2", epoch=2)
    records = recorded(program, reply("", LOOK), seen(1, ITEM), both, seen(2, 3), lease, paid, reply("Bought."))
    observed = [one for one in again(records, program).records if isinstance(one.record.event, ObservationReceived)]
    assert [(one.record.event, one.assumptions) for one in observed[1:]] == [(seen(2, 3), ()), (seen(3, ITEM), (1,))]


def test_a_worker_that_came_late_to_a_limit_is_in_time_behind_a_change() -> None:
    """Nobody waits an hour for a minute to be over."""
    program = shop(Terms(approval_ms=60_000), policy=Asking(("pay",)))
    passed = DeadlinePassed(which="approval")
    records = recorded(program, reply("", LOOK), seen(1, ITEM), reply("", PAY), passed, reply("No."), step_s=3600)
    late = next(one.position for one in records if one.event == passed)
    branch = again(records, program)
    assert branch.assumptions == [f"turn 3: the worker that was late at {late} is in time here"]
    records = recorded(program, reply("", LOOK), seen(1, ITEM), reply("", PAY), passed, reply("No."), step_s=60)
    assert (again(records, program).assumptions, first_flip(records, again(records, program))) == ([], None)


def test_equal_calls_that_a_person_is_asked_about_have_each_their_own_answer() -> None:
    """The second was approved first."""
    program = shop(Terms(), policy=Asking(("pay",)))
    inputs = (reply("", LOOK), seen(1, ITEM), reply("", PAY, PAY))
    digest = next(one.event.digest for one in recorded(program, *inputs) if isinstance(one.event, ApprovalAsked))
    approved = ApprovalGiven(call=3, digest=digest, by="bo", answer="grant")
    records = recorded(program, *inputs, approved, SignalsHeard(), seen(3, ITEM))
    branch = again(records, program)
    assert [one.record.event for one in branch.records if isinstance(one.record.event, ApprovalGiven)] == [approved]
    assert first_flip(records, branch) is None
