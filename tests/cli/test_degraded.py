"""A run with an event that cannot be read: it says so everywhere, and everything else works as ever."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import redrive as rd
from redrive_engine import annotate, say
from redrive_events import AnnotationMade, SqliteLog, UnknownEvent, encode
from redrive_events.stores import sealing
from redrive_events.stores import sqlite as store
from refund_desk import agent
from tests.cli.conftest import Redrive
from tests.cli.test_verify import another_digest, changed

RUN = "degraded"
PLACE = 9

GOAL = "Refund ord_123"
BROKEN = "the bytes are not those that were written"

# What a later program, or chance, may have written; the chain is that of these bytes.
WRITTEN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a later version of an event": (
        lambda line: line.replace(b'"event":"', b'"event":"9.', 1) if b'"event":{"' in line else line,
        "is not known to this version",
    ),
    "a field more": (
        lambda line: line.replace(b'"event":{', b'"event":{"later":1,', 1),
        "Object contains unknown field `later` - at `$.event`",
    ),
    "another type": (
        lambda line: line.replace(b'"event":{', b'"event":[{', 1).replace(b'},"left"', b'}],"left"', 1),
        "Expected `object`, got `array` - at `$.event`",
    ),
    "no JSON": (lambda _: b"\x00\xff no JSON", "not JSON"),
}


@pytest.fixture
def log(redrive: Redrive, incident: str, refund: str) -> SqliteLog:
    """A log with two sound runs."""
    return SqliteLog("redrive.db")


@pytest.fixture(params=[*WRITTEN, "a broken link"])
def problem(log: SqliteLog, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Beside the sound runs one of which an event cannot be read; what is said of it."""
    records = [msgspec.structs.replace(record, run_id=RUN) for record in log.read("refund-1")]
    change, problem = WRITTEN.get(request.param, (lambda line: line, BROKEN))
    lines = [change(line) if place == PLACE else line for place, line in enumerate(map(encode, records), start=1)]
    with monkeypatch.context() as patch:
        patch.setattr(store, "spelled", lambda _: lines)
        log.append(RUN, records, expected=0)
    annotate(log, RUN, AnnotationMade(name="reward", value=1, source="judge"), at=records[-1].at)
    log.close()
    if request.param == "a broken link":
        changed(another_digest(PLACE, "run = 3"))
        # the next event cannot be linked to that digest either
    return str(problem)


def test_the_run_says_so_wherever_it_is_seen(redrive: Redrive, problem: str) -> None:
    """In the list, on the page, in JSON, in SQL."""
    listed = {row["run_id"]: row["status"] for row in json.loads(redrive("runs", "--json").out)}
    assert listed[RUN] == "degraded"
    assert sorted(listed.values()) == ["degraded", "finished", "succeeded"]
    shown = redrive("show", RUN)
    assert shown.code == 1
    assert "status  degraded" in shown.out
    assert f"{PLACE:>2}  " in shown.out
    assert f"position {PLACE}: " in shown.err
    assert problem in shown.err
    assert "ended" in shown.out  # what stands behind it is shown too
    data = json.loads(redrive("show", RUN, "--json").out)
    assert data["status"] == "degraded"
    assert problem in data["problem"]
    event = data["timeline"][PLACE - 1]["event"]
    assert event["event"] == "quarantined"
    assert problem in event["reason"]
    assert base64.b64decode(event["line"]) == next(SqliteLog("redrive.db").lines(RUN, after=PLACE - 1)).line
    query = f"SELECT status, quarantined > 0 AS any FROM runs WHERE run_id = '{RUN}'"
    assert json.loads(redrive("sql", query, "--json").out) == [{"status": "degraded", "any": True}]
    query = f"SELECT problem FROM events WHERE run_id = '{RUN}' AND kind = 'quarantined' ORDER BY position"
    assert problem in json.loads(redrive("sql", query, "--json").out)[0]["problem"]


def test_the_state_before_it_is_sound_and_behind_it_a_guess(redrive: Redrive, problem: str) -> None:
    """And said to be one."""
    assert redrive("show", RUN, "--at", str(PLACE - 1)).code == 0
    behind = redrive("show", RUN, "--at", str(PLACE))
    assert behind.code == 1
    assert re.search(r"^status +degraded$", behind.out, re.MULTILINE)


