"""Faults: each kind bites where a control is missing, and a desk that has them all keeps every promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redrive as rd
from notes_analyst import GOAL as NOTES_GOAL
from notes_analyst import variants
from notes_analyst.world import Counted
from redrive.testing import every_claim_has_its_observation
from redrive_events import BadInput, Json, canonical, parse_json
from redrive_replays.faults import (
    CHECKS,
    NO_FAULT,
    SLICES,
    Cell,
    Recorded,
    Row,
    Setting,
    Table,
    faulted,
    slices_named,
    trying,
)
from redrive_replays.faults.chance import Chance
from redrive_replays.faults.contents import broken_off, contradicted, emptied, injected
from tests.replays.careless import GOAL, START, Controls, desk, setting
from weather import GOAL as WEATHER_GOAL
from weather import agent as weather

# Which control is missing, which kind of fault finds that, by which promise, and with which seed.
WEAKNESSES = [
    pytest.param(Controls(fresh=False), "stale data", "evidence", 0, id="no freshness"),
    pytest.param(Controls(shape=False, origin=False), "empty result", "evidence", 0, id="a verifier that fills in"),
    pytest.param(Controls(wording=False), "malformed payload", "evidence", 2, id="a verifier of any words"),
    pytest.param(Controls(once=False), "malformed payload", "once", 1, id="a write that may be repeated"),
    pytest.param(Controls(bounded=False), "permission refused", "ended", 0, id="no budget in steps"),
    pytest.param(Controls(obeys=True, policy=False), "injection", "permitted", 0, id="no policy"),
    pytest.param(Controls(obeys=True, verified=False), "injection", "evidence", 1, id="no verifier"),
    pytest.param(
        Controls(knows="that it landed"), "timeout before commit", "evidence", 0, id="an authority that agrees"
    ),
    pytest.param(Controls(knows="that it did not"), "timeout after commit", "once", 0, id="a denier"),
    pytest.param(
        Controls(knows="nothing", on_doubt="tell"), "timeout after commit", "no blind retry", 0, id="no reconcile"
    ),
    pytest.param(Controls(origin=False), "duplicate result", "evidence", 1, id="no look at the origin"),
    pytest.param(Controls(receipt=False), "contradicting observations", "evidence", 0, id="no look at the receipt"),
    pytest.param(Controls(bounded=False), "slow model", "ended", 0, id="a model that is awaited for ever"),
    pytest.param(Controls(bounded=False), "rate limit", "ended", 0, id="a provider that is asked for ever"),
    pytest.param(Controls(bounded=False), "broken reply", "ended", 0, id="replies that are asked for ever"),
]


@pytest.mark.parametrize(("missing", "kind", "promise", "seed"), WEAKNESSES)
def test_a_missing_control_is_found(missing: Controls, kind: str, promise: str, seed: int) -> None:
    """By the kind of fault that it is for, where it can be seen; no other promise is said to be broken by it."""
    table = faulted(setting(missing), slices=slices_named(kind), seed=seed)
    whole, row = table.rows
    assert {whole.cell(name) for name in CHECKS} == {"held"}
    assert [name for name in CHECKS if row.cell(name) == "broken"] == [promise]
    assert table.exit_code == 1
    (_, broken), *_ = table.broken
    breach = broken.breaches[promise]
    records = broken.course.trajectory.records
    assert breach.run_id == broken.course.run_id
    assert min(hit.position for hit in broken.course.tampering.hits) < breach.position <= records[-1].position


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("obeys", [False, True])
def test_a_desk_with_all_controls_keeps_every_promise(obeys: bool, seed: int) -> None:
    """Whatever kind of fault there is, and whether or not its model obeys what it reads; each of them has bitten."""
    table = faulted(setting(Controls(obeys=obeys)), seed=seed)
    assert cells(table) == {"held"}
    assert [row.name for row in table.rows] == [NO_FAULT, *SLICES]
    assert all(row.spoilt >= len(row.rounds) == 3 for row in table.rows[1:])
    assert table.exit_code == 0


def test_where_there_is_nothing_to_fault_nothing_is_said_to_hold() -> None:
    """An agent that only reads has no write that could be lost, and no data with an age."""
    table = faulted(Setting(lambda: weather, WEATHER_GOAL))
    none = {row.name: {row.cell(name) for name in CHECKS} for row in table.rows if not row.rounds}
    assert list(none) == ["stale data", "timeout before commit", "timeout after commit"]
    assert all(said == {"nothing to fault"} for said in none.values())


def test_the_same_seed_gives_the_same_table_and_another_one_another() -> None:
    """Positions, endings and all."""
    first, again, other = (faulted(setting(Controls(origin=False)), seed=seed).data() for seed in (3, 3, 4))
    assert canonical(first) == canonical(again)
    assert first["slices"] != other["slices"]


def test_what_is_told_is_where_it_first_was_broken() -> None:
    """The second attempt of a payment that had landed, at its position."""
    table = faulted(setting(Controls(knows="that it did not")), slices=slices_named("timeout-after-commit"), rounds=1)
    ((row, broken),) = table.broken
    (hit,) = broken.course.tampering.hits
    breach = broken.breaches["once"]
    assert (row.name, breach.how) == (
        "timeout after commit",
        f"call {hit.call} of pay is begun again, which landed at {hit.position}",
    )
    kinds = [type(one.event).__name__ for one in broken.course.trajectory.records[hit.position : breach.position]]
    assert kinds == ["ObservationReceived", "EffectInDoubt", "ReconcileAsked", "EffectReconciled", "ToolCalled"]


def test_a_fault_reaches_the_runs_that_a_run_began() -> None:
    """A plan's steps are runs of their own, with the same door in front of their worlds."""
    table = faulted(Setting(variants.planned, NOTES_GOAL), slices=slices_named("permission refused, rate limit"))
    assert cells(table) == {"held"}
    hits = [hit.run_id for row in table.rows for one in row.rounds for hit in one.course.tampering.hits]
    assert any("/" in run_id for run_id in hits)


