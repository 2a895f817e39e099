"""The contract as people write it, and the one form in which it is recorded."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_engine.contract import (
    ANY,
    Budget,
    Contract,
    FailureQuotas,
    check_contract,
    micros,
    milliseconds,
)
from redrive_engine.policy import Grants
from redrive_events import BadInput, Json, Limits, Quotas, Terms, canonical

REFUNDS = Contract(
    tools={"find_order": {"order_id": r"ord_\d+"}, "refund": {}},
    done={"refunded": ANY},
    answer="Refunded {refunded} cents.",
    budget=Budget(steps=6, tokens=20_000, wall_time="2m", cost="0.10 USD"),
)
REFUND_TERMS = Terms(
    tools={"find_order": {"order_id": {"matches": r"ord_\d+"}}, "refund": {}},
    done={"refunded": {"known": True}},
    answer="Refunded {refunded} cents.",
    budget=Limits(steps=6, tokens=20_000, wall_time_ms=120_000, cost_micros=100_000),
)
OPERATORS_ARE = (
    "there are is, is_not, one_of, not_one_of, at_most, at_least, matches, not_before, not_after, domain_one_of, "
    "domain_not_one_of, known"
)


@pytest.mark.parametrize(
    ("contract", "terms"),
    [
        pytest.param(Contract(), Terms(budget=Limits(steps=30)), id="nothing said: 30 steps"),
        pytest.param(REFUNDS, REFUND_TERMS, id="the refund desk"),
        pytest.param(
            Contract(
                tools={
                    "b": {"z": [1, "two"], "y": {"at_least": 1, "at_most": 9}, "x": True, "w": 2.5, "v": ANY},
                    "a": {},
                },
                exclude={"b": {"z": {"is": None}}},
                done={"n": 3, "m": {"at_least": 1}, "l": {"city": "Kiel"}, "k": None, "j": ("a", ["b"]), "i": {}},
                budget=Budget(steps=None, wall_time=1.5, tool_calls=4, cost=Decimal("0.000001")),
                quotas=FailureQuotas(unreadable=2, model_failed=None),
                attempts=1,
                on_denied="block",
                on_refused="fail",
                on_doubt="tell",
                dialect="json",
                view="facts",
                dialogue=True,
                model="small",
                parameters={"temperature": 0.5, "stop": ("a",)},
            ),
            Terms(
                tools={
                    "a": {},
                    "b": {
                        "v": {"known": True},
                        "w": {"is": 2.5},
                        "x": {"is": True},
                        "y": {"at_least": 1, "at_most": 9},
                        "z": {"one_of": [1, "two"]},
                    },
                },
                exclude={"b": {"z": {"is": None}}},
                done={
                    "i": {"is": {}},
                    "j": {"is": ["a", ["b"]]},
                    "k": {"is": None},
                    "l": {"is": {"city": "Kiel"}},
                    "m": {"at_least": 1},
                    "n": {"is": 3},
                },
                budget=Limits(wall_time_ms=1500, tool_calls=4, cost_micros=1),
                quotas=Quotas(unreadable=2, model_failed=None),
                attempts=1,
                on_denied="block",
                on_unknown="block",
                on_refused="fail",
                on_doubt="tell",
                dialect="json",
                view="facts",
                dialogue=True,
                model="small",
                parameters={"temperature": 0.5, "stop": ["a"]},
            ),
            id="everything said",
        ),
    ],
)
def test_a_contract_is_recorded(contract: Contract, terms: Terms) -> None:
    """Units resolved, predicates in one form, and read again it is the same, down to the order of its names."""
    recorded = contract.terms()
    assert recorded == terms
    assert repr(msgspec.json.decode(canonical(recorded), type=Terms)) == repr(recorded)


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("500ms", 500),
        ("10s", 10_000),
        ("1.5 s", 1500),
        ("2m", 120_000),
        ("1h", 3_600_000),
        ("0.5h", 1_800_000),
        (timedelta(milliseconds=7), 7),
        (2, 2000),
        (0.1, 100),
    ],
)
def test_a_length_of_time(written: Any, exact: int) -> None:
    """In whole milliseconds, whatever a person likes to write."""
    assert milliseconds(written) == exact


@pytest.mark.parametrize(
    "written",
    [
        *("", "2", "2 days", "-1s", "1s ", "0s", "0.1ms", "9" * 15 + "h", b"1s", True, None),
        *(0, -1, 0.0001, 1e300, float("nan"), float("inf")),
        *(timedelta(0), timedelta(days=-1), timedelta(microseconds=1)),
    ],
)
def test_no_length_of_time(written: Any) -> None:
    """No rounding, nothing without a unit, no truth."""
    with pytest.raises(ValueError, match=r"^a length of time is "):
        milliseconds(written)


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.10 USD", (100_000, "USD")),
        ("0.1", (100_000, "USD")),
        ("3 EUR", (3_000_000, "EUR")),
        ("0.000001 USD", (1, "USD")),
        (Decimal("1.25"), (1_250_000, "USD")),
        (Decimal("1E+2"), (100_000_000, "USD")),
    ],
)
def test_an_amount_of_money(written: Any, exact: tuple[int, str]) -> None:
    """In whole millionths: money is never a float."""
    assert micros(written) == exact


@pytest.mark.parametrize(
    "written",
    [
        *("", "$1", "1 usd", "1USD", "-1 USD", "0 USD", "0.0000001 USD", 0.1, 1, True, None),
        *map(Decimal, ("0", "-1", "NaN", "Infinity", "1E-7", "1E+30")),
    ],
)
def test_no_amount_of_money(written: Any) -> None:
    """A float that is nearly right is wrong."""
    with pytest.raises(ValueError, match=r"^money is "):
        micros(written)


@given(st.integers(1, 2**53))
def test_money_is_exact(amount: int) -> None:
    """To the millionth, however much it is."""
    assert micros(f"{amount // 1_000_000}.{amount % 1_000_000:06} USD") == (amount, "USD")
    assert micros(Decimal(amount) / 1_000_000) == (amount, "USD")


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"steps": 0}, "contract.budget.steps: must be more than 0"),
        ({"steps": -1}, "contract.budget.steps: must be more than 0"),
        ({"steps": 2**60}, f"contract.budget.steps: must be at most {2**53}"),
        ({"steps": True}, "contract.budget.steps: must be a whole number"),
        ({"tokens": 1.0}, "contract.budget.tokens: must be a whole number"),
        ({"tool_calls": "5"}, "contract.budget.tool_calls: must be a whole number"),
        (
            {"wall_time": "soon"},
            "contract.budget.wall_time: a length of time is written like 500ms, 10s, 2m or 1h, not 'soon'",
        ),
        ({"cost": 0.1}, 'contract.budget.cost: money is written like "0.10 USD" or Decimal("0.10"), not 0.1'),
        ({"time": "2m"}, "contract.budget.time: no such field; there are steps, tokens, wall_time, tool_calls, cost"),
        (
            {"steps": None, "tool_calls": 3},
            "contract.budget: an agent without any limit runs for ever: set steps, tokens, wall_time or cost",
        ),
    ],
)
def test_no_budget(written: dict[str, Any], problem: str) -> None:
    """Alone or inside a contract, the same line."""
    for write in (lambda: Budget(**written), lambda: Contract(budget=written)):  # type: ignore[arg-type]
        with pytest.raises(BadInput) as refused:
            write()
        assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"tools": ["refund"]}, "contract.tools: must be a table"),
        ({"tools": {"refund": "cents"}}, "contract.tools.refund: must be a table"),
        ({"tools": {1: {}}}, "contract.tools.1: must be a text"),
        (
            {"tools": {"refund": {"iban": "("}}},
            "contract.tools.refund.iban: '(' is no regular expression of RE2: missing ): (",
        ),
        (
            {"tools": {"refund": {"cents": {"below": 5}}}},
            f"contract.tools.refund.cents: no operator 'below'; {OPERATORS_ARE}",
        ),
        ({"tools": {"refund": {"cents": {}}}}, "contract.tools.refund.cents: a predicate is a table of operators"),
        ({"exclude": {"refund": {"cents": {"at_most": "5"}}}}, "contract.exclude.refund.cents: at_most takes a number"),
        (
            {"tools": {"refund": {"iban": None}}},
            "contract.tools.refund.iban: a scope is a pattern, a list, a table of operators, a number, true or false",
        ),
        ({"done": {"refunded": {"at_laest": 1}}}, f"contract.done.refunded: no operator 'at_laest'; {OPERATORS_ARE}"),
        ({"done": {"refunded": float("nan")}}, "contract.done.refunded: NaN and Infinity are no JSON numbers"),
        ({"done": {"refunded": [timedelta(1)]}}, "contract.done.refunded: datetime.timedelta(days=1) is no JSON value"),
        ({"done": {"refunded": 2**64}}, f"contract.done.refunded: {2**64} is too large a number"),
        ({"done": {"refunded": {"at": "\ud800"}}}, "contract.done.refunded: a lone surrogate is no text"),
        ({"parameters": {"stop": {1: 2}}}, "contract.parameters: {1: 2} is no JSON value"),
        ({"answer": 1}, "contract.answer: must be a text"),
        ({"budget": 5}, "contract.budget: must be a table, or the model of that name"),
        ({"quotas": {"unreadable": 0}}, "contract.quotas.unreadable: must be more than 0"),
        ({"attempts": 0}, "contract.attempts: must be more than 0"),
        ({"on_denied": "ask"}, "contract.on_denied: must be 'block' or 'tell'"),
        ({"dialogue": 1}, "contract.dialogue: must be true or false"),
        ({"view": "all"}, "contract.view: no such view 'all'; there are chat, recorded, facts"),
        (
            {"goal": "Refund it"},
            "contract.goal: no such field; there are tools, exclude, done, answer, budget, quotas, attempts, "
            "read_attempts, on_denied, on_unknown, on_refused, on_doubt, dialect, view, dialogue, model, parameters, "
            "guards, recovery, models, escalation, person_waits, approval_waits, ways_out, claims, partial, arm, plan, "
            "workflow, reflection",
        ),
    ],
)
def test_no_contract(written: dict[str, Any], problem: str) -> None:
    """One line of our own: where, and what is allowed."""
    with pytest.raises(BadInput) as refused:
        Contract(**written)
    assert str(refused.value) == problem


def test_a_contract_does_not_change() -> None:
    """Who wants another one writes another one."""
    with pytest.raises(ValueError, match="frozen"):
        REFUNDS.attempts = 3


FILE = r"""
answer = "Refunded {refunded} cents."

