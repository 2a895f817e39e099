"""What traces are wrapped in: rows, lists, names and fields of other documents; and files that are something else."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redrive_events import AnnotationMade, BadInput, MemoryLog, RunStarted
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes, import_file
from redrive_replays.traces.lines import Lines
from redrive_replays.traces.reading import read
from redrive_replays.traces.table import importer_of

HERE = Path(__file__).parent.parent / "fixtures" / "traces"


def _document(name: str) -> Any:
    return json.loads((HERE / name).read_bytes())


def _lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (HERE / name).read_bytes().split(b"\n") if line.strip()]


TRACES: dict[str, Callable[[], Any]] = {
    "tau-bench": lambda: _document("tau-bench.json"),
    "tau2-bench": lambda: _document("tau2-bench/split-simulation.json"),
    "mini-swe-agent": lambda: _document("mini-swe-agent/calls.traj.json"),
    "swe-agent": lambda: _document("swe-agent/text.traj"),
    "inspect": lambda: _document("inspect/log.json"),
    "claude-code": lambda: _lines("claude-code/session.jsonl"),
    "codex": lambda: _lines("codex/session.jsonl"),
}
WRAPPED: dict[str, Callable[[Any], Any]] = {
    "data": lambda one: {"data": one},
    "rows": lambda one: {"rows": [{"row_idx": 0, "row": item} for item in _items(one)], "features": []},
    "by name": lambda one: {f"run {index}": item for index, item in enumerate(_items(one))},
    "a field": lambda one: [{"instance_id": "i-1", "trajectory": item} for item in _items(one)],
    "text in a field": lambda one: [{"instance_id": "i-1", "traj": json.dumps(item)} for item in _items(one)],
    "in a list": lambda one: [one],
    "deep": lambda one: {"result": {"data": [{"trace": item} for item in _items(one)]}},
}


def _items(one: Any) -> list[Any]:
    return one if isinstance(one, list) else [one]


def imported(data: bytes) -> tuple[MemoryLog, FileReport]:
    """A file in a log of its own, of which each run replays."""
    log = MemoryLog()
    report = import_bytes(data, "file", log)
    assert all(replay(recording_of(log, run)).same for run in report.runs)
    return log, report


def counts(report: FileReport) -> tuple[Any, ...]:
    """What a report says of all runs."""
    return report.format, len(report.runs), report.calls, report.results, report.grades


@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize("name", TRACES)
def test_it_is_the_same_trace_in_whatever_it_is_wrapped(name: str, wrapped: str) -> None:
    """As a document, indented, as lines of rows where it is rows, and compressed."""
    value = TRACES[name]()
    _, bare = imported(json.dumps(value).encode())
    assert bare.format == name
    inside = WRAPPED[wrapped](value)
    texts = [json.dumps(inside), json.dumps(inside, indent=2, ensure_ascii=False)]
    if isinstance(inside, list) and len(inside) > 1:
        texts.append("\n".join(map(json.dumps, inside)))
    for text in texts:
        for data in (text.encode(), gzip.compress(text.encode())):
            _, report = imported(data)
            assert counts(report) == counts(bare)


def test_what_stands_beside_a_wrapped_trace_is_kept() -> None:
    """The row's other fields are the trace's, where it has none of that name."""
    row = {"instance_id": "i-1", "batch": "b-7", "trajectory": TRACES["mini-swe-agent"]()}
    log, report = imported(json.dumps([row]).encode())
    started = next(log.read(report.runs[0])).event
    notes = [record.event for record in log.read(f"{report.runs[0]}@notes")]
    assert isinstance(started, RunStarted)
    assert started.labels["instance_id"] == row["trajectory"]["instance_id"]
    assert ("batch", "b-7") in [(note.name, note.value) for note in notes if isinstance(note, AnnotationMade)]


def test_simulations_by_their_ids_are_simulations() -> None:
    """With what the file says of all of them."""
    value = _document("tau2-bench/monolith.json")
    _, bare = imported(json.dumps(value).encode())
    value["simulations"] = {one["id"]: one for one in value["simulations"]}
    _, report = imported(json.dumps(value).encode())
    assert counts(report) == counts(bare)
    assert report.missing == bare.missing


@pytest.mark.parametrize("wrapper", ["train", "data", "examples"])
def test_rows_of_messages_in_a_data_set(wrapper: str) -> None:
    """Each a run; objects by name are none, since any object could be."""
    rows = [{"messages": [{"role": "user", "content": "Rye?"}, {"role": "assistant", "content": "No."}]}] * 2
    _, report = imported(json.dumps({wrapper: rows}).encode())
    assert counts(report) == ("openai-chat", 2, 0, 0, {"full": 2})
    with pytest.raises(BadInput, match="no trace that is known"):
        imported(json.dumps({"a": rows[0], "b": rows[1]}).encode())


def test_an_importer_that_is_named_opens_too() -> None:
    """What it recognises inside."""
    log = MemoryLog()
    data = json.dumps({"data": TRACES["claude-code"]()}).encode()
    assert import_bytes(data, "file", log, importer="claude-code").grades == {"full": 3}


def test_lines_are_opened_one_by_one(tmp_path: Path) -> None:
    """A large file of rows is not taken apart in memory."""
    rows = [{"n": number, "trajectory": TRACES["mini-swe-agent"]()} for number in range(3)]
    data = "\n".join(map(json.dumps, rows)).encode()
    (tmp_path / "rows").write_bytes(data)
    assert import_file(tmp_path / "rows", MemoryLog(), large_bytes=0).grades == imported(data)[1].grades == {"full": 3}
    material = read(data, "rows", large_bytes=0)
    assert isinstance(material.entries, Lines)
    importer, view = importer_of(material)
    assert (importer.name, len(view.entries), type(view.entries) is list) == ("mini-swe-agent", 3, False)


UNREAD = {
    "a Parquet table": b"PAR1\x15\x04",
    "a SQLite database": b"SQLite format 3\x00",
    "a cassette of recorded requests in YAML": b"interactions:\n- request:\n    body: '{}'\n",
    "ReAct text": b"Question: Rye?\nThought 1: look\nAction 1: Find[rye]\n",
    "ShareGPT rows": b'[{"conversations": [{"from": "human", "value": "Rye?"}]}]',
    "a trace of Langfuse": b'{"trace": {"id": "t"}, "observations": []}',
    "runs of LangSmith": b'{"id": "r", "run_type": "llm", "trace_id": "t"}\n' * 2,
    "an ATIF trajectory": b'{"schema_version": "ATIF-v1.5", "steps": []}',
    "messages of pydantic-ai": b'[{"kind": "request", "parts": []}]',
    "messages of LangChain": b'[{"type": "human", "data": {"content": "Rye?"}}]',
    "a trace of the OpenAI Agents SDK": b'{"data": [{"object": "trace.span", "id": "s"}]}',
    "an event of OpenHands": b'{"id": "e", "source": "agent", "kind": "ActionEvent"}',
}


@pytest.mark.parametrize("what", UNREAD)
def test_a_file_that_is_something_else_is_called_by_its_name(what: str) -> None:
    """So that nobody looks for what is wrong with it."""
    with pytest.raises(BadInput, match=f"^file: {what}, which is not read$"):
        imported(UNREAD[what])


@pytest.mark.parametrize("deep", [3, 100, 5000])
def test_wrappers_in_wrappers_end(deep: int) -> None:
    """Nobody wraps a trace a hundred times."""
    value: Any = TRACES["tau-bench"]()
    text = '{"data": ' * deep + json.dumps(value) + "}" * deep
    if deep == 3:
        assert imported(text.encode())[1].format == "tau-bench"
        return
    with pytest.raises(BadInput):
        imported(text.encode())


def test_annotations_of_a_wrapped_attempt_are_those_of_the_attempt() -> None:
    """Its reward is the run's."""
    log, report = imported(json.dumps({"data": TRACES["tau-bench"]()}).encode())
    notes = [record.event for record in log.read(f"{report.runs[0]}@notes")]
    assert "reward" in {note.name for note in notes if isinstance(note, AnnotationMade)}
