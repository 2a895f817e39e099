"""What is made smaller, or exchanged, of a fork is its own: what it inherits stands in front, as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.showing import showing, written
from redrive_engine import Program, fork
from redrive_engine.models import reply, use
from redrive_events import (
    BadInput,
    EffectConfirmed,
    Input,
    LeaseGranted,
    MemoryLog,
    ModelReplied,
    ObservationReceived,
    Record,
    Terms,
    encode,
    load_portable,
)
from redrive_replays import bisected, redriven, replay_records, shrunk
from redrive_replays.beginning import beginning
from redrive_replays.redriving import inputs_of
from redrive_replays.testing.driven import driven as driven_again
from redrive_replays.testing.recordings import read
from tests.engine.test_forking import driven, ends_of
from tests.random_runs import doubtful_programs, driven_programs, programs, random_fork, random_run, tapes
from tests.replays.test_backtest_forks import Unaudited
from tests.replays.test_shrinking import LONG, SHOP, WRONG, refused
from tests.replays.test_whatif import ALLOW_READS, policy
from tests.shop import NOON, recorded, seen, shop

DAY = timedelta(days=1)
PRICE = seen(3, {"item": "milk", "cents": 5})


def forked(*inputs: Input, at: int = 3, name: str = "fork", program: Program = SHOP) -> list[Record]:
    """A run of the first inputs of a long one, forked behind them, to which the others happen."""
    log = MemoryLog()
    log.append("run", recorded(program, *inputs[:at]), expected=0)
    fork(log, "run", log.head("run").position, new_id=name, at=NOON + DAY)
    driven(log, program, LeaseGranted(worker="w2", epoch=2), *inputs[at:], run_id=name)
    return list(log.read(name))


def own(records: Sequence[Record]) -> list[Record]:
    """What is a fork's own."""
    return [one for one in records if one.run_id == records[-1].run_id]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(tapes, min_size=3, max_size=3), programs | driven_programs | doubtful_programs)
def test_driven_with_all_of_its_inputs_a_fork_is_what_it_was(
    data: st.DataObject, made: list[bytes], program: Program
) -> None:
    """To the byte, also one that is forked from a fork."""
    log = Unaudited(program)
    log.append("run", random_run(made[0], program), expected=0)
    for parent, name, tape in (("run", "fork", made[1]), ("fork", "below", made[2])):
        place = data.draw(st.sampled_from(ends_of(list(log.read(parent)))))
        fork(log, parent, place, new_id=name, at=NOON + 9 * DAY)
        records = random_fork(tape, program, log, name)
        again = redriven(program, beginning(records), inputs_of(records))
        assert list(map(encode, again)) == list(map(encode, records))


def test_what_does_not_lead_to_it_is_gone_and_what_is_inherited_stays() -> None:
    """Of the fork's own inputs the one turn is left in which an observation was refused."""
    records = forked(*LONG)
    found = shrunk(records, SHOP, refused)
    assert found.records[: len(records) - len(own(records))] == tuple(records[: len(records) - len(own(records))])
    told = [type(one.event).__name__ for one in own(found.records)]
    assert [one for one in told if one in {"ModelReplied", "ObservationReceived"}] == [
        "ModelReplied",
        "ObservationReceived",
    ]
    assert (found.inputs, found.of) == (3, 7)
    assert replay_records("fork", found.records, SHOP).outcome == "same, unfinished"


def test_what_is_left_is_a_recording_that_stands_for_itself(tmp_path: Path) -> None:
    """It brings along what it inherits, and is the same when it is driven again."""
    found = shrunk(forked(*LONG), SHOP, refused)
    stream = BytesIO()
    written(found.records, stream)
    file = tmp_path / "small.jsonl"
    file.write_bytes(stream.getvalue())
    log, portable = load_portable(file)
    assert [one.run_id for one in portable.runs if one.run_id not in portable.inherited] == ["fork"]
    assert list(log.read("fork")) == list(found.records)


def test_a_test_of_a_recorded_fork_is_of_the_fork(tmp_path: Path) -> None:
    """What stands in front of it in the file is no run of its own; under other rules its own part is driven anew."""
    file = tmp_path / "fork.jsonl"
    with file.open("wb") as stream:
        written(forked(*LONG), stream)
    runs = read(file)
    assert list(runs) == ["fork"]
    told = driven_again(runs, "fork", program_of=lambda _: SHOP)
    assert told.report is not None
    assert (told.report.same, told.calls[-1].tool) == (True, "pay")
    stricter = replace(SHOP, policy=policy(ALLOW_READS))
    other = driven_again(runs, "fork", program_of=lambda _: stricter)
    assert "run-forked#1  from run run at 16, with another policy\n" in other.text
    assert other.calls[-1].tool == "price_of"
    assert other.records[:16] == told.records[:16]


def test_in_sql_a_candidate_has_its_own_rows() -> None:
    """What is inherited shows nothing of a fork."""
    records = forked(*LONG)
    assert showing("steps = 3")(records)
    small = shrunk(records, SHOP, showing("tool_calls > 0"))
    assert sum(isinstance(one.event, ModelReplied) for one in own(small.records)) == 1


def test_another_program_shrinks_to_what_it_replays() -> None:
    """What is today's stands in how the small run was forked."""
    today = shop(Terms(), prompt="Wait upon them.")
    found = shrunk(forked(*LONG), today, refused)
    assert replay_records("fork", found.records, today).outcome == "same, unfinished"


def test_the_input_that_turns_a_fork_is_named() -> None:
    """In turns as they are counted in the fork, behind those that it inherits."""
    good = forked(*LONG[:5], PRICE, *LONG[6:], name="good")
    bad = forked(*LONG, name="bad")
    found = bisected(good, bad, SHOP, refused)
    assert found.bad is not None
    assert found.bad.event == WRONG
    assert (found.place.kind, found.place.turn, found.place.nth) == ("observation_received", 2, 1)
    assert refused(found.records)


def test_answers_to_calls_that_both_forks_ask_again_stand_in_the_same_places() -> None:
    """The second of two reads that were under way is the one that differs."""
    both = reply("", use("price_of", item="tea"), use("price_of", item="milk"))
    tea, milk = seen(1, {"item": "tea", "cents": 5}), seen(2, {"item": "milk", "cents": 5})
    good = forked(both, tea, milk, at=1, name="good")
    bad = forked(both, seen(2, {"item": "tea", "cents": 5}), tea, at=1, name="bad")
    found = bisected(good, bad, SHOP, refused)
    assert found.good is not None
    assert isinstance(found.good.event, ObservationReceived)
    assert (found.good.event.call, found.place.nth) == (2, 2)


def test_forks_of_different_places_have_no_inputs_in_the_same_ones() -> None:
    """Nor has a fork with the run that it is from."""
    good, bad = forked(*LONG, name="good"), forked(*LONG, at=4, name="bad")
    for one, other in ((good, bad), (good, recorded(SHOP, *LONG)), (recorded(SHOP, *LONG), bad)):
        with pytest.raises(BadInput, match="do not go on from the same event of the same run"):
            bisected(one, other, SHOP, lambda records: any(isinstance(one.event, EffectConfirmed) for one in records))
