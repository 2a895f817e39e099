"""What is given for a call comes in as its tool would have returned it, whatever was recorded in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from msgspec.structs import replace
from pydantic import BaseModel
from typing_extensions import TypedDict

from redrive_engine import ANY, Agent, Contract, Observed, Tool, ToolError
from redrive_engine.models import ModelRequest, ScriptedModel, reply, use
from redrive_engine.policy import RulesPolicy
from redrive_engine.tools import tool
from redrive_engine.verifiers import Facts, verifier
from redrive_events import MemoryLog, ModelReplied, ObservationReceived, Record
from redrive_replays.whatif import Branch, Changes, branched, edge_report

ALL = '[[rule]]\nname = "all"\nwhen = {}\nthen = "allow"\n'
NONE = '[[rule]]\nname = "none"\nwhen = {}\nthen = "deny"\n'


class Order(BaseModel):
    """What a shop knows of an order."""

    id: str
    cents: int


class Line(TypedDict):
    """A line of it."""

    cents: int


class Colour(StrEnum):
    """What a tool may answer with a word."""

    RED = "red"


def finder(returns: Any, value: object, *, raises: BaseException | None = None, **declared: Any) -> Tool:
    """A tool that says that it ``returns`` something, and returns ``value``, or fails."""

    def find(item: str) -> Any:  # noqa: ARG001 - it has but one
        """Find it."""
        if raises is not None:
            raise raises
        return value

    find.__annotations__["return"] = returns
    return tool(effect="read", timeout=None, **declared)(find)


def script(turn: int, _: ModelRequest) -> ModelReplied | str:
    """Looks once."""
    return reply("", use("find", item="tea")) if turn == 1 else "Done."


def agent(found: Tool, rules: str = ALL, verifiers: Sequence[Any] = ()) -> Agent:
    """Somebody who looks once."""
    contract = Contract(tools={"find": {}}, done={"cents": ANY} if verifiers else {})
    policy = RulesPolicy.from_toml(rules)
    tools, model = [found], ScriptedModel(script)
    return Agent("finder", "1", contract, tools=tools, verifiers=list(verifiers), policy=policy, model=model)


def run(one: Agent) -> Sequence[Record]:
    """What is recorded of it."""
    return one.run("Find it", log=MemoryLog(), run_id="run").records()


def seen(records: Sequence[Record]) -> ObservationReceived:
    """What its tool was first seen to say, whenever that was begun."""
    event = next(one.event for one in records if isinstance(one.event, ObservationReceived))
    return replace(event, started=None)


CASES: Mapping[str, tuple[Any, object, str]] = {
    "a text": (str, "It is there.", "It is there."),
    "a number in a text": (str, "5", "5"),
    "JSON in a text": (str, '{"cents":  5}', '{"cents":  5}'),
    "a word of some": (Literal["red", "blue"], "red", "red"),
    "a word by its name": (Colour, Colour.RED, "red"),
    "a text with a remark": (Annotated[str, "in English"], "true", "true"),
    "a number": (int, 5, "5"),
    "an order": (Order, Order(id="茶", cents=5), '{"id": "茶",\n "cents": 5}'),
    "an order, or nothing": (Order | None, None, "null"),
    "a line": (Line, {"cents": 5}, '{"cents": 5}'),
    "lines": (list[Line], [{"cents": 5}, {"cents": 6}], '[{"cents": 5}, {"cents": 6}]'),
    "an order that was observed": (Observed[Order], Order(id="a", cents=5), '{"cents": 5, "id": "a"}'),
    "anything, and it is data": (Any, {"cents": 5}, '{"cents": 5}'),
    "anything, and it is text": (Any, "It is there.", "It is there."),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("recorded", ["an answer", "a failure", "a denial"])
def test_what_is_given_comes_in_as_what_the_tool_returns(name: str, recorded: str) -> None:
    """In place of an answer, of a failure, and where nothing was recorded; its envelope, type and size are its own."""
    returns, value, text = CASES[name]
    bounds: dict[str, Any] = {"trust": "trusted", "source": "shelf", "schema_version": "3"}
    works = agent(finder(returns, value, **bounds))
    fails = agent(finder(returns, value, raises=ToolError("no such order, whatever was asked for"), **bounds))
    other = {"an answer": works, "a failure": fails, "a denial": agent(finder(returns, value, **bounds), NONE)}
    branch = branched(run(other[recorded]), works.program, Changes(observations={1: text}))
    assert seen(branch.whole) == seen(run(works))


@pytest.mark.parametrize("returns", [str | int, Observed[str], Any, object])
def test_what_may_be_text_or_data_is_as_it_was_recorded(returns: Any) -> None:
    """A tool that has said a number as text says the next one so, too."""
    other = reply("", use("find", item="milk")).content
    one = agent(finder(returns, "7"))
    branch = branched(run(one), one.program, Changes(replies={1: other}, observations={1: "5"}))
    assert (seen(branch.whole).content, seen(branch.whole).media_type) == ("5", "text/plain")


def test_the_type_that_was_recorded_stays_where_the_tool_may_return_it() -> None:
    """As of a page, which is a text."""
    found = finder(Observed[str], Observed("<p>7</p>", media_type="text/html"))
    one = agent(found)
    branch = branched(run(one), one.program, Changes(observations={1: "<p>8</p>"}))
    assert (seen(branch.whole).content, seen(branch.whole).media_type) == ("<p>8</p>", "text/html")


def test_another_tool_of_that_name_returns_what_it_says() -> None:
    """And not what the recorded one did."""
    records = run(agent(finder(str, "7")))
    branch = branched(records, agent(finder(int, 7)).program, Changes(observations={1: "5"}))
    assert seen(branch.whole).media_type == "application/json"


def test_what_is_given_is_cut_as_the_tool_cuts_it() -> None:
    """Rows and bytes: more of it cannot come in."""
    rows = agent(finder(list[int], [1, 2, 3, 4], rows_max=2))
    cut = seen(branched(run(rows), rows.program, Changes(observations={1: "[1, 2, 3, 4]"})).whole)
    assert cut == seen(run(rows))
    assert (cut.content, cut.size_bytes, cut.cut) == ("[1,2]", 9, 4)
    words = agent(finder(str, "茶" * 9, output_max=10))
    assert seen(branched(run(words), words.program, Changes(observations={1: "茶" * 9})).whole) == seen(run(words))


def test_the_same_in_another_spelling_is_the_same() -> None:
    """JSON has one spelling once it has come in."""
    one = agent(finder(Order, Order(id="a", cents=5)))
    records = run(one)
    branch = branched(records, one.program, Changes(observations={1: '{\n  "id": "a",\n  "cents": 5\n}'}))
    assert edge_report(records, branch).sureness == "same"


def right(found: Tool) -> Any:
    """A verifier of what the tool finds."""

    @verifier(found, commits=["cents"])
    def priced(call: Any, seen: Order, facts: Facts) -> Facts:  # noqa: ARG001 - it believes it
        return {"cents": seen.cents}

    return priced


def known(branch: Branch) -> dict[str, object]:
    """What is a fact in a branch."""
    return {key: fact.value for key, fact in branch.state.facts.items()}


def test_an_order_in_place_of_a_failure_is_verified() -> None:
    """As the tool would have returned it; the run then succeeds."""
    fails = finder(Order, None, raises=ToolError("no such order"))
    one = agent(fails, verifiers=[right(fails)])
    changes = Changes(observations={1: '{"id":"tea","cents":5}'}, replies={2: "It costs 5."})
    branch = branched(run(one), one.program, changes)
    assert known(branch) == {"cents": 5}
    assert branch.state.end is not None
    assert branch.state.end.status == "succeeded"


def test_what_a_tool_cannot_return_is_refused_by_its_verifier() -> None:
    """Words where data is declared are no data."""
    found = finder(Order, Order(id="a", cents=5))
    one = agent(found, verifiers=[right(found)])
    assert known(branched(run(one), one.program, Changes(observations={1: "five"}))) == {}
