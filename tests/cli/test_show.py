"""`show` and `runs`: what people read first."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from rich.text import Text as Styled
from syrupy.assertion import SnapshotAssertion

from redrive.terminal import say
from redrive_events import (
    LeaseGranted,
    ModelAsked,
    ModelReplied,
    Opaque,
    Record,
    RunStarted,
    SqliteLog,
    Terms,
    Text,
    Thinking,
    canonical,
)
from redrive_projections import Message, harmless, request_digest
from tests.cli.conftest import Redrive

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ESCAPES = "\x1b[31mred\x1b[0m \x9b2J \u202eback\u2066 two\nlines 王芳"


def written(*events: RunStarted | LeaseGranted | ModelAsked | ModelReplied) -> None:
    """A log with one run of these inputs, and nothing that follows from them."""
    log = SqliteLog("redrive.db")
    for position, event in enumerate(events, start=1):
        record = Record(run_id="run-1", position=position, at=NOON, cause=0, left=0, event=event)
        log.append("run-1", [record], expected=position - 1)
    log.close()


def test_a_live_run_is_told_event_by_event(redrive: Redrive, refund: str, snapshot: SnapshotAssertion) -> None:
    """Times at the inputs, calls with arguments, verdicts with their rule, facts, the end with its answer."""
    assert redrive("show", "refund") == snapshot


def test_an_imported_run_has_no_times(redrive: Redrive, incident: str, snapshot: SnapshotAssertion) -> None:
    """A trace without a clock shows none, and says what it lacks."""
    assert redrive("show", incident) == snapshot


@pytest.mark.parametrize("position", [8, 12, 24])
def test_the_state_after_an_event(redrive: Redrive, refund: str, snapshot: SnapshotAssertion, position: int) -> None:
    """What was known, open, used up and said at that moment."""
    assert redrive("show", refund, "--at", str(position)) == snapshot


def test_what_the_model_was_asked(redrive: Redrive, refund: str, snapshot: SnapshotAssertion) -> None:
    """Every word of one request, rebuilt from the log."""
    assert redrive("show", refund, "--request", "20") == snapshot


def test_a_request_is_told_with_whatever_was_in_it(redrive: Redrive) -> None:
    """Pictures and the like as JSON; thoughts when they are asked for."""
    content = (Thinking(text="hm"), Opaque(data={"image": "x"}), Text(text="two\nlines"))
    asked = ModelAsked(kept=0, new=(2,), request="", state="")
    said = Message("assistant", content, 2)
    rest = canonical({"model": "", "parameters": {}, "tools": {}})
    started = RunStarted(goal="", agent="a", nonce="", contract=Terms(), rules=1)
    asked = msgspec.structs.replace(asked, request=request_digest([said], rest))
    written(started, ModelReplied(content=content), asked)
    shown = [redrive("show", "run-1", "--request", "3", *more).out for more in ((), ("--thoughts",))]
    told = '\nassistant\n  {}\n  {{"image":"x"}}\n  two\n  lines\n'
    assert [out.partition("\n\n")[2] for out in shown] == [told.format(one)[1:] for one in ("(thoughts)", "hm")]


def test_a_request_for_a_program_is_the_request_itself(redrive: Redrive, refund: str) -> None:
    """To the byte: what was recorded of it is the digest of just this."""
    shown = redrive("show", refund, "--request", "20", "--json", "--thoughts").out
    request = json.loads(shown)
    said = [hashlib.sha256(canonical(message)).digest() for message in request.pop("messages")]
    log = SqliteLog("redrive.db")
    asked = list(log.read(refund))[19].event
    log.close()
    assert isinstance(asked, ModelAsked)
    assert hashlib.sha256(b"".join([*said, canonical(request)])).hexdigest() == asked.request


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--request", "12"), "at event 12 no model was asked, but at 3, 11, 20"),
        (("--request", "3", "--at", "3"), "--at, --request, --handover and --contract: it shows one of them at a time"),
    ],
)
def test_what_is_no_request_is_told(redrive: Redrive, refund: str, options: tuple[str, ...], problem: str) -> None:
    """And where there are some."""
    assert redrive("show", refund, *options) == (2, "", f"redrive: {problem}\n")


def test_the_state_for_a_program(redrive: Redrive, refund: str, snapshot: SnapshotAssertion) -> None:
    """The same as one JSON document, with its units in the names."""
    said = redrive("show", refund, "--at", "12", "--json")
    assert json.loads(said.out) == snapshot


def test_a_timeline_for_a_program(redrive: Redrive, refund: str) -> None:
    """One object an event, each with the event itself."""
    shown = json.loads(redrive("show", refund, "--json").out)
    assert (shown["status"], shown["answer"]) == ("succeeded", "Refunded 4900 cents.")
    assert [moment["position"] for moment in shown["timeline"]] == list(range(1, 25))
    assert shown["timeline"][-1]["event"]["event"] == shown["timeline"][-1]["kind"] == "run_ended"


def test_a_position_behind_the_end_is_refused(redrive: Redrive, refund: str) -> None:
    """The last one is named."""
    said = redrive("show", refund, "--at", "99")
    assert said == (2, "", "redrive: run refund-1: it has no event 99; the last one is 24\n")


def test_thoughts_are_shown_only_when_asked_for(redrive: Redrive, folder: Path) -> None:
    """Neither in words nor as data."""
    thinking = ModelReplied(content=(Thinking(text="a hidden thought", signature="s"), Text(text="hello")))
    written(RunStarted(goal="", agent="a", nonce="n", contract=Terms(), rules=0), thinking)
    for more in ([], ["--json"], ["--at", "2"], ["--at", "2", "--json"]):
        assert "hidden" not in redrive("show", "run-1", *more).out
    for more in ([], ["--json"], ["--at", "2", "--json"]):
        assert "hidden" in redrive("show", "run-1", "--thoughts", *more).out


def test_no_log_commands_a_terminal(redrive: Redrive, folder: Path) -> None:
    """Escape sequences and turned writing come out as signs that do nothing, and lines stay lines."""
    written(
        RunStarted(goal=ESCAPES, agent=ESCAPES, nonce="n", contract=Terms(), rules=0), ModelReplied(content=ESCAPES)
    )
    for command in (["show", "run-1"], ["runs"], ["sql", "select goal from runs"], ["show", "run-1", "--at", "2"]):
        said = redrive(*command)
        assert said.code == 0
        assert not set(said.out) & set("\x1b\x9b\u202e\u2066")
        assert "王芳" in said.out


def test_the_list_of_runs(redrive: Redrive, refund: str, incident: str, snapshot: SnapshotAssertion) -> None:
    """The latest first; what has no clock has no time."""
    assert redrive("runs") == snapshot
    assert redrive("runs", "-n", "1") == snapshot
    first, second = json.loads(redrive("runs", "--json").out)
    assert (first["run_id"], first["grade"], first["started"]) == (incident, "full", None)
    assert (second["run_id"], second["status"], second["steps"]) == (refund, "succeeded", 3)


def test_columns_are_as_wide_as_what_is_seen(redrive: Redrive, folder: Path) -> None:
    """A Chinese character takes two cells."""
    rows = "select * from (values ('王芳', 1), ('ana', 2)) as t(name, n) order by n"
    written(RunStarted(goal="", agent="a", nonce="n", contract=Terms(), rules=0))
    assert redrive("sql", rows).out.splitlines()[:3] == ["name  n", "王芳  1", "ana   2"]


def test_nothing_printed_commands_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a verb prints goes through here, so none has to think of it."""
    say(ESCAPES, Styled.assemble("a\x1b[2J", ("b\n", "bold")))
    out = capsys.readouterr().out
    assert out.splitlines() == [harmless(ESCAPES), "a\ufffd[2Jb\ufffd"]


