"""`verify`: whatever was changed in a log is found, and named."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from redrive_engine.signals import annotate
from redrive_events import AnnotationMade, SqliteLog
from tests.cli.conftest import Redrive

FLIPPED = "substr(lines, 1, 40) || x'7e' || substr(lines, 42)"


def another_digest(place: int, of: str) -> str:
    """A statement that takes away the digest of a record, the ``place``-th of its row."""
    digests = f"substr(digests, 1, {32 * (place - 1)}) || zeroblob(32) || substr(digests, {32 * place + 1})"
    return f"UPDATE events SET digests = CAST({digests} AS BLOB) WHERE {of}"


# An imported run is one append, and its 25 records stand in one row.
CHANGES = {
    "a byte": (
        f"UPDATE events SET lines = CAST({FLIPPED} AS BLOB)",
        (1, "changed", "the bytes are not those that were written"),
    ),
    "a digest": (another_digest(7, "run = 1"), (7, "changed", "the bytes are not those that were written")),
    "a record less": (
        "UPDATE events SET digests = substr(digests, 33)",
        (1, "missing", "missing, position 2 stands here"),
    ),
    "a row less": ("DELETE FROM events", (1, "cut off", "cut off, 25 records were written")),
    "another head": (
        "UPDATE runs SET digest = zeroblob(32)",
        (25, "changed", "the bytes are not those that were written"),
    ),
    "another time of the head": (
        "UPDATE runs SET at = '2001-01-01T00:00:00.000000'",
        (25, "changed", "the head has another time than its record"),
    ),
    "another order": (
        "UPDATE appends SET last_id = last_id - 1 WHERE last_offset = 25",
        (1, "order", "its place in the order over all runs is wrong"),
    ),
}
STORES = {
    "a trigger less": ("DROP TRIGGER events_refuse_update", "its trigger events_refuse_update is missing"),
    "a table more": ("CREATE TABLE extra (a)", "its table extra is extra"),
    "no virtual column": ("ALTER TABLE events ADD COLUMN more", "its table events is not as it is made"),
}


def changed(*statements: str, **values: object) -> None:
    """Change the file behind the log's back, and leave no other trace."""
    with closing(sqlite3.connect("redrive.db")) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement, values)
        for _, made in triggers:
            db.execute(made)
        db.commit()


def test_a_sound_log(redrive: Redrive, incident: str) -> None:
    """Remarks are streams of their own."""
    assert redrive("verify") == (0, "25 events of 1 stream: each is as it was written\n", "")


@pytest.mark.parametrize(("statement", "damage"), CHANGES.values(), ids=CHANGES)
def test_damage_is_named_by_run_position_and_kind(
    redrive: Redrive, incident: str, statement: str, damage: tuple[int, str, str]
) -> None:
    """Exit code 1: this is a finding, not a bad request."""
    changed(statement)
    position, kind, problem = damage
    said = redrive("verify")
    assert said.code == 1
    assert " ".join(said.out.splitlines()[0].split()) == f"{incident} position {position} {kind} {problem}"
    data = json.loads(redrive("verify", "--json").out)
    assert data["damaged"][0] == {"run_id": incident, "position": position, "kind": kind, "problem": problem}


@pytest.mark.parametrize(("statement", "problem"), STORES.values(), ids=STORES)
def test_a_file_that_is_not_as_it_is_made_is_told(
    redrive: Redrive, incident: str, statement: str, problem: str
) -> None:
    """Whoever took a trigger away may come back."""
    with closing(sqlite3.connect("redrive.db")) as db:
        db.execute(statement)
    assert redrive("verify") == (1, f"the log    store  {problem}\n25 events of 1 stream: 1 damaged\n", "")


def test_what_nobody_began_is_extra(redrive: Redrive, incident: str) -> None:
    """Events that no head speaks of would never be read, and never be missed."""
    changed("DELETE FROM runs")
    said = redrive("verify")
    assert said.out.splitlines()[:2] == [
        "the log  position 25  extra  extra, no run has the number 1",
        "the log               order  in the order over all runs, offset 25 is of no run that was begun",
    ]


def test_events_behind_the_head_are_extra(redrive: Redrive, incident: str) -> None:
    """The head of an earlier moment seals an earlier run; the next append would take a position that is taken."""
    changed(
        "UPDATE runs SET position = 20, (digest, at) = "
        "(SELECT substr(e.digests, 32 * 19 + 1, 32), runs.at FROM events e WHERE e.run = runs.run)",
    )
    assert f"{incident}  position 21  extra" in redrive("verify").out


def test_a_damaged_run_is_neither_shown_nor_replayed_as_if_it_were_whole(redrive: Redrive, incident: str) -> None:
    """What can be read around the damage is shown, and the exit code says that it is not all."""
    changed(CHANGES["a byte"][0])
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


def test_a_recording_whose_last_remarks_are_cut_off_is_found(redrive: Redrive, incident: str, folder: Path) -> None:
    """It says in front how far the remarks on a run had come."""
    with closing(SqliteLog("redrive.db")) as log:
        annotate(log, incident, AnnotationMade(name="task_success", value=1, source="judge"), at=datetime.now(UTC))
    text = redrive("export", incident).out
    (folder / "cut.jsonl").write_text(text[:-40], encoding="utf-8")
    said = redrive("verify", "cut.jsonl")
    assert said.code == 1
    assert said.out.startswith(f"{incident}@notes  position 1  cut off  cut off, 1 records were written\n")


def test_only_the_named_runs_are_checked(redrive: Redrive, incident: str, refund: str) -> None:
    """Damage elsewhere is not theirs."""
    changed(another_digest(1, "run = (SELECT run FROM runs WHERE run_id = :id)"), id=refund)
    assert redrive("verify", incident).code == 0
    assert redrive("verify", incident, refund).code == 1
