"""Effects at the command line: what runs did, what is in doubt, and who says what became of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from redrive_engine.models import reply, use
from redrive_engine.signals import cancel
from redrive_events import (
    CancelRequested,
    EffectReconciled,
    LeaseRevoked,
    ObservationReceived,
    OutcomeStated,
    PersonAsked,
    SqliteLog,
    Terms,
)
from tests.cli.conftest import Redrive
from tests.cli.test_people import until
from tests.processes import surroundings
from tests.renew_recordings import file_of, records_of
from tests.shop import NOON, recorded, shop


def kept(run_id: str, terms: Terms | None = None, *inputs: Any) -> None:
    """A run in the log of this folder, which paid and was not heard of again."""
    program = shop(terms or Terms())
    with_log = SqliteLog("redrive.db")
    records = recorded(program, reply("", use("pay", item="茶", cents=5)), *inputs, run_id=run_id)
    with_log.append(run_id, records, expected=0)
    with_log.close()


TIMEOUT = ObservationReceived(call=1, status="timeout", content="No answer within 3000 ms.")
NOBODY_KNOWS = (TIMEOUT, EffectReconciled(call=1, outcome="unknown", content="Not known."))
WAITS = Terms(on_doubt="wait")


def events(run_id: str) -> list[Any]:
    """The events of a run in this folder."""
    log = SqliteLog("redrive.db")
    found = [one.event for one in log.read(run_id)]
    log.close()
    return found


def test_the_effects_of_all_runs_are_listed(redrive: Redrive, folder: Path) -> None:
    """With what is known of each; what nobody drives is in doubt."""
    kept("one")
    kept("two", Terms(done={"paid": {"known": True}}), *NOBODY_KNOWS)
    log = SqliteLog("redrive.db")
    log.append("three", _named("three", "undone-before-the-run-is-given-up"), expected=0)
    log.close()
    code, out, err = redrive("effects")
    assert (code, err) == (0, "")
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert rows == [
        'one call 1 in doubt worker lost pay(cents=5, item="茶")',
        'two call 1 in doubt timeout pay(cents=5, item="茶")',
        'three call 1 compensated by call 4 pay(cents=5, item="tea")',
        'three call 2 confirmed pay(cents=3, item="milk")',
        'three call 4, undoes 1 confirmed pay(cents=5, item="tea")',
        'three call 5, undoes 2 not done attempt 2 pay(cents=3, item="milk")',
        "",
        "redrive effects --resolve RUN CALL landed|not-landed says what became of one",
    ]
    assert len(redrive("effects", "--in-doubt").out.splitlines()) == 4
    (two,) = json.loads(redrive("effects", "tw", "--json").out)
    assert (two["run_id"], two["call"], two["stage"], two["outcome"]) == ("two", 1, "in doubt", "unknown")


def _named(run_id: str, name: str) -> list[Any]:
    return [msgspec.structs.replace(one, run_id=run_id) for one in records_of(name)]


def test_where_there_are_none_that_is_said(redrive: Redrive, folder: Path) -> None:
    """In words, and as an empty list."""
    log = SqliteLog("redrive.db")
    log.append("x", _named("x", "the-same-thought-twice-in-chinese"), expected=0)
    log.close()
    assert redrive("effects").out == "no effects\n"
    assert redrive("effects", "x", "--in-doubt").out == "no effect is in doubt\n"
    assert redrive("effects", "--json").out == "[]\n"


def test_a_recording_has_effects_too(redrive: Redrive, folder: Path) -> None:
    """It is listed, and stays as it is."""
    kept("x")
    file = str(file_of("write-in-doubt-handed-to-a-person"))
    assert "in doubt" in redrive("effects", file, "--in-doubt").out
    code, _, err = redrive("effects", "--resolve", file, "1", "landed")
    assert (code, err) == (2, f"redrive: {file}: a recording stays as it is: a run in the log is wanted\n")


def test_a_person_says_what_became_of_an_effect(redrive: Redrive, folder: Path) -> None:
    """The run that waits for it goes on with what they say, whoever drives it then."""
    kept("x", WAITS, *NOBODY_KNOWS)
    (folder / "seen.json").write_text('{"item": "茶", "cents": 5}', encoding="utf-8")
    said = redrive(
        "effects", "--resolve", "x", "1", "landed", "--content", "@seen.json", "--by", "bo", "--reason", "seen"
    )
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[0] == "x  event 13: call 1 landed, says bo"
    assert events("x")[-1] == OutcomeStated(
        call=1,
        by="bo",
        outcome="landed",
        content='{"cents":5,"item":"茶"}',
        media_type="application/json",
        reason="seen",
    )
    again = redrive("effects", "--resolve", "x", "1", "landed")
    words = "the effect of call 1 (pay) is reconciled by bo, and the run waits for nobody's word on it"
    assert (again.code, again.err) == (2, f"redrive: run x: {words}\n")


def test_what_is_learnt_when_a_run_is_over_is_a_remark(redrive: Redrive, folder: Path) -> None:
    """The ledger reads both; nothing is said twice."""
    kept("x", Terms(done={"paid": {"known": True}}), *NOBODY_KNOWS)
    before = events("x")
    said = redrive("effects", "--resolve", "x", "1", "not-landed", "--reason", "the bank has nothing")
    assert said == (0, "x  noted beside the run, which is over: call 1 did not land, says operator\n", "")
    assert events("x") == before
    (effect,) = json.loads(redrive("effects", "x", "--json").out)
    assert (effect["stage"], effect["outcome"], effect["by"]) == ("reconciled", "not_landed", "operator")
    assert redrive("effects", "--in-doubt").out == "no effect is in doubt\n"
    assert redrive("effects", "--resolve", "x", "1", "landed").code == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--resolve"], "--resolve: give a run, a call and what became of it"),
        (["--resolve", "x", "1"], "--resolve: give a run, a call and what became of it"),
        (["--resolve", "x", "one", "landed"], "--resolve: the number of a call is wanted, not 'one'"),
        (["--resolve", "x", "1", "perhaps"], "--resolve: landed or not-landed is wanted, not 'perhaps'"),
        (["--resolve", "y", "1", "landed"], "run 'y': no run has this id, or begins with it"),
        (["--resolve", "x", "2", "landed"], "run x: no effect of call 2; there are those of 1"),
        (["--resolve", "x", "1", "landed"], "run x: the effect of call 1 (pay) is planned, and the run waits for"),
        (["--resolve", "x", "1", "landed", "--content", "@none"], "none: no such file or directory"),
        (["x", "--content", "5"], "--content and --reason: they go with --resolve"),
        (["y"], "run 'y': no run has this id, or begins with it"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    arguments: list[str], problem: str, redrive: Redrive, folder: Path
) -> None:
    """And nothing is written."""
    kept("x")
    before = events("x")
    code, out, err = redrive("effects", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"redrive: {problem}")
    assert events("x") == before


def test_a_run_is_taken_from_its_worker_when_it_is_cancelled(redrive: Redrive, folder: Path) -> None:
    """So that another may take it up at once; without a worker it is only cancelled."""
    kept("x", WAITS, *NOBODY_KNOWS)
    log = SqliteLog("redrive.db")
    log.hold("x", "w", ttl_s=600.0)
    said = redrive("cancel", "x", "--revoke", "--reason", "it hangs")
    assert said.out.splitlines()[0] == "x  event 14: asked to stop by operator, and taken from its worker"
    assert log.holder("x") is None
    log.close()
    assert events("x")[-2:] == [
        CancelRequested(by="operator", reason="it hangs"),
        LeaseRevoked(by="operator", epoch=1, reason="it hangs"),
    ]
    assert redrive("cancel", "x", "--revoke").out.splitlines()[0] == "x  event 15: asked to stop by operator"


def test_a_child_is_cancelled_but_has_no_lease_of_its_own(redrive: Redrive, folder: Path) -> None:
    """It is driven under that of the run at the top."""
    kept("x/1", WAITS, *NOBODY_KNOWS)
    assert redrive("cancel", "x/1", "--revoke").out.splitlines()[0] == "x/1  event 13: asked to stop by operator"
    log = SqliteLog("redrive.db")
    cancel(log, "x/1", by="ana", at=NOON)
    log.close()


DOUBTFUL = '''
import time
import redrive as rd

@rd.tool(effect="write", timeout="200ms")
def pay(cents: int) -> dict[str, int]:
    """Pay."""
    time.sleep(0.4)
    return {"cents": cents}

@rd.verifier(pay, commits=["paid"])
def right(call: rd.Call, seen: dict[str, int], facts: rd.Facts) -> rd.Facts | rd.Refused:
    return {"paid": seen["cents"]}

script = (rd.reply("", rd.use("pay", cents=5)), "Paid.")
contract = rd.Contract(done={"paid": rd.ANY}, answer="Paid {paid}.", on_doubt="wait")
agent = rd.Agent("till", "1", contract, tools=[pay], verifiers=[right], model=rd.ScriptedModel(script))
'''


def command(*more: str) -> list[str]:
    """A run of the doubtful till."""
    return [sys.executable, "-m", "redrive", "run", "doubtful:agent", "--goal", "pay", "--run-id", "x", *more]


def is_asked(times: int) -> bool:
    """Whether a person was asked so often what became of it."""
    return Path("redrive.db").exists() and sum(isinstance(one, PersonAsked) for one in events("x")) == times


def test_a_run_that_waits_goes_on_with_what_is_said_from_another_process(redrive: Redrive, folder: Path) -> None:
    """It tells how; what would have been observed is verified like a result."""
    (folder / "doubtful.py").write_text(DOUBTFUL, encoding="utf-8")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command(), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=surroundings()
    ) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        said = redrive("effects", "--resolve", "x", "1", "landed", "--content", '{"cents": 5}')
        assert said.code == 0
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "x  succeeded\nPaid 5.\n")
    how = "redrive effects --resolve x 1 landed|not-landed"
    assert told == f"redrive: run x waits for the operator: effect of call 1 (pay) in doubt ({how})\n"


def test_where_a_run_is_driven_a_line_says_what_became_of_it(folder: Path, redrive: Redrive) -> None:
    """Any other line is asked about again; what did not land is tried once more."""
    (folder / "doubtful.py").write_text(DOUBTFUL, encoding="utf-8")
    (folder / "words.txt").write_text("perhaps\nnot-landed the bank has nothing\n", encoding="utf-8")
    with (
        (folder / "words.txt").open() as words,
        subprocess.Popen(
            command("--talk"),
            stdin=words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=surroundings(),
        ) as process,
    ):
        until(lambda: is_asked(2))
        assert redrive("effects", "--resolve", "x", "1", "landed", "--content", '{"cents": 5}').code == 0
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "x  succeeded\nPaid 5.\n")
    assert err.count("landed, or not-landed, and how that is known") >= 2
    first, _ = (one for one in events("x") if isinstance(one, OutcomeStated))
    assert (first.outcome, first.by, first.reason) == ("not_landed", "operator", "the bank has nothing")
