"""`whatif`: how far a changed run would surely have come, and what that does to the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import redrive as rd
from redrive_engine import StillClock, Surroundings
from refund_desk import agent
from refund_desk.shop import bank
from tests.cli.conftest import DESK, Redrive

EVERY = "every request to the model would be another one"
AGENT = ["--agent", "refund_desk:agent"]


def test_nothing_changed_is_the_same(redrive: Redrive, refund: str) -> None:
    """Exit code 0, and the recorded effects stand."""
    said = redrive("whatif", refund, *AGENT)
    assert (said.code, said.out.splitlines()[0]) == (0, "refund-1  same")


def test_a_stricter_policy_is_explained(redrive: Redrive, refund: str, snapshot: SnapshotAssertion) -> None:
    """The first flip, the effect that is prevented, what the model would have read, and how to go on."""
    assert redrive("whatif", refund, *AGENT, "--policy", DESK / "stricter.toml") == snapshot


def test_other_rules_may_be_written_in_cedar(redrive: Redrive, refund: str, folder: Path) -> None:
    """As everywhere else that a file of rules is named."""
    written = 'permit(principal, action, resource) when { context.effect == "read" };\n'
    (folder / "looking.cedar").write_text(written, encoding="utf-8")
    said = redrive("whatif", refund, *AGENT, "--policy", "looking.cedar")
    assert "here      14    verdict   2 refund: deny by rule “no rule”" in said.out, said.err


LOOKING = '[[rule]]\nname = "looking is free"\nwhen = { effect = "read" }\nthen = "allow"\n'
NO_ORDERS = '[[rule]]\nname = "no orders"\nwhen = { tool = "find_order" }\nthen = "deny"\ntext = "Ask for the order."\n'
ASKED = LOOKING + '[[rule]]\nname = "a person looks"\nwhen = { tool = "refund" }\nthen = "ask"\n'


@pytest.mark.parametrize(
    ("rules", "more"),
    [
        pytest.param(NO_ORDERS, (), id="a denied read"),
        pytest.param(LOOKING, (), id="a denied write"),
        pytest.param(ASKED, (), id="allow to ask"),
        pytest.param(ASKED, ("--approvals", "grant"), id="allow to ask, and granted"),
        pytest.param("", ("--drop-tool", "refund", "--beyond", "recorded"), id="a dropped tool"),
    ],
)
def test_the_edge_is_explained(
    redrive: Redrive, refund: str, folder: Path, snapshot: SnapshotAssertion, rules: str, more: tuple[str, ...]
) -> None:
    """What flips, what becomes of the recorded effects, what the model would have read, and how to go on."""
    (folder / "other.toml").write_text(rules, encoding="utf-8")
    policy = ("--policy", "other.toml") if rules else ()
    assert redrive("whatif", refund, *AGENT, *policy, *more) == snapshot


def test_deny_to_allow_is_explained(redrive: Redrive, denied: str, snapshot: SnapshotAssertion) -> None:
    """Nobody knows what the tool would have said; what does go on is to say it."""
    assert redrive("whatif", denied, *AGENT) == snapshot


def test_beyond_the_edge_each_assumption_is_numbered(
    redrive: Redrive, refund: str, snapshot: SnapshotAssertion
) -> None:
    """With the reply that the model gave to something else."""
    assert redrive("whatif", refund, *AGENT, "--policy", DESK / "stricter.toml", "--beyond", "recorded") == snapshot


def test_an_import_is_driven_without_its_program(redrive: Redrive, incident: str) -> None:
    """By what grants everything, under the new rules."""
    said = redrive("whatif", incident, "--policy", "stricter.toml", "--json")
    data = json.loads(said.out)
    assert (said.code, data["sureness"]) == (1, "exact to turn")
    assert data["edge"]["request"]["event"] == "model_asked"


def test_what_is_given_is_read_from_files(redrive: Redrive, refund: str, folder: Path) -> None:
    """A tool that fails is given as such."""
    (folder / "gone.txt").write_text("这个订单不存在。", encoding="utf-8")
    said = redrive("whatif", refund, *AGENT, "--set-observation", "1=error:gone.txt")
    assert said.code == 1
    assert "{+这个订单不存在。+}" in said.out


def test_the_newline_at_the_end_of_a_file_is_not_said(redrive: Redrive, refund: str, folder: Path) -> None:
    """Every editor writes one, and no model says it."""
    (folder / "words.txt").write_text("Gone.\n\nSold.\n", encoding="utf-8")
    for given in ("--set-observation", "1=error:words.txt"), ("--set-reply", "2=words.txt"):
        said = json.loads(redrive("whatif", refund, *AGENT, *given, "--json").out)
        assert "Gone.\n\nSold." in [one["content"] for one in said["would_ask"]]


ASKS: dict[str, Any] = {
    "tool": "refund",
    "arguments": {"cents": 4900, "iban": "DE89 3704 0044 0532 0130 00", "order_id": "ord_123"},
}


def test_a_reply_that_is_given_may_call_tools(redrive: Redrive, refund: str, folder: Path) -> None:
    """As JSON with the calls: one that was recorded is answered as it was, another one is judged like any."""
    (folder / "same.json").write_text(json.dumps({"text": "我来退款。", "calls": [ASKS]}), encoding="utf-8")
    same = json.loads(redrive("whatif", refund, *AGENT, "--set-reply", "2=same.json", "--json").out)
    assert same["flip"]["here"]["event"]["content"][0] == {"type": "text", "text": "我来退款。"}
    assert [one["call"] for one in same["effects"]["stand"]] == [2]
    more = {"tool": "refund", "arguments": {**ASKS["arguments"], "cents": 9_900}}
    (folder / "more.json").write_text(json.dumps({"calls": [ASKS, more]}), encoding="utf-8")
    said = json.loads(redrive("whatif", refund, *AGENT, "--set-reply", "2=more.json", "--json").out)
    reply, denied = said["flip"]["here"]["event"], said["would_ask"][-1]
    assert [json.loads(block["arguments"])["cents"] for block in reply["content"]] == [4_900, 9_900]
    assert (denied["role"], denied["content"]) == ("tool", "This call is not allowed.")


def test_json_without_calls_is_words(redrive: Redrive, refund: str, folder: Path) -> None:
    """A model may answer in JSON."""
    (folder / "words.json").write_text('{"text": "Gone.", "call": []}\n', encoding="utf-8")
    said = json.loads(redrive("whatif", refund, *AGENT, "--set-reply", "1=words.json", "--json").out)
    assert said["flip"]["here"]["event"]["content"] == '{"text": "Gone.", "call": []}'


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"calls": {}}, 'is written {"text": WORDS, "calls": [CALL, ...]}'),
        ({"calls": [], "text": 1}, 'is written {"text": WORDS, "calls": [CALL, ...]}'),
        ({"calls": [], "words": "No."}, 'is written {"text": WORDS, "calls": [CALL, ...]}'),
        ({"calls": [ASKS, "refund"]}, 'call 2: is written {"tool": NAME, "arguments": {NAME: VALUE, ...}}'),
        ({"calls": [{"name": "refund"}]}, 'call 1: is written {"tool": NAME, "arguments": {NAME: VALUE, ...}}'),
        (
            {"calls": [{"tool": "refund", "arguments": "{}"}]},
            'call 1: is written {"tool": NAME, "arguments": {NAME: VALUE, ...}}',
        ),
    ],
)
def test_a_reply_that_is_written_otherwise_is_refused(
    redrive: Redrive, refund: str, folder: Path, given: object, problem: str
) -> None:
    """One line that says how it is written, and exit code 2."""
    (folder / "reply.json").write_text(json.dumps(given), encoding="utf-8")
    said = redrive("whatif", refund, *AGENT, "--set-reply", "1=reply.json")
    assert said == (2, "", f"redrive: reply.json: {problem}\n")


def test_what_is_given_and_not_asked_for_is_told(redrive: Redrive, refund: str, folder: Path) -> None:
    """A number that is none of this run's changes nothing, and that is no finding."""
    (folder / "no.txt").write_text("No.", encoding="utf-8")
    given = ("--set-observation", "7=no.txt", "--set-reply", "9=no.txt", "--set-reply", "3=no.txt")
    said = redrive("whatif", refund, *AGENT, *given)
    assert "not used  --set-observation 7, --set-reply 9: nothing asked for it here\n" in said.out
    assert json.loads(redrive("whatif", refund, *AGENT, *given, "--json").out)["unused"] == [
        "--set-observation 7",
        "--set-reply 9",
    ]