[tools]
find_order = { order_id = 'ord_\d+' }
refund = {}

[done]
refunded = { known = true }

[budget]
steps = 6
tokens = 20_000
wall_time = "2m"
cost = "0.10 USD"
"""


def test_a_contract_in_a_file(tmp_path: Path) -> None:
    """The same names as in code; what is wrong is named by its line."""
    file = tmp_path / "contract.toml"
    file.write_text(FILE, encoding="utf-8")
    assert Contract.from_file(file).terms() == Contract.from_file(str(file)).terms() == REFUND_TERMS


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("steps = 6", "steps = 0", "contract.toml:12: budget.steps: must be more than 0"),
        (
            r"'ord_\d+'",
            "'(ord_'",
            "contract.toml:5: tools.find_order.order_id: '(ord_' is no regular expression of RE2: missing ): (ord_",
        ),
        ("[done]", "[facts]", "contract.toml:8: facts: no such field; there are tools, "),
        ("refund = {}", "refund = ", "contract.toml:6: not TOML: Invalid value"),
        ("known = true", "known = 1", "contract.toml:9: done.refunded: known takes true or false"),
    ],
)
def test_no_contract_in_a_file(tmp_path: Path, old: str, new: str, problem: str) -> None:
    """A person goes to the line and mends it."""
    file = tmp_path / "contract.toml"
    file.write_text(FILE.replace(old, new), encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        Contract.from_file(file)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize(
    ("tools", "commits", "problem"),
    [
        ({"find_order", "refund", "wipe"}, {"refunded", "iban"}, None),
        ({"refund", "look"}, {"refunded"}, "contract.tools: no such tool 'find_order'; there are look, refund"),
        (set(), {"refunded"}, "contract.tools: no such tool 'find_order'; there are none"),
        (
            {"find_order", "refund"},
            {"refund", "iban"},
            "contract.done: no verifier commits 'refunded'; there are iban, refund",
        ),
    ],
)
def test_an_agent_can_keep_its_contract(tools: set[str], commits: set[str], problem: str | None) -> None:
    """Found when the agent is built, not when a run waits for ever."""
    _check(REFUND_TERMS, tools, commits, problem)


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        (Terms(), None),
        (Terms(exclude={"wipe": {}}), "contract.exclude: no such tool 'wipe'; there are refund"),
        (Terms(answer="{a} of {b}"), "contract.answer: no verifier commits 'b'; there are a"),
        (Terms(quotas=Quotas(model_failed=None), budget=Limits(wall_time_ms=1)), None),
        (
            Terms(quotas=Quotas(model_failed=None), budget=Limits(steps=9)),
            "contract.quotas.model_failed: without this quota a model that never answers is asked for ever; "
            "set it, or a wall time",
        ),
    ],
)
def test_all_of_the_contract_is_looked_at(terms: Terms, problem: str | None) -> None:
    """Exclusions and the slots of the answer too."""
    _check(terms, {"refund"}, {"a"}, problem)


def _check(terms: Terms, tools: set[str], commits: set[str], problem: str | None) -> None:
    found = None
    try:
        check_contract(terms, tools=tools, commits=commits)
    except BadInput as refused:
        found = str(refused)
    assert found == problem


@pytest.mark.parametrize(
    ("tool", "arguments", "verdict"),
    [
        ("find_order", {"order_id": "ord_1"}, "allow"),
        ("find_order", {"order_id": "ord_1", "more": 1}, "allow"),
        ("find_order", {"order_id": "ord_1; drop"}, "deny"),
        ("find_order", {"order_id": 1}, "deny"),
        ("find_order", {}, "deny"),
        ("find_order", "ord_1", "deny"),
        ("refund", {}, "allow"),
        ("deploy", {}, "deny"),
    ],
)
def test_a_written_scope_decides(tool: str, arguments: Json, verdict: str) -> None:
    """Only if every predicate surely holds; a contract that names no tools grants all."""
    assert Grants(REFUND_TERMS).judge(tool, arguments).verdict == verdict
    assert Grants(Terms()).judge(tool, arguments).verdict == "allow"
