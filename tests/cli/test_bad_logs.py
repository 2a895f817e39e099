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


GOING_ON = [
    ["run", "refund_desk:agent", "--run-id", "again"],
    ["run", "refund_desk:agent", "--run-id", "again", "--goal", "Refund ord_123", "--principal", "ana"],
    ["fork", "again", "--at", "12", "--run-id", "third"],
]
SAYING = [["say", "again", "Hello."], ["cancel", "again"]]
LOST = [
    pytest.param("id >> 32 = 1", "position 1: missing, position 12 stands here", GOING_ON, id="all"),
    pytest.param("id >> 32 = 1", "position 1: the start of the run is missing", SAYING, id="all, and somebody speaks"),
    pytest.param("id = (1 << 32) + 7", "position 4: missing, position 8 stands here", GOING_ON, id="some"),
]


@pytest.mark.parametrize(("lost", "problem", "commands"), LOST)
def test_nothing_goes_on_from_a_run_that_is_damaged(
    redrive: Redrive, refund: str, folder: Path, lost: str, problem: str, commands: list[list[str]]
) -> None:
    """What a fork inherits is lost from the log: one line, nothing acts, and nothing is written."""
    assert redrive("fork", refund, "--at", "11", "--run-id", "again").code == 0
    db = sqlite3.connect(folder / "redrive.db")
    db.execute("DROP TRIGGER events_refuse_delete")
    db.execute(f"DELETE FROM events WHERE {lost}")
    db.commit()
    before = db.execute("SELECT run_id, position FROM runs").fetchall()
    for command in commands:
        assert redrive(*command) == (1, "", f"redrive: run again: {problem}\n")
    assert db.execute("SELECT run_id, position FROM runs").fetchall() == before
    db.close()
    assert len(redrive("effects", "again").err.split("run again: ")) == 2, "the run is named once"


def test_a_run_is_forked_in_front_of_what_is_damaged(redrive: Redrive, refund: str, folder: Path) -> None:
    """What is lost behind the fork is no part of it."""
    db = sqlite3.connect(folder / "redrive.db")
    db.execute("DROP TRIGGER events_refuse_delete")
    db.execute("DELETE FROM events WHERE id >= (1 << 32) + 15")
    db.commit()
    db.close()
    assert redrive("fork", refund, "--at", "11", "--run-id", "again").code == 0
    assert redrive("run", "refund_desk:agent", "--run-id", "again").code == 0
