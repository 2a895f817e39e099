"""Masked runs: who may go on with them, who may open what, and what tools, models, policies and verifiers are given."""
# ruff: noqa: ARG001 - a fake need not look at all that it is given

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import pytest
from pydantic import Field

import redrive as rd
from redrive_engine.masking import Door
from redrive_engine.models import reply, use
from redrive_events import (
    BadInput,
    FactCommitted,
    Json,
    MemoryLog,
    ModelReplied,
    ObservationReceived,
    Opaque,
    Text,
    Thinking,
    ToolCalled,
    VerdictGiven,
    canonical,
)
from redrive_replays import replay_records
from tests.engine.masking.secrets_of_tests import PASSWORD
from tests.masked_killed import ADDRESS, KEY, desk, run
from tests.masked_story import now
from tests.processes import surroundings

Said: TypeAlias = ModelReplied | str | Callable[[rd.ModelRequest], ModelReplied] | None


def mask(vault: rd.Vault | None = None, key: bytes = KEY) -> rd.Mask:
    """Masks credentials, addresses and telephone numbers."""
    return rd.Mask(key, classes=["email", "phone"], vault=vault)


def token(value: str, tenant: str = "") -> str:
    """What stands for an address or a number."""
    return Door(mask(), tenant=tenant).text(value)


class Sender:
    """An agent that sends something; ``given`` is what its tools were given, ``read`` what its model read."""

    def __init__(self, *replies: Said, found: Json = None, **settings: Any) -> None:
        self.given: list[Json] = []
        self.read: list[rd.ModelRequest] = []

        @rd.tool(effect="read")
        def look() -> Any:
            """Look."""
            return found

        @rd.tool(effect="write", destination="to")
        def send(
            to: Annotated[str, Field(pattern=r"^[a-z]+@[a-z.]+$")],
            number: int = 0,
            secret: str = "",
            *,
            call: rd.Call,
        ) -> dict[str, Json]:
            """Send."""
            self.given.append({"to": to, "number": number, "secret": secret})
            assert call.arguments["to"] == to
            return {"sent": to, "with": secret}

        @rd.tool(effect="write")
        def trust(to: rd.Grounded[str]) -> str:
            """Send to an address that was not made up."""
            self.given.append(to)
            return "sent"

        @rd.verifier(send, commits=["sent"])
        def sent(call: rd.Call, seen: dict[str, Any], facts: rd.Facts) -> rd.Facts | rd.Refused:
            """It went where it was to go."""
            return {"sent": seen["sent"]} if seen["sent"] == call.arguments["to"] else rd.Refused("elsewhere")

        async def ask(request: rd.ModelRequest) -> ModelReplied:
            self.read.append(request)
            said = replies[request.turn - 1]
            if callable(said):
                return said(request)
            assert said is not None, "that was said before"
            return reply(said) if isinstance(said, str) else said

        self.ask = ask
        contract = settings.pop("contract", rd.Contract())
        self.agent = rd.Agent(
            "sender", "1", contract, tools=[look, send, trust], verifiers=[sent], model=self, **settings
        )

    def run(self, goal: str = "Send it", log: rd.MemoryLog | None = None, **settings: Any) -> rd.Run:
        """A masked run, which replays as it is."""
        settings = {"mask": mask(), "run_id": "run", **settings}
        done = self.agent.run(goal, log=log or MemoryLog(), **settings)
        assert replay_records("run", done.records(), self.agent.program).same
        return done


def of(kind: type, done: rd.Run) -> list[Any]:
    """The events of a kind."""
    return [record.event for record in done.records() if type(record.event) is kind]


