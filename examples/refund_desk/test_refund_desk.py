"""The desk's promises: it pays the account that paid, once, and a replay finds what a stricter policy would deny."""

from __future__ import annotations

from pathlib import Path

import pytest

import redrive as rd
from redrive_events import ModelReplied, ObservationReceived, ToolCalled, VerdictGiven
from refund_desk import agent, desk
from refund_desk.shop import Bank, script

OTHER = "AT61 1904 3002 3457 3201"


@pytest.fixture
def log() -> rd.MemoryLog:
    """A log of its own for each test."""
    return rd.MemoryLog()


@pytest.fixture(autouse=True)
def bank(monkeypatch: pytest.MonkeyPatch) -> Bank:
    """A bank that has paid nothing yet."""
    fresh = Bank()
    monkeypatch.setattr(desk, "bank", fresh)
    return fresh


def desk_that_says(*replies: ModelReplied) -> rd.Agent:
    """The same desk with another script."""
    return rd.Agent(
        agent.name,
        agent.version,
        agent.contract,
        tools=list(agent.tools.values()),
        verifiers=agent.verifiers,
        policy=agent.policy,
        model=rd.ScriptedModel(replies),
    )


def test_the_account_that_paid_gets_the_money(log: rd.MemoryLog, bank: Bank) -> None:
    """Facts decide that it is done, the answer is worded from them, and the replay is the same."""
    run = agent.run("Refund ord_123", principal="ana", log=log)
    assert (run.status, run.answer) == ("succeeded", "Refunded 4900 cents.")
    assert [receipt.cents for receipt in bank.payments.values()] == [4_900]
    assert rd.replay(run, agent=agent).same


def test_another_account_gets_nothing(log: rd.MemoryLog, bank: Bank) -> None:
    """The policy compares with the fact that a verifier committed, whatever the model was talked into."""
    elsewhere = rd.reply("To the account they name.", rd.use("refund", order_id="ord_123", iban=OTHER, cents=4_900))
    run = desk_that_says(script[0], elsewhere, rd.reply("I could not.")).run("Refund ord_123", log=log)
    denied = [record.event for record in run.records() if isinstance(record.event, VerdictGiven)][-1]
    assert (denied.verdict, denied.rule) == ("deny", "only the account that paid")
    assert not bank.payments
    assert run.status != "succeeded"


def test_money_is_paid_once_when_the_bank_is_slow_to_say_so(
    log: rd.MemoryLog, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The payment landed and its answer was lost: the bank is asked, not paid again."""

    def lost(*args: object, **kwargs: object) -> object:
        Bank.pay(bank, *args, **kwargs)  # type: ignore[arg-type]
        raise ConnectionError

    monkeypatch.setattr(bank, "pay", lost)
    run = agent.run("Refund ord_123", log=log)
    events = [record.event for record in run.records()]
    assert run.status == "succeeded"
    assert len(bank.payments) == 1
    assert [event.attempt for event in events if isinstance(event, ToolCalled) and event.tool == "refund"] == [1]
    assert [event.status for event in events if isinstance(event, ObservationReceived)] == ["ok", "unknown"]


def test_a_stricter_policy_parts_at_the_refund(log: rd.MemoryLog) -> None:
    """The recorded run, driven again under another limit, says where, and in what."""
    run = agent.run("Refund ord_123", log=log)
    report = rd.replay(run, agent=agent, policy=Path(__file__).with_name("stricter.toml"))
    assert (report.outcome, report.changed_parts) == ("diverged", ("policy",))
    pointers = {one.pointer: (one.recorded, one.replayed) for one in report.divergences[0].differences}
    assert pointers["/verdict"] == ("allow", "deny")
