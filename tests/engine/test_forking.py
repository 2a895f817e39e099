"""A run goes on from a position of another one: what is inherited, what is asked for again, and what is not."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_engine import fork
from redrive_engine.program import Program
from redrive_events import Record, StopDecided, damage_of
from redrive_projections import fold
from redrive_replays import appends, replay_records
from tests.random_runs import AuditedLog, doubtful_programs, driven_programs, programs, random_fork, random_run, tapes
from tests.shop import NOON


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
