"""A recording without an end: where nothing is changed it is the same, and nothing is told of what nobody did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from redrive_engine import Program, fork
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_events import (
    CancelRequested,
    CannotReplay,
    Grade,
    Input,
    LeaseGranted,
    MemoryLog,
    MessageReceived,
    ObservationReceived,
    Record,
    RunForked,
    RunStarted,
    SignalsHeard,
    Source,
    Terms,
)
from redrive_replays import replay_records
from redrive_replays.whatif import Changes, EdgeReport, branched, edge_report
from tests.random_runs import driven_programs, programs, random_run
from tests.renew_recordings import RECIPES, records_of
from tests.shop import NOON, Asking, answer_to_pay, recorded, seen, shop

ITEM = {"item": "tea", "cents": 5}
PAYS = reply("", use("pay", item="tea", cents=5))
LOOKS = reply("", use("price_of", item="tea"))
NO_PAY = RulesPolicy.from_toml('[[rule]]\nname = "no"\nwhen = { tool = "pay" }\nthen = "deny"\n')


def cuts(records: Sequence[Record]) -> list[Sequence[Record]]:
    """The run as it was after each of its appends."""
    return [records[: one.position] for one in records if not one.left]


def told(records: Sequence[Record], program: Program, changes: Changes | None = None) -> EdgeReport:
    """The report of a branch."""
    return edge_report(records, branched(records, program, changes))


def taken_once(records: Sequence[Record]) -> bool:
    """Whether no second worker took the run up."""
    return sum(isinstance(one.event, LeaseGranted) for one in records) < 2


def check_same(records: Sequence[Record], program: Program) -> None:
    """As strict replay says that the run is the same, so does what-if, with no finding, and no word of another end."""
    report = told(records, program)
    assert (report.flip, report.sureness, report.exit_code) == (None, "same", 0), records[-1]
    assert report.status == report.recorded_status


@pytest.mark.parametrize("name", RECIPES)
def test_wherever_a_recording_breaks_off_it_is_the_same(name: str) -> None:
    """With a signal that nobody heard at its end, with its start alone, and in the middle of calls."""
    program = RECIPES[name].program
    for records in cuts(records_of(name)):
        if taken_once(records):
            assert replay_records("run", records, program).outcome.startswith("same")
            check_same(records, program)


@settings(max_examples=100)
@given(st.binary(max_size=120), programs | driven_programs, st.integers(0, 10_000))
def test_wherever_any_run_breaks_off_it_is_the_same(tape: bytes, program: Program, place: int) -> None:
    """Whatever had happened by then."""
    parts = [one for one in cuts(random_run(tape, program)) if taken_once(one)]
    check_same(parts[place % len(parts)], program)


ASKS = Asking()
CANCELLED = CancelRequested(by="ana", reason="It is too late.")


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(answer_to_pay("grant", 5, call=2), id="an approval"),
        pytest.param(answer_to_pay("refuse", 5, call=2), id="a refusal"),
        pytest.param(CANCELLED, id="a cancel"),
        pytest.param(MessageReceived(actor="user", content="Be quick."), id="a message"),
    ],
)
def test_what_nobody_heard_leads_to_nothing(said: Input) -> None:
    """It is the last that is known, in a branch that parted before as well."""
    program = shop(Terms(), policy=ASKS)
    records = recorded(program, LOOKS, seen(1, ITEM), PAYS, said)
    branch = branched(records, program)
    assert (branch.edge, branch.unheard, len(branch.records)) == (None, True, len(records))
    assert told(records, program).sureness == "same"
    words = reply("Let me see.", use("price_of", item="tea"))
    report = told(records, program, Changes(replies={1: words.content, 2: PAYS.content}))
    assert (report.sureness, report.status, report.unheard) == ("exact to turn", "", True)


def test_what_was_heard_goes_on() -> None:
    """As soon as a worker had taken note of it."""
    program = shop(Terms(), policy=ASKS)
    records = recorded(program, PAYS, answer_to_pay("grant", 5), SignalsHeard(), seen(1, ITEM), reply("Bought."))
    assert not branched(records, program).unheard
    check_same(records, program)


def test_what_is_open_at_the_end_can_be_given_or_assumed() -> None:
    """A read that nobody saw the end of is answered by its number, or as the same one was before."""
    program = shop(Terms())
    counts = reply("", use("count", item="tea"))
    records = recorded(program, counts, seen(1, 3), counts)
    report = told(records, program)
    assert (report.sureness, report.flags) == (
        "same",
        ("--live reads", "--beyond recorded", "--set-observation 2=FILE"),
    )
    assert told(records, program, Changes(observations={2: "4"})).sureness == "exact to turn"
    beyond = told(records, program, Changes(beyond=True))
    assert (beyond.sureness, len(beyond.assumptions)) == ("under assumptions", 1)


def test_an_answer_that_came_before_the_end_is_served_beside_what_is_open_there() -> None:
    """Nobody knows when the other one would have come, but that it had not by then; also of a call that was moved."""
    program = shop(Terms())
    both = reply("", use("count", item="tea"), use("price_of", item="tea"))
    records = recorded(program, both, seen(2, ITEM))
    words = reply("Both.", use("count", item="tea"), use("price_of", item="tea"))
    branch = branched(records, program, Changes(replies={1: words.content}))
    assert [one.label for one in branch.records if isinstance(one.record.event, ObservationReceived)] == ["recorded"]
    assert branch.edge is not None
    assert edge_report(records, branch).sureness == "exact to turn"


START = recorded(shop(Terms()))[:1]


def test_a_run_that_nobody_took_up_is_the_same() -> None:
    """What it would ask first is no finding; that it would ask something else, or be answered, is one."""
    program = shop(Terms())
    check_same(START, program)
    assert told(START, program, Changes(prompt="Be brief.")).sureness == "exact to turn"
    assert told(START, program, Changes(replies={1: "No."})).sureness == "exact"


def test_a_fork_that_nobody_took_up_is_the_same() -> None:
    """It goes on as its run would."""
    program, log = shop(Terms()), MemoryLog()
    log.append("run", recorded(program, LOOKS), expected=0)
    fork(log, "run", log.head("run").position, new_id="fork", at=NOON + timedelta(days=1))
    records = list(log.read("fork"))
    assert isinstance(records[-1].event, RunForked)
    check_same(records, program)
    assert told(records, program, Changes(policy=NO_PAY)).sureness == "exact to turn"


@pytest.mark.parametrize("changes", [Changes(), Changes(replies={1: "No."}), Changes(policy=NO_PAY)])
def test_a_mere_view_cannot_be_driven(changes: Changes) -> None:
    """There is nothing in it that could answer."""

    def imported(grade: Grade) -> Sequence[Record]:
        start = START[0].event
        assert isinstance(start, RunStarted)
        source = Source(format="codex", sha256="0" * 64, grade=grade, missing=("the conversation",))
        return [replace(START[0], event=replace(start, source=source))]

    with pytest.raises(CannotReplay, match="it was imported as view-only: the conversation"):
        branched(imported("view-only"), shop(Terms()), changes)
    assert branched(imported("full"), shop(Terms()), changes).records
