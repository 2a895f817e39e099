"""What holds for every run, whatever the program, the model, the tools, the people and the workers do."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from redrive_engine import Happened, Program, drive, react
from redrive_engine.drive import Keep
from redrive_events import Derived, EventLog, Record
from redrive_projections import RunState, fold
from tests.random_runs import doubtful_programs, driven_programs, programs, random_run, tapes

# By its folder's name for it only the function is to be had.
DRIVING = sys.modules[drive.__module__]


@settings(max_examples=300, deadline=None)
@given(tapes, programs)
def test_every_append_of_every_run_keeps_the_rules_of_the_loop(tape: bytes, program: Program) -> None:
    """The rules are the auditor's, who knows only the log; that the run ends at all is the last of them."""
    random_run(tape, program)


@settings(max_examples=200, deadline=None)
@given(tapes, driven_programs)
def test_a_run_that_is_driven_otherwise_keeps_the_same_rules(tape: bytes, program: Program) -> None:
    """By a plan, a workflow, a direct answer, or with lessons between."""
    random_run(tape, program)


@settings(max_examples=200, deadline=None)
@given(tapes, doubtful_programs)
def test_a_run_of_many_doubts_keeps_the_same_rules(tape: bytes, program: Program) -> None:
    """What nobody knows is asked of an authority, then of a person; whoever gives up undoes what was done."""
    random_run(tape, program)


@settings(max_examples=50, deadline=None)
@given(tapes, programs | driven_programs | doubtful_programs)
def test_the_log_folds_to_the_state_of_its_driver(tape: bytes, program: Program) -> None:
    """At each append, and whole: a resumed run must know all that the first worker knew, and nothing else."""
    write = DRIVING.write

    async def watched(log: EventLog, program: Program, s: RunState, happened: Happened, keep: Keep) -> RunState:
        after: RunState = await write(log, program, s, happened, keep)
        assert after == fold(log.read(after.run_id))
        return after

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DRIVING, "write", watched)
        random_run(tape, program)


@settings(max_examples=50, deadline=None)
@given(tapes, programs | driven_programs | doubtful_programs)
def test_what_follows_is_found_without_touching_the_state(tape: bytes, program: Program) -> None:
    """Only the fold may change a state, since only what is in the log may."""

    def watched(program: Program, s: RunState, record: Record) -> Iterator[Derived]:
        follows = react(program, s, record)
        while True:
            before = copy.deepcopy(s)
            event = next(follows, None)
            assert s == before
            if event is None:
                return
            yield event

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DRIVING, "react", watched)
        random_run(tape, program)
