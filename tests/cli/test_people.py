"""People at the command line: what they say to a run from elsewhere, or where it is driven; what they are handed."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redrive_events import CancelRequested, MessageReceived, PersonAsked, RunEnded, SqliteLog
from tests.cli.conftest import Redrive
from tests.processes import surroundings

CHAT = '''
import redrive as rd

@rd.tool(effect="read", timeout="60s")
def price(item: str) -> int:
    """The price."""
    return 5

@rd.verifier(price, commits=["price"])
def right(call: rd.Call, seen: int, facts: rd.Facts) -> rd.Facts | rd.Refused:
    return {"price": seen}

def script(turn, request):
    last = [one.content for one in request.messages if one.role in ("user", "system")][-1]
    if turn == 1:
        return rd.reply("", rd.use("price", item="茶"))
    if last == "help":
        return rd.reply("", rd.use("escalate", reason="Which 茶?"))
    if last == "Bye.":
        return rd.reply("", rd.use("finish", answer="It was a pleasure."))
    return f"And “{last}”?"

def chat(**terms):
    contract = rd.Contract(tools={"price": {}}, ways_out=["finish", "escalate"], **terms)
    return rd.Agent("chat", "1", contract, tools=[price], verifiers=[right], model=rd.ScriptedModel(script))

agent = chat(dialogue=True)
hasty = chat(dialogue=True, person_waits="300ms")
helpless = chat(escalation="end")
'''


@pytest.fixture
def chat(folder: Path) -> Path:
    """A folder with an agent that talks."""
    (folder / "chat.py").write_text(CHAT, encoding="utf-8")
    sys.modules.pop("chat", None)
    return folder


def command(agent: str = "agent", *more: str, goal: str = "hi") -> list[str]:
    """A run of it."""
    return [sys.executable, "-m", "redrive", "run", f"chat:{agent}", "--goal", goal, "--run-id", "x", *more]


@contextmanager
def driven(*more: str, goal: str = "hi") -> Iterator[subprocess.Popen[str]]:
    """The run in a process of its own, without a terminal."""
    arguments = command("agent", *more, goal=goal)
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=surroundings()
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(holds: Callable[[], bool]) -> None:
    """Wait for it, for so long as a busy machine may take."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def asked(times: int = 1) -> bool:
    """Whether the run has asked for a person so often."""
    if not Path("redrive.db").exists():
        return False
    log = SqliteLog("redrive.db")
    try:
        return sum(isinstance(record.event, PersonAsked) for record in log.read("x")) == times
    finally:
        log.close()


def events(kind: type) -> list[object]:
    """The run's events of a kind."""
    log = SqliteLog("redrive.db")
    try:
        return [record.event for record in log.read("x") if isinstance(record.event, kind)]
    finally:
        log.close()


def test_words_from_another_process_go_into_a_run(chat: Path, redrive: Redrive) -> None:
    """The run tells that it waits and how to speak, hears what is said, and ends; after that nobody is heard."""
    with driven() as process:
        assert process.stderr is not None
        told = [process.stderr.readline()]
        assert redrive("say", "x", "Tea, please.") == (0, "x  event 15: said as the user\n", "")
        told.append(process.stderr.readline())
        assert json.loads(redrive("say", "x", "Bye.", "--json").out)["driven"] is True
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "x  finished\nIt was a pleasure.\n", "")
    assert told == [
        'redrive: run x waits for the user: And “hi”? (redrive say x "…" answers)\n',
        'redrive: run x waits for the user: And “Tea, please.”? (redrive say x "…" answers)\n',
    ]
    for verb in (("say", "x", "Hello?"), ("cancel", "x")):
        assert redrive(*verb) == (2, "", "redrive: run x: has ended (finished)\n")


def test_words_wait_for_whoever_drives_the_run_next(chat: Path, redrive: Redrive) -> None:
    """A run that nobody drives is spoken to all the same; a later process goes on with the words."""
    with driven() as process:
        until(asked)
        process.kill()
    said = redrive("say", "x", "Bye.", "--last")
    assert said.code == 0
    until(lambda: "driven" not in redrive("runs").err)
    assert redrive(*command()[3:]).out == "x  finished\n"
    assert events(MessageReceived) == [MessageReceived(actor="user", content="Bye.", last=True)]


def test_a_run_is_cancelled_from_another_process(chat: Path, redrive: Redrive) -> None:
    """It stops before its next action, and says for what reason."""
    with driven() as process:
        until(asked)
        assert redrive("cancel", "x", "--reason", "enough").out == "x  event 15: asked to stop by operator\n"
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "x  cancelled\nenough\n")
    assert events(CancelRequested) == [CancelRequested(by="operator", reason="enough")]


def test_an_escalation_is_answered_by_the_operator_unless_said_otherwise(chat: Path, redrive: Redrive) -> None:
    """Whom the run waits for is who speaks; `--as` says it is somebody else, for whom it does not wait."""
    with driven(goal="help") as process:
        until(asked)
        assert redrive("say", "x", "Hello?", "--as", "user").code == 0
        assert redrive("show", "x", "--handover").out.splitlines()[:3] == [
            "run    x, handed over at event 14",
            "why    Which 茶?",
            "asked  help",
        ]
        assert redrive("say", "x", "Go on.").code == 0
        until(lambda: asked(2))
        assert redrive("say", "x", "Bye.").code == 0
        process.communicate(timeout=60)
    assert [getattr(one, "actor", "") for one in events(MessageReceived)] == ["user", "operator", "user"]


