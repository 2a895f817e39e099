"""Each control of the scenario by itself: decisions, policy, envelope, retries, doubt, people, leases, crashes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

import anyio
import msgspec
import pytest

import redrive as rd
from order_status.decisions import ALLOWED, OrderDecisions
from order_status.people import cancel, revoke
from order_status.script import decided
from order_status.staging import Variant
from order_status.variants import CARE, PLAIN, UNDECIDED, VARIANTS, outcome
from order_status.world import ACCOUNT, ADDRESS, World
from redrive.testing import broken
from redrive_events import (
    STRANGERS,
    ApprovalAsked,
    CancelRequested,
    EffectCompensated,
    EffectInDoubt,
    EffectReconciled,
    FactCommitted,
    FinishRefused,
    LeaseGranted,
    LeaseHeld,
    ModelAsked,
    ObservationReceived,
    ObservationRefused,
    Record,
    ReplyRefused,
    ToolCalled,
    VerdictGiven,
)
from redrive_replays import recording_of
from trajectories import found, values

CARE_ANSWER = "Order ord_125 is delayed, and 490 cents are credited."


def test_what_is_known_of_the_order() -> None:
    """Each fact has its observation, which says where it is from, whose it is, and as of when."""
    run, _ = outcome("plain")
    assert values(run) == {"order_id": "ord_123", "status": "shipped", "account": ACCOUNT, "address": ADDRESS}
    (seen,) = found(run, ObservationReceived)
    assert seen.as_of is not None
    assert seen.started is not None
    assert (seen.source, seen.tenant, seen.trust, seen.schema_version) == ("order book", "velo", "untrusted", "order.1")
    assert (seen.started - seen.as_of).total_seconds() == 60
    assert {one.evidence for one in found(run, FactCommitted)} == {(8,)}


@pytest.mark.parametrize("reply", [*UNDECIDED, "[]", "", decided("pay", "I pay."), decided("finish", "", answer="x")])
def test_anything_but_a_typed_decision_is_refused(reply: str) -> None:
    """Prose, another version, an end without an answer, a kind that does not exist, a decision without its summary."""
    assert OrderDecisions().read(reply) == rd.Unreadable("no decision of this schema", ALLOWED)


@pytest.mark.parametrize(
    ("words", "kind"),
    [({"tool": "t", "arguments": {}}, "call"), ({"answer": "a"}, "finish"), ({"reason": "r"}, "escalate")],
)
def test_a_typed_decision_is_read(words: dict[str, object], kind: str) -> None:
    """One key too many, and it is none."""
    written = {"call": "tool_call"}.get(kind, kind)
    read = OrderDecisions().read(decided(written, "I do.", **words))
    assert isinstance(read, rd.Decision)
    assert (read.kind, read.summary) == (kind, "I do.")
    assert isinstance(OrderDecisions().read(decided(written, "I do.", **words, more=1)), rd.Unreadable)


def test_what_is_no_decision_leads_to_nothing() -> None:
    """It is refused as often as it comes, until a person is asked."""
    run, world = outcome("rambling")
    assert len(found(run, ReplyRefused)) == 3
    assert world.lookups == 0


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("another principal", ["only the desk acts"] * 2),
        ("another shop", ["the desk acts for its own shop"] * 2),
        ("overstepping", ["not granted"] * 2),
        ("edited to another account", ["money goes back to where it came from"]),
        ("refused", ["not approved"]),
        ("expired", ["approval expired"]),
    ],
)
def test_a_call_that_is_not_allowed_is_not_made(name: str, rules: list[str]) -> None:
    """By which rule, and nothing was done."""
    run, world = outcome(name)
    assert [one.rule for one in found(run, VerdictGiven) if one.verdict == "deny"] == rules
    assert (world.credits, world.notices) == ({}, {})


def test_the_book_looks_at_the_tenant_itself() -> None:
    """Even if no policy did."""
    run = PLAIN.but(tenant="other", policy=None).run()
    assert run.status == "escalated"
    assert [one.error for one in found(run, ObservationReceived)] == ["refused"]


@pytest.mark.parametrize(
    ("name", "verifier", "reasons"),
    [
        ("another tenant's data", "envelope", ["it is of tenant 'other', and the run of 'velo'"]),
        ("stale", "envelope", ["stale: as of 2025-12-31T00:00:00+00:00, and no older than 900000 ms is wanted"]),
        ("contradicting", "right_order", ["contradicts fact 'status'"]),
    ],
)
def test_what_may_not_be_used_is_refused(name: str, verifier: str, reasons: list[str]) -> None:
    """Nothing of it becomes known."""
    run, _ = outcome(name)
    assert [(one.verifier, one.reason) for one in found(run, ObservationRefused)] == [(verifier, reasons[0])]
    assert run.facts.get("status") is None or run.facts["status"].value == "shipped"


def test_reads_are_asked_again_within_bounds() -> None:
    """Under one call, and no turn of the model's is used for it; what is refused is not asked again."""
    for name, attempts in {
        "unavailable for a while": [1, 2, 3],
        "unavailable": [1, 2, 3, 1],
        "permission refused": [1],
    }.items():
        assert [one.attempt for one in found(outcome(name)[0], ToolCalled)] == attempts


