"""`import`: what is told of files that go in, and of files that do not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import ROOT, STORY, Redrive

TRACES = ROOT / "tests" / "fixtures" / "traces"


def test_a_table_by_file(redrive: Redrive, folder: Path, snapshot: SnapshotAssertion) -> None:
    """Format, runs, new ones, events, calls, results, grade; below what no run says, and what was lost."""
    for name in ("tau-bench.json", "chat-lines.jsonl"):
        (folder / name).write_bytes((TRACES / name).read_bytes())
    assert redrive("import", "tau-bench.json", "chat-lines.jsonl") == snapshot


def test_the_same_file_again_adds_nothing(redrive: Redrive, folder: Path) -> None:
    """Exit code 0: it is all in."""
    before = json.loads(redrive("import", STORY / "incident.json", "--json").out)
    again = redrive("import", STORY / "incident.json", "--json")
    assert again.code == 0
    (report,) = json.loads(again.out)
    assert (before[0]["added"], report["added"]) == (1, 0)


def test_a_file_that_is_refused_keeps_none_of_the_others_out(redrive: Redrive, folder: Path) -> None:
    """Exit code 1, and the line says which."""
    (folder / "torn.json").write_text('[{"role": "user", "content": "hi"}, {"ro', encoding="utf-8")
    said = redrive("import", "torn.json", STORY / "incident.json")
    assert said.code == 1
    assert said.err.startswith("redrive: torn.json: ")
    assert len(redrive("runs").out.splitlines()) == 2


REFUSED = {
    "an empty file": b"",
    "not JSON": b"hello there",
    "not text": bytes(range(256)),
    "torn JSON": b'[{"role": "user", "content": "hi"}, {"ro',
    "another JSON": b'{"a": 1}',
    "no runs": b"[]",
}


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_imported_is_told_in_one_line(redrive: Redrive, folder: Path, content: bytes) -> None:
    """Exit code 2, nothing half-imported, and not even a log is made."""
    (folder / "bad.json").write_bytes(content)
    said = redrive("import", "bad.json")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("redrive: bad.json: ")
    assert said.err.count("\n") == 1
    assert not (folder / "redrive.db").exists()


@pytest.mark.parametrize("name", ["missing.json", "none/*.json", "empty", "sub/locked.json"])
def test_what_cannot_be_read_is_told_in_one_line(redrive: Redrive, folder: Path, name: str) -> None:
    """A file that is not there, a pattern of none, a directory without any, a file that nobody may read."""
    (folder / "sub").mkdir()
    (folder / "empty").mkdir()
    (folder / "sub" / "locked.json").write_bytes((STORY / "incident.json").read_bytes())
    (folder / "sub" / "locked.json").chmod(0)
    others = name.endswith("locked.json") and os.access(name, os.R_OK)  # who may read everything is somebody else then
    if others:
        folder.chmod(0o777)
        for above in list(folder.parents)[:3]:
            above.chmod(0o755)
        os.seteuid(65534)
    try:
        said = redrive("import", name)
    finally:
        if others:
            os.seteuid(0)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"redrive: {name}: ")
    assert said.err.count("\n") == 1


def test_a_directory_and_a_pattern(redrive: Redrive, folder: Path, snapshot: SnapshotAssertion) -> None:
    """What is no trace is skipped with the reason, and keeps the exit code 0."""
    (folder / "runs" / "old").mkdir(parents=True)
    (folder / "runs" / "old" / "chat.json").write_bytes((TRACES / "chat-list.json").read_bytes())
    (folder / "runs" / "notes.md").write_text("What happened", encoding="utf-8")
    (folder / "runs" / "settings.json").write_text('{"a": 1}', encoding="utf-8")
    (folder / "one.jsonl").write_bytes((TRACES / "chat-request-response.json").read_bytes())
    assert redrive("import", "runs", "*.jsonl") == snapshot
    reports = json.loads(redrive("import", "runs", "--json").out)
    assert [(report["path"], report["skipped"]) for report in reports] == [
        ("runs/notes.md", "not JSON"),
        ("runs/old/chat.json", ""),
        ("runs/settings.json", "no trace that is known here"),
    ]


def test_nothing_but_what_is_no_trace(redrive: Redrive, folder: Path) -> None:
    """Exit code 2, and still it is told what was skipped."""
    (folder / "runs").mkdir()
    (folder / "runs" / "notes.md").write_text("What happened", encoding="utf-8")
    said = redrive("import", "runs")
    assert (said.code, said.out, said.err) == (
        2,
        "skipped runs/notes.md: not JSON\n",
        "redrive: nothing to import: no trace among the files\n",
    )


def test_a_format_that_is_asked_for(redrive: Redrive, folder: Path) -> None:
    """Whatever the content looks like; a name that no format has is told with those there are."""
    said = redrive("import", STORY / "incident.json", "--as", "openai-chat")
    assert said.code == 0
    for other in ("tau2-bench", "redrive"):
        said = redrive("import", STORY / "incident.json", "--as", other)
        assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    said = redrive("import", STORY / "incident.json", "--as", "chat")
    assert said.code == 2
    assert said.err.startswith("redrive: no format is called 'chat'; there are: redrive, inspect, tau-bench, ")