def test_a_run_that_a_worker_holds_reads_running(redrive: Redrive, folder: Path) -> None:
    """In the list and by itself; a moment of its past does not."""
    written(RunStarted(goal="Wait.", agent="a", nonce="n", contract=Terms(), rules=0))
    log = SqliteLog("redrive.db")
    log.hold("run-1", "w", ttl_s=60)
    log.close()
    assert json.loads(redrive("runs", "--json").out)[0]["status"] == "running"
    assert json.loads(redrive("show", "run-1", "--json").out)["status"] == "running"
    assert json.loads(redrive("show", "run-1", "--at", "1", "--json").out)["status"] == "unfinished"


def test_the_bounded_event_contract(refund: str, redrive: Redrive) -> None:
    """One JSON object a line, with exactly these fields, and nothing else is shown with it."""
    said = redrive("show", refund, "--contract")
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [(row["step"], row["decision"], row["tool"], row["policyDecision"]) for row in rows] == [
        (1, "tool_call", "find_order", "allowed"),
        (2, "tool_call", "refund", "allowed"),
        (3, "finish", None, None),
    ]
    assert list(rows[1]) == [
        *("step", "decision", "decisionSummary", "tool", "argumentDigest", "policyDecision"),
        *("observation", "remainingBudget"),
    ]
    assert rows[1]["argumentDigest"].startswith("sha256:")
    assert rows[1]["observation"] == {"status": "ok", "source": "bank", "bytes": rows[1]["observation"]["bytes"]}
    assert rows[1]["remainingBudget"]["steps"] == 4
    assert redrive("show", refund, "--contract", "--handover").code == 2