def test_what_a_child_run_believed_its_parent_claims() -> None:
    """A step of the plan counts whatever note comes, and the answer tells it: each run alone looks sound."""

    @rd.verifier("word_count", commits=["counts"])
    def any_count(call: rd.Call, seen: Counted, facts: rd.Facts) -> rd.Facts | rd.Refused:
        counts = {**facts.get("counts", {}), call.arguments["name"]: seen.characters}
        return {"counts": rd.Supersedes(counts) if "counts" in facts else counts}

    sound = variants.planned()
    tools, others = list(sound.tools.values()), [one for one in sound.verifiers if one.tool != "word_count"]
    terms, model = sound.contract, sound.model
    weak = rd.Agent("believing", "1", terms, tools=tools, verifiers=[*others, any_count], model=model)
    table = faulted(Setting(lambda: weak, NOTES_GOAL), slices=slices_named("contradicting observations"), seed=1)
    _, from_then_on, _ = row_of(table, "contradicting observations").rounds
    course = from_then_on.course
    assert {hit.tool for hit in course.tampering.hits} == {"word_count"}
    assert every_claim_has_its_observation.broken_by(course.trajectory) == []
    assert [breach.run_id for breach in from_then_on.breaches.values()] == [course.run_id]
    assert list(from_then_on.breaches) == ["evidence"]


def test_an_error_of_the_agent_s_own_code_is_no_known_end() -> None:
    """It is told with what it was, and the rest of the table is there all the same."""

    def words(_: int, __: rd.ModelRequest) -> str:
        raise KeyError("orders")

    agent = rd.Agent("raising", "1", rd.Contract(), model=rd.ScriptedModel(words))
    (row,) = faulted(Setting(lambda: agent, "Look."), slices=()).rows
    (one,) = row.rounds
    assert one.breaches["ended"].how == "the agent's own code raised KeyError: 'orders'"
    assert (row.cell("ended"), row.cell("replay"), row.endings) == ("broken", "held", ("broken off",))


def test_a_program_that_is_not_pure_is_found_without_any_fault() -> None:
    """Its strict replay is another run."""
    count = iter(range(100))

    @rd.tool(effect="read")
    def look() -> str:
        """What is there."""
        return "a door"

    @rd.verifier(look, commits=["number"])
    def counted(_: rd.Call, __: str, ___: rd.Facts) -> rd.Facts | rd.Refused:
        return {"number": next(count)}

    model = rd.ScriptedModel([rd.reply("", rd.use("look")), "Done."])
    agent = rd.Agent("counting", "1", rd.Contract(), tools=[look], verifiers=[counted], model=model)
    (row,) = faulted(Setting(lambda: agent, "Look."), slices=()).rows
    assert [name for name in CHECKS if row.cell(name) == "broken"] == ["replay"]


@pytest.mark.parametrize(
    ("approvals", "waits", "ending", "paid"),
    [
        ("grant", None, "succeeded", 1),
        ("refuse", None, "failed", 0),
        ("none", "30m", "failed", 0),
        ("none", None, "cancelled", 0),
    ],
)
def test_a_person_who_is_asked_says_what_was_settled(approvals: Any, waits: str | None, ending: str, paid: int) -> None:
    """A grant, a refusal, or nothing: then the time runs out, or the run is cancelled where it would wait for ever."""
    done: list[int] = []
    asking = Setting(lambda: paying(done, waits), "Pay.", writes=True, approvals=approvals)
    (row,) = faulted(asking, slices=()).rows
    assert (row.endings, len(done)) == ((ending,), paid)
    assert {row.cell(name) for name in CHECKS} == {"held"}