def test_a_tool_is_given_the_value_and_nobody_else() -> None:
    """As it was seen first, with a number where the tool wants one; the model, verifiers and the log have others."""
    found = {"to": ADDRESS, "number": 13800002222, "password": PASSWORD}
    to, number = token(ADDRESS), token("13800002222")
    secret = Door(mask()).json(found)["password"]
    sender = Sender(
        reply("", use("look")), reply("", use("send", to=to, number=number, secret=secret)), "Done.", found=found
    )
    masks = mask()
    done = sender.run(mask=masks)
    assert sender.given == [{"to": ADDRESS, "number": 13800002222, "secret": PASSWORD}]
    assert of(FactCommitted, done)[0].value == to
    everything = "".join(canonical(record).decode() for record in done.records()) + repr(sender.read)
    assert not any(word in everything for word in (ADDRESS, "13800002222", PASSWORD))
    assert rd.opened(done.log, "run", {"to": to}, mask=masks) == {"to": ADDRESS}


@pytest.mark.parametrize(
    ("to", "problem"),
    [
        pytest.param(token(ADDRESS), "", id="its value fits"),
        pytest.param(token("13800002222"), "send: to: a text that matches ^[a-z]+@[a-z.]+$ is expected", id="another"),
    ],
)
def test_a_value_is_held_against_the_schema_where_the_tool_is_called(to: str, problem: str) -> None:
    """A placeholder may stand for anything, so it is allowed; the tool is given nothing that does not fit."""
    sender = Sender(reply("", use("send", to=to)), "Done.")
    done = sender.run(f"Send it to {ADDRESS}, not 13800002222")
    assert [one.verdict for one in of(VerdictGiven, done)] == ["allow"]
    assert [one.content for one in of(ObservationReceived, done) if one.status == "error"] == [problem] * bool(problem)
    assert len(sender.given) == (not problem)


def test_what_is_no_placeholder_is_held_against_the_schema_as_ever() -> None:
    """Beside one, too."""
    sender = Sender(reply("", use("send", to="nobody", number=token("13800002222"), more=1)), "Done.")
    [verdict] = of(VerdictGiven, sender.run("Call 13800002222"))
    assert verdict.reason == (
        "to: a text that matches ^[a-z]+@[a-z.]+$ is expected; more: no such argument; there are: to, number, secret"
    )


@pytest.mark.parametrize(("address", "verdict"), [(ADDRESS, "allow"), ("eve@evil.example", "deny")])
def test_a_policy_judges_the_domain_of_an_address(address: str, verdict: str, tmp_path: Path) -> None:
    """By the same rule that judges addresses that are not masked."""
    (tmp_path / "policy.toml").write_text(
        '[[rule]]\nname = "ours"\nwhen = { tool = "send", destination = { matches = ".*@example\\\\.com" } }\n'
        'then = "allow"\n'
    )
    policy = rd.RulesPolicy.from_toml(tmp_path / "policy.toml")
    for masks in (mask(), None):
        to = token(address) if masks else address
        sender = Sender(reply("", use("send", to=to)), "Done.", policy=policy)
        done = sender.run(f"Send it to {address}", mask=masks)
        assert [one.verdict for one in of(VerdictGiven, done)] == [verdict]
        assert [one["to"] for one in sender.given] == [address] * (verdict == "allow")


def test_a_placeholder_with_a_domain_that_is_allowed_opens_no_other_address(tmp_path: Path) -> None:
    """A model that writes it so has written another value."""
    to = token("eve@evil.example").replace("evil.example", "example.com")
    sender = Sender(reply("", use("send", to=to)), "Done.")
    done = sender.run("Send it to eve@evil.example")
    assert sender.given == []
    assert [one.error for one in of(ObservationReceived, done)] == ["sealed value lost"]


@pytest.mark.parametrize(
    "denied",
    [
        'destination = "ana@example.com"',
        'destination = { one_of = ["bo@example.com", "ana@example.com"] }',
        'destination = { matches = "ana@.*" }',
        'arguments.to = "Ana@Example.com"',
    ],
)
def test_a_mask_gets_nothing_past_a_list_of_what_is_denied(denied: str) -> None:
    """Nobody can say whether the masked address is the one, so no later rule is asked; one elsewhere passes."""
    rules = f'[[rule]]\nname = "never"\nwhen = {{ {denied} }}\nthen = "deny"\n'
    policy = rd.RulesPolicy.from_toml(f'{rules}[[rule]]\nname = "else"\nwhen = {{}}\nthen = "allow"\n')
    for address, passes in (("ana@example.com", False), ("eve@evil.example", "matches" not in denied)):
        sender = Sender(reply("", use("send", to=token(address))), "Done.", policy=policy)
        sender.run(f"Send it to {address}")
        assert [one["to"] for one in sender.given] == [address] * passes


