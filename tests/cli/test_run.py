"""`run`: an agent set upon a goal, interrupted, and taken up again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redrive_events import LeaseGranted, ObservationReceived, SqliteLog
from tests.cli.conftest import ROOT, Redrive

SLOW = '''
from pathlib import Path
import time
import redrive as rd

@rd.tool(effect="read", timeout="60s")
def look(n: int) -> str:
    """Look."""
    with Path("asked.txt").open("a") as file:
        file.write(f"{n}\\n")
    if n == 2 and not Path("go").exists():
        time.sleep(60)
    return f"seen {n}"

def script(turn, request):
    return rd.reply("", rd.use("look", n=turn)) if turn < 3 else "done"

agent = rd.Agent("looker", "1", rd.Contract(tools={"look": {}}), tools=[look], model=rd.ScriptedModel(script))
'''
RUN = ["run", "looker:agent", "--goal", "look", "--run-id", "x"]


@pytest.fixture
def looking(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of an agent that has seen one thing and waits for the second."""
    (folder / "looker.py").write_text(SLOW, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "redrive", *RUN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    asked = folder / "asked.txt"
    until = time.monotonic() + 30
    while not (asked.exists() and "2\n" in asked.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    yield process
    process.kill()
    process.communicate()


def test_a_run_prints_its_status_and_answer(redrive: Redrive, folder: Path) -> None:
    """Exit code 0: it succeeded; the same command again only says so."""
    command = ["run", "refund_desk:agent", "--goal", "Refund ord_123", "--principal", "ana", "--run-id", "r-1"]
    assert redrive(*command) == (0, "r-1  succeeded\nRefunded 4900 cents.\n", "")
    assert redrive(*command) == (0, "r-1  succeeded\nRefunded 4900 cents.\n", "")
    said = json.loads(redrive(*command, "--json").out)
    assert said["facts"] == {"iban": "DE89 3704 0044 0532 0130 00", "refunded": 4900}


def test_an_end_of_another_kind_is_a_finding(redrive: Redrive, folder: Path) -> None:
    """Exit code 1, with the reason where there is no answer."""
    (folder / "mute.py").write_text(
        "import redrive as rd\nagent = rd.Agent('mute', '1', rd.Contract(tools={}), model=rd.ScriptedModel([]))\n",
        encoding="utf-8",
    )
    said = redrive("run", "mute:agent", "--goal", "speak", "--run-id", "m-1")
    assert said == (1, "m-1  failed\nmodel: unavailable\n", "")


@pytest.mark.usefixtures("folder")
def test_a_run_is_as_durable_as_it_is_told_to_be(redrive: Redrive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Always, unless something less is asked for by its name."""
    opened: list[object] = []

    def log(path: Path, **settings: Any) -> SqliteLog:
        opened.append(settings["durability"])
        return SqliteLog(path, **settings)

    monkeypatch.setattr("redrive.chosen.SqliteLog", log)
    command = ["run", "refund_desk:agent", "--goal", "Refund ord_123", "--principal", "ana"]
    assert redrive(*command).code == 0
    assert redrive(*command, "--durability", "batched").code == 0
    assert opened == ["always", "batched"]
    problem = "Invalid value for '--durability': 'never' is not one of 'always', 'batched', 'os'."
    assert redrive(*command, "--durability", "never") == (2, "", f"redrive: {problem}\n")


def test_an_id_is_not_taken_twice(redrive: Redrive, refund: str) -> None:
    """Another goal under the same id is refused, and nobody goes on with what was asked on another's behalf."""
    said = redrive("run", "refund_desk:agent", "--goal", "Refund ord_999", "--run-id", refund)
    assert said == (2, "", "redrive: run refund-1: the id is taken by a run of another goal\n")
    said = redrive("run", "refund_desk:agent", "--goal", "Refund ord_123", "--run-id", refund, "--principal", "eve")
    assert said == (2, "", "redrive: run refund-1: the id is taken by a run of another principal\n")


def test_an_error_of_the_agents_own_code_comes_out_as_it_is(redrive: Redrive, folder: Path) -> None:
    """In no group, with how to go on below it: the author has to find the line."""
    (folder / "wrong.py").write_text(
        "import redrive as rd\n"
        "def script(turn, request): return {}['reply']\n"
        "agent = rd.Agent('wrong', '1', rd.Contract(tools={}), model=rd.ScriptedModel(script))\n",
        encoding="utf-8",
    )
    with pytest.raises(KeyError, match="reply") as raised:
        redrive("run", "wrong:agent", "--goal", "speak", "--run-id", "w-1")
    assert raised.value.__notes__ == ["run w-1 is not finished; --run-id w-1 goes on with it"]


def test_a_killed_run_goes_on_from_its_log(redrive: Redrive, folder: Path, looking: subprocess.Popen[str]) -> None:
    """The same command again: what was observed is not asked again."""
    os.kill(looking.pid, signal.SIGKILL)
    looking.wait()
    (folder / "go").touch()
    sys.path[:] = [one for one in sys.path if one != str(folder)]
    assert subprocess.run([sys.executable, "-m", "redrive", *RUN], check=True, capture_output=True).stdout == (
        b"x  finished\ndone\n"
    )
    assert (folder / "asked.txt").read_text() == "1\n2\n2\n"
    log = SqliteLog("redrive.db")
    events = [record.event for record in log.read("x")]
    log.close()
    assert sum(isinstance(event, LeaseGranted) for event in events) == 2
    assert sum(isinstance(event, ObservationReceived) for event in events) == 2
    assert redrive("verify").code == 0
    assert redrive("replay", "x", "--agent", "looker:agent").out.startswith("x  same")


def test_an_interrupted_run_can_go_on(folder: Path, looking: subprocess.Popen[str]) -> None:
    """Ctrl-C ends the command with 130 and one line that says how to go on."""
    looking.send_signal(signal.SIGINT)
    out, err = looking.communicate(timeout=20)
    assert (looking.returncode, out) == (130, "")
    assert err == "redrive: run x is not finished; --run-id x goes on with it\n"


def test_a_run_that_another_worker_holds_is_refused(folder: Path, redrive: Redrive) -> None:
    """In one line, after waiting for the lease once."""
    (folder / "looker.py").write_text(SLOW, encoding="utf-8")
    (folder / "go").touch()
    log = SqliteLog("redrive.db")
    log.hold("x", "somebody", ttl_s=0.5)
    command = [sys.executable, "-m", "redrive", *RUN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < until:
            log.hold("x", "somebody", ttl_s=0.5)
            time.sleep(0.05)
        out, err = process.communicate()
    log.close()
    assert (process.returncode, out) == (2, "")
    assert err == "redrive: run x is driven by another worker (somebody)\n"


def test_the_scenario_of_the_login_redirect(redrive: Redrive, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example of another dialect, by its name."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    said = redrive("run", "login_redirect:agent", "--goal", "Find out why; change nothing.")
    assert said.code == 0
    assert "'return_to'" in said.out
    assert "'next_path'" in said.out


WRONG = """
import sys

class Mute(Exception):
    def __str__(self):
        raise RuntimeError

def leaves():
    sys.exit(0)

def mute():
    raise Mute
"""


@pytest.mark.parametrize(("attribute", "words"), [("leaves", "SystemExit: 0 ("), ("mute", "Mute (")])
def test_an_agent_that_cannot_be_loaded_is_one_line(redrive: Redrive, folder: Path, attribute: str, words: str) -> None:
    """Also where its code leaves the program, or raises what has no text."""
    (folder / "wrong_agents.py").write_text(WRONG, encoding="utf-8")
    said = redrive("run", f"wrong_agents:{attribute}", "--goal", "x")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"redrive: wrong_agents:{attribute}: {words}")
    assert said.err.count("\n") == 1


def test_a_run_may_ask_another_model_than_the_agents_own(redrive: Redrive, folder: Path) -> None:
    """The scripted one over HTTP: the whole way of a provider, with one flag; its replay is the same."""
    command = ["run", "refund_desk:agent", "--goal", "Refund ord_123", "--model", "loopback"]
    for run_id, more in (("r-1", []), ("r-2", ["--stream"])):
        assert redrive(*command, "--run-id", run_id, *more) == (0, f"{run_id}  succeeded\nRefunded 4900 cents.\n", "")
        assert redrive("replay", run_id, "--agent", "refund_desk:agent")[0] == 0


def test_what_a_model_costs_is_a_table_in_a_file(redrive: Redrive, folder: Path) -> None:
    """Without a price for it a limit of cost could not be kept; the run is not begun."""
    command = ["run", "refund_desk:agent", "--goal", "Refund ord_123", "--model", "loopback", "--prices", "p.toml"]
    (folder / "p.toml").write_text("[models.other]\ninput = 1\noutput = 2\n", encoding="utf-8")
    code, out, err = redrive(*command)
    assert (code, out) == (2, "")
    assert err.startswith("redrive: contract.budget.cost: the contract limits cost, and there is no price for ")
    assert not (folder / "redrive.db").exists()
    (folder / "p.toml").write_text("[models.loopback]\ninput = 1\n", encoding="utf-8")
    assert redrive(*command) == (2, "", "redrive: p.toml:1: models.loopback: output is missing\n")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        pytest.param(["--stream"], "--stream: needs --model, which it is about", id="a stream of nothing"),
        pytest.param(["--base-url", "http://a"], "--base-url: needs --model, which it is about", id="a place"),
        pytest.param(
            ["--model", "loopback", "--base-url", "http://a"], "--base-url: loopback is at a place of its own", id="two"
        ),
        pytest.param(["--model", "gpt"], "model gpt: a model is named PROVIDER:NAME, as openai:gpt-5", id="no model"),
        pytest.param(["--principal", "a\udcff"], "--principal: not UTF-8", id="no text"),
        pytest.param(["--prices", "none.toml"], "none.toml: no such file or directory", id="no prices"),
    ],
)
def test_a_model_that_cannot_be_asked_is_a_bad_request(
    redrive: Redrive, folder: Path, options: list[str], problem: str
) -> None:
    """One line, and no log is made."""
    assert redrive("run", "login_redirect:agent", "--goal", "x", *options) == (2, "", f"redrive: {problem}\n")
    assert not (folder / "redrive.db").exists()


def test_a_model_elsewhere(redrive: Redrive, folder: Path) -> None:
    """At the URL of a server that speaks as a provider does."""
    server = "import redrive as rd, looker; s = rd.Loopback(looker.agent.model).__enter__(); print(s.url, flush=True); "
    (folder / "looker.py").write_text(SLOW, encoding="utf-8")
    (folder / "go").touch()
    process = subprocess.Popen(
        [sys.executable, "-c", f"{server}input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        code, out, _ = redrive(*RUN, "--model", "openai-chat:any", "--base-url", url)
        assert (code, out) == (0, "x  finished\ndone\n")
    finally:
        process.communicate("\n", timeout=30)


@pytest.mark.parametrize("run_id", ["trip/2", "trip@notes", "trip/2@notes"])
def test_what_belongs_to_a_run_is_driven_with_it(redrive: Redrive, folder: Path, run_id: str) -> None:
    """A run under the name of a child, or of remarks, would stand in their place."""
    said = redrive("run", "refund_desk:agent", "--goal", "Refund ord_123", "--run-id", run_id)
    assert said == (2, "", f"redrive: run {run_id}: it belongs to run trip, and is driven with it\n")
    assert not (folder / "redrive.db").exists()


PRINTING = '''
import redrive as rd

print("loaded")

@rd.tool(effect="read")
def look() -> str:
    """Look."""
    print("looking")
    return "seen"

model = rd.ScriptedModel([rd.reply("", rd.use("look")), "done"])
agent = rd.Agent("printing", "1", rd.Contract(), tools=[look], model=model)
'''


def test_what_an_agent_prints_does_not_stand_in_the_json(redrive: Redrive, folder: Path) -> None:
    """A program that reads stdout reads one document."""
    (folder / "printing.py").write_text(PRINTING, encoding="utf-8")
    said = redrive("run", "printing:agent", "--goal", "look", "--json", "--run-id", "p-1")
    assert (json.loads(said.out)["answer"], said.err) == ("done", "loaded\nlooking\n")


@pytest.mark.parametrize("option", ["", "--talk"])
def test_a_closed_stdin_says_nothing(folder: Path, option: str) -> None:
    """It is as good as an empty one."""
    (folder / "printing.py").write_text(PRINTING, encoding="utf-8")
    line = f"{sys.executable} -m redrive run printing:agent --goal x --json {option} <&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert (json.loads(done.stdout)["answer"], done.stderr) == ("done", "loaded\nlooking\n")
