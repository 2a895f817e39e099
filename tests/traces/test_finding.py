"""Files, directories and patterns: what is found, in which order, and what becomes of what is no trace."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from redrive_events import BadInput, MemoryLog
from redrive_replays.traces import IMPORTERS, import_bytes, import_files
from redrive_replays.traces.finding import files_of

HERE = Path(__file__).parent.parent / "fixtures" / "traces"
CHAT = (HERE / "chat-list.json").read_bytes()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree of files, some of them hidden, with a link that leads back to its root."""
    for name in ("b.json", "a/z.jsonl", "a/[1].json", ".hidden.json", ".git/config.json", "a/.cache/x.jsonl", "c/d/e"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(CHAT)
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        pytest.param(["b.json", "none.json"], ["b.json", "none.json"], id="files, there or not"),
        pytest.param(["."], ["a/[1].json", "a/again", "a/z.jsonl", "b.json", "c/d/e"], id="a directory"),
        pytest.param(["*.json"], ["b.json"], id="a pattern"),
        pytest.param(["**/*.json*"], ["a/[1].json", "a/z.jsonl", "b.json"], id="a pattern of all below"),
        pytest.param(["**"], ["a/[1].json", "a/again", "a/z.jsonl", "b.json", "c/d/e"], id="all"),
        pytest.param([".*.json", "a/.*/*"], [".hidden.json", "a/.cache/x.jsonl"], id="hidden ones asked for"),
        pytest.param(["a/[1].json"], ["a/[1].json"], id="what is there goes by its name"),
        pytest.param(["c", "b.json"], ["c/d/e", "b.json"], id="in the order given"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_names_stand_for(names: list[str], found: list[str]) -> None:
    """Sorted within a name; a link to a directory is found, and not followed."""
    files = list(files_of(names))
    assert [str(file.path) for file in files] == found
    assert not any(file.problem for file in files)


@pytest.mark.parametrize("name", ["*.txt", "x/**/*.json", "c/**x/e["])
@pytest.mark.usefixtures("folder")
def test_a_pattern_of_nothing_is_told(name: str) -> None:
    """It was named, so it is refused."""
    (report,) = import_files([name], MemoryLog())
    assert report.refused == f"{name}: no file fits this pattern"


SKIPPED: dict[str, tuple[bytes, str]] = {
    "a.md": (b"# Notes", "not JSON"),
    "b.json": (b"", "the file is empty"),
    "c.json": (b'{"a": 1}', "no trace that is known here"),
    "d.jsonl": (b'{"instance_id": "a", "model_patch": "", "model_name_or_path": "m"}\n' * 2, "no trace that is known"),
    "e.zip": (b"PK\x05\x06" + bytes(18), "no trace that is known here"),
    "f.bin": (bytes(range(256)) * 4, "not JSON"),
}


def test_what_is_come_upon_and_is_no_trace_is_skipped(tmp_path: Path) -> None:
    """With the reason; what is damaged is refused all the same, and the others go in."""
    for name, (data, _) in SKIPPED.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "x.json").write_bytes(CHAT)
    (tmp_path / "y.json").write_bytes(CHAT[: len(CHAT) // 2])
    os.mkfifo(tmp_path / "z")
    *skipped, taken, torn, pipe = import_files([tmp_path], MemoryLog())
    assert [report.skipped[: len(why)] for report, (_, why) in zip(skipped, SKIPPED.values(), strict=True)] == [
        why for _, why in SKIPPED.values()
    ]
    assert {report.refused for report in skipped} == {""}
    assert (taken.added, taken.skipped, taken.refused) == (1, "", "")
    assert "cut off" in torn.refused
    assert pipe.skipped == "is no file, but a device or a pipe"


@pytest.mark.parametrize("name", SKIPPED)
def test_the_same_by_its_name_is_refused(tmp_path: Path, name: str) -> None:
    """Who names a file wants to know."""
    (tmp_path / name).write_bytes(SKIPPED[name][0])
    (report,) = import_files([tmp_path / name], MemoryLog())
    assert (report.skipped, report.refused.startswith(f"{tmp_path / name}: {SKIPPED[name][1]}")) == ("", True)


def test_a_pipe_by_its_name_is_refused(tmp_path: Path) -> None:
    """It is never opened, so nothing waits."""
    os.mkfifo(tmp_path / "pipe")
    (report,) = import_files([tmp_path / "pipe"], MemoryLog())
    assert report.refused == f"{tmp_path / 'pipe'}: is no file, but a device or a pipe"


def _contents() -> list[Path]:
    return sorted(path for path in HERE.rglob("*") if path.is_file() and path.stat().st_size < 30_000)


@pytest.mark.parametrize("importer", [importer.name for importer in IMPORTERS])
def test_every_importer_may_be_asked_for_any_file(importer: str) -> None:
    """It reads it, or refuses it in one line, and keeps nothing of it."""
    for path in _contents():
        log = MemoryLog()
        try:
            import_bytes(path.read_bytes(), path.name, log, importer=importer)
        except BadInput as error:
            assert "\n" not in str(error)  # noqa: PT017 - it may be refused, or not
            assert list(log.runs()) == []


def test_an_importer_that_is_asked_for_reads_what_another_would() -> None:
    """A request of Anthropic's without blocks is one of OpenAI's too."""
    request = {"model": "m", "max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": "hi"}]}
    data = json.dumps(request).encode()
    asked = ("", "openai-chat", "anthropic")
    made = [import_bytes(data, "x", MemoryLog(), importer=name).format for name in asked]
    assert made == ["anthropic", "openai-chat", "anthropic"]
