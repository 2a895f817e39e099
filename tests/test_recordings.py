"""The named recordings: each decodes, folds to its snapshot, and replays to itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from redrive_events import EVENTS, NOTES, Json, Record, checked, is_canonical, load_portable
from redrive_events.upcast import UPCASTERS
from redrive_projections import RunState, fold, status, used
from redrive_replays import Report, replay_records
from tests.renew_recordings import FOLDER, RECIPES, VOCABULARY, file_of
from tests.shapes import is_released, read, renewed, shapes, spelled

RENEW = "renew the recordings: python -m tests.renew_recordings, then pytest --snapshot-update"
NAMES = sorted(RECIPES)


def stored(name: str) -> list[Record]:
    """The records of a recording."""
    log, file = load_portable(file_of(name))
    assert file.torn == ""
    return list(log.read(name))


def told(state: RunState) -> dict[str, Json]:
    """What a run came to, as plain data."""
    said = [{"of": one.of} | one.data() for one in state.transcript()]
    told: dict[str, Json] = msgspec.to_builtins(
        {
            "status": status(state),
            "answer": state.end.answer if state.end else None,
            "claims": state.end.claims if state.end else (),
            "facts": state.facts,
            "used": used(state),
            "open": {str(place): one for place, one in state.requests.items()},
            "transcript": said,
        }
    )
    return told


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_decodes_to_the_byte(name: str) -> None:
    """Each line is the canonical spelling of its record, in today's shape or in that of its time, and sealed."""
    log, _ = load_portable(file_of(name))
    for run_id in (name, name + NOTES):
        lines = list(checked(run_id, log.lines(run_id)))
        assert all(is_canonical(record, one.line) for record, one in zip(log.read(run_id), lines, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_folds_to_its_snapshot(name: str, snapshot: SnapshotAssertion) -> None:
    """What a run came to when it was recorded it comes to for ever."""
    assert told(fold(stored(name))) == snapshot(extension_class=JSONSnapshotExtension)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_replays_to_itself(name: str) -> None:
    """A change of behaviour is seen here first, and where it is meant its recordings are renewed."""
    records = stored(name)
    own = [record for record in records if record.run_id == name]
    assert replay_records(name, records, RECIPES[name].program) == Report(name, "same", len(own)), RENEW


def test_no_recording_is_forgotten() -> None:
    """A file that no test reads pins nothing."""
    assert sorted(file.stem for file in FOLDER.glob("*.jsonl")) == NAMES


def test_every_kind_of_event_is_recorded() -> None:
    """A kind that joins the vocabulary joins a recording."""
    kinds: set[type[Any]] = set()
    for name in NAMES:
        log, _ = load_portable(file_of(name))
        kinds |= {type(record.event) for _, record in log.read_all()}
    assert {kind.__name__ for kind in EVENTS} - {kind.__name__ for kind in kinds} == set()


def test_the_vocabulary_is_the_one_of_the_recordings() -> None:
    """Until 0.1.0 it may change, but never without its recordings; from then on what was ever stored is read."""
    kept = VOCABULARY.read_text()
    assert spelled(renewed(read(kept), shapes(), upcasters=UPCASTERS, released=is_released())) == kept, RENEW
