"""`policy check` and `policy explain`: what is wrong with rules, and why a call was judged as it was."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from redrive_engine import Happened, append_of, approve
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_events import Record, SignalsHeard, SqliteLog, Terms
from redrive_projections import fold
from redrive_replays import appends
from tests.cli.conftest import DESK, Redrive
from tests.shop import NOON, recorded, shop

AGENT = ["--agent", "refund_desk:agent"]

IDLE = """\
[[rule]]
name = "all reads"
when = { effect = "read" }
then = "allow"

[[rule]]
name = "one of them"
when = { tool = "find_order", arguments.order_id = "ord_1" }
then = "ask"

[[rule]]
name = "too narrow"
when = { tool = "refund", arguments.cents = { at_least = 5, at_most = 4 } }
then = "deny"

[[rule]]
name = "misspelt"
when = { tool = "refnd", facts.account = "DE1" }
then = "deny"
"""

ASKS = """\
[[rule]]
name = "no more than this"
reason = "the limit of the month"
when = { tool = "pay", arguments.cents = { at_least = 6 } }
then = "edit"
set = { arguments.cents = 5 }

[[rule]]
name = "not after hours"
when = { hour = { at_least = 20 } }
then = "deny"

[[rule]]
name = "someone looks"
when = { principal = "ana" }
then = "ask"
"""


@pytest.fixture
def idle(folder: Path) -> Path:
    """A file of rules that have something wrong with them."""
    file = folder / "idle.toml"
    file.write_text(IDLE, encoding="utf-8")
    return file


def kept(records: list[Record]) -> SqliteLog:
    """A log of the run, append by append."""
    log = SqliteLog("redrive.db")
    for append in appends(records):
        log.append("run", append, expected=append[0].position - 1)
    return log


@pytest.fixture
def asking(folder: Path) -> str:
    """A run in which a rule edits a payment and another asks about it, and a person allows it."""
    program = shop(Terms(), policy=RulesPolicy.from_toml(ASKS))
    log = kept(recorded(program, reply("", use("pay", item="tea", cents=9))))
    approve(log, "run", 1, by="bo", at=NOON + timedelta(seconds=9))
    heard = append_of(program, fold(log.read("run")), Happened(SignalsHeard(), NOON + timedelta(seconds=10)))
    log.append("run", heard, expected=heard[0].position - 1)
    log.close()
    return "run"


def test_sound_rules(redrive: Redrive, folder: Path) -> None:
    """Nothing is found, by themselves or for their agent."""
    for more in ([], AGENT):
        assert redrive("policy", "check", DESK / "policy.toml", *more) == (0, "3 rules, 0 findings\n", "")


def test_what_is_wrong_with_rules(redrive: Redrive, idle: Path, snapshot: SnapshotAssertion) -> None:
    """Line by line: less by themselves than for an agent."""
    assert redrive("policy", "check", idle) == snapshot(name="alone")
    assert redrive("policy", "check", idle, *AGENT) == snapshot(name="for an agent")
    said = redrive("policy", "check", idle, *AGENT, "--json")
    assert (said.code, json.loads(said.out)) == snapshot(name="as data")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(["check", "gone.toml"], "gone.toml: no such file or directory", id="no file"),
        pytest.param(["check", "bad.toml"], "bad.toml:1: no such table 'x'; there is [[rule]]", id="no rules"),
        pytest.param(["check", "bad.cedar"], "bad.cedar:1: not Cedar: invalid variable: maybe", id="no Cedar"),
        pytest.param(["check"], "Missing argument 'FILE'.", id="no argument"),
        pytest.param([], "Missing command.", id="no command"),
        pytest.param(["why"], "No such command 'why'.", id="no such command"),
        pytest.param(
            ["explain", "refund-1", "0"],
            "Invalid value for 'CALL': Input should be greater than or equal to 1",
            id="call 0",
        ),
        pytest.param(
            ["explain", "refund-1", "9"], "run refund-1: no verdict on call 9; there are verdicts on 1, 2", id="call 9"
        ),
        pytest.param(
            ["explain", "refund-1", "1", "--policy", "bad.toml"],
            "bad.toml:1: no such table 'x'; there is [[rule]]",
            id="no policy",
        ),
        pytest.param(["explain", "other", "1"], "run 'other': no run has this id, or begins with it", id="no run"),
    ],
)
def test_a_bad_request(redrive: Redrive, refund: str, folder: Path, arguments: list[str], problem: str) -> None:
    """One line, and nothing else."""
    (folder / "bad.toml").write_text("x = 1\n", encoding="utf-8")
    (folder / "bad.cedar").write_text("permit(principal, action, resource) when { maybe };\n", encoding="utf-8")
    assert redrive("policy", *arguments) == (2, "", f"redrive: {problem}\n")


@pytest.mark.parametrize("call", [1, 2])
def test_why_a_call_was_allowed(redrive: Redrive, refund: str, call: int, snapshot: SnapshotAssertion) -> None:
    """Contract first, then rule by rule with what was compared, up to the one that decided."""
    assert redrive("policy", "explain", refund, str(call), *AGENT) == snapshot(name="told")
    assert json.loads(redrive("policy", "explain", refund, str(call), *AGENT, "--json").out) == snapshot(name="as data")


def test_without_the_agent_it_is_what_the_log_says(redrive: Redrive, refund: str, snapshot: SnapshotAssertion) -> None:
    """Which is said."""
    assert redrive("policy", "explain", refund, "2") == snapshot


def test_by_another_policy(redrive: Redrive, refund: str, snapshot: SnapshotAssertion) -> None:
    """The same call at the same moment, by other rules."""
    assert redrive("policy", "explain", refund, "2", "--policy", DESK / "stricter.toml", *AGENT) == snapshot


def test_by_a_policy_in_cedar(redrive: Redrive, refund: str, folder: Path, snapshot: SnapshotAssertion) -> None:
    """One look, at all that it read."""
    written = 'permit(principal == User::"ana", action, resource) when { context.arguments.cents < 9000 };\n'
    (folder / "desk.cedar").write_text(written, encoding="utf-8")
    assert redrive("policy", "explain", refund, "2", "--policy", "desk.cedar", *AGENT) == snapshot


def test_an_import(redrive: Redrive, incident: str, snapshot: SnapshotAssertion) -> None:
    """It recorded no policy: the contract decided; another policy would have."""
    assert redrive("policy", "explain", incident, "2") == snapshot(name="as recorded")
    assert redrive("policy", "explain", incident, "2", "--policy", "stricter.toml") == snapshot(name="by other rules")


def test_each_verdict_on_a_call(redrive: Redrive, asking: str, snapshot: SnapshotAssertion) -> None:
    """An edit, the question that follows from it, and what came of the answer; the rules are those in the log."""
    assert redrive("policy", "explain", asking, "1") == snapshot


def test_a_credential_is_shown_when_it_is_asked_for(redrive: Redrive, folder: Path) -> None:
    """Whether the run was masked or not, in words and as data."""
    secret = f"ghp_{'x9' * 18}"
    program = shop(Terms(), policy=RulesPolicy.from_toml(ASKS))
    kept(recorded(program, reply("", use("pay", item=secret, cents=3)))).close()
    for more in ([], ["--json"]):
        assert secret not in redrive("policy", "explain", "run", "1", *more).out
        assert secret in redrive("policy", "explain", "run", "1", "--unmasked", *more).out
