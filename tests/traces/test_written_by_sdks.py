"""What the real SDKs wrote with fake models, see `tests.renew_traces` and `tests.renew_spans`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from redrive_events import AnnotationMade, MemoryLog, ModelReplied, ObservationReceived, Record, calls_of
from redrive_replays import recording_of, replay
from redrive_replays.traces import import_file
from tests import renew_spans, renew_traces
from tests.traces.oracle import check

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


CALL = {"id": "call_1", "function": {"name": "stock", "arguments": '{"item":"rye"}'}}
SAID: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": renew_spans.ASKED},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": renew_spans.RESULT},
    {"role": "assistant", "content": renew_spans.ANSWER},
]


@pytest.mark.parametrize("name", renew_spans.WRITTEN)
def test_what_instrumentors_wrote(name: str) -> None:
    """One conversation, asked with its messages at every turn, and the tokens of each reply once."""
    log = MemoryLog()
    report = import_file(renew_spans.SPANS / name, log)
    (run,) = report.runs
    assert (report.grades, report.calls, report.results, report.diagnostics) == ({"full": 1}, 1, 1, [])
    records = list(log.read(run))
    assert check(records, _spelled(records)) == 2
    usages = [record.event.usage for record in records if isinstance(record.event, ModelReplied)]
    used = [(one.input, one.output) for one in usages if one]
    assert len(used) == 2
    assert "pydantic" in name or used == [(20, 5), (21, 5)]  # its fake model counts by itself
    assert replay(recording_of(log, run)).outcome == "same"


def _spelled(records: list[Record]) -> list[dict[str, Any]]:
    """What was said, with the arguments as the instrumentor spelled them."""
    (call,) = (
        call for one in records if isinstance(one.event, ModelReplied) for _, call in calls_of(one.event.content)
    )
    assert json.loads(call.arguments) == {"item": "rye"}
    function = {"name": "stock", "arguments": call.arguments}
    return [{**one, "tool_calls": [{**CALL, "function": function}]} if "tool_calls" in one else one for one in SAID]


# A folder of a machine's, or its name.
OF_A_MACHINE = re.compile(rb"/(?:home|root|tmp|Users)/|host\.name")


def test_nothing_of_the_machine_is_in_them() -> None:
    """Neither a home nor a folder of anybody's."""
    for name in renew_spans.WRITTEN:
        written = (renew_spans.SPANS / name).read_bytes()
        assert not OF_A_MACHINE.search(written)
    text = (RENEWED / "written.json").read_bytes()
    value = json.loads(text)
    assert not value["eval"].get("revision")
    assert not OF_A_MACHINE.search(text)
