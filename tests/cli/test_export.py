"""`export`: runs as a file that stands wherever a run is asked for."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Redrive


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.zst", "whatever"])
def test_a_recording_stands_for_its_run(redrive: Redrive, incident: str, folder: Path, name: str) -> None:
    """Shown, replayed, verified and exported again; the log is not needed any more."""
    assert redrive("export", incident, "-o", name) == (0, "", "")
    shown, text = redrive("show", incident), redrive("export", incident).out
    for path in folder.glob("redrive.db*"):
        path.unlink()
    assert redrive("show", name) == shown
    assert redrive("replay", name).code == 0
    assert redrive("verify", name).code == 0
    assert redrive("export", name).out == text


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.zst"])
def test_all_runs_go_into_one_file_and_come_back(
    redrive: Redrive, incident: str, refund: str, folder: Path, name: str
) -> None:
    """In another log they are what they were, so that what is written of that is the same to the byte."""
    assert redrive("export", "--all", "-o", name) == (0, "", "")
    assert redrive("import", name, "--log", "other.db").code == 0
    assert redrive("export", "--all", "-o", f"again-{name}", "--log", "other.db").code == 0
    assert (folder / f"again-{name}").read_bytes() == (folder / name).read_bytes()
    shown = [redrive("show", run, "--log", log).out for log in ("redrive.db", "other.db") for run in (incident, refund)]
    assert shown[:2] == shown[2:]


def test_runs_are_written_as_they_are_named(redrive: Redrive, incident: str, refund: str, folder: Path) -> None:
    """Each once, from the log and from recordings."""
    redrive("export", incident, "-o", "incident.jsonl")
    said = redrive("export", refund, "incident.jsonl", incident, refund[:-1])
    assert [run["run_id"] for run in json.loads(said.out.splitlines()[0])["runs"]] == [refund, incident]


@pytest.mark.parametrize("named", [(), ("refund-1", "--all")])
def test_what_is_to_be_written_is_said_once(redrive: Redrive, refund: str, named: tuple[str, ...]) -> None:
    """Nobody means all runs by naming none."""
    assert redrive("export", *named) == (2, "", "redrive: export: give the runs that are to be written, or --all\n")


def test_a_recording_is_its_owners_alone(redrive: Redrive, incident: str, folder: Path) -> None:
    """As the log was."""
    assert redrive("export", incident, "-o", "run.jsonl").code == 0
    assert stat.S_IMODE((folder / "run.jsonl").stat().st_mode) == 0o600


def test_a_file_is_replaced_as_a_whole_or_not_at_all(redrive: Redrive, incident: str, folder: Path) -> None:
    """A run that is not there leaves the file as it was, and nothing beside it."""
    (folder / "run.jsonl").write_text("precious", encoding="utf-8")
    before = sorted(path.name for path in folder.iterdir())
    assert redrive("export", "nobody", "-o", "run.jsonl").code == 2
    assert (folder / "run.jsonl").read_text(encoding="utf-8") == "precious"
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_place_that_is_none_is_told_in_one_line(redrive: Redrive, incident: str) -> None:
    """Exit code 2."""
    said = redrive("export", incident, "-o", "no/such/folder.jsonl")
    assert said == (2, "", "redrive: no/such/folder.jsonl: no such file or directory\n")


def test_into_a_pipe_is_written_and_a_link_is_followed(redrive: Redrive, incident: str, folder: Path) -> None:
    """Neither is replaced by a file: as the superuser, that would take away a device."""
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("behind")
    reader = subprocess.Popen(["cat", "pipe"], cwd=folder, stdout=subprocess.PIPE)
    try:
        assert redrive("export", incident, "-o", folder / "pipe").code == 0
        assert (folder / "pipe").is_fifo()
        assert redrive("export", incident, "-o", folder / "link").code == 0
        assert (folder / "link").is_symlink()
        assert reader.communicate(timeout=60)[0] == (folder / "behind").read_bytes()
    finally:
        reader.kill()


@pytest.mark.parametrize("said", ["export refund-1 -o {}", "heads -o {}", "export --all -o link"])
def test_no_file_takes_the_place_of_a_log(redrive: Redrive, refund: str, folder: Path, said: str) -> None:
    """A slip of `-o` for `--log` would be the end of all runs in it."""
    (folder / "link").symlink_to("redrive.db")
    found = redrive(*said.format("redrive.db").split())
    assert found.code == 2
    assert found.err.endswith("redrive.db: it is a log, and what is written does not take its place\n")
    assert redrive("verify").code == 0


@pytest.mark.parametrize("path", ["", ".", "runs"])
def test_a_folder_is_no_file_to_write(redrive: Redrive, refund: str, folder: Path, path: str) -> None:
    """Nor is no name at all, which is the current one."""
    (folder / "runs").mkdir()
    assert redrive("export", refund, "-o", path) == (2, "", f"redrive: {path or '.'}: is a directory\n")