@pytest.mark.parametrize(
    ("name", "outcomes", "attempts"),
    [
        ("timeout before commit", ["not_landed"], [1, 2]),
        ("timeout after commit", ["landed"], [1]),
        ("stated as landed", ["unknown"], [1]),
        ("stated as not landed", ["unknown"], [1, 2]),
        ("nobody knows", ["unknown"], [1]),
    ],
)
def test_a_write_in_doubt_is_settled_before_anything_else(name: str, outcomes: list[str], attempts: list[int]) -> None:
    """The authority is asked, then a person; the model never is, and the key stays the same."""
    run, world = outcome(name)
    assert [one.outcome for one in found(run, EffectReconciled)] == outcomes
    credits_ = [one for one in found(run, ToolCalled) if one.tool == "credit"]
    assert [one.attempt for one in credits_] == attempts
    assert {one.key for one in credits_} >= set(world.credits)
    assert len({one.key for one in credits_}) == 1
    doubts = [one.position for one in run.records() if isinstance(one.event, EffectInDoubt)]
    asked = [one.position for one in run.records() if isinstance(one.event, ModelAsked)]
    settled = [one.position for one in run.records() if isinstance(one.event, EffectReconciled)]
    assert not [one for one in asked if doubts[0] < one < settled[-1]]


def test_a_person_is_asked_again_about_what_they_were_not_shown() -> None:
    """What a rule makes of their own edit is something else."""
    run, world = outcome("edited beyond the limit")
    first, second = found(run, ApprovalAsked)
    assert first.digest != second.digest
    assert [one.cents for one in world.credits.values()] == [500]


def test_what_was_credited_is_taken_back() -> None:
    """By a call of the engine's own, under a key of its own."""
    run, world = outcome("taken back")
    assert found(run, EffectCompensated) == [EffectCompensated(call=2, by=5)]
    (made,), (undone,) = world.credits.values(), world.debits.values()
    assert (undone.cents, undone.account) == (made.cents, made.account)
    assert undone.key != made.key


@pytest.mark.parametrize("name", ["hasty", "own words"])
def test_an_answer_is_held_against_the_evidence(name: str) -> None:
    """What is not known yet, or nobody bore out, is no answer."""
    (refused,) = found(outcome(name)[0], FinishRefused)
    assert (refused.missing, refused.unsupported) in {(("order_id", "status"), ()), ((), ("SF1390001",))}


def test_no_address_is_written_where_it_is_masked() -> None:
    """The policy judges the domain, the post has the address, and the log has neither name nor letter box."""
    run, world = outcome("masked")
    assert ADDRESS.encode() not in b"".join(msgspec.json.encode(record) for record in run.records())
    assert [one.address for one in world.notices.values()] == [ADDRESS]
    assert str(run.facts["address"].value).endswith("@customers.example")