def test_lines_of_stdin_are_what_a_person_says(chat: Path) -> None:
    """Each when it is asked for; empty ones say nothing, and the end is the last word."""
    lines = "Tea.\n\n  help\nGo on.\nMilk."
    done = subprocess.run(
        command("agent", "--talk"), input=lines, capture_output=True, text=True, check=False, env=surroundings()
    )
    assert (done.returncode, done.stdout) == (0, "x  finished\n")
    assert [(getattr(one, "actor", ""), getattr(one, "content", "")) for one in events(MessageReceived)] == [
        ("user", "Tea."),
        ("user", "help"),
        ("operator", "Go on."),
        ("user", "Milk."),
        ("user", ""),
    ]
    assert 'price(item="茶")  → ok' in done.stderr, "whoever takes over is shown what was tried"


def test_what_is_said_is_shown_as_it_is_asked_for(
    chat: Path, redrive: Redrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent's words, then a prompt; a line that comes in two pieces is one."""
    ours, theirs = os.pipe()
    with os.fdopen(ours) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(theirs, "help\n继续".encode()[:-1])

        def finish() -> None:
            until(lambda: asked(2))
            os.write(theirs, "继续".encode()[-1:] + b"\nBye.\n")
            os.close(theirs)

        speaker = threading.Thread(target=finish)
        speaker.start()
        said = redrive(*command("agent", "--talk")[3:])
        speaker.join()
    assert (said.code, said.out) == (0, "x  finished\nIt was a pleasure.\n")
    assert said.err.startswith("And “hi”?\n> run    x, handed over at event 20\nwhy    Which 茶?\n")
    assert said.err.endswith("\n> And “继续”?\n> ")


def test_a_file_can_be_what_is_said(chat: Path) -> None:
    """It cannot be waited for, and need not be."""
    (chat / "words.txt").write_text("Tea.\nBye.\n", encoding="utf-8")
    with (chat / "words.txt").open() as words:
        done = subprocess.run(
            command("agent", "--talk"), stdin=words, capture_output=True, text=True, check=False, env=surroundings()
        )
    assert (done.returncode, done.stdout) == (0, "x  finished\nIt was a pleasure.\n")


def test_at_a_terminal_a_run_is_talked_with(chat: Path) -> None:
    """Without an option: what the agent says is shown, and a line answers it."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings()
    ) as process:
        os.close(theirs)
        until(asked)
        os.write(ours, "再见\n".encode())
        until(lambda: asked(2))
        os.write(ours, b"Bye.\n")
        out, err = process.communicate(timeout=60)
    os.close(ours)
    assert out == "x  finished\nIt was a pleasure.\n"
    assert err == "And “hi”?\n> And “再见”?\n> "


def test_a_person_who_does_not_speak_in_time_is_handed_the_run(chat: Path, redrive: Redrive) -> None:
    """It ends as escalated; what was known and tried is in the log, and shown."""
    said = redrive(*command("hasty")[3:])
    assert (said.code, said.out) == (1, "x  escalated\nno word from the user in time\n")
    shown = redrive("show", "x", "--handover")
    assert shown.out == (
        "run    x, handed over at event 16\n"
        "why    no word from the user in time\n"
        "asked  hi\n"
        "\nknown\n  price  5\n"
        '\ntried\n  1  price(item="茶")  → ok\n'
    )
    assert json.loads(redrive("show", "x", "--handover", "--json").out) == {
        "run_id": "x",
        "position": 16,
        "reason": "no word from the user in time",
        "expires": None,
        "asked": "hi",
        "known": {"price": 5},
        "tried": [{"call": 1, "tool": "price", "outcome": "ok", "arguments": {"item": "茶"}}],
        "open": [],
    }


def test_a_handover_that_never_was_is_not_shown(chat: Path, redrive: Redrive) -> None:
    """In one line; and only one thing is shown at a time."""
    redrive(*command("helpless")[3:])
    assert redrive("show", "x", "--handover").err == "redrive: run x: nobody was asked to take it over\n"
    assert redrive("show", "x", "--handover", "--at", "1").code == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("say", "x"), "WORDS: give the words, or --last"),
        (("say", "nope", "hi"), "run 'nope': no run has this id, or begins with it"),
        (("cancel", "nope"), "run 'nope': no run has this id, or begins with it"),
        (("say", "x.jsonl", "hi"), "x.jsonl: a recording stays as it is: a run in the log is wanted"),
    ],
)
def test_what_cannot_be_said(chat: Path, redrive: Redrive, arguments: tuple[str, ...], problem: str) -> None:
    """One line, and nothing is appended."""
    redrive(*command("helpless")[3:])
    redrive("export", "x", "-o", "x.jsonl")
    assert redrive(*arguments) == (2, "", f"redrive: {problem}\n")
    assert len(events(RunEnded)) == 1