@pytest.mark.parametrize(
    ("said", "to"), [("evil.example/x", "https://{}.example.com/"), ("eve@evil.example,x", "{}@example.com")]
)
def test_a_masked_value_in_an_address_of_ours_brings_no_host_of_its_own(said: str, to: str) -> None:
    """Whatever stands behind a telling name is masked, and so may be the end of a host."""
    given: list[str] = []

    @rd.tool(effect="write", destination="to")
    def put(to: str) -> None:
        """Put it there."""
        given.append(to)

    def obeys(_: int, request: rd.ModelRequest) -> ModelReplied:
        [secret] = re.findall(r"masked-secret-[0-9a-f]{16}", str(request.messages))[:1]
        return reply("", use("put", to=to.format(secret)))

    rules = 'when = { destination = { domain_one_of = ["example.com", "*.example.com"] } }'
    policy = rd.RulesPolicy.from_toml(f'[[rule]]\nname = "ours"\n{rules}\nthen = "allow"\n')
    contract = rd.Contract(budget=rd.Budget(steps=1))
    agent = rd.Agent("desk", "1", contract, tools=[put], policy=policy, model=rd.ScriptedModel(obeys))
    agent.run(f"password: {said}\nPut it there.", log=MemoryLog(), mask=rd.Mask(KEY))
    assert given == []


def test_the_contract_knows_a_value_that_was_made_up() -> None:
    """What stands in the goal is given, in whatever spelling; another placeholder is not."""
    sender = Sender(
        reply("", use("trust", to=token(ADDRESS.upper()))), reply("", use("trust", to=token("a@b.cd"))), "Done."
    )
    done = sender.run(f"Send it to {ADDRESS}")
    assert [(one.verdict, one.rule) for one in of(VerdictGiven, done)] == [("allow", "granted"), ("deny", "grounded")]
    assert sender.given == [ADDRESS]


@pytest.mark.parametrize("found", ["call 13800002222 now", {"call": "13800002222"}, ["13800002222"] * 2])
def test_what_is_cut_was_masked_before(found: Json) -> None:
    """The half of a number is found by nobody, and says enough."""

    @rd.tool(effect="read", output_max=14)
    def look() -> Any:
        """Look."""
        return found

    agent = rd.Agent("l", "1", rd.Contract(), tools=[look], model=rd.ScriptedModel([reply("", use("look")), "Done."]))
    done = agent.run("Look", log=MemoryLog(), mask=mask())
    assert of(ObservationReceived, done)[0].cut > 0
    assert "138" not in str(of(ObservationReceived, done)[0].content)


@pytest.mark.parametrize("where", ["goal", "found"])
def test_a_placeholder_of_another_run_opens_nothing(where: str) -> None:
    """Whoever brings it: a tool, or a person."""
    log, vault = MemoryLog(), rd.MemoryVault()
    Sender("Done.").run(f"Send it to {ADDRESS}", log=log, mask=mask(vault), run_id="run")
    stolen = token(ADDRESS)
    sender = Sender(reply("", use("look")), reply("", use("send", to=stolen)), "Done.", found=stolen)
    goal = f"Send it to {stolen}" if where == "goal" else "Send it"
    done = sender.agent.run(goal, log=log, mask=mask(vault), run_id="other")
    assert sender.given == []
    lost = of(ObservationReceived, done)[-1]
    assert (lost.status, lost.error) == ("error", "sealed value lost")
    assert lost.content == (
        "send: a masked value in the arguments is not to be had, so the call was not made. "
        "Copy a placeholder exactly as it is written, or go on without that value."
    )


