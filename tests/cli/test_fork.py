"""`fork`: a run that goes on from an event of another, what it asks again, and what stays done."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from refund_desk import desk
from refund_desk.shop import Bank
from tests.cli.conftest import DESK, Redrive

AGENT = ["--agent", "refund_desk:agent"]
PAID = 'refund(cents=4900, iban="DE89 3704 0044 0532 0130 00", order_id="ord_123")'
TOLD = f"""\
again  goes on from run refund-1 at 11

open there:
  the model  asked again

what run refund-1 did from there on stays done:
  refund-1  call 2  confirmed  cannot be undone  {PAID}

redrive run refund_desk:agent --run-id again
"""


def test_a_run_is_forked_and_driven_on(redrive: Redrive, refund: str) -> None:
    """It needs no goal, asks what was open, and is the same when it is driven again; so is the other one."""
    assert redrive("fork", refund, "--at", "11", "--run-id", "again", *AGENT) == (0, TOLD, "")
    assert redrive("run", "refund_desk:agent", "--run-id", "again").out == "again  succeeded\nRefunded 4900 cents.\n"
    assert redrive("replay", "again", *AGENT).out == "again  same · 16 events\n"
    assert redrive("replay", "--all", *AGENT).code == 0
    assert redrive("verify").out == "51 events of 2 streams: each is as it was written\n"
    assert [line.split()[0] for line in redrive("effects").out.splitlines()] == ["refund-1", "again"]
    shown = redrive("show", "again").out
    assert "forked    from run refund-1 at 11, by refund-desk" in shown


def test_what_is_given_holds_for_whoever_drives_it(redrive: Redrive, refund: str) -> None:
    """A policy in the log takes the place of the agent's own, in the run and in its replay."""
    given = ["--policy", DESK / "stricter.toml", "--label", "try=2", "--run-id", "strict"]
    assert redrive("fork", refund, "--at", "11", *given).code == 0
    assert redrive("run", "refund_desk:agent", "--run-id", "strict").code == 1
    assert redrive("replay", "strict", *AGENT).code == 0
    rows = json.loads(
        redrive("sql", "SELECT labels, denials FROM runs WHERE run_id = 'strict'", "--format", "json").out
    )
    assert rows == [{"labels": {"try": "2"}, "denials": 1}]


