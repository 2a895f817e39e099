"""The incidents that stand in the repository: as small as they can be, and gone where the behaviour is another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from redrive.agents import agent_named
from redrive.showing import showing
from redrive_engine import Program
from redrive_events import GuardTerms
from redrive_replays import redriven, replay_records
from redrive_replays.recording import Recording, recording_in
from redrive_replays.redriving import inputs_of
from tests.renew_incidents import FOLDER, INCIDENTS, renew


def kept(name: str) -> tuple[Recording, Program]:
    """An incident, and the program it is driven again with."""
    return recording_in(FOLDER / f"{name}.jsonl"), agent_named(INCIDENTS[name].agent).program


@pytest.mark.parametrize("name", INCIDENTS)
def test_the_command_makes_them(name: str, tmp_path: Path) -> None:
    """Their tests to the letter, and recordings of the same events; `python -m tests.renew_incidents` renews them."""
    assert renew(name, tmp_path) == 0
    file = f"test_{name}.py"
    assert (tmp_path / file).read_text(encoding="utf-8") == (FOLDER / file).read_text(encoding="utf-8")
    fresh, (stored, _) = recording_in(tmp_path / f"{name}.jsonl"), kept(name)
    assert [type(one.event) for one in fresh.records] == [type(one.event) for one in stored.records]


@pytest.mark.parametrize("name", INCIDENTS)
def test_nothing_can_be_left_out(name: str) -> None:
    """Without any one of its inputs it does not show any more what it is kept for."""
    recording, program = kept(name)
    shows, inputs = showing(INCIDENTS[name].shows), inputs_of(recording.records)
    assert shows(recording.records)
    for index in range(len(inputs)):
        assert not shows(redriven(program, recording.records[0], inputs[:index] + inputs[index + 1 :]))


@pytest.mark.parametrize("name", INCIDENTS)
def test_its_test_fails_where_the_behaviour_is_another(name: str) -> None:
    """Without the guard that it is about, it is not the same run."""
    recording, program = kept(name)
    unguarded = replace(program, terms=structs.replace(program.terms, guards=GuardTerms()))
    assert replay_records(name, recording.records, program).same
    assert replay_records(name, recording.records, unguarded).outcome in {"diverged", "left over"}
