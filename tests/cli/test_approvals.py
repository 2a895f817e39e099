"""Approvals at the command line: what waits, who answers it from where, and the run that goes on with that."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest

from redrive.questions import waiting_in
from redrive_engine import load_agent
from redrive_events import ApprovalAsked, ApprovalGiven, ObservationReceived, SqliteLog, ToolCalled, VerdictGiven
from tests.cli.conftest import Redrive
from tests.cli.test_people import until
from tests.processes import surroundings

TILL = '''
import redrive as rd

@rd.tool(effect="write", object="item", destination="to")
def pay(item: str, cents: int, to: str) -> dict[str, int]:
    """Pay for an item."""
    return {"cents": cents}

@rd.tool(effect="read")
def price(item: str) -> int:
    """The price."""
    return 5

@rd.verifier(pay, commits=["paid"])
def right(call: rd.Call, seen: dict[str, int], facts: rd.Facts) -> rd.Facts | rd.Refused:
    return {"paid": seen["cents"]}

class Asking:
    digest = wording = "asking"
    data = None
    def judge(self, question):
        if question.tool == "price":
            return rd.Ruling("allow", "looking is free")
        if question.arguments["cents"] > 100:
            return rd.Ruling("deny", "too much", text="This call is not allowed.")
        return rd.Ruling("ask", "a person looks", "paid by hand \\x1b[31m茶")

def script(turn, request):
    if turn == 1:
        return rd.reply("I pay.", rd.use("price", item="茶"), rd.use("pay", item="茶\\x1b[2J🍵", cents=9, to="DE89"))
    return "It is done."

def till(done=True, **terms):
    contract = rd.Contract(**({"done": {"paid": rd.ANY}, "quotas": {"finish": 1}} if done else {}), **terms)
    return agent_of("till", contract, script)

def agent_of(name, contract, says):
    told = {"tools": [pay, price], "verifiers": [right], "policy": Asking()}
    return rd.Agent(name, "1", contract, model=rd.ScriptedModel(says), **told)

def steps(turn, request):
    if "Draw a plan" in str(request.messages[-1].content):
        return '{"steps": ["Pay for the tea."]}'
    said = [one for one in request.messages if one.role == "assistant"]
    return script(len(said) + 1, request) if "Pay for" in str(request.messages[0].content) else "It is done."

agent = till()
hasty = till(approval_waits="300ms")
easy = till(done=False)
planner = agent_of("planner", rd.Contract(arm="plan"), steps)
'''
PAID = '{"item":"tea","cents":4,"to":"DE89"}'


@pytest.fixture
def till(folder: Path) -> Path:
    """A folder with an agent that is asked before it pays."""
    (folder / "till.py").write_text(TILL, encoding="utf-8")
    sys.modules.pop("till", None)
    return folder


def command(agent: str = "agent", *more: str, run_id: str = "x") -> list[str]:
    """A run of it."""
    return [sys.executable, "-m", "redrive", "run", f"till:{agent}", "--goal", "tea", "--run-id", run_id, *more]


@contextmanager
def driven(agent: str = "agent", *more: str, stdin: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[str]]:
    """The run in a process of its own."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command(agent, *more), stdin=stdin, stdout=pipe, stderr=pipe, text=True, env=surroundings()
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def left_waiting(agent: str = "agent", run_id: str = "x") -> None:
    """A run that waits for an approval, and that nobody drives any more."""

    async def drive() -> None:
        log = SqliteLog("redrive.db")
        async with anyio.create_task_group() as group:
            group.start_soon(partial(load_agent(f"till:{agent}").arun, "tea", log=log, run_id=run_id))
            while not asked(run_id=run_id)():
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        log.close()

    anyio.run(drive)


def told(process: subprocess.Popen[str], words: str) -> str:
    """The line with these words that the process writes beside its output."""
    assert process.stderr is not None
    return next(line for line in process.stderr if words in line)


