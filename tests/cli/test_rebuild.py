"""`rebuild`: the tables made anew, and every run folded again to see whether it comes to what was recorded."""

from __future__ import annotations

import json

import msgspec

from redrive_events import ModelAsked, SqliteLog
from redrive_projections.history import beside
from tests.cli.conftest import Redrive


def with_another_digest() -> tuple[str, int]:
    """A run whose chain is sound, and one of whose digests is not what the fold comes to."""
    log = SqliteLog("redrive.db")
    records = [msgspec.structs.replace(record, run_id="forged") for record in log.read("refund-1")]
    place = next(index for index, record in enumerate(records) if type(record.event) is ModelAsked)
    event = msgspec.structs.replace(records[place].event, state="0" * 64)
    records[place] = msgspec.structs.replace(records[place], event=event)
    log.append("forged", records, expected=0)
    log.close()
    return "forged", place + 1


def test_what_is_rebuilt_is_what_was_recorded(redrive: Redrive, incident: str, refund: str) -> None:
    """Of all runs, or of those that are named."""
    said = redrive("rebuild", "--check")
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith(" events of 2 runs: each digest is the recorded one\n")
    assert redrive("rebuild", "--check", incident).out == "25 events of 1 run: each digest is the recorded one\n"


def test_where_they_part_is_named_by_run_event_and_field(redrive: Redrive, refund: str) -> None:
    """A chain seals what was written, whoever wrote it; the fold says whether it can be true."""
    run, position = with_another_digest()
    assert redrive("verify").code == 0
    said = redrive("rebuild", "--check")
    assert said.code == 1
    told = f"{run}  position {position}  model_asked  its state is rebuilt with another digest"
    assert said.out.splitlines()[0] == told
    (parted,) = json.loads(redrive("rebuild", "--check", "--json").out)["parted"]
    assert parted["stored"] == "0" * 64
    assert {key: parted[key] for key in ("run_id", "position", "kind", "field")} == {
        "run_id": run,
        "position": position,
        "kind": "model_asked",
        "field": "state",
    }
    assert redrive("rebuild", "--check", refund).code == 0


def test_the_tables_are_made_anew(redrive: Redrive, incident: str) -> None:
    """Whatever stood in their place."""
    beside("redrive.db").write_bytes(b"no database")
    assert redrive("rebuild").out == "1 run: redrive.db.history is made anew\n"
    assert json.loads(redrive("rebuild", "--json").out) == {"runs": 1, "file": "redrive.db.history"}
    assert json.loads(redrive("sql", "SELECT count(*) AS n FROM events", "--json").out) == [{"n": 25}]


def test_runs_are_named_with_check_only(redrive: Redrive, incident: str) -> None:
    """The tables know no half."""
    said = redrive("rebuild", incident)
    assert said == (2, "", "redrive: the tables are made anew as a whole; runs are named with --check\n")


def test_tables_that_cannot_be_made_are_told(redrive: Redrive, incident: str) -> None:
    """In one line, naming the folder."""
    (beside("redrive.db") / "lock").mkdir(parents=True)
    said = redrive("rebuild")
    assert (said.code, said.out) == (2, "")
    assert said.err == "redrive: log redrive.db.history: it cannot be made (Is a directory)\n"