def test_an_import_goes_on_with_an_agent(redrive: Redrive, incident: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another tool recorded is inherited; contract and program are the agent's, and so is the run."""
    monkeypatch.setattr(desk, "bank", Bank())
    said = redrive("fork", incident, "--at", "3", "--run-id", "live")
    problem = f"run {incident}: it is imported, and only an agent of yours can go on with it; give one"
    assert (said.code, said.out, said.err) == (2, "", f"redrive: {problem}\n")
    assert redrive("fork", incident, "--at", "3", "--run-id", "live", *AGENT).code == 0
    assert redrive("run", "refund_desk:agent", "--run-id", "live").out == "live  succeeded\nRefunded 4900 cents.\n"
    assert redrive("replay", "live", *AGENT).out == "live  same · 24 events\n"
    query = "SELECT run_id, agent, grade FROM runs ORDER BY run"
    assert json.loads(redrive("sql", query, "--format", "json").out)[1] == {
        "run_id": "live",
        "agent": "refund-desk",
        "grade": None,
    }


@pytest.mark.parametrize(
    ("contract", "problem"),
    [
        ("[tools.wire]", "contract.tools: no such tool 'wire'; there are find_order, refund"),
        ("[done]\nsent = {known = true}", "contract.done: no verifier commits 'sent'; there are iban, refunded"),
        ('dialect = "own"', "contract of refund-desk: no 'own'; there are native, recorded, json, react"),
    ],
)
def test_a_contract_that_its_agent_cannot_keep(
    redrive: Redrive, refund: str, folder: Path, contract: str, problem: str
) -> None:
    """It is refused when the run is forked by that agent, or else when it takes the run up, before anything acts."""
    (folder / "other.toml").write_text(contract, encoding="utf-8")
    given = ["--at", "11", "--run-id", "kept", "--contract", "other.toml"]
    assert redrive("fork", refund, *given, *AGENT) == (2, "", f"redrive: {problem}\n")
    assert redrive("fork", refund, *given).code == 0
    assert redrive("run", "refund_desk:agent", "--run-id", "kept") == (2, "", f"redrive: run kept: {problem}\n")
    assert redrive("verify", "kept").out.startswith("12 events")


def test_a_fork_as_data(redrive: Redrive, refund: str) -> None:
    """What was open, with what becomes of it, and what stays done, as `effects` tells it."""
    data = json.loads(redrive("fork", refund, "--at", "15", "--run-id", "again", "--json").out)
    assert (data["run_id"], data["parent"], data["position"]) == ("again", refund, 15)
    assert data["open"] == [{"kind": "tool_called", "call": 2, "becomes": "not run here"}]
    assert [(one["call"], one["stage"], one["undoing"]) for one in data["standing"]] == [(2, "confirmed", None)]
    assert data["go_on"] == "redrive run MODULE:ATTR --run-id again"


def test_the_command_that_goes_on_names_the_log(
    redrive: Redrive, refund: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the surroundings do not: it can be taken as it stands."""
    (folder / "redrive.db").rename(folder / "other log.db")
    asked = ["fork", refund, "--at", "11", "--log", "other log.db", *AGENT]
    line = redrive(*asked, "--run-id", "again").out.splitlines()[-1]
    assert line == "redrive run refund_desk:agent --run-id again --log 'other log.db'"
    assert redrive(*shlex.split(line)[1:]).code == 0
    monkeypatch.setenv("REDRIVE_LOG", "other log.db")
    assert redrive(*asked, "--run-id", "third").out.endswith("--run-id third\n")


def test_the_command_that_goes_on_names_a_registered_agent(redrive: Redrive, refund: str, folder: Path) -> None:
    """As a replay finds it; of any other agent it is for you to say which."""
    assert redrive("fork", refund, "--at", "11").out.splitlines()[-1].startswith("redrive run MODULE:ATTR --run-id ")
    table = '[tool.redrive.agents]\nrefund-desk = "refund_desk:agent"\n'
    (folder / "pyproject.toml").write_text(table, encoding="utf-8")
    said = redrive("fork", refund, "--at", "11", "--run-id", "again")
    assert said.out.endswith("\n\nredrive run refund_desk:agent --run-id again\n")
    assert "cannot be undone" in said.out


def test_a_fork_is_sent_with_what_it_inherits(redrive: Redrive, refund: str, folder: Path) -> None:
    """Its recording stands for itself, and brings its parent along as far as it goes."""
    redrive("fork", refund, "--at", "11", "--run-id", "again", *AGENT)
    redrive("run", "refund_desk:agent", "--run-id", "again")
    assert redrive("export", "again", "-o", "again.jsonl").code == 0
    assert redrive("replay", "again.jsonl", *AGENT).out == "again  same · 16 events\n"
    log = ["--log", folder / "other.db"]
    for new in ("2", "0"):
        assert redrive("import", "again.jsonl", *log).out.splitlines()[-1].split()[:3] == ["redrive", "2", new]
    assert redrive("replay", "again", *AGENT, *log).code == 0
    assert redrive("verify", *log).code == 0


def test_another_policy_for_a_fork(redrive: Redrive, refund: str) -> None:
    """The order that the other run has found stays found; whether it is paid here is judged anew."""
    redrive("fork", refund, "--at", "11", "--run-id", "again", *AGENT)
    redrive("run", "refund_desk:agent", "--run-id", "again")
    same = f"again  same\n\nrecorded effects\nstands  18  landed  {PAID}\n"
    assert redrive("whatif", "again", *AGENT) == (0, same, "")
    said = redrive("whatif", "again", *AGENT, "--policy", DESK / "stricter.toml")
    assert said.code == 1
    assert "again  exact to turn 2 of 3" in said.out
    assert "here      17    verdict   2 refund: deny by rule “no rule” (no rule matches)" in said.out
    assert said.out.count("prevented") == 1
    assert "goes on with  --live model, --beyond recorded, --set-reply 3=FILE" in said.out
    Path("words.txt").write_text("Paid.", encoding="utf-8")
    said = redrive("whatif", "again", *AGENT, "--set-reply", "1=words.txt")
    problem = "--set-reply 1: run again inherits this step from run refund-1: ask it of that run"
    assert said == (2, "", f"redrive: {problem}\n")


def test_a_back_test_judges_a_fork(redrive: Redrive, refund: str) -> None:
    """Its own call alone: that which it inherits counts in the run that made it."""
    redrive("fork", refund, "--at", "11", "--run-id", "again", *AGENT)
    redrive("run", "refund_desk:agent", "--run-id", "again")
    said = redrive("backtest", *AGENT, "--policy", DESK / "stricter.toml", "--json")
    (found,) = json.loads(said.out).values()
    assert (found["runs"], found["not_judged"]) == (2, [])
    assert [(one["run_id"], one["first"]["call"], one["sureness"]) for one in found["flips"]] == [
        ("refund-1", 2, "exact to turn"),
        ("again", 2, "exact to turn"),
    ]
    assert found["verdicts"] == 3


def test_a_fork_is_made_smaller(redrive: Redrive, refund: str, folder: Path) -> None:
    """In its own part; what is written brings the rest along, and replays."""
    redrive("fork", refund, "--at", "11", "--run-id", "again", *AGENT)
    redrive("run", "refund_desk:agent", "--run-id", "again")
    said = redrive("shrink", "again", "--while", "tool_calls > 0", *AGENT, "-o", "small.jsonl", "--json")
    data = json.loads(said.out)
    assert (said.code, data["inputs"], data["of"]) == (0, 2, 4)
    assert redrive("replay", "small.jsonl", *AGENT).out.startswith(f"again  same, unfinished · {data['events']} events")


def test_the_input_by_which_a_fork_turns(redrive: Redrive, refund: str, folder: Path) -> None:
    """Of two that go on from the same event; a fork and its run do not."""
    for name, policy in (("good", "policy.toml"), ("bad", "stricter.toml")):
        redrive("fork", refund, "--at", "11", "--run-id", name, "--policy", DESK / policy)
        redrive("run", "refund_desk:agent", "--run-id", name)
    said = redrive("bisect", "good", "bad", *AGENT, "--bad-if", "true")
    assert (said.code, said.err) == (2, "redrive: run good: the good run is bad, driven again\n")
    said = redrive("bisect", refund, "bad", *AGENT)
    why = "run refund-1 and run bad do not go on from the same event of the same run"
    assert (said.code, said.err) == (2, f"redrive: {why}, so that they have no inputs in the same places\n")


@pytest.mark.parametrize("verb", ["freeze", "faults"])
def test_what_changes_inputs_is_asked_of_the_run_that_has_them(redrive: Redrive, refund: str, verb: str) -> None:
    """A fork has only its own: that it cannot be driven from its start is said in one line."""
    redrive("fork", refund, "--at", "11", "--run-id", "again")
    more: dict[str, list[str | Path]] = {
        "freeze": [],
        "faults": [],
    }
    said = redrive(verb, "again", *AGENT, *more[verb])
    assert (said.code, said.out) == (3, "")
    assert said.err.startswith("redrive: run again: it was forked from run refund-1 at 11, and only its own records")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--at", "12"], "run refund-1: event 12 is not the last of its append; it can be forked at 11 or 15"),
        (["--at", "24"], "run refund-1: at event 23 its end was decided; it can be forked at 20"),
        (["--at", "11", "--run-id", "a/1"], "run a/1: a fork is a run of its own: its id has no '/' and no '@'"),
        (["--at", "11", "--run-id", "refund-1"], "run refund-1: the id is taken by another run"),
        (["--at", "11", "--label", "x"], "--label: is written NAME=VALUE, not 'x'"),
        (["--at", "11", "--label", "x=1", "--label", "x=2"], "--label: x comes twice"),
        (["--at", "11", "--label", "a=b\udcff"], "--label: not UTF-8"),
        (["--at", "11", "--policy", "none.toml"], "none.toml: no such file or directory"),
    ],
)
def test_a_bad_request_is_one_line(redrive: Redrive, refund: str, arguments: list[str], problem: str) -> None:
    """And nothing is begun."""
    assert redrive("fork", refund, *arguments) == (2, "", f"redrive: {problem}\n")
    assert len(redrive("runs").out.splitlines()) == 2


def test_a_recording_is_imported_before_it_is_forked(redrive: Redrive, refund: str) -> None:
    """A file is no log."""
    redrive("export", refund, "-o", "run.jsonl")
    said = redrive("fork", "run.jsonl", "--at", "11")
    assert (said.code, said.err) == (2, "redrive: run.jsonl: a run in a log is forked; import the recording first\n")


def test_a_run_that_nobody_began_needs_a_goal(redrive: Redrive, refund: str) -> None:
    """Without one there must be a run to go on with."""
    said = redrive("run", "refund_desk:agent", "--run-id", "nobody")
    assert (said.code, said.err) == (2, "redrive: run nobody: nobody began this run; give --goal to begin it\n")