def events(kind: type, run_id: str = "x") -> list[object]:
    """The run's events of a kind."""
    if not Path("redrive.db").exists():
        return []
    log = SqliteLog("redrive.db")
    try:
        return [record.event for record in log.read(run_id) if isinstance(record.event, kind)]
    finally:
        log.close()


def asked(times: int = 1, run_id: str = "x") -> Callable[[], bool]:
    """Whether a person has been asked so often."""
    return lambda: len(events(ApprovalAsked, run_id)) == times


def test_a_run_waits_and_an_approval_from_another_process_lets_it_go_on(till: Path, redrive: Redrive) -> None:
    """It tells that it waits and how to answer; what is listed is all that would happen, and harms no terminal."""
    with driven() as process:
        how = told(process, "waits")
        until(lambda: bool(events(ObservationReceived)))
        (waiting,) = json.loads(redrive("approvals", "--json").out)
        shown = redrive("approvals").out
        said = redrive("approve", "x", "2", "--digest", waiting["digest"][:12], "--by", "bo", "--reason", "fine")
        assert said == (0, "x  event 11: call 2 allowed by bo\n", "")
        assert process.communicate(timeout=60) == ("x  succeeded\nIt is done.\n", "")
    assert process.returncode == 0
    answer = f"redrive approve x 2 --digest {waiting['digest'][:12]}"
    assert how == (
        f'redrive: run x waits for an approval of call 2: pay(cents=9, item="茶\\u001b[2J🍵", to="DE89") ({answer})\n'
    )
    asked_at = waiting["asked_at"]
    assert shown == (
        "x  call 2  pay  (write)\n"
        "  with cents  9\n"
        '  with item   "茶\\u001b[2J🍵"\n'
        '  with to     "DE89"\n'
        '  on          "茶\\u001b[2J🍵"\n'
        '  to          "DE89"\n'
        "  why         paid by hand \N{REPLACEMENT CHARACTER}[31m茶\n"
        f"  asked       {asked_at[:10]} {asked_at[11:19]} UTC\n"
        f"  digest      {waiting['digest'][:12]}\n\n"
    )
    assert redrive("approvals").out == "nothing waits for an approval\n"
    assert redrive("approvals", "--json").out == "[]\n"
    del waiting["asked_at"]
    assert waiting == {
        "run_id": "x",
        "call": 2,
        "position": 9,
        "tool": "pay",
        "arguments": {"cents": 9, "item": "茶\x1b[2J🍵", "to": "DE89"},
        "object": "茶\x1b[2J🍵",
        "destination": "DE89",
        "effect": "write",
        "reason": "paid by hand \x1b[31m茶",
        "digest": waiting["digest"],
        "expires": None,
        "expired": False,
    }


def test_a_denial_from_another_process_is_heard(till: Path, redrive: Redrive) -> None:
    """Nothing is paid, and the run goes on without it."""
    with driven() as process:
        until(asked())
        assert json.loads(redrive("deny", "x", "2", "--json").out)["driven"] is True
        process.communicate(timeout=60)
    assert process.returncode == 1
    assert [getattr(one, "tool", "") for one in events(ToolCalled)] == ["price"]


@pytest.mark.parametrize("written", [PAID, "@arguments.json"])
def test_other_arguments_are_what_is_called(till: Path, redrive: Redrive, written: str) -> None:
    """Given on the line or in a file."""
    (till / "arguments.json").write_text(PAID, encoding="utf-8")
    with driven() as process:
        until(asked())
        assert redrive("approve", "x", "2", "--edit", written).out.endswith(
            "allowed with other arguments by operator\n"
        )
        process.communicate(timeout=60)
    (called,) = [one for one in events(ToolCalled) if getattr(one, "tool", "") == "pay"]
    assert getattr(called, "arguments", None) == json.loads(PAID)