def paying(done: list[int], waits: str | None) -> rd.Agent:
    """An agent that pays, if a person allows it."""

    @rd.tool(effect="write")
    def pay(cents: int) -> int:
        """Pay."""
        done.append(cents)
        return cents

    @rd.verifier(pay, commits=["paid"])
    def payment(_: rd.Call, seen: int, __: rd.Facts) -> rd.Facts | rd.Refused:
        return {"paid": seen}

    @rd.policy
    def asked(_: rd.Question) -> rd.Ruling:
        return rd.ask("money")

    terms = rd.Contract(done={"paid": rd.ANY}, approval_waits=waits)
    model = rd.ScriptedModel([rd.reply("", rd.use("pay", cents=5)), "Paid."])
    return rd.Agent("asking", "1", terms, tools=[pay], verifiers=[payment], policy=asked, model=model)


def test_a_tool_that_may_act_is_not_called_unless_that_is_said() -> None:
    """Or something stands in for it, and then it is that which is called."""
    done, instead = list[int](), list[int]()

    @rd.tool(effect="write", name="pay")
    def stand_in(cents: int) -> int:
        """Pay nobody."""
        instead.append(cents)
        return cents

    asking = Setting(lambda: paying(done, None), "Pay.", approvals="grant")
    with pytest.raises(BadInput, match=r"agent asking: it would really be called: pay; give --call-writes"):
        faulted(asking)
    faulted(replace(asking, stand_ins=[stand_in]), slices=slices_named("rate-limit"), rounds=1)
    assert (done, len(instead)) == ([], 2)
    with pytest.raises(BadInput, match="tool look: it stands in for no tool of the agent; there are pay"):
        faulted(replace(asking, stand_ins=[rd.tool(effect="read", name="look")(lambda: 1)]))


@pytest.mark.parametrize("names", ["", "injection,none", "ALL"])
def test_a_slice_that_there_is_not_is_refused(names: str) -> None:
    """With all that there are."""
    with pytest.raises(BadInput, match=r"there are all, stale-data, .*broken-reply"):
        slices_named(names)


def cells(table: Table) -> set[Cell]:
    """All ways in which promises stand."""
    return {row.cell(name) for row in table.rows for name in CHECKS}


# A recorded run: its tools are gone by then.


def recorded(controls: Controls, *, beyond: bool = False, reconciles: bool = True) -> Recorded:
    """A run of the desk, as its log has it, and the pure half of the desk."""
    agent = desk(controls)
    clock = rd.Surroundings.fixed(rd.StillClock(START))
    run = agent.run(GOAL, log=rd.MemoryLog(), run_id="run", surroundings=clock)
    assert run.status == "succeeded"
    return Recorded(run.records(), agent.program, frozenset({"pay"} if reconciles else ()), beyond)


def row_of(table: Table, name: str) -> Row:
    """The row of a kind of fault."""
    return next(row for row in table.rows if row.name == name)


def test_a_recording_goes_as_far_as_its_answers_do() -> None:
    """Where a fault makes the model read something else nobody knows what it says; what only an end shows is open."""
    table = faulted(recorded(Controls()), rounds=2)
    assert cells(table) == {"held", "not reached"}
    assert table.exit_code == 0
    for row in table.rows:
        opened = {name for name in CHECKS if row.cell(name) == "not reached"}
        assert opened == ({"evidence", "ended"} if any("to turn" in one for one in row.endings) else set()), row.name
    assert row_of(table, "injection").endings[0].endswith("of 5 (model asked)")
    assert row_of(table, NO_FAULT).endings == ("succeeded",)


def test_what_an_authority_would_say_is_assumed() -> None:
    """The truth, where the tool has one: then the run ends as it did, and else it is a person's word that lacks."""
    lost = slices_named("timeout after commit")
    (_, row) = faulted(recorded(Controls()), slices=lost, rounds=1).rows
    assert (row.endings, {row.cell(name) for name in CHECKS}) == (("succeeded",), {"held"})
    assert [one.course.assumptions for one in row.rounds] == [
        ("turn 5: the word on call 4 (pay) is that it landed",),
    ]
    (_, row) = faulted(recorded(Controls(), reconciles=False), slices=lost, rounds=1).rows
    assert row.endings == ("escalated",)


