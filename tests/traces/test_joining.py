"""Spans in one file and their log records in another: read as one where they come together."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from redrive_events import MemoryLog, ModelReplied
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_file, import_files, workers
from tests.traces import otel_story as story
from tests.traces.oracle import check
from tests.traces.shared import AT_HAND, SHARED

SPANS = story.spans(story.span_events)
BARE = story.otlp([{**one, "events": []} for one in SPANS])
CHAT = b'[{"role": "user", "content": "%s?"}, {"role": "assistant", "content": "No."}]' % story.TRACE.encode()


def records(trace: str = story.TRACE) -> list[dict[str, Any]]:
    """The events of the spans as log records."""
    return [
        {
            "timeUnixNano": str(one["start"] * 1_000_000 + place),
            "traceId": trace,
            "spanId": one["id"],
            "eventName": event["name"],
            "body": story.any_value(event["attributes"]),
        }
        for one in SPANS
        for place, event in enumerate(one["events"])
    ]


def logs(trace: str = story.TRACE) -> dict[str, Any]:
    """A request of them."""
    return {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "story"}, "logRecords": records(trace)}]}]}


def protobuf(value: dict[str, Any]) -> bytes:
    """A request as protobuf, in which ids are bytes and in JSON base64."""
    again = json.loads(json.dumps(value))
    for one in again["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
        one |= {name: story.in_base64(one[name]) for name in ("traceId", "spanId")}
    request: Any = ParseDict(again, ExportLogsServiceRequest())
    return bytes(request.SerializeToString())


WRITTEN: dict[str, Callable[[], bytes]] = {
    "json": lambda: json.dumps(logs()).encode(),
    "upper case": lambda: json.dumps(logs(story.TRACE.upper())).encode(),
    "compressed": lambda: gzip.compress(json.dumps(logs()).encode()),
    "protobuf": lambda: protobuf(logs()),
    "one by one": lambda: "\n".join(map(json.dumps, records())).encode(),
}


def brought(folder: Path, **files: bytes) -> tuple[MemoryLog, list[FileReport]]:
    """Files imported together, in this order."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    log = MemoryLog()
    return log, import_files([folder / name for name in files], log)


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("order", list(permutations(["spans", "logs", "chat"])), ids="-".join)
def test_they_are_one_in_any_order(order: tuple[str, ...], written: str, tmp_path: Path) -> None:
    """The words of the one, the tokens of the other; a file that only names the trace is none of them."""
    files = {"spans": BARE, "logs": WRITTEN[written](), "chat": CHAT}
    log, reports = brought(tmp_path, **{name: files[name] for name in order})
    first, other = (report for report in reports if report.format != "openai-chat")
    (run,) = first.runs
    assert (other.read_with, other.runs, other.added, first.added) == (first.path, [run], 0, 1)
    assert check(list(log.read(run)), story.MESSAGES) == 2
    replies = [record.event for record in log.read(run) if isinstance(record.event, ModelReplied)]
    assert all(reply.usage for reply in replies)
    assert (first.grades, replay(recording_of(log, run)).same) == ({"full": 1}, True)


def test_the_same_files_again_add_nothing(tmp_path: Path) -> None:
    """In another order, and in several processes, too."""
    log, reports = brought(tmp_path, spans=BARE, logs=WRITTEN["json"]())
    again = import_files([tmp_path / "logs", tmp_path / "spans"], log)
    assert ([report.runs for report in again], sum(report.added for report in again)) == (
        [report.runs for report in reports],
        0,
    )


def test_in_several_processes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker reads what stands beside."""
    monkeypatch.setattr(workers, "WORTH_BYTES", 0)
    _, reports = brought(tmp_path, spans=BARE, logs=WRITTEN["json"](), chat=CHAT)
    assert import_files([tmp_path / name for name in ("spans", "logs", "chat")], MemoryLog(), processes=2) == reports


def test_apart_they_are_what_each_says(tmp_path: Path) -> None:
    """Words without tokens, tokens without words; records of another trace are not joined."""
    _, reports = brought(tmp_path, spans=BARE, logs=json.dumps(logs("ab" * 16)).encode())
    assert [(report.read_with, report.grades) for report in reports] == [("", {"view-only": 1}), ("", {"full": 1})]
    assert import_file(tmp_path / "spans", MemoryLog()).grades == {"view-only": 1}


def test_what_is_lost_of_either_is_told_of_both(tmp_path: Path) -> None:
    """With the name of the file in which it was."""
    lines = "\n".join(map(json.dumps, records())).encode() + b"\n{torn"
    _, (first, other) = brought(tmp_path, spans=BARE, logs=lines)
    assert (other.read_with, first.grades) == (first.path, {"view-only": 1})
    assert [str(one) for one in first.diagnostics] == [
        f"{tmp_path / 'logs'}: line {len(records()) + 1} (byte {len(lines) - 5}): not a JSON object, left out"
    ]


@AT_HAND
def test_what_the_real_sdk_wrote_into_two_files() -> None:
    """The messages of the one and the tokens of the other."""
    log = MemoryLog()
    folder = SHARED / "generated"
    first, _ = import_files([folder / "oai_v2_old.otlp.json", folder / "oai_v2_old.logs.otlp.json"], log)
    (run,) = first.runs
    replies = [record.event for record in log.read(run) if isinstance(record.event, ModelReplied)]
    assert (first.calls, first.results, [bool(reply.usage) for reply in replies]) == (2, 2, [True, True])