def test_a_waiting_run_that_is_killed_goes_on_with_an_approval_that_came_meanwhile(
    till: Path, redrive: Redrive
) -> None:
    """The question survives its process, is answered while nobody runs, and nothing is asked twice."""
    with driven() as process:
        until(asked())
        process.kill()
        process.wait()
    assert len(json.loads(redrive("approvals", "--json").out)) == 1
    answer = redrive("approve", "x", "2")
    assert answer.code == 0
    assert redrive(*command()[3:]).out == "x  succeeded\nIt is done.\n"
    assert len(events(ApprovalAsked)) == len(events(ApprovalGiven)) == 1
    assert [getattr(one, "tool", "") for one in events(ToolCalled)] == ["price", "pay"]


def test_a_waiting_run_that_is_killed_waits_on_in_the_next_process(till: Path, redrive: Redrive) -> None:
    """And is answered there."""
    with driven() as process:
        until(asked())
        process.kill()
        process.wait()
    with driven() as process:
        told(process, "waits")
        assert redrive("approve", "x", "2").code == 0
        out, _ = process.communicate(timeout=60)
    assert out == "x  succeeded\nIt is done.\n"
    assert len(events(ApprovalAsked)) == 1


def test_who_takes_a_run_up_behind_the_time_denies_what_nobody_allowed(till: Path, redrive: Redrive) -> None:
    """It is listed as over until then, and cannot be answered."""
    left_waiting("hasty")
    until(lambda: json.loads(redrive("approvals", "--json").out)[0]["expired"])
    assert "UTC, which is over" in redrive("approvals").out
    refused = redrive("approve", "x", "2")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("redrive: run x: call 2: its time was over at ")
    assert redrive(*command("hasty")[3:]).code == 1
    rules = [getattr(one, "rule", "") for one in events(VerdictGiven)]
    assert rules == ["looking is free", "a person looks", "approval expired"]
    assert redrive("approve", "x", "2").err == "redrive: run x: has ended (failed)\n"


def test_of_two_processes_that_answer_at_once_one_counts(till: Path, redrive: Redrive) -> None:
    """The other is told who was first; both together are never more than one event."""
    left_waiting()
    line = [sys.executable, "-m", "redrive"]
    both = [
        subprocess.Popen([*line, verb, "x", "2", "--by", by], stderr=subprocess.PIPE, text=True, env=surroundings())
        for verb, by in (("approve", "ana"), ("deny", "bo"))
    ]
    heard = dict(zip(("ana", "bo"), [(one.communicate(timeout=60)[1], one.returncode) for one in both], strict=True))
    (given,) = events(ApprovalGiven)
    assert isinstance(given, ApprovalGiven)
    loser = {"ana": "bo", "bo": "ana"}[given.by]
    problem = f"run x: call 2: it was answered already: {given.answer} by {given.by}"
    assert heard == {given.by: ("", 0), loser: (f"redrive: {problem}\n", 2)}


def test_what_cannot_be_answered(till: Path, redrive: Redrive) -> None:
    """One line, and nothing is appended."""
    left_waiting()
    redrive("export", "x", "-o", "x.jsonl")
    (till / "bytes").write_bytes(b"\xff")
    for arguments, problem in {
        ("approve", "x", "1"): "run x: call 1: nobody asks whether it may be made; call 2 waits for an approval",
        ("deny", "nope", "1"): "run 'nope': no run has this id, or begins with it",
        ("approve", "x", "2", "--edit", "{"): "--edit: not JSON",
        ("approve", "x", "2", "--edit", '{"item":"tea","cents":1,"cents":900}'): "--edit: 'cents' comes twice",
        ("approve", "x", "2", "--edit", "@"): ".: is a directory",
        ("approve", "x", "2", "--edit", "@none.json"): "none.json: no such file or directory",
        ("approve", "x", "2", "--edit", "@bytes"): "bytes: not UTF-8",
        ("approve", "x", "2", "--edit", "7"): "edit: the arguments of a call are a JSON object",
        ("approve", "x", "2", "--edit", '{"item":"tea"}'): "edit: pay: cents is missing",
        ("approve", "x.jsonl", "2"): "x.jsonl: a recording stays as it is: a run in the log is wanted",
    }.items():
        assert redrive(*arguments) == (2, "", f"redrive: {problem}\n")
    assert events(ApprovalGiven) == []


