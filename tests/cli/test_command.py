"""The command as a whole: help, versions, and whatever goes wrong in one line and an exit code."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from redrive import command
from redrive_events import BadInput, BrokenChain, CannotReplay, LeaseHeld, UnknownEvent
from tests.cli.conftest import ROOT, Redrive

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
REDRIVE = [sys.executable, "-m", "redrive"]


def test_help_names_every_verb(redrive: Redrive) -> None:
    """Each in one line that fits; so does the bare command."""
    said = redrive("--help")
    assert said.code == 0
    for verb, caption in command.VERBS.items():
        assert re.search(rf"^  {verb} +{re.escape(caption)}$", said.out, re.MULTILINE), verb
    assert redrive().out == said.out


@pytest.mark.parametrize("verb", command.VERBS)
def test_every_verb_has_help_of_its_own(redrive: Redrive, verb: str) -> None:
    """It is the docstring of the verb's function, and what the list says is the caption of its module."""
    said = redrive(verb, "--help")
    assert said.code == 0
    assert f"Usage: redrive {verb} " in said.out
    module = importlib.import_module(f"redrive.verbs.{command.MODULES.get(verb, verb)}")
    assert module.__doc__


def test_the_version(redrive: Redrive) -> None:
    """As it is installed."""
    assert re.fullmatch(r"redrive \d+\.\d+\.\d+\n", redrive("--version").out)


def test_help_loads_no_library_that_it_does_not_need() -> None:
    """So it is quick."""
    heavy = ("typer", "duckdb", "pydantic", "rich", "anyio", "msgspec", "redrive_events")
    code = f"import sys, redrive.command as c; c.main(['--help']); print([m for m in {heavy} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert said.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["verif"], "No such command 'verif'. Did you mean 'verify'?"),
        (["show"], "Missing argument 'RUN'."),
        (["--nope"], "No such option: --nope"),
        (["sql", "select 1", "--format", "xml"], "Invalid value for '--format': 'xml' is not one of"),
        (["show", "x", "--at", "0"], "Invalid value for '--at'"),
        (["run", "a:b"], "run: a new run needs a goal; give --goal"),
    ],
)
def test_a_bad_command_line_is_told_in_one_line(redrive: Redrive, arguments: list[str], problem: str) -> None:
    """Exit code 2, and nothing on stdout."""
    said = redrive(*arguments)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"redrive: {problem}")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BrokenChain("a", position=1, problem="x"), 1),
        (UnknownEvent("x"), 1),
        (CannotReplay("x"), 3),
        (LeaseHeld("a", worker="w", until=NOON), 2),
        (BadInput("two\nlines"), 2),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_goes_wrong_has_an_exit_code(
    redrive: Redrive, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    """And at most one line."""

    def fails() -> int:
        raise error

    monkeypatch.setattr(command, "_loaded", lambda _: fails)
    monkeypatch.setattr(command, "_close_stdout", lambda: None)
    said = redrive("runs")
    assert said.code == code
    assert said.err.count("\n") <= 1


def test_a_reader_that_stops_reading_is_no_error(incident: str) -> None:
    """As in `redrive show RUN | head -1`."""
    pipe = f"{sys.executable} -m redrive show {incident}; echo $? >&2"
    said = subprocess.run(["bash", "-c", f"({pipe}) | head -1"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("run ")
    assert said.stderr == "0\n"


@pytest.mark.parametrize("surroundings", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_what_is_said_is_utf8_whatever_the_surroundings_claim(folder: Path, surroundings: dict[str, str]) -> None:
    """Chinese goals are written and read in every locale."""
    (folder / "chat.json").write_text('[{"role": "user", "content": "王芳"}, {"role": "assistant", "content": "好"}]')
    environment = {**os.environ, **surroundings}
    subprocess.run([*REDRIVE, "import", "chat.json"], check=True, env=environment, capture_output=True)
    said = subprocess.run([*REDRIVE, "runs"], check=True, env=environment, capture_output=True)
    assert "王芳" in said.stdout.decode()


def test_nothing_is_coloured_in_a_pipe(incident: str) -> None:
    """Nor is anything cut, and no progress is shown."""
    environment = {key: value for key, value in os.environ.items() if key not in {"FORCE_COLOR", "NO_COLOR"}}
    said = subprocess.run([*REDRIVE, "show", incident], check=True, env=environment, capture_output=True)
    assert b"\x1b" not in said.stdout
    assert said.stderr == b""


@pytest.mark.parametrize("said", ["--help", "runs", "export openai-chat"])
def test_a_full_disk_behind_stdout_is_one_line(incident: str, folder: Path, said: str) -> None:
    """What cannot be written is no traceback, neither at once nor when the interpreter ends."""
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    with Path("/dev/full").open("wb") as full:
        line = [*REDRIVE, *said.split()]
        done = subprocess.run(line, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    words = "redrive: what it says cannot be written: no space left on device\n"
    assert (done.returncode, done.stderr) == (2, words)


@pytest.mark.parametrize("said", ["--help", "runs"])
def test_a_closed_stdout_is_nobody_who_reads(incident: str, folder: Path, said: str) -> None:
    """As if it were a pipe whose reader has gone."""
    line = f"{sys.executable} -m redrive {said} >&-"
    done = subprocess.run(["sh", "-c", line], cwd=folder, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_name_too_long_for_a_file_is_no_run(redrive: Redrive, incident: str) -> None:
    """The file system refuses to look for it, and so there is none."""
    said = redrive("show", "x" * 5_000)
    assert said.code == 2
    assert said.err.startswith("redrive: run 'xxx")