@pytest.mark.parametrize(
    ("begun", "goes_on", "problem"),
    [
        pytest.param(mask(), None, "is masked under key '{0}', and here is no key", id="without the key"),
        pytest.param(mask(), mask(key=KEY[::-1]), "is masked under key '{0}', and here the key is '{1}'", id="another"),
        pytest.param(None, mask(), "was begun without a mask, and here the key is '{1}'", id="with one too many"),
    ],
)
def test_only_a_worker_with_the_key_takes_a_masked_run(begun: Any, goes_on: Any, problem: str) -> None:
    """It is refused before anything is written."""
    log = MemoryLog()
    with pytest.raises(IndexError):
        Sender().run(log=log, mask=begun)
    head = log.head("run")
    with pytest.raises(BadInput) as refused:
        Sender("Done.").run(log=log, mask=goes_on)
    keys = [one.key_id if one else "" for one in (begun, goes_on)]
    assert str(refused.value) == f"run run: it {problem.format(*keys)}"
    assert log.head("run") == head


def test_whoever_goes_on_masks_what_was_masked_from_the_beginning() -> None:
    """Whatever the worker of today would mask."""
    log, vault = MemoryLog(), rd.MemoryVault()
    with pytest.raises(IndexError):
        Sender(reply("", use("look")), found=ADDRESS).run(f"Send it to {ADDRESS}", log=log, mask=mask(vault))
    less = rd.Mask(KEY, key_id="today's", secrets=False, vault=vault)
    done = Sender(None, reply("", use("look")), "Done.", found="call 13800002222").run(
        f"Send it to {ADDRESS}", log=log, mask=less
    )
    assert ADDRESS not in repr(done.records())
    assert "13800002222" not in repr(done.records())


def test_a_credential_is_known_again_by_a_later_worker() -> None:
    """Also where nothing tells what it is."""
    log, vault = MemoryLog(), rd.MemoryVault()
    found = {"password": PASSWORD}
    with pytest.raises(IndexError):
        Sender(reply("", use("look")), found=found).run(log=log, mask=mask(vault))
    done = Sender(None, f"I know it: {PASSWORD}").run(log=log, mask=mask(vault))
    assert PASSWORD not in repr(done.records())


SIGNALS: list[tuple[str, Callable[..., int], dict[str, Any]]] = [
    ("words", rd.say, {"content": f"to {ADDRESS}"}),
    ("a reason to stop", rd.cancel, {"by": "bo", "reason": f"not to {ADDRESS}"}),
]


@pytest.mark.parametrize(("signal", "given"), [one[1:] for one in SIGNALS], ids=[one[0] for one in SIGNALS])
def test_whoever_speaks_into_a_masked_run_needs_the_key(signal: Callable[..., int], given: dict[str, Any]) -> None:
    """Without it nothing is written; with it, it is masked; what has no words needs none."""
    log = MemoryLog()
    with pytest.raises(IndexError):
        Sender().run(log=log)
    head = log.head("run")
    with pytest.raises(BadInput, match=r"it is masked under key '.{8}', and here is no key"):
        signal(log, "run", at=now(), **given)
    assert log.head("run") == head
    signal(log, "run", at=now(), mask=mask(), **given)
    [*_, said] = log.read("run")
    assert token(ADDRESS) in repr(said.event)
    assert ADDRESS not in repr(said.event)
    rd.cancel(log, "run", by="bo", at=now())
    assert log.head("run").position == head.position + 2


def test_why_a_run_was_revoked_is_masked() -> None:
    """As are all words of people."""
    log = MemoryLog()
    with pytest.raises(IndexError):
        Sender().run(log=log)
    assert rd.revoke(log, "run", by="ana", at=now(), reason=f"It writes to {ADDRESS}.", mask=mask()) is not None
    assert ADDRESS not in repr(list(log.read("run")))
    assert token(ADDRESS) in repr(list(log.read("run")))