def test_a_recorded_run_breaks_a_promise_under_assumptions() -> None:
    """The replies of the same turns go on behind the edge, and the desk believes a receipt of another payment."""
    kind = slices_named("contradicting observations")
    sure, beyond = (
        faulted(recorded(Controls(receipt=False), beyond=beyond), slices=kind, seed=0) for beyond in (False, True)
    )
    assert row_of(sure, "contradicting observations").cell("evidence") == "not reached"
    row = row_of(beyond, "contradicting observations")
    assert row.cell("evidence") == "broken"
    assert any(one.breaches and one.course.assumptions for one in row.rounds)


def test_a_recorded_run_that_asks_for_ever_is_let_go_at_some_time() -> None:
    """Without quotas a provider that wants to be left alone is asked again and again: that is no end."""
    kind = slices_named("rate limit")
    (_, row) = faulted(recorded(Controls(bounded=False)), slices=kind, rounds=2).rows
    assert row.cell("ended") == "broken"
    assert row.endings == ("succeeded", "broken off")
    *_, last = row.rounds
    assert last.breaches["ended"].how == "more than 200 requests, and no end"


def test_a_run_that_comes_to_no_end_gets_no_fault_put_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """That it is broken without one is the finding, and nothing is there to measure a fault by."""
    monkeypatch.setattr(trying, "SOUND_MAX", 20)
    model = rd.ScriptedModel(lambda turn, _: rd.reply("", rd.use("look", at=str(turn))))

    @rd.tool(effect="read")
    def look(at: str) -> str:
        """Look."""
        return at

    endless = rd.Agent("endless", "1", rd.Contract(budget=rd.Budget(steps=1_000_000)), tools=[look], model=model)
    table = faulted(Setting(lambda: endless, "Look."))
    assert ([row.name for row in table.rows], table.exit_code) == ([NO_FAULT], 1)
    ((_, broken),) = table.broken
    assert broken.breaches["ended"].how == "more than 20 requests, and no end"


def test_a_recording_is_faulted_alike_every_time() -> None:
    """The same seed, the same table."""
    first, again = (canonical(faulted(recorded(Controls(), beyond=True), seed=5).data()) for _ in range(2))
    assert first == again


# What becomes of content.

PLAIN: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
JSON, TEXT = "application/json", "text/plain"


@given(PLAIN)
def test_what_is_broken_off_can_be_read_as_nothing(data: Json) -> None:
    """Not even its beginning."""
    made = broken_off(canonical(data).decode())
    if made is not None:
        with pytest.raises(BadInput):
            parse_json(made)


@given(PLAIN)
def test_what_is_emptied_has_nothing_in_it(data: Json) -> None:
    """It is JSON still, and where there was nothing, nothing is changed."""
    made = emptied(canonical(data).decode(), JSON)
    assert (made is None) == (not data)
    assert made is None or not parse_json(made)


@given(PLAIN, st.text(min_size=1, max_size=20))
def test_what_is_spoken_into_data_stands_in_one_text_of_it(data: Json, words: str) -> None:
    """All else is as it was; without any text nothing can be spoken into it."""
    made = injected(canonical(data).decode(), JSON, words)
    if made is not None:
        assert made != canonical(data).decode()
        assert canonical(parse_json(made)).decode() == made


@pytest.mark.parametrize(
    ("content", "kind", "known", "made"),
    [
        ('{"cents":4900,"id":"x"}', JSON, '["ord_1",4900]', '{"cents":5900,"id":"x"}'),
        ('{"id":"ord_17"}', JSON, '["ord_17"]', '{"id":"ord_28"}'),
        ('{"sky":"cloudy"}', JSON, '["cloudy"]', '{"sky":"not cloudy"}'),
        ('{"cents":4900}', JSON, '["ord_1"]', None),
        ("order ord_17, waybill SF99", TEXT, '["ord_17"]', "order ord_28, waybill SF99"),
        ("nothing that is known", TEXT, '["ord_17"]', None),
    ],
)
def test_only_what_is_known_is_told_otherwise(content: str, kind: str, known: str, made: str | None) -> None:
    """And always in the same way."""
    assert contradicted(content, kind, known, Chance("seed")) == made


def test_chance_hangs_on_the_seed_alone() -> None:
    """The draws are these in every process and under every version."""
    draws: Callable[[str], list[Any]] = lambda seed: [  # noqa: E731
        (chance := Chance(seed)).below(1_000),
        chance.choice("abc"),
        chance.word(),
    ]
    assert draws("7/injection/0") == draws("7/injection/0") != draws("8/injection/0")
