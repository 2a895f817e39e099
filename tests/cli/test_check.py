"""A contract checked at the command line, before anything is run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Redrive

TEA = '''
import redrive as rd

@rd.tool(effect="write")
def pay(cents: int) -> int:
    """Pay."""
    return cents

def tea(**terms):
    contract = rd.Contract(**({"tools": {"pay": {}}} | terms))
    return rd.Agent("茶屋", "1", contract, tools=[pay], model=rd.ScriptedModel(["Hm."]))

good = tea(budget={"steps": 7, "tokens": 1_000_000, "wall_time": "90s", "tool_calls": 1, "cost": "0.50 USD"})
bad = tea(tools={}, quotas={"unreadable": 9}, budget={"steps": 4})
planner = tea(arm="plan", parameters={"max_tokens": 100})
endless = tea(budget={"steps": None, "wall_time": "1h"})
broken = lambda: tea(done={"paid": rd.ANY})
'''
PRICES = '[models."gpt"]\ninput = 0.1\noutput = 0.4\n'


@pytest.fixture
def tea(folder: Path) -> Path:
    """A folder with agents, and a table of prices."""
    (folder / "tea.py").write_text(TEA, encoding="utf-8")
    (folder / "prices.toml").write_text(PRICES, encoding="utf-8")
    sys.modules.pop("tea", None)
    return folder


def test_a_contract_without_findings(tea: Path, redrive: Redrive) -> None:
    """What a run may use at most, and nothing more to say."""
    assert redrive("check", "tea:good") == (
        0,
        "agent    茶屋 1\nat most  7 steps, 1,000,000 tokens, 1 tool call, 90 s, at no cost\n\n0 findings\n",
        "",
    )
    priced = redrive("check", "tea:good", "--model", "openai:gpt", "--prices", "prices.toml").out
    assert priced.splitlines()[1].endswith("90 s, 0.400000 USD")


def test_findings_are_told_with_their_place(tea: Path, redrive: Redrive) -> None:
    """One a line, and a finding is exit code 1."""
    said = redrive("check", "tea:bad")
    assert (said.code, said.out.splitlines()[2:]) == (
        1,
        [
            "",
            "tool pay: no call of it is ever made: it is not granted",
            "contract.quotas.unreadable: 9 in a row can never be: the budget lets there be 4 at most",
            "2 findings",
        ],
    )
    found = json.loads(redrive("check", "tea:bad", "--json").out)
    assert found == {
        "agent": "茶屋",
        "version": "1",
        "ceiling": {
            "steps": 4,
            "child_steps": 0,
            "tokens": None,
            "output_tokens": None,
            "tool_calls": None,
            "wall_time_ms": None,
            "cost_micros": 0,
            "currency": "USD",
        },
        "findings": [
            {"place": "tool pay", "text": "no call of it is ever made: it is not granted"},
            {
                "place": "contract.quotas.unreadable",
                "text": "9 in a row can never be: the budget lets there be 4 at most",
            },
        ],
    }


def test_what_has_no_limit_is_said_so(tea: Path, redrive: Redrive) -> None:
    """Steps of a plan's children count, too."""
    line = redrive("check", "tea:endless", "--model", "gpt").out.splitlines()[1]
    assert line == "at most  any number of steps, any number of tokens, 3,600 s, at any cost"
    planned = redrive("check", "tea:planner").out.splitlines()[1]
    assert planned == "at most  30 steps and 75 of child runs, any number of tokens, 10,500 of them written, at no cost"


def test_what_cannot_be_checked(tea: Path, redrive: Redrive) -> None:
    """No such agent, or one whose contract can never be kept: one line, and exit code 2."""
    assert redrive("check", "tea:none").code == 2
    assert redrive("check", "tea:broken") == (
        2,
        "",
        "redrive: contract.done: no verifier commits 'paid'; there are none\n",
    )
    assert redrive("check", "tea:good", "--prices", "none.toml").code == 2