@pytest.mark.parametrize("tool", ["find_order", "credit"])
def test_a_worker_whose_lease_is_revoked_begins_nothing_more(tool: str) -> None:
    """Whoever takes the run up goes on from the log, and what was under way is asked about, and done once."""
    variant = CARE.but(meanwhile={tool: revoke})
    log, world = rd.MemoryLog(), variant.world(rd.StillClock())
    with pytest.raises(LeaseHeld):
        variant.run(log, world=world)
    calls = [one.event.tool for one in log.read("run") if isinstance(one.event, ToolCalled)]
    assert calls[-1] == tool
    assert world.notices == {}
    run = variant.run(log, world=world)
    assert (run.status, run.answer, len(world.credits)) == ("succeeded", CARE_ANSWER, 1)
    assert [one.epoch for one in found(run, LeaseGranted)] == [1, 2]
    assert [one.why for one in found(run, EffectInDoubt)] == ["worker lost"] * (tool == "credit")
    assert set(world.epochs.values()) == {2}
    assert broken(run.records()) == []
    assert rd.replay(recording_of(log, "run"), agent=variant.agent()).same


def test_the_bank_does_nothing_for_a_worker_of_the_past() -> None:
    """Once it was asked by one of a greater epoch."""
    world = World()
    before = rd.Call(number=1, tool="credit", arguments={}, key="k", epoch=1)
    assert world.credited(dataclasses.replace(before, epoch=2)) is None
    with pytest.raises(rd.ToolError, match="taken over"):
        anyio.run(world.credit, "ord_125", ACCOUNT, 490, before)
    assert world.credits == {}


@pytest.mark.parametrize("variant", [PLAIN.but(meanwhile={"find_order": cancel}), VARIANTS["cancelled at a credit"]])
def test_nothing_begins_after_a_cancellation(variant: Variant) -> None:
    """What was under way ends; the model is not asked again, and no tool is called."""
    run = variant.run()
    kinds = [type(record.event) for record in run.records()]
    after = kinds[kinds.index(CancelRequested) :]
    assert run.status == "cancelled"
    assert not {ModelAsked, ToolCalled, ApprovalAsked} & set(after)


class Killed(rd.RedriveError):
    """The worker is no more."""


class KillingLog(rd.MemoryLog):
    """A log whose worker is killed right behind its append of this number; 0 means never."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.dead = number, False

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Write, and be killed; the dead write nothing, and people are no workers."""
        own = type(records[0].event) not in STRANGERS
        if self.dead and own:
            raise Killed
        super().append(run_id, records, expected=expected)
        self.number -= own
        if own and self.number == 0:
            self.dead = True
            raise Killed


# Where a worker that is killed uses up the last attempt of a write, so that a person is asked.
ENDS_OTHERWISE = {name: {"escalated"} for name in ("timeout before commit", "stated as not landed", "wrongly stated")}


@pytest.mark.parametrize("name", list(VARIANTS))
def test_a_worker_killed_behind_any_append(name: str) -> None:
    """Whoever takes the run up, in the world as it is by then, keeps every promise, and comes to the same end."""
    variant, (whole, _) = VARIANTS[name], outcome(name)
    for number in count(1):
        log, world = KillingLog(number), variant.world(rd.StillClock())
        with suppress(Killed):
            variant.run(log, world=world)
        if not log.dead:
            break
        log.dead = False
        run = variant.run(log, world=world)
        assert broken(run.records()) == []
        assert rd.replay(recording_of(log, "run"), agent=variant.agent()).same
        assert max(len(world.credits), len(world.notices)) <= 1
        assert run.status in {whole.status, *ENDS_OTHERWISE.get(name, ())}
        assert run.status != whole.status or run.answer == whole.answer
