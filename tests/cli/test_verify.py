"""`verify`: whatever was changed in a log is found, and named."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Redrive


def changed(statement: str, *values: object) -> None:
    """Change the file behind the log's back."""
    db = sqlite3.connect("redrive.db")
    for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {trigger}")
    db.execute(statement, values)
    db.commit()
    db.close()


def test_a_sound_log(redrive: Redrive, incident: str) -> None:
    """Remarks are streams of their own."""
    assert redrive("verify") == (0, "25 events of 1 stream: each is as it was written\n", "")


@pytest.mark.parametrize(
    ("statement", "position", "problem"),
    [
        (
            "UPDATE events SET line = replace(line, 'refund', 'refunt') WHERE position = 11",
            11,
            "the bytes are not those that were written",
        ),
        (
            "UPDATE events SET digest = zeroblob(32) WHERE position = 7",
            7,
            "the bytes are not those that were written",
        ),
        ("DELETE FROM events WHERE position = 5", 5, "missing, position 6 stands here"),
        ("DELETE FROM events WHERE position > 20", 21, "missing, 25 records were written"),
        ("UPDATE runs SET digest = zeroblob(32)", 25, "the bytes are not those that were written"),
    ],
    ids=["a byte", "a digest", "a record less", "a tail less", "another head"],
)
def test_damage_is_named_by_run_and_position(
    redrive: Redrive, incident: str, statement: str, position: int, problem: str
) -> None:
    """Exit code 1: this is a finding, not a bad request."""
    changed(statement)
    said = redrive("verify")
    assert said.code == 1
    assert said.out == f"{incident}  position {position}  {problem}\n25 events of 1 stream: 1 damaged\n"
    data = json.loads(redrive("verify", incident, "--json").out)
    assert data["damaged"] == [{"run_id": incident, "position": position, "problem": problem}]


def test_a_damaged_run_is_neither_shown_nor_replayed_as_if_it_were_whole(redrive: Redrive, incident: str) -> None:
    """What came before the damage is shown, and the exit code says that it is not all."""
    changed("UPDATE events SET line = replace(line, 'refund', 'refunt') WHERE position = 11")
    assert redrive("show", incident).code == 1
    assert redrive("replay", incident).code == 3
    assert redrive("export", incident).code == 1


def test_a_changed_recording_is_found(redrive: Redrive, incident: str, folder: Path) -> None:
    """A file is checked while it is read."""
    text = redrive("export", incident).out
    (folder / "bad.jsonl").write_text(text.replace("Mira", "Mila", 1), encoding="utf-8")
    said = redrive("verify", "bad.jsonl")
    assert said.code == 1
    assert said.err == f"redrive: run {incident}: position 1: the bytes are not those that were written\n"


def test_only_the_named_runs_are_checked(redrive: Redrive, incident: str, refund: str) -> None:
    """Damage elsewhere is not theirs."""
    changed("UPDATE events SET digest = zeroblob(32) WHERE run = (SELECT run FROM runs WHERE run_id = ?)", refund)
    assert redrive("verify", incident).code == 0
    assert redrive("verify", incident, refund).code == 1
