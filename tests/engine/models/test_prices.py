"""What models cost: the table people write, the cost of a reply, and a limit of cost that nobody could keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redrive as rd
from redrive_events import ModelReplied

TABLE = """
[models.small]
input = 1.25
cache_read = 0.125
output = 10

[models."openai:large"]
input = 0.1
cache_write = 7
output = 0.1
"""
USED = rd.Usage(input=100, cache_read=40, cache_write=20, output=7, reasoning=3)


class Named(rd.ScriptedModel):
    """A scripted model that costs money."""

    name = "openai:small"


def costs(log: rd.MemoryLog, run_id: str = "run") -> list[int | None]:
    """What each reply of a run cost."""
    return [one.event.cost_micros for one in log.read(run_id) if isinstance(one.event, ModelReplied)]


def agent(*lines: ModelReplied | str, **terms: Any) -> rd.Agent:
    """An agent that says this, by a model that has a name."""
    return rd.Agent("clerk", "1", rd.Contract(tools={}, **terms), model=Named(lines))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        # 100 x 1.25 + 40 x 0.125 + 20 x 1.25 + 7 x 10
        pytest.param("small", 225, id="what is written to the cache costs what it costs uncached"),
        pytest.param("openai:small", 225, id="found without its provider"),
        # 100 x 0.1 + 40 x 0.1 + 20 x 7 + 7 x 0.1 = 154.7
        pytest.param("openai:large", 155, id="rounded up"),
        pytest.param("large", None, id="not the model of another provider"),
        pytest.param("huge", None, id="nobody knows"),
    ],
)
def test_the_cost_of_a_reply(model: str, expected: int | None) -> None:
    """In millionths: prices are for a million tokens, so each token costs that many millionths."""
    price = rd.Prices.from_toml(TABLE).of(model)
    assert (price and price.micros(USED)) == expected


def test_a_star_is_any_other_model() -> None:
    """So that there is a price for all."""
    prices = rd.Prices.from_toml('models = { "*" = { input = 1, output = 2 }, a = { input = 0, output = 0 } }')
    assert [prices.of(name).micros(USED) for name in ("b", "x:a")] == [174, 0]  # type: ignore[union-attr]


@given(st.lists(st.integers(0, 10**9), min_size=4, max_size=4))
def test_a_cost_is_never_less_than_its_parts(counts: list[int]) -> None:
    """Rounding takes nothing away, however large the numbers."""
    price = rd.Prices.from_toml(TABLE).of("small")
    assert price is not None
    whole = price.micros(rd.Usage(input=counts[0], cache_read=counts[1], cache_write=counts[2], output=counts[3]))
    assert (
        whole * 1000 >= counts[0] * 1250 + counts[1] * 125 + counts[2] * 1250 + counts[3] * 10_000 > whole * 1000 - 1000
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("models = 5", "prices:1: models: must be a table: a model's name, and its prices"),
        ("\n[models]\nsmall = 5", "prices:3: models.small: must be a table of input, cache_read, cache_write, output"),
        ("[models.small]\ninput = 1", "prices:1: models.small: output is missing"),
        ("[models.a]\ninput = -1\noutput = 1", "prices:2: models.a.input: a price is a number, 0 or more"),
        ("[models.a]\ninput = nan\noutput = 1", "prices:2: models.a.input: a price is a number, 0 or more"),
        ("[models.a]\ninput = true\noutput = 1", "prices:2: models.a.input: a price is a number, 0 or more"),
        ('[models.a]\ninput = "1"\noutput = 1', "prices:2: models.a.input: a price is a number, 0 or more"),
        ("[models.a]\ninput = 1\nout = 1", "prices:3: models.a.out: no such field; there are input, cache_read"),
        ("currency = 5", "prices:1: currency: a currency is three capital letters, as USD"),
        ("prices = 5", "prices:1: prices: no such field; there are currency, models"),
        ("[models", "prices:1: not TOML"),
    ],
)
def test_what_is_no_price_names_its_line(text: str, problem: str) -> None:
    """And what is allowed there."""
    with pytest.raises(rd.BadInput) as refused:
        rd.Prices.from_toml(text)
    assert str(refused.value).startswith(problem)


def test_a_reply_is_recorded_with_its_cost_and_the_budget_counts_it(tmp_path: Path) -> None:
    """The run stops with the reply that used the budget up; a reply that says its own cost is left as it is."""
    (tmp_path / "prices.toml").write_text(TABLE, encoding="utf-8")
    log = rd.MemoryLog()
    lines = [rd.reply("", usage=USED), rd.reply("", usage=USED, cost_micros=3), rd.reply("", usage=USED)]
    spender = agent(*lines, budget={"steps": 9, "cost": "0.000300 USD"}, quotas={"unreadable": None})
    run = spender.run("Say.", log=log, run_id="run", prices=tmp_path / "prices.toml")
    assert (run.status, run.state.cost_micros, costs(log)) == ("exhausted", 453, [225, 3, 225])
    assert rd.replay(run, agent=spender).same


def test_a_cost_that_nobody_knows_is_not_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """None, where the provider counts no tokens or there is no price."""
    log = rd.MemoryLog()
    agent(rd.reply("Hello.", usage=USED)).run("Say.", log=log, run_id="no-price")
    priced = agent("Hello.", budget={"cost": "1 USD"})
    priced.run("Say.", log=log, run_id="no-tokens", prices=rd.Prices.from_toml(TABLE))
    assert [costs(log, run_id) for run_id in ("no-price", "no-tokens")] == [[None], [None]]
    assert [one.message for one in caplog.records] == ["openai:small counts no tokens, so nobody knows what it costs"]


@pytest.mark.parametrize(
    ("prices", "terms", "problem"),
    [
        pytest.param(None, {}, "no price for 'openai:small'; give a table of prices, or set no limit", id="no table"),
        pytest.param(TABLE, {"model": "huge"}, "no price for 'huge'", id="not the contract's model"),
        pytest.param(TABLE, {"models": ("huge",)}, "no price for 'huge'", id="not a stronger one"),
        pytest.param(
            f'currency = "EUR"\n{TABLE}', {}, "the contract counts USD, the prices are in EUR", id="another currency"
        ),
    ],
)
def test_a_limit_that_nobody_could_keep_is_refused(prices: str | None, terms: dict[str, Any], problem: str) -> None:
    """Before the run is begun, rather than counting nothing as the cost."""
    log = rd.MemoryLog()
    limited = agent("Hello.", budget={"cost": "1 USD"}, **terms)
    with pytest.raises(rd.BadInput, match=r"^contract\.budget\.cost: ") as refused:
        limited.run("Say.", log=log, prices=rd.Prices.from_toml(prices) if prices else None)
    assert problem in str(refused.value)
    assert list(log.runs()) == []


def test_a_model_without_a_name_costs_what_it_says() -> None:
    """A scripted one for instance: it needs no table."""
    contract = rd.Contract(tools={}, budget=rd.Budget(cost="1 USD"))
    free = rd.Agent("a", "1", contract, model=rd.ScriptedModel(["Hello."]))
    assert free.run("Say.", log=rd.MemoryLog()).status == "finished"


def test_the_agents_own_table_is_used() -> None:
    """Unless a run is given another."""
    log = rd.MemoryLog()
    known = rd.Agent(
        "a",
        "1",
        rd.Contract(tools={}),
        model=Named([rd.reply("Hello.", usage=USED)]),
        prices=rd.Prices.from_toml(TABLE),
    )
    known.run("Say.", log=log, run_id="own")
    known.run("Say.", log=log, run_id="given", prices=rd.Prices.from_toml("[models.small]\ninput = 0\noutput = 1"))
    assert (costs(log, "own"), costs(log, "given")) == ([225], [7])