def test_a_signed_block_goes_back_unaltered() -> None:
    """It is sealed whole in the log, and opened for the provider who signed it alone."""
    thought = Thinking(text=f"I shall write to {ADDRESS}.", signature="c2lnbmVk")
    other = Opaque(data={"type": "search", "found": [ADDRESS], "signature": "c2ln"})
    plain = Thinking(text="Nothing to hide.", signature="c2lnbmVkLCB0b28=")
    said = (thought, plain, Text(text=f"To {ADDRESS}:"), other, use("look"))
    sender = Sender(ModelReplied(content=said), "Done.", found="x")
    done = sender.run()
    assert ADDRESS not in "".join(canonical(record).decode() for record in done.records())
    sent = sender.read[1].messages[-2].content
    assert sent == (thought, plain, Text(text=f"To {token(ADDRESS)}:"), other, use("look"))


def test_a_signed_block_that_is_lost_is_left_out() -> None:
    """An altered one would be refused."""
    log = MemoryLog()
    said = (Thinking(text=f"To {ADDRESS}.", signature="c2lnbmVk"), use("look"))
    with pytest.raises(IndexError):
        Sender(ModelReplied(content=said), found="x").run(log=log)
    sender = Sender(None, "Done.")
    sender.run(log=log)
    assert sender.read[0].messages[-2].content == (use("look"),)


def test_halves_of_a_value_in_two_pieces_come_together() -> None:
    """As a stream may leave them."""
    said = (Text(text="Write to ana@exam"), Text(text="ple.com now."), use("look"))
    done = Sender(ModelReplied(content=said), "Done.", found="x").run()
    [replied, _] = of(ModelReplied, done)
    assert replied.content == (Text(text=f"Write to {token(ADDRESS)}"), Text(text=" now."), use("look"))


def test_a_child_run_is_masked_as_its_parent_is() -> None:
    """With the same placeholders, and its tools are given the same values."""

    def said(request: rd.ModelRequest) -> ModelReplied:
        words = repr(request.messages)
        if "sent" in words:
            return reply(f"Sent to {ADDRESS}.")
        return reply("", use("send", to=token(ADDRESS))) if "only this" in words else reply(f'["Write to {ADDRESS}"]')

    log = MemoryLog()
    sender = Sender(*[said] * 3, contract=rd.Contract(arm="plan", plan=rd.Plan(steps=1, step_budget=3)))
    done = sender.agent.run(f"Write to {ADDRESS}", log=log, run_id="run", mask=mask())
    assert [one.effect for one in of(ToolCalled, done)] == ["run"]
    assert ADDRESS not in repr([record for _, record in log.read_all()])
    assert [one["to"] for one in sender.given] == [ADDRESS]


@pytest.mark.parametrize(
    ("dies", "kept", "lines", "error"),
    [
        pytest.param("asking", True, [ADDRESS], "", id="before the call"),
        pytest.param("asking", False, [], "sealed value lost", id="before the call, and the vault is lost"),
        pytest.param("sending", True, [f"asked about {ADDRESS}", ADDRESS], "", id="in the call"),
        pytest.param("sending", False, [], "", id="in the call, and the vault is lost"),
    ],
)
def test_a_crash_before_the_write_that_needs_the_value(
    dies: str, kept: bool, lines: list[str], error: str, tmp_path: Path
) -> None:
    """It starts with the right value or not at all, and the authority is asked about the right one or not at all."""
    log, vault, given = tmp_path / "log.db", tmp_path / "vault", tmp_path / "given"
    command = [sys.executable, "-m", "tests.masked_killed", str(log), str(vault), str(given), dies]
    assert subprocess.run(command, env=surroundings(), check=False, timeout=60).returncode == 9
    if not kept:
        vault.unlink()
    done = run(desk(given), log, vault)
    assert (given.read_text().splitlines() if given.exists() else []) == lines
    assert [one.error for one in of(ObservationReceived, done) if one.error] == [error] * bool(error)
    assert done.status == ("escalated" if dies == "sending" and not kept else "finished")
    assert ADDRESS not in repr(done.records())