def test_a_flip_that_reads_alike_is_told_by_what_differs(redrive: Redrive, refund: str) -> None:
    """Here both sides are a request with one message."""
    said = redrive("whatif", refund, *AGENT, "--model", "other", "--beyond", "recorded")
    assert '/model    (absent) → "other"\n' in said.out


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        pytest.param((), "model", id="alone"),
        pytest.param(("--contract", "free.toml"), "contract, model", id="with another contract"),
    ],
)
def test_another_model_is_told_as_the_model(
    redrive: Redrive, refund: str, folder: Path, more: tuple[str, ...], parts: str
) -> None:
    """Although its name stands in the contract."""
    (folder / "free.toml").write_text(FREE, encoding="utf-8")
    said = redrive("whatif", refund, *AGENT, "--model", "other", "--beyond", "recorded", *more)
    assert said.out.splitlines()[0] == f"changed parts  {parts}"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ["--prompt", "p.txt"],
            f"{EVERY}: it needs --beyond recorded or --live model",
        ),
        (["--set-reply", "x"], "--set-reply: is written NUMBER=FILE, not 'x'"),
        (["--set-reply", "1=nowhere.txt"], "nowhere.txt: no such file or directory"),
        (["--set-observation", "1=p.txt", "--set-observation", "1=p.txt"], "--set-observation: 1 comes twice"),
        (["--set-reply", "1=slip.json"], "slip.json: not JSON"),
        (["--set-reply", "1=latin.txt"], "latin.txt: not UTF-8 at byte 1"),
        (["--model", "gpt-\udcff", "--beyond", "recorded"], "--model: not UTF-8"),
        (["--policy", "nowhere.toml"], "nowhere.toml: no such file or directory"),
        (["--policy", "nowhere.cedar"], "nowhere.cedar: no such file or directory"),
        (["--drop-tool", "ghost", "--beyond", "recorded"], "no tool 'ghost' to drop; there are find_order, refund"),
    ],
)
def test_what_cannot_be_changed(
    redrive: Redrive, refund: str, folder: Path, arguments: list[str], problem: str
) -> None:
    """One line, and exit code 2."""
    (folder / "p.txt").write_text("Be brief.", encoding="utf-8")
    (folder / "slip.json").write_text('{"calls": [],}', encoding="utf-8")
    (folder / "latin.txt").write_bytes(b"a\xe9")
    assert redrive("whatif", refund, *AGENT, *arguments) == (2, "", f"redrive: {problem}\n")