def test_another_digest_is_no_answer(till: Path, redrive: Redrive) -> None:
    """What was seen elsewhere, or earlier, is not what is asked."""
    left_waiting()
    refused = redrive("approve", "x", "2", "--digest", "0123456789ab")
    assert (refused.code, events(ApprovalGiven)) == (2, [])
    assert refused.err.endswith(", not 0123456789ab\n")


def test_a_person_at_the_terminal_answers(till: Path) -> None:
    """What would happen is shown; what is no answer is asked again, and so is what does not fit."""
    ours, theirs = pty.openpty()
    with driven("agent", stdin=theirs) as process:
        os.close(theirs)
        until(asked())
        os.write(ours, b'perhaps\nedit {"item": 1}\nedit ' + PAID.encode() + b"\n")
        out, err = process.communicate(timeout=60)
    os.close(ours)
    assert out == "x  succeeded\nIt is done.\n"
    lines = err.splitlines()
    assert lines[0] == "x  call 2  pay  (write)"
    assert lines[-3].endswith("> yes, no, or edit and all arguments as JSON")
    assert lines[-2] == "> edit: pay: cents is missing"
    assert lines[-1] == "> "


def test_lines_that_end_leave_the_answer_to_others(till: Path, redrive: Redrive) -> None:
    """Stdin is over: the run waits on, and says how it is answered from elsewhere."""
    with driven("agent", "--talk") as process:
        told(process, "redrive approve x 2")
        assert redrive("approve", "x", "2").code == 0
        assert process.communicate(timeout=60)[0] == "x  succeeded\nIt is done.\n"


def test_what_a_child_run_asks_is_told_and_answered(till: Path, redrive: Redrive) -> None:
    """By the name of the child; it is driven with its parent, which goes on with what came back."""
    with driven("planner") as process:
        told(process, "run x/1 waits for an approval of call 2")
        until(lambda: bool(events(ObservationReceived, "x/1")))
        (waiting,) = json.loads(redrive("approvals", "--json").out)
        assert (waiting["run_id"], waiting["call"]) == ("x/1", 2)
        assert redrive("approve", "x/1", "2").out == "x/1  event 11: call 2 allowed by operator\n"
        assert process.communicate(timeout=60)[0] == "x  finished\nIt is done.\n"
    assert process.returncode == 0


def test_a_credential_among_the_arguments_is_not_shown(till: Path, redrive: Redrive) -> None:
    """Unless that is asked for; the digest is that of what would be called, so an answer with it counts."""
    key = "-".join(["sk", "ant", "api03", "x" * 24 + "Q7"])
    source = (till / "till.py").read_text(encoding="utf-8").replace('to="DE89"', f'to="key {key}"')
    (till / "till.py").write_text(source, encoding="utf-8")
    left_waiting()
    for listed in (redrive("approvals").out, redrive("approvals", "--json").out):
        assert key not in listed
        assert "[masked]" in listed
    assert key in redrive("approvals", "--unmasked").out
    (waiting,) = json.loads(redrive("approvals", "--json").out)
    assert redrive("approve", "x", "2", "--digest", waiting["digest"]).code == 0


def test_only_runs_that_ask_are_folded(till: Path, redrive: Redrive, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many have ended or never asked anything: a list must be quick."""
    left_waiting()
    redrive("approve", "x", "2")
    redrive(*command()[3:])
    left_waiting("easy", "y")
    folded: list[str] = []

    def watched(log: SqliteLog, run_id: str, *, unmasked: bool) -> list[object]:
        folded.append(run_id)
        return list(waiting_in(log, run_id, unmasked=unmasked))

    monkeypatch.setattr("redrive.verbs.approvals.waiting_in", watched)
    assert len(json.loads(redrive("approvals", "--json").out)) == 1
    assert folded == ["y"]
