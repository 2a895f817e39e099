"""What the real SDKs wrote with fake models, see `tests.renew_traces`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redrive_events import AnnotationMade, MemoryLog, ModelReplied, ObservationReceived
from redrive_replays import recording_of, replay
from redrive_replays.traces import import_file
from tests import renew_traces

RENEWED = Path(renew_traces.LOGS)


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_inspects_own_logs(kind: str) -> None:
    """The two samples with their calls, tokens and scores, as an archive and as one object."""
    log = MemoryLog()
    report = import_file(RENEWED / f"written.{kind}", log)
    assert (report.format, report.calls, report.results, report.grades) == ("inspect", 2, 2, {"full": 2})
    assert (report.diagnostics, [replay(recording_of(log, run)).same for run in report.runs]) == ([], [True, True])
    events = [[record.event for record in log.read(run)] for run in report.runs]
    usage = [[one.usage for one in run if isinstance(one, ModelReplied)] for run in events]
    assert [[(one.input, one.output) for one in run if one] for run in usage] == [
        [(20, 5), (21, 5)],
        [(22, 5), (23, 5)],
    ]
    results = [(one.status, one.content) for run in events for one in run if isinstance(one, ObservationReceived)]
    assert [status for status, _ in results] == ["ok", "error"]
    assert results[0][1] == "12 loaves ☕"
    notes = [record.event for run in report.runs for record in log.read(f"{run}@notes")]
    scores = [note.value for note in notes if isinstance(note, AnnotationMade) and note.name == "score.includes"]
    assert scores == ["C", "I"]


def test_nothing_of_the_machine_is_in_them() -> None:
    """Neither a home nor a folder of anybody's."""
    value = json.loads((RENEWED / "written.json").read_bytes())
    text = json.dumps(value)
    assert not value["eval"].get("revision")
    assert "/home/" not in text
    assert "/root/" not in text
