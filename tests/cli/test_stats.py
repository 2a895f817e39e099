"""`stats`: where the bytes go."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from redrive_events import MessageReceived, SqliteLog
from redrive_projections import one_line
from tests.cli.conftest import Redrive
from tests.records import record

PROMPT = "Say in one sentence what you are about to do. 我想知道。" * 100


def shared(*run_ids: str) -> None:
    """A log in which every run holds the same words."""
    with closing(SqliteLog("redrive.db")) as log:
        for run_id in run_ids:
            said = record(run_id, 1, event=MessageReceived(actor="user", content=PROMPT))
            log.append(run_id, [said], expected=0)


def test_every_byte_has_its_place(redrive: Redrive, incident: str, folder: Path) -> None:
    """Kinds come to all lines, and what is told of the file comes to the file."""
    told = json.loads(redrive("stats", "--json").out)
    with closing(SqliteLog("redrive.db")) as log:
        lines = [stored.line for stored in log.lines(incident)]
        kinds = Counter(record.event.__struct_config__.tag for record in log.read(incident))
    assert told["streams"] == 1
    assert {one["kind"]: one["events"] for one in told["kinds"]} == kinds
    assert sum(one["line_bytes"] for one in told["kinds"]) == sum(map(len, lines))
    assert sum(told["file"].values()) == (folder / "redrive.db").stat().st_size
    assert told["file"]["events"] > sum(one["kept_bytes"] for one in told["kinds"])


def test_what_sharing_saves_is_told(redrive: Redrive) -> None:
    """The words once, and three references to them."""
    shared("a", "b", "c")
    said, size = redrive("stats"), len(PROMPT.encode()) + 2
    contents = json.loads(redrive("stats", "--json").out)["contents"]
    assert contents.pop("kept_bytes") < size / 10
    assert contents == {"pieces": 1, "content_bytes": size, "references": 3, "referred_bytes": 3 * size}
    assert f"3 references to them: sharing saves {2 * size:,} bytes" in said.out.splitlines()


def test_a_table_for_people(redrive: Redrive) -> None:
    """A kind a line, the largest first, and all of them."""
    shared("a", "b")
    lines = [one_line(line) for line in redrive("stats").out.splitlines()]
    assert lines[0] == "KIND EVENTS BYTES KEPT RATIO"
    assert [line.split()[:2] for line in lines[1:3]] == [["message_received", "2"], ["all", "2"]]
    assert lines[4] == "2 streams"
    assert "1 piece of long content" in lines[5]
    file = {line.rpartition(" ")[0] for line in lines[lines.index("FILE BYTES") + 1 :]}
    assert file >= {"events", "blobs", "runs", "index of runs", "all"}


def test_what_cannot_be_read_is_counted_all_the_same(redrive: Redrive) -> None:
    """Its bytes are there."""
    shared("a")
    with closing(SqliteLog("redrive.db")) as log, log._connections.reading() as db:
        db.execute("DROP TRIGGER events_refuse_update")
        db.execute("UPDATE events SET lines = x'00'")
    told = json.loads(redrive("stats", "--json").out)
    assert told["kinds"] == [{"kind": "(unreadable)", "events": 1, "line_bytes": 1, "kept_bytes": 1}]
    assert told["contents"]["references"] == 0


def test_a_sqlite_that_cannot_tell_of_its_tables(
    redrive: Redrive, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some are built without that; the sum is the same."""
    shared("a")
    monkeypatch.setattr("redrive_events.stores.sizes._TABLES", "SELECT name, pgsize FROM no_such_table")
    size = (folder / "redrive.db").stat().st_size
    assert json.loads(redrive("stats", "--json").out)["file"] == {"tables and indexes": size}


def test_a_log_with_nothing_in_it(redrive: Redrive) -> None:
    """No line, and no division by nothing."""
    SqliteLog("redrive.db").close()
    assert redrive("stats").code == 0
    assert json.loads(redrive("stats", "--json").out)["kinds"] == []


def test_no_log_is_made(redrive: Redrive, folder: Path) -> None:
    """It reads."""
    assert redrive("stats") == (2, "", "redrive: redrive.db: no such log\n")
    assert list(folder.iterdir()) == []
