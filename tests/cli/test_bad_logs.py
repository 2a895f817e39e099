"""Logs that are none, cannot be opened or come from the future: one line, exit code 2, for every verb that reads."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from redrive_events import SqliteLog
from tests.cli.conftest import Redrive

READING = [
    ["runs"],
    ["show", "x"],
    ["replay", "x"],
    ["replay", "--all"],
    ["verify"],
    ["sql", "select 1"],
    ["export", "x"],
]


def _missing(log: Path) -> None:
    """Nothing is there."""


def _folder(log: Path) -> None:
    log.mkdir()


def _empty(log: Path) -> None:
    log.touch()


def _text(log: Path) -> None:
    log.write_text("hello " * 100, encoding="utf-8")


def _database(log: Path) -> None:
    db = sqlite3.connect(log)
    db.execute("CREATE TABLE t (a)")
    db.close()


def _newer(log: Path) -> None:
    SqliteLog(log).close()
    db = sqlite3.connect(log)
    db.execute("PRAGMA user_version = 7")
    db.close()


BAD = {
    "no such log": _missing,
    "a directory, not a Redrive log": _folder,
    "not a Redrive log": _empty,
    "not a Redrive log ": _text,
    "not a Redrive log  ": _database,
    "format version 7, and this program reads up to 1": _newer,
}


@pytest.mark.parametrize("command", READING, ids=" ".join)
@pytest.mark.parametrize(("problem", "make"), BAD.items(), ids=[make.__name__ for make in BAD.values()])
def test_a_log_that_is_none(redrive: Redrive, folder: Path, command: list[str], problem: str, make: object) -> None:
    """It is told in one line, and left as it is."""
    log = folder / "some.db"
    make(log)  # type: ignore[operator]
    before = sorted(path.name for path in folder.iterdir())
    said = redrive(*command, "--log", "some.db")
    assert said == (2, "", f"redrive: some.db: {problem.strip()}\n")
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_log_that_the_surroundings_name(redrive: Redrive, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """REDRIVE_LOG, unless --log says otherwise."""
    monkeypatch.setenv("REDRIVE_LOG", "there.db")
    assert redrive("runs").err == "redrive: there.db: no such log\n"
    assert redrive("runs", "--log", "here.db").err == "redrive: here.db: no such log\n"
