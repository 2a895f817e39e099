"""What is told of recorded effects in a branch: of none it is said that it stands, or does not, where nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from redrive_engine import Agent, Contract, Plan
from redrive_engine.models import ModelRequest, ScriptedModel, reply, use
from redrive_engine.policy import RulesPolicy
from redrive_engine.tools import ToolError, tool
from redrive_events import EffectReconciled, Input, MemoryLog, ModelReplied, ObservationReceived, Terms
from redrive_replays import recording_of
from redrive_replays.whatif import Changes, EdgeReport, Effect, branched, edge_report
from tests.shop import recorded, seen, shop

READS = '[[rule]]\nname = "reads"\nwhen = { effect = "read" }\nthen = "allow"\n'
ALL = '[[rule]]\nname = "all"\nwhen = {}\nthen = "allow"\n'
NO_PRICES = '[[rule]]\nname = "no prices"\nwhen = { tool = "price_of" }\nthen = "deny"\n' + ALL
ITEM = {"item": "tea", "cents": 5}
PAYS = reply("", use("pay", item="tea", cents=5))

LANDED = (seen(1, ITEM),)
FAILED = (ObservationReceived(call=1, status="error", content="sold out"),)
LOST = ObservationReceived(call=1, status="unknown", content="pay: not known whether it was done")
DOUBTED = (LOST, EffectReconciled(call=1, outcome="unknown"))


class Told(NamedTuple):
    """The recorded effects by what becomes of them, each with its call, and what came of it there and here."""

    stands: list[tuple[int, str, str]]
    prevented: list[tuple[int, str, str]]
    open: list[tuple[int, str, str]]


def told(report: EdgeReport) -> Told:
    """The three groups in short."""

    def short(effects: Sequence[Effect]) -> list[tuple[int, str, str]]:
        return [(one.call, one.outcome, one.here) for one in effects]

    return Told(short(report.before), short(report.prevented), short(report.after))


def under(
    changes: Changes, *inputs: Input, terms: Terms | None = None, rules: str = ALL
) -> tuple[EdgeReport, Sequence[ObservationReceived]]:
    """The report of a run of the shop with changes, and what its branch saw."""
    program = shop(terms or Terms(on_doubt="tell"), policy=RulesPolicy.from_toml(rules))
    records = recorded(program, *inputs)
    branch = branched(records, program, changes)
    events = (one.record.event for one in branch.records)
    return edge_report(records, branch), [one for one in events if isinstance(one, ObservationReceived)]


@pytest.mark.parametrize(
    ("was", "given", "expected"),
    [
        pytest.param(LANDED, None, Told([(1, "landed", "landed")], [], []), id="landed"),
        pytest.param(LANDED, FAILED[0], Told([], [(1, "landed", "not_landed")], []), id="landed, given as failed"),
        pytest.param(LANDED, LOST, Told([], [], [(1, "landed", "waiting")]), id="landed, given as lost"),
        pytest.param(DOUBTED, None, Told([(1, "unknown", "in_doubt")], [], []), id="in doubt"),
        pytest.param(DOUBTED, seen(1, ITEM), Told([(1, "unknown", "landed")], [], []), id="in doubt, given as landed"),
        pytest.param(DOUBTED, FAILED[0], Told([], [(1, "unknown", "not_landed")], []), id="in doubt, given as failed"),
        pytest.param(FAILED, None, Told([(1, "not_landed", "not_landed")], [], []), id="failed"),
        pytest.param(FAILED, seen(1, ITEM), Told([(1, "not_landed", "landed")], [], []), id="failed, given as landed"),
        pytest.param(FAILED, LOST, Told([], [], [(1, "not_landed", "waiting")]), id="failed, given as lost"),
    ],
)
def test_what_comes_of_a_write_is_told_beside_what_came_of_it(
    was: Sequence[Input], given: ObservationReceived | None, expected: Told
) -> None:
    """One in doubt that is given as landed stands, and one that is given as failed is prevented."""
    changes = Changes(observations={} if given is None else {1: given})
    report, _ = under(changes, PAYS, *was, reply("Done."))
    assert told(report) == expected


def test_of_equal_writes_the_one_that_is_given_as_failed_is_prevented() -> None:
    """And not the other one, which landed here too."""
    inputs = (PAYS, seen(1, ITEM), PAYS, seen(2, ITEM), reply("Done."))
    changes = Changes(observations={1: FAILED[0]}, replies={2: PAYS.content}, beyond=True)
    report, _ = under(changes, *inputs)
    assert told(report) == Told([(2, "landed", "landed")], [(1, "landed", "not_landed")], [])


def test_nothing_is_open_in_a_branch_that_has_ended() -> None:
    """What was written in later turns is prevented."""
    looks = reply("", use("price_of", item="tea"))
    pays = reply("", use("pay", item="tea", cents=5))
    blocks = Terms(on_denied="block")
    changes = Changes(policy=RulesPolicy.from_toml(NO_PRICES))
    report, _ = under(changes, looks, seen(1, ITEM), pays, seen(2, ITEM), reply("Done."), terms=blocks)
    assert (report.sureness, told(report)) == ("exact", Told([], [(2, "landed", "not_asked")], []))


PRICED = seen(1, {"item": "tea", "cents": 98765})
PAYS_IT = reply("", use("pay", item="tea", cents=98765))
PAID_IT = seen(2, {"item": "tea", "cents": 98765})


def lacking(report: EdgeReport) -> list[tuple[int, str]]:
    """The calls that are named as ungrounded, with their values."""
    return [(one.call, one.value) for one in report.ungrounded]


def test_an_assumed_reply_that_uses_what_the_branch_never_saw_is_ungrounded() -> None:
    """Beyond the edge as in front of it; what it wrote is not said to stand, and to an end it is told."""
    inputs = (reply("", use("price_of", item="tea")), PRICED, PAYS_IT, PAID_IT, reply("Done."))
    denied = RulesPolicy.from_toml(NO_PRICES)
    stopped, _ = under(Changes(policy=denied), *inputs)
    assert lacking(stopped) == [(2, "98765")]
    beyond, _ = under(Changes(policy=denied, beyond=True), *inputs)
    assert (beyond.sureness, beyond.status) == ("under assumptions", "finished")
    assert (lacking(beyond), told(beyond).stands) == ([(2, "98765")], [])
    assert [one.call for one in beyond.after] == [2]


def test_what_an_assumed_reply_says_itself_grounds_no_other() -> None:
    """The model would have had to know it."""
    says = reply("It costs 98765 cents, I think.", use("count", item="tea"))
    inputs = (reply("", use("price_of", item="tea")), PRICED, says, seen(2, 3), PAYS_IT, seen(3, ITEM), reply("Done."))
    report, _ = under(Changes(policy=RulesPolicy.from_toml(NO_PRICES), beyond=True), *inputs)
    assert lacking(report) == [(3, "98765")]


def test_what_the_branch_was_told_otherwise_is_no_lack() -> None:
    """By the words of a denial, as by anything else that stands in the request."""
    words = NO_PRICES.replace('"deny"\n', '"deny"\ntext = "It is 98765 for everybody."\n', 1)
    inputs = (reply("", use("price_of", item="tea")), PRICED, PAYS_IT, PAID_IT, reply("Done."))
    report, _ = under(Changes(policy=RulesPolicy.from_toml(words), beyond=True), *inputs)
    assert (lacking(report), [one.call for one in report.before]) == ([], [2])


def test_a_reply_that_the_recording_surely_gives_is_grounded() -> None:
    """It was asked for by the very same request."""
    inputs = (reply("", use("price_of", item="tea")), PRICED, PAYS_IT, PAID_IT, reply("Done."))
    report, _ = under(Changes(policy=RulesPolicy.from_toml(READS), beyond=True), *inputs)
    assert (lacking(report), [one.call for one in report.prevented]) == ([], [2])


@tool(effect="write", object="place", timeout=None)
def put(place: str) -> str:
    """Put something there."""
    if place == "nowhere":
        raise ToolError("there is no such place")
    return "ok"


def planner(_: int, request: ModelRequest) -> ModelReplied | str:
    """Draws a plan of two steps, each of which is a run that writes."""
    words, last = str([one.content for one in request.messages]), request.messages[-1]
    if "Do only this step" not in words:
        return '{"steps": ["put a", "put b"]}' if "Draw a plan" in str(last.content) else "All done."
    place = "a" if "Do only this step: put a" in words else "b"
    return reply("", use("put", place=place)) if last.role == "user" else "done"


def plan(rules: str = ALL) -> Agent:
    """An agent whose child runs write."""
    contract = Contract(tools={"put": {}}, arm="plan", plan=Plan(steps=5, step_budget=3, revisions=1))
    policy = RulesPolicy.from_toml(rules)
    return Agent("planner", "1", contract, tools=[put], policy=policy, model=ScriptedModel(planner))


def planned(changes: Changes, *, known: bool = True) -> EdgeReport:
    """The report of a plan with changes; ``known`` is whether the log of its child runs is given."""
    agent, log = plan(), MemoryLog()
    agent.run("Fill it", log=log, run_id="plan")
    records = recording_of(log, "plan").records
    return edge_report(records, branched(records, agent.program, changes), log=log if known else None)


def placed(effects: Sequence[Effect]) -> list[tuple[str, str]]:
    """Of which run each effect is, and what it did."""
    return [(one.run_id, one.arguments["place"] if one.tool == "put" else one.tool) for one in effects]


def test_what_child_runs_did_stands_where_nothing_is_changed() -> None:
    """They are effects of the run, too."""
    report = planned(Changes())
    assert (report.sureness, placed(report.before)) == ("same", [("plan/1", "a"), ("plan/2", "b")])
    assert [(one.outcome, one.here) for one in report.before] == [("landed", "landed")] * 2


def test_what_a_child_run_did_is_open_where_another_answer_is_given_for_it() -> None:
    """That it failed does not say what it did by then; and the next step of the plan is not reached, nor prevented."""
    failed = ObservationReceived(call=1, status="error", content="It broke.")
    report = planned(Changes(observations={1: failed}))
    assert (placed(report.before), placed(report.prevented)) == ([], [])
    assert placed(report.after) == [("plan/1", "a"), ("plan/2", "b")]


def test_what_child_runs_did_is_prevented_where_they_are_not_begun() -> None:
    """Since the run ends before."""
    report = planned(Changes(contract=Contract(tools={"put": {}}), replies={1: "I will not."}))
    assert (report.status, placed(report.prevented)) == ("finished", [("plan/1", "a"), ("plan/2", "b")])


NO_PUT = '[[rule]]\nname = "no"\nwhen = { tool = "put" }\nthen = "deny"\n' + ALL


@pytest.mark.parametrize("beyond", [False, True])
def test_a_child_run_is_not_taken_for_one_under_other_rules(beyond: bool) -> None:
    """They rule in it as well, so what it did and said is none of the branch's, or an assumption."""
    report = planned(Changes(policy=RulesPolicy.from_toml(NO_PUT), beyond=beyond))
    if beyond:
        assert (report.sureness, len(report.assumptions)) == ("under assumptions", 2)
        return
    assert report.edge is not None
    assert (type(report.edge.request).__name__, report.sureness) == ("ToolCalled", "exact to turn")
    assert placed(report.after) == [("plan/1", "a"), ("plan/2", "b")]


def test_a_child_run_of_which_nothing_is_known_stands_for_what_it_did() -> None:
    """It is never left out without a word."""
    report = planned(Changes(), known=False)
    assert placed(report.before) == [("plan", "run"), ("plan", "run")]
    assert [one.outcome for one in report.before] == ["", ""]