def test_a_run_without_a_program_cannot_be_driven(redrive: Redrive, refund: str) -> None:
    """Never from a name in the log."""
    said = redrive("whatif", refund)
    assert said == (3, "", "redrive: no program for agent 'refund-desk'; give --agent\n")


FREE = 'on_denied = "block"\non_unknown = "block"\n'
MOODY = """
import refund_desk, redrive as rd
from refund_desk import desk

def says(turn, request):
    brief = "brief" in str(request.messages[0].content) or request.model == "small"
    return rd.reply("No.") if brief else desk.script[min(turn, 3) - 1]

def agent(**more):
    tools, verifiers = [desk.find_order, desk.refund], [desk.right_order, desk.right_sum]
    policy = desk.Path(desk.__file__).with_name("policy.toml")
    return rd.Agent("refund-desk", "1", desk.contract, tools=tools, verifiers=verifiers, policy=policy,
                    model=rd.ScriptedModel(says), **more)

short = rd.Agent("refund-desk", "1", rd.Contract(budget=rd.Budget(steps=1)), model=rd.ScriptedModel(says),
                 tools=[desk.find_order, desk.refund])
masked = lambda: agent(mask=rd.Mask("0123456789abcdef"))
"""
FILES = {
    "free.toml": FREE,
    "short.toml": "budget = { steps = 1 }\n",
    "strict.toml": 'on_refused = "fail"\n',
    "looking.toml": LOOKING,
    "asked.toml": ASKED,
    "no.txt": "No.",
    "brief.txt": "Be brief. 简短。",
    "other.json": '{"id":"ord_9","item":"bell","paid_cents":1,"iban":"DE"}',
    "moody.py": MOODY,
}
LIVE = ("--agent", "moody:agent", "--contract", "free.toml", "--live", "model")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        pytest.param((*AGENT, "--contract", "free.toml", "--policy", "looking.toml"), "blocked", id="policy"),
        pytest.param((*AGENT, "--contract", "short.toml"), "exhausted", id="contract"),
        pytest.param(
            (*AGENT, "--contract", "strict.toml", "--set-observation", "1=other.json"), "failed", id="observation"
        ),
        pytest.param((*AGENT, "--contract", "free.toml", "--set-reply", "1=no.txt"), "finished", id="reply"),
        pytest.param((*LIVE, "--prompt", "brief.txt"), "finished", id="prompt"),
        pytest.param((*LIVE, "--model", "small"), "finished", id="model"),
        pytest.param(
            (*AGENT, "--contract", "free.toml", "--drop-tool", "refund", "--beyond", "recorded"),
            "blocked",
            id="dropped tool",
        ),
        pytest.param(("--agent", "moody:short"), "exhausted", id="agent"),
        pytest.param(
            (*AGENT, "--contract", "free.toml", "--policy", "asked.toml", "--approvals", "refuse"),
            "blocked",
            id="approvals",
        ),
        pytest.param(
            (*AGENT, "--policy", "asked.toml", "--approvals", "grant", "--set-reply", "3=no.txt"),
            "succeeded",
            id="three of them, of which none does it",
        ),
    ],
)
def test_each_option_can_change_the_end(
    redrive: Redrive, refund: str, folder: Path, arguments: tuple[str, ...], status: str
) -> None:
    """Without it the run succeeds."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    said = redrive("whatif", refund, *arguments, "--json")
    data = json.loads(said.out)
    assert (said.code, data["status"], data["recorded_status"], data["edge"]) == (1, status, "succeeded", None)


def test_the_living_are_asked_where_that_is_said(redrive: Redrive, refund: str, folder: Path) -> None:
    """The desk's own model says its third reply to a denial; no tool of it acts."""
    (folder / "moody.py").write_text(MOODY, encoding="utf-8")
    paid = dict(bank.payments)
    said = redrive("whatif", refund, "--agent", "moody:agent", "--policy", DESK / "stricter.toml", "--live", "model")
    assert said.code == 1
    assert "1  turn 3: the model says now what it would have said then" in said.out
    assert bank.payments == paid


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            [*AGENT, "--live", "writes"],
            "--live writes: it acts for real, which no replay undoes: say --effects-are-real too",
        ),
        ([*AGENT, "--live", "model", "--effects-are-real"], "--effects-are-real: nothing acts without --live writes"),
    ],
)
def test_nothing_acts_without_both_words(redrive: Redrive, refund: str, arguments: list[str], problem: str) -> None:
    """One line, and exit code 2."""
    assert redrive("whatif", refund, *arguments) == (2, "", f"redrive: {problem}\n")


