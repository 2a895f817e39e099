"""Files that are broken somewhere: a clear error or a note, and never a half of anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_events import AnnotationMade, BadInput, MemoryLog, NewerFormat, SqliteLog, write_portable
from redrive_replays import recording_of, replay
from redrive_replays.traces import import_bytes, import_file

HERE = Path(__file__).parent.parent / "fixtures" / "traces"

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
WRONG = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "id", "name", "x"]), inner),
    max_leaves=5,
)
VALUES = [
    json.loads((HERE / name).read_text(encoding="utf-8")) for name in ("chat-request-response.json", "tau-bench.json")
]
VALUES += [
    json.loads((HERE / name).read_text(encoding="utf-8")) for name in ("chat-parts.json", "chat-interleaved.json")
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a value, the innermost too."""
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def spoiled(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    """``value`` with something else in one place."""
    if not path:
        return wrong
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = spoiled(value[path[0]], path[1:], wrong)
    return copy


@st.composite
def a_file(draw: st.DrawFn) -> bytes:
    """A good file with something wrong in one or two places."""
    value = draw(st.sampled_from(VALUES))
    for _ in range(draw(st.integers(1, 2))):
        value = spoiled(value, draw(st.sampled_from(list(places(value)))), draw(WRONG))
    return json.dumps(value).encode()


@settings(max_examples=120, deadline=None)
@given(data=a_file())
def test_a_wrong_value_is_refused_or_survives(data: bytes) -> None:
    """Whatever stands where: the file is refused with nothing kept, or its runs replay and go in once."""
    log = MemoryLog()
    try:
        report = import_bytes(data, "spoiled.json", log)
    except BadInput as error:
        assert (error.place, list(log.runs())) == ("spoiled.json", [])  # noqa: PT017 - it may be refused, or not
        return
    for run in report.runs:
        assert replay(recording_of(log, run)).same
    assert import_bytes(data, "spoiled.json", log).added == 0


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 2000), name=st.sampled_from(["tau-bench.json", "chat-list.json", "chat-parts.json"]))
def test_a_torn_document_is_refused(at: int, name: str) -> None:
    """Wherever it is cut, and nothing of it is kept."""
    data = (HERE / name).read_bytes().rstrip()
    log = MemoryLog()
    with pytest.raises(
        BadInput, match=r"^torn: (a torn JSON document|a JSON document that is cut off|the file is empty)"
    ):
        import_bytes(data[: at % len(data)], "torn", log)
    assert list(log.runs()) == []


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(b"", "the file is empty", id="empty"),
        pytest.param(b" \n\r\n\t", "the file is empty", id="blank"),
        pytest.param(b"Look first", "not JSON", id="text"),
        pytest.param(b"[tool.ruff]\nline-length = 120\n", "not JSON", id="settings"),
        pytest.param(b"[{'role': 'user', 'content': 'hi'}]", "not JSON", id="a repr"),
        pytest.param(b"PK\x03\x04rest", "a torn zip archive: its directory cannot be read", id="zip"),
        pytest.param(b"[" * 5000 + b"]" * 5000, "nested too deeply", id="deep"),
        pytest.param(b"[]", "no trace that is known here; read are: Redrive recordings; ", id="an empty list"),
        pytest.param(b'{"a":1}', "no trace that is known here; read are: Redrive recordings; ", id="something else"),
        pytest.param(
            b'{"messages":[{"role":"assistant","tool_calls":7}]}', "no run in this openai-chat file: ", id="no run"
        ),
        pytest.param(b'{"messages":[{"role":"user","parts":[]}]}', "no trace that", id="others"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(data: bytes, problem: str) -> None:
    """The file, and what is wrong with it."""
    with pytest.raises(BadInput) as told:
        import_bytes(data, "some/file", MemoryLog())
    assert str(told.value).startswith(f"some/file: {problem}")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("number", ["7" * 5000, "-" + "7" * 5000])
@pytest.mark.parametrize("layout", ["%s", "\n %s\n", "%s\n%s\n"], ids=["a document", "a broad one", "lines"])
def test_an_integer_of_thousands_of_digits_is_told_as_such(number: str, layout: str) -> None:
    """It is kept as text, and the file is not taken for one that is cut off."""
    one = '{"messages": [{"role": "user", "content": "hi", "size": @}]}'.replace("@", number)
    report = import_bytes(layout.replace("%s", one).encode(), "digits", MemoryLog())
    assert {diagnostic.problem for diagnostic in report.diagnostics} == {
        "an integer of thousands of digits: kept as text"
    }


def test_progress_is_told_run_by_run() -> None:
    """The file, and how many of its runs are done."""
    told: list[tuple[str, int]] = []
    file = str(HERE / "chat-batch.json")
    import_file(file, MemoryLog(), progress=lambda path, done: told.append((path, done)))
    assert told == [(file, 1), (file, 2), (file, 3)]


def test_a_recording_goes_in_under_its_own_ids(tmp_path: Path) -> None:
    """With what was said beside the run; again adds nothing, and a run of another content is refused."""
    first = MemoryLog()
    (run,) = import_file(HERE / "chat-request-response.json", first).runs
    for name, compressed in (("run.txt", False), ("run.bin", True)):
        with (tmp_path / name).open("wb") as file:
            write_portable(first, [run], file, compressed=compressed)
        log = SqliteLog(tmp_path / f"{name}.db")
        report = import_file(tmp_path / name, log)
        assert (report.format, report.runs, report.added, report.calls, report.results) == ("redrive", [run], 1, 1, 1)
        assert list(log.runs()) == list(first.runs())
        assert any(isinstance(record.event, AnnotationMade) for record in log.read(f"{run}@notes"))
        assert import_file(tmp_path / name, log).added == 0
        log.close()


def test_a_recording_that_is_cut_off_goes_in_as_far_as_it_goes(tmp_path: Path) -> None:
    """Whole appends only, and it is told what is missing; the whole file later adds the rest."""
    first, log = MemoryLog(), MemoryLog()
    runs = import_file(HERE / "chat-batch.json", first).runs
    file = tmp_path / "run.jsonl"
    with file.open("wb") as out:
        write_portable(first, runs, out)
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    report = import_file(file, log)
    assert (report.added, len(report.diagnostics)) == (len(report.runs), 1)
    assert set(report.runs) < set(runs)
    assert replay(recording_of(log, report.runs[-1])).same
    file.write_bytes(data)
    assert import_file(file, log).runs == runs
    assert list(log.runs()) == list(first.runs())


@pytest.mark.parametrize("compressed", [False, True])
def test_a_recording_cut_at_any_byte_goes_in_as_far_as_it_goes_or_is_refused(tmp_path: Path, compressed: bool) -> None:
    """Whole appends as they were written, and a word about the rest, or nothing at all."""
    first, file = MemoryLog(), tmp_path / "run.jsonl"
    runs = import_file(HERE / "chat-request-response.json", first).runs
    with file.open("wb") as out:
        write_portable(first, runs, out, compressed=compressed)
    data = file.read_bytes()
    told = set()
    for cut in range(len(data)):
        log = MemoryLog()
        file.write_bytes(data[:cut])
        try:
            report = import_file(file, log)
        except BadInput:
            assert list(log.runs()) == []
            continue
        for head in log.runs():
            assert list(log.lines(head.run_id)) == list(first.lines(head.run_id))[: head.position]
        complete = list(log.runs()) == list(first.runs())
        assert len(report.diagnostics) == (not complete)
        told |= {diagnostic.problem for diagnostic in report.diagnostics}
    assert compressed or any("is cut off at position" in problem for problem in told)


def test_a_recording_that_was_changed_is_refused(tmp_path: Path) -> None:
    """One byte, and nothing of it is kept; a later version is told as such."""
    first, log = MemoryLog(), MemoryLog()
    (run,) = import_file(HERE / "chat-list.json", first).runs
    file = tmp_path / "run.jsonl"
    with file.open("wb") as out:
        write_portable(first, [run], out)
    data = file.read_bytes()
    file.write_bytes(data.replace(b" 12 ", b" 13 ", 1))
    with pytest.raises(BadInput, match="the bytes are not those that were written"):
        import_file(file, log)
    file.write_bytes(data.replace(b'"version":0', b'"version":9', 1))
    with pytest.raises(NewerFormat):
        import_file(file, log)
    assert list(log.runs()) == []