def test_a_replay_stops_there(redrive: Redrive, problem: str) -> None:
    """Nobody knows what follows from what nobody can read."""
    said = redrive("replay", RUN, "--agent", "refund_desk:agent", "--json")
    (report,) = json.loads(said.out)["reports"]
    assert (said.code, report["outcome"]) == (3, "cannot replay")
    assert problem in report["reason"]
    assert report["records"] < PLACE
    everything = redrive("replay", "--all", "--agent", "refund_desk:agent")
    assert everything.code == 3
    assert "3 runs: 2 same · 1 cannot replay" in everything.out


def test_nobody_takes_it_up(redrive: Redrive, problem: str) -> None:
    """What was left undone may be in what cannot be read."""
    if problem == BROKEN:
        said = redrive("run", "refund_desk:agent", "--goal", GOAL, "--principal", "ana", "--run-id", RUN)
        assert said == (1, "", f"redrive: run {RUN}: position {PLACE}: {BROKEN}\n")
        return
    with pytest.raises(UnknownEvent, match=f"run {RUN}: position {PLACE}: "):
        agent.run(GOAL, principal="ana", tenant="velo", log=Path("redrive.db"), run_id=RUN)
    log = SqliteLog("redrive.db")
    with pytest.raises(UnknownEvent, match=f"run {RUN}: position {PLACE}: "):
        say(log, RUN, "Hello?", at=next(log.read("refund-1")).at)
    said = redrive("run", "refund_desk:agent", "--goal", GOAL, "--run-id", RUN)
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)


def test_it_is_found_by_those_who_look_for_damage(redrive: Redrive, problem: str) -> None:
    """Each says where it begins."""
    (damage,) = json.loads(redrive("verify", "--json").out)["damaged"]
    assert (damage["run_id"], damage["position"]) == (RUN, PLACE)
    assert damage["kind"] in {"unreadable", "changed"}
    (parted,) = json.loads(redrive("rebuild", "--check", "--json").out)["parted"]
    assert (parted["run_id"], parted["position"], parted["kind"]) == (RUN, PLACE, "quarantined")


def test_every_other_run_works_as_ever(redrive: Redrive, problem: str, incident: str) -> None:
    """Also what is done with all of them at once."""
    assert redrive("show", incident).code == redrive("replay", incident).code == redrive("verify", incident).code == 0
    assert redrive("export", incident, "-o", "one.jsonl").code == redrive("verify", "one.jsonl").code == 0
    assert redrive("heads", "-o", "heads.jsonl").code == 0
    assert redrive("import", "one.jsonl").code == 0
    assert redrive("run", "refund_desk:agent", "--goal", GOAL, "--run-id", "another").code == 0
    assert redrive("rebuild").code == 0
    tools = "SELECT count(*) AS n FROM tool_calls WHERE run_id = 'another'"
    assert json.loads(redrive("sql", tools, "--json").out)[0]["n"] > 0


def test_what_is_sound_in_its_chain_goes_out_as_it_is(redrive: Redrive, problem: str) -> None:
    """A later program reads it; this one says of the file what it says of the log."""
    if problem == BROKEN:
        assert redrive("export", RUN).code == 1
        return
    assert redrive("export", RUN, "-o", "run.jsonl").code == 0
    shown = redrive("show", "run.jsonl")
    assert shown.code == 1
    assert (BROKEN if problem == "not JSON" else problem) in shown.err  # a line of a file that is no JSON is no line
    assert redrive("import", "run.jsonl", "--log", "other.db").code == 2


def test_a_remark_that_cannot_be_read_degrades_no_run(
    redrive: Redrive, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted beside it."""
    at = next(log.read("refund-1")).at
    with monkeypatch.context() as patch:
        spelled = sealing.spelled
        patch.setattr(
            store, "spelled", lambda batch: [line.replace(b"annotation", b"speculation") for line in spelled(batch)]
        )
        annotate(log, "refund-1", AnnotationMade(name="reward", value=1, source="judge"), at=at)
    annotate(log, "refund-1", AnnotationMade(name="reward", value=2, source="judge"), at=at)
    log.close()
    query = "SELECT status, quarantined, (SELECT count(*) FROM annotations) AS n FROM runs WHERE run_id = 'refund-1'"
    assert json.loads(redrive("sql", query, "--json").out) == [{"status": "succeeded", "quarantined": 1, "n": 1}]
    assert redrive("verify").code == 1


def test_from_python_too(log: SqliteLog) -> None:
    """The state at any event, by one call."""
    last = log.head("refund-1").position
    assert rd.state_at(log, "refund-1", last).end is not None
    assert rd.state_at(log, "refund-1", 1).end is None
    log.close()
