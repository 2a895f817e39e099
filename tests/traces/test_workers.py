"""Several files in several processes: the same log and the same reports as one by one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from redrive_events import MemoryLog, write_portable
from redrive_replays.traces import import_files, workers

HERE = Path(__file__).parent.parent / "fixtures" / "traces"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A directory of traces of every format, a recording, a torn file, and one that is not there."""
    monkeypatch.setattr(workers, "WORTH_BYTES", 0)
    first = MemoryLog()
    (report,) = import_files([HERE / "chat-batch.json"], first)
    with (tmp_path / "recording.jsonl").open("wb") as file:
        write_portable(first, report.runs, file)
    (tmp_path / "torn.json").write_bytes((HERE / "chat-list.json").read_bytes()[:50])
    return [tmp_path / "recording.jsonl", HERE, tmp_path / "torn.json", tmp_path / "none.json", HERE / "chat-list.json"]


def _lines(log: MemoryLog) -> Iterator[object]:
    for head in log.runs():
        yield head
        yield from log.lines(head.run_id)


def test_it_is_the_same_in_several_processes(files: list[Path]) -> None:
    """Line by line, in the order given, and again adds nothing."""
    one, several = MemoryLog(), MemoryLog()
    told, told_of_several = list[str](), list[str]()
    reports = import_files(files, one, progress=lambda name, done: told.append(f"{name} {done}"))
    assert len([report for report in reports if report.added]) > 20
    again = import_files(
        files, several, processes=2, progress=lambda name, done: told_of_several.append(f"{name} {done}")
    )
    assert again == reports
    assert list(_lines(several)) == list(_lines(one))
    assert told_of_several == told
    assert sum(report.added for report in import_files(files, several, processes=2)) == 0


def test_no_process_is_started_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take longer to start one than to do the work."""
    monkeypatch.setattr(workers, "ProcessPoolExecutor", None)
    assert import_files([HERE / "chat-list.json", HERE / "chat-batch.json"], MemoryLog(), processes=8)[1].added == 3


def test_a_process_that_is_ended_costs_nothing(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What it would have built is built by the one who started it."""
    one, several = MemoryLog(), MemoryLog()
    reports = import_files(files, one)
    monkeypatch.setattr(workers, "_build", _ended)
    assert import_files(files, several, processes=2) == reports
    assert list(_lines(several)) == list(_lines(one))


def _ended(*_: object) -> None:
    os._exit(1)
