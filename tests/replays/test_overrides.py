"""Each thing that can be changed in a run can change how it ends, alone and with others."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from redrive_engine import ANY, Agent, Budget, Contract
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_events import ObservationReceived
from redrive_replays.whatif import Changes, Live, branched, edge_report
from tests.buyer import ALL, ASKS, READS, bought, buyer

BLOCKS = Contract(on_denied="block", on_unknown="block")
PAID = Contract(done={"paid": ANY}, on_refused="fail", on_denied="block")
NOTHING: dict[str, Any] = {}
REFUSED = ObservationReceived(call=2, status="ok", content='{"cents":6,"item":"tea"}', media_type="application/json")


class End(NamedTuple):
    """How a run ends: its status and its answer; both are empty where nobody knows."""

    status: str
    answer: str


def ended(agent: Agent, changes: Changes, *, other: Agent | None = None, live: bool = False) -> End:
    """How a recorded run of ``agent`` would have ended."""
    known = other or agent
    branch = branched(bought(agent).records(), known.program, changes, live=Live(known) if live else None)
    end = branch.state.end
    return End(end.status, end.answer or "") if end else End("", "")


def rules(text: str) -> RulesPolicy:
    """Rules in TOML."""
    return RulesPolicy.from_toml(text)


OVERRIDES = {
    "policy": (BLOCKS, Changes(policy=rules(READS)), NOTHING, End("blocked", "")),
    "contract": (None, Changes(contract=Contract(budget=Budget(steps=1))), NOTHING, End("exhausted", "")),
    "observation": (PAID, Changes(observations={2: REFUSED}), NOTHING, End("failed", "")),
    "reply": (None, Changes(replies={1: "I will not."}), NOTHING, End("finished", "I will not.")),
    "prompt": (None, Changes(prompt="Be brief."), {"live": True}, End("finished", "No.")),
    "model": (None, Changes(model="small"), {"live": True}, End("finished", "No.")),
    "dropped tool": (BLOCKS, Changes(dropped=("pay",), beyond=True), NOTHING, End("blocked", "")),
    "agent": (
        None,
        Changes(),
        {"other": buyer(ALL, contract=Contract(budget=Budget(tool_calls=1)))},
        End("exhausted", ""),
    ),
    "approvals": (BLOCKS, Changes(policy=rules(ASKS), approvals="refuse"), NOTHING, End("blocked", "")),
    "rules that ask, a person who grants, the rest as recorded": (
        BLOCKS,
        Changes(policy=rules(ASKS), approvals="grant", beyond=True),
        NOTHING,
        End("finished", "Bought."),
    ),
    "rules that ask, a person who refuses, and another contract": (
        None,
        Changes(policy=rules(ASKS), approvals="refuse", contract=BLOCKS),
        NOTHING,
        End("blocked", ""),
    ),
    "a prompt, a model and a dropped tool": (
        None,
        Changes(prompt="Serve.", model="large", dropped=("pay",)),
        {"live": True},
        End("finished", "No."),
    ),
    "rules, an observation and two replies": (
        None,
        Changes(
            policy=rules(READS),
            observations={1: '{"cents":7,"item":"tea"}'},
            replies={2: reply("", use("pay", item="tea", cents=7)).content, 3: "Seven is too much."},
        ),
        NOTHING,
        End("finished", "Seven is too much."),
    ),
    "another agent, its contract, and a model that is asked": (
        None,
        Changes(contract=Contract(budget=Budget(steps=2)), model="large"),
        {"live": True, "other": buyer(READS)},
        End("exhausted", ""),
    ),
}


@pytest.mark.parametrize("name", OVERRIDES)
def test_an_override_can_change_the_outcome(name: str) -> None:
    """And without it the run ends as it did."""
    contract, changes, more, expected = OVERRIDES[name]
    agent = buyer(contract=contract)
    unchanged = ended(agent, Changes())
    assert unchanged == End("succeeded" if contract is PAID else "finished", "Bought.")
    assert ended(agent, changes, **more) == expected


def test_a_call_that_was_denied_is_answered_as_given() -> None:
    """What the report says that goes on does so: an observation by the number of the call, then a reply by its step."""
    agent = buyer(READS)
    records = bought(agent).records()
    allowed = Changes(policy=rules(ALL))
    report = edge_report(records, branched(records, agent.program, allowed))
    assert report.flags == ("--set-observation 2=FILE",)
    paid = Changes(policy=rules(ALL), observations={2: '{"cents":5,"item":"tea"}'})
    report = edge_report(records, branched(records, agent.program, paid))
    assert report.flags == ("--live model", "--beyond recorded", "--set-reply 3=FILE")
    said = Changes(policy=rules(ALL), observations=paid.observations, replies={3: "Bought at last."})
    branch = branched(records, agent.program, said)
    assert branch.state.end is not None
    assert branch.state.end.answer == "Bought at last."
    given = [type(one.record.event).__name__ for one in branch.records if one.label == "given"]
    assert given == ["ObservationReceived", "ModelReplied"]