def test_an_import_has_nobody_to_ask(redrive: Redrive, incident: str) -> None:
    """Its program grants everything, but is no agent."""
    problem = "--live: there is no agent to ask; give --agent"
    assert redrive("whatif", incident, "--live", "model") == (2, "", f"redrive: {problem}\n")


TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_credential_that_is_given_is_not_shown(
    redrive: Redrive, refund: str, folder: Path, form: tuple[str, ...]
) -> None:
    """Also of a run without a mask, unless that is said."""
    (folder / "token.txt").write_text(f"The token is {TOKEN}", encoding="utf-8")
    arguments = ("whatif", refund, *AGENT, "--set-observation", "1=error:token.txt", *form)
    assert TOKEN not in redrive(*arguments).out
    assert "[masked]" in redrive(*arguments).out
    assert TOKEN in redrive(*arguments, "--unmasked").out


def test_what_is_given_to_a_masked_agent_is_masked(redrive: Redrive, refund: str, folder: Path) -> None:
    """By the mask of the agent, before anything reads it."""
    (folder / "moody.py").write_text(MOODY, encoding="utf-8")
    (folder / "token.txt").write_text(f"The token is {TOKEN}", encoding="utf-8")
    given = ("--set-observation", "1=error:token.txt", "--unmasked")
    said = redrive("whatif", refund, "--agent", "moody:masked", *given)
    assert TOKEN not in said.out
    assert "masked-secret-" in said.out
    assert not list(folder.glob("*.vault"))


@pytest.fixture
def denied(folder: Path) -> str:
    """A run of the refund desk under the stricter rules; its id."""
    stricter = rd.Agent(
        "refund-desk",
        "1",
        agent.contract,
        tools=list(agent.tools.values()),
        verifiers=agent.verifiers,
        policy=DESK / "stricter.toml",
        model=agent.model,
    )
    around = Surroundings.fixed(StillClock())
    log = rd.SqliteLog("redrive.db")
    run = stricter.run(
        "Refund ord_123", principal="ana", tenant="velo", log=log, run_id="refund-2", surroundings=around
    )
    log.close()
    return run.run_id
