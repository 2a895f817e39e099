"""`stats`: how runs ended, what they took, and where the bytes go; in a terminal and as a page."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from redrive_events import Event, MessageReceived, SqliteLog, ToolCalled
from redrive_projections import one_line
from tests.cli.conftest import Redrive
from tests.history.story import put, refund, run_of
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
    lines = lines[lines.index("KIND EVENTS BYTES KEPT RATIO") :]
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


def recorded() -> None:
    """Four runs, on three days, in two currencies."""
    with closing(SqliteLog("redrive.db")) as log:
        put(log, refund())
        put(log, refund("refund/1"))
        for days, run_id in enumerate(["later", "latest"], start=1):
            run = run_of(["find", "lost"], run_id)
            put(log, [replace(record, at=record.at + timedelta(days=days)) for record in run])


def test_how_runs_ended_and_what_they_took(redrive: Redrive) -> None:
    """By status, by steps, by day and by tool."""
    recorded()
    said = [line.rstrip() for line in redrive("stats").out.splitlines()]
    bytes_begin = next(place for place, line in enumerate(said) if line.startswith("KIND"))
    assert said[:bytes_begin] == [
        "STATUS      RUNS",
        "finished       2  ████████████████████████",
        "unfinished     2  ████████████████████████",
        "",
        "STEPS  RUNS",
        "0         0",
        "1         0",
        "2         2  ████████████████████████",
        "3-4       2  ████████████████████████",
        "",
        "2 steps at the median, 4 at 95 %, 4 at most",
        "",
        "DAY         RUNS  TOKENS          COST",
        "2026-01-01     2     800  0.000056 EUR  ████████████████████████",
        "2026-01-02     1     200  0.000014 USD  ████████████",
        "2026-01-03     1     200  0.000014 USD  ████████████",
        "",
        "TOOL  CALLS  FAILED",
        "find     10       4  ████████████████████████",
        "",
    ]
    told = json.loads(redrive("stats", "--json").out)
    assert told["outcomes"] == {"finished": 2, "unfinished": 2}
    assert told["steps"] == {"p50": 2, "p95": 4, "max": 4}
    assert told["costs"][0] == {"currency": "EUR", "day": "2026-01-01", "micros": 56}
    assert told["tools"] == [{"tool": "find", "calls": 10, "failed": 4}]


def test_a_page_that_needs_nothing_else(redrive: Redrive, folder: Path) -> None:
    """Well formed, with no script and no address; each plot is told in words, and stands as a table too."""
    recorded()
    assert redrive("stats", "--html", "stats.html") == (0, "", "")
    page = (folder / "stats.html").read_text(encoding="utf-8")
    tree = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
    assert "://" not in page
    assert "\ufffd" not in page
    assert not {"script", "link", "img", "iframe", "object"} & {element.tag for element in tree.iter()}
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert [head.text for head in tree.iter("h2")] == [
        "How runs ended",
        "Steps of a run",
        "Runs by day",
        "Cost by day, in EUR",
        "Cost by day, in USD",
        "Calls of tools",
        "Bytes by kind of event",
        "Bytes of the file",
    ]
    plots = list(tree.iter("svg"))
    assert len(plots) == len(list(tree.iter("table"))) == 8
    assert all(plot.get("role") == "img" for plot in plots)
    assert plots[0].get("aria-label") == "Runs by status. finished: 2; unfinished: 2"
    assert plots[5].get("aria-label") == "Calls by tool. find: 10, 4 failed"
    assert (folder / "stats.html").stat().st_mode & 0o077 == 0


def test_a_name_is_never_markup(redrive: Redrive, folder: Path) -> None:
    """Whatever a tool is called."""
    name = "</svg><script>alert('x')</script>\x1b[2J&"
    with closing(SqliteLog("redrive.db")) as log:
        put(log, [replace(one, event=_named(one.event, name)) for one in run_of(["find"])])
    assert redrive("stats", "--html", "stats.html").code == 0
    page = (folder / "stats.html").read_text(encoding="utf-8")
    ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "\x1b" not in redrive("stats").out


def _named(event: Event, name: str) -> Event:
    return replace(event, tool=name) if isinstance(event, ToolCalled) else event


def test_a_page_about_nothing(redrive: Redrive, folder: Path) -> None:
    """No plot without anything to show."""
    SqliteLog("redrive.db").close()
    assert redrive("stats", "--html", "stats.html").code == 0
    page = (folder / "stats.html").read_text(encoding="utf-8")
    assert "0 runs, 0 events" in page
    assert "How runs ended" not in page


def test_a_page_is_no_log(redrive: Redrive, incident: str) -> None:
    """Nor does it take the place of one."""
    said = redrive("stats", "--html", "redrive.db")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert redrive("verify").code == 0
