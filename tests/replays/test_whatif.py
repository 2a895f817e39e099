"""What would have happened: no answer is served to what it did not answer, and nothing is surer than it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_events import (
    BadInput,
    Input,
    LeaseGranted,
    Limits,
    MessageReceived,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    Record,
    Terms,
    ToolCalled,
    encode,
    text_of,
)
from redrive_projections import fold
from redrive_replays.whatif import Branch, Changes, EdgeReport, branched, edge_report
from redrive_replays.whatif.flips import first_flip
from tests.random_runs import doubtful_programs, driven_programs, programs, random_run, tapes
from tests.renew_recordings import RECIPES, records_of
from tests.shop import PURCHASE, Asking, recorded, seen, shop

ALLOW_READS = '[[rule]]\nname = "reads"\nwhen = { effect = "read" }\nthen = "allow"\n'
ALL = ALLOW_READS + '[[rule]]\nname = "writes"\nwhen = { effect = "write" }\nthen = "allow"\n'
ASKED = ALLOW_READS + '[[rule]]\nname = "look"\nwhen = { tool = "pay" }\nthen = "ask"\n'
NO_PRICES = '[[rule]]\nname = "no prices"\nwhen = { tool = "price_of" }\nthen = "deny"\n' + ALL
ITEM = {"item": "tea", "cents": 5}


def policy(text: str) -> RulesPolicy:
    """Rules in TOML."""
    return RulesPolicy.from_toml(text)


def run(*inputs: Input, rules: str = ALL, terms: Terms | None = None) -> tuple[list[Record], Program]:
    """A recorded run of the shop under some rules, and its program."""
    program = shop(terms or Terms(), policy=policy(rules))
    return recorded(program, *inputs), program


def served(branch: Branch) -> list[str]:
    """What tools were seen to say in a branch, in order."""
    events = (one.record.event for one in branch.records)
    return [text_of(event.content) for event in events if isinstance(event, ObservationReceived)]


def leases(records: Sequence[Record]) -> int:
    """How often a run was taken up."""
    return sum(isinstance(one.event, LeaseGranted) for one in records)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recording_in_which_nothing_is_changed_comes_out_the_same(name: str) -> None:
    """To its end, and with no assumption."""
    records, program = records_of(name), RECIPES[name].program
    branch = branched(records, program)
    assert first_flip(records, branch) is None
    assert edge_report(records, branch).sureness == "same"


@pytest.mark.parametrize("name", RECIPES)
def test_a_recording_that_waits_for_the_model_is_the_same_as_far_as_it_goes(name: str) -> None:
    """As most imports end: what is open there is open here."""
    whole, program = records_of(name), RECIPES[name].program
    for end in (one.position for one in whole if isinstance(one.event, ModelAsked) and not one.left):
        records = whole[:end]
        if fold(records).unheard:
            continue  # nobody drove it on
        report = edge_report(records, branched(records, program))
        assert (report.flip, report.sureness, report.exit_code) == (None, "same", 0), end
        assert report.edge is not None


# A tool answers in the instant in which a person has said nothing in time, and both stand in one append.
@example(b"\0\0\0\0\2", shop(Terms(budget=Limits(steps=9), approval_ms=3), policy=Asking(("count", "price_of", "pay"))))
@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=120) | tapes, programs | driven_programs | doubtful_programs)
def test_whatever_happened_happens_again_where_nothing_is_changed(tape: bytes, program: Program) -> None:
    """To the byte: doubts, refusals, people, deadlines and lost workers included, whenever a signal was heard."""
    records = random_run(tape, program)
    branch = branched(records, program)
    event("lost" if leases(records) > 1 else "driven by one")
    assert [encode(one.record) for one in branch.records] == list(map(encode, records))
    assert (branch.edge, branch.assumptions, branch.state) == (None, [], fold(records))
    assert edge_report(records, branch).sureness == "same"
    assert {one.label for one in branch.records} <= {"recorded", "recomputed"}


BUY = (
    reply("", use("price_of", item="tea")),
    seen(1, ITEM),
    reply("", use("pay", item="tea", cents=5)),
    seen(2, ITEM),
    reply("Bought."),
)


def edge_of(records: list[Record], program: Program, changes: Changes) -> EdgeReport:
    """The report of a branch."""
    return edge_report(records, branched(records, program, changes))


def told(report: EdgeReport) -> dict[str, object]:
    """The report but for the long parts."""
    data = report.data()
    edge = data["edge"] and (data["edge"]["turn"], data["edge"]["request"]["event"])
    effects = {where: [one["call"] for one in found] for where, found in data["effects"].items()}
    flip = report.flip and [side and type(side.event).__name__ for side in report.flip]
    return {"sureness": (report.sureness, report.turn, report.turns), "edge": edge, "effects": effects, "flip": flip}


@pytest.mark.parametrize(
    ("before", "changes", "expected"),
    [
        pytest.param(
            ALL,
            Changes(policy=policy(NO_PRICES)),
            {
                "sureness": ("exact to turn", 1, 3),
                "edge": (1, "model_asked"),
                "effects": {"stand": [], "prevented": [], "open": [2]},
                "flip": ["VerdictGiven", "VerdictGiven"],
            },
            id="one denied read",
        ),
        pytest.param(
            ALL,
            Changes(policy=policy(ALLOW_READS)),
            {
                "sureness": ("exact to turn", 2, 3),
                "edge": (2, "model_asked"),
                "effects": {"stand": [], "prevented": [2], "open": []},
                "flip": ["VerdictGiven", "VerdictGiven"],
            },
            id="one denied write",
        ),
        pytest.param(
            ALL,
            Changes(policy=policy(ASKED)),
            {
                "sureness": ("exact to turn", 2, 3),
                "edge": (2, "approval_asked"),
                "effects": {"stand": [], "prevented": [], "open": [2]},
                "flip": ["VerdictGiven", "VerdictGiven"],
            },
            id="allow to ask",
        ),
        pytest.param(
            ALL,
            Changes(policy=policy(ASKED), approvals="grant"),
            {
                "sureness": ("under assumptions", 3, 3),
                "edge": None,
                "effects": {"stand": [2], "prevented": [], "open": []},
                "flip": ["VerdictGiven", "VerdictGiven"],
            },
            id="allow to ask, and granted",
        ),
        pytest.param(
            ALL,
            Changes(dropped=("pay",), beyond=True),
            {
                "sureness": ("under assumptions", 3, 3),
                "edge": None,
                "effects": {"stand": [], "prevented": [2], "open": []},
                "flip": ["ModelAsked", "ModelAsked"],
            },
            id="a dropped tool",
        ),
    ],
)
def test_the_edge_says_what_is_known(before: str, changes: Changes, expected: dict[str, object]) -> None:
    """How far it goes, what flips, and what becomes of the recorded effects."""
    records, program = run(*BUY, rules=before)
    assert told(edge_of(records, program, changes)) == expected


def test_a_call_that_was_denied_has_no_answer() -> None:
    """Deny to allow: nobody knows what the tool would have said."""
    records, program = run(reply("", use("pay", item="tea", cents=5)), reply("I may not."), rules=ALLOW_READS)
    report = edge_of(records, program, Changes(policy=policy(ALL)))
    assert told(report)["edge"] == (1, "tool_called")
    assert report.flags == ("--set-observation 1=FILE",)


def test_a_write_that_is_given_as_failed_does_not_stand() -> None:
    """It was asked for all the same, and comes to nothing."""
    records, program = run(*BUY)
    failed = ObservationReceived(call=2, status="error", content="sold out")
    report = edge_of(records, program, Changes(observations={2: failed}))
    assert told(report)["effects"] == {"stand": [], "prevented": [2], "open": []}


def test_a_denial_that_blocks_is_exact_to_the_end() -> None:
    """There is nothing left to ask."""
    records, program = run(*BUY, terms=Terms(on_denied="block"))
    report = edge_of(records, program, Changes(policy=policy(ALLOW_READS)))
    assert (report.sureness, report.status, report.recorded_status) == ("exact", "blocked", "finished")


def asked_again(branch: Branch) -> str:
    """The kind of request at which a branch stops."""
    return type(branch.edge.request).__name__ if branch.edge else ""


def test_equal_calls_with_different_results_are_not_taken_for_each_other() -> None:
    """Asked one turn later, the first result may be neither of them."""
    moved = reply("", use("price_of", item="tea"))
    records, program = run(
        reply("", use("count", item="tea")), seen(1, 3), moved, seen(2, ITEM), reply("", use("count", item="tea")),
        seen(3, 4), reply("Done."),
    )  # fmt: skip
    branch = branched(records, program, Changes(replies={1: moved.content}, beyond=True))
    assert asked_again(branch) == ""
    assert served(branch)[0] != "3"
    strict = branched(records, program, Changes(replies={1: moved.content}))
    assert asked_again(strict) == "ModelAsked"
    assert "3" not in served(strict)


def test_of_equal_calls_side_by_side_each_has_its_own_answer() -> None:
    """The one that was asked later may have been answered first."""
    both = reply("", use("pay", item="tea", cents=5), use("pay", item="tea", cents=5))
    records, program = run(both, seen(2, ITEM), seen(1, {"item": "tea", "cents": 4}), reply("Bought."))
    assert first_flip(records, branched(records, program)) is None


def test_a_read_is_not_answered_from_another_state_of_the_world() -> None:
    """Between two equal reads a write is dropped: the second was answered behind it, and would not have been so."""
    records, program = run(
        reply("", use("count", item="tea")),
        seen(1, 3),
        reply("", use("pay", item="tea", cents=5)),
        seen(2, ITEM),
        reply("", use("count", item="tea")),
        seen(3, 2),
        reply("Two are left."),
    )
    branch = branched(records, program, Changes(policy=policy(ALLOW_READS), beyond=True))
    assert served(branch) == ["3", "3"], "its last answer from this state of the world, as an assumption"
    assert branch.records[-1].assumptions
    sure = branched(records, program, Changes(policy=policy(ALLOW_READS)))
    assert (served(sure), asked_again(sure)) == (["3"], "ModelAsked")


def test_a_worker_that_was_lost_is_not_lost_where_something_else_had_happened() -> None:
    """What the authority said that its write had come to is what it would have seen; the gap is nobody's wall time."""
    records, program = records_of("worker-lost-in-a-write"), RECIPES["worker-lost-in-a-write"].program
    words = next(one.event.content for one in records if isinstance(one.event, ModelReplied))
    branch = branched(records, program, Changes(replies={1: words}))
    assert branch.edge is None
    assert served(branch) == ['{"item":"tea","cents":5}']
    assert [type(one.record.event).__name__ for one in branch.records].count("LeaseGranted") == 1


def test_parallel_calls_are_answered_in_the_order_in_which_they_were() -> None:
    """By the time that each took, whichever call stands first."""
    records, program = run(*PURCHASE, terms=Terms(done={"paid": {"known": True}}))
    branch = branched(records, program, Changes(policy=policy(ALL + "# reads otherwise\n")))
    assert served(branch)[:2] == ["3", '{"cents":5,"item":"tea"}']
    assert edge_report(records, branch).sureness == "same"


def test_a_call_that_differs_in_one_argument_is_another_call() -> None:
    """Its answer is not served, however much else is equal."""
    records, program = run(*BUY)
    changed = reply("", use("price_of", item="milk")).content
    branch = branched(records, program, Changes(replies={1: changed}))
    assert (served(branch), asked_again(branch)) == ([], "ToolCalled")


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (seen(1, ITEM), "landed"),
        (ObservationReceived(call=1, status="error", content="sold out"), "not_landed"),
        (ObservationReceived(call=1, status="timeout", content="No answer."), ""),
    ],
)
def test_a_recorded_write_is_told_as_the_ledger_has_it(said: ObservationReceived, outcome: str) -> None:
    """That it failed is not that it may have landed."""
    records, program = run(reply("", use("pay", item="tea", cents=5)), said)
    report = edge_report(records, branched(records, program))
    (effect,) = (*report.before, *report.prevented, *report.after)
    assert effect.outcome == outcome


def test_a_read_beside_a_write_is_not_answered_without_it() -> None:
    """While it was under way the write may have landed, or not."""
    records, program = run(
        reply("", use("count", item="tea"), use("pay", item="tea", cents=5)), seen(2, ITEM), seen(1, 3), reply("Done.")
    )
    branch = branched(records, program, Changes(policy=policy(ALLOW_READS)))
    assert (served(branch), asked_again(branch)) == ([], "ToolCalled")


def test_a_write_given_as_failed_leaves_another_world_to_read() -> None:
    """What was read behind the write that landed was read in another state of the world."""
    records, program = run(
        reply("", use("pay", item="tea", cents=5)), seen(1, ITEM), reply("", use("count", item="tea")), seen(2, 2),
        reply("Done."),
    )  # fmt: skip
    failed = ObservationReceived(call=1, status="error", content="sold out")
    branch = branched(records, program, Changes(observations={1: failed}))
    assert (served(branch), asked_again(branch)) == (["sold out"], "ModelAsked")
    beyond = branched(records, program, Changes(observations={1: failed}, beyond=True))
    assert (served(beyond), asked_again(beyond)) == (["sold out"], "ToolCalled"), "it needs an answer of its own"


def test_what_is_given_is_told_from_what_was_recorded() -> None:
    """And all behind it is no surer than what follows from it."""
    records, program = run(*BUY)
    branch = branched(records, program, Changes(observations={1: '{"cents":7,"item":"tea"}'}))
    labels = {type(one.record.event).__name__: one.label for one in branch.records}
    assert labels["ObservationReceived"] == "given"
    assert asked_again(branch) == "ModelAsked"


def test_words_between_call_and_answer_keep_their_turn() -> None:
    """A signal comes behind as many answers of its turn as it did."""
    said = MessageReceived(actor="user", content="Be quick.")
    records, program = run(BUY[0], said, *BUY[1:])
    branch = branched(records, program, Changes(policy=policy(ALL + "# reads otherwise\n")))
    assert first_flip(records, branch) is None
    kinds = [type(one.record.event).__name__ for one in branch.records]
    assert kinds.index("MessageReceived") < kinds.index("ObservationReceived")


def test_every_request_is_another_one_under_another_prompt() -> None:
    """The first one has no answer already."""
    records, program = run(*BUY)
    branch = branched(records, program, Changes(prompt="Be brief."))
    assert (branch.state.steps, asked_again(branch)) == (0, "ModelAsked")


def test_each_assumption_is_numbered_and_carried_on() -> None:
    """What follows rests on all of them before it."""
    records, program = run(*BUY)
    branch = branched(records, program, Changes(prompt="Be brief.", beyond=True))
    assert branch.state.end is not None
    assert len(branch.assumptions) == 3
    carried = [one.assumptions for one in branch.records]
    assert carried == sorted(carried, key=len)
    assert carried[-1] == (1, 2, 3)
    assert [one.label for one in branch.records if isinstance(one.record.event, ToolCalled)] == ["recomputed"] * 2


def test_a_value_that_only_a_prevented_observation_shows_is_named() -> None:
    """The recorded call of a later turn uses what this branch never saw."""
    records, program = run(
        reply("", use("price_of", item="tea")),
        seen(1, {"item": "tea", "cents": 98765}),
        reply("", use("pay", item="tea", cents=98765)),
        seen(2, {"item": "tea", "cents": 98765}),
        reply("Done."),
    )
    report = edge_of(records, program, Changes(policy=policy(NO_PRICES)))
    assert [(one.call, one.tool, one.value) for one in report.ungrounded] == [(2, "pay", "98765")]


def test_a_value_that_its_own_call_shows_first_is_the_models() -> None:
    """What a result repeats of the call that it answers, the model knew without it."""
    records, program = run(
        reply("", use("price_of", item="tea")),
        seen(1, {"item": "tea", "cents": 5}),
        reply("", use("count", item="green tea")),
        seen(2, "green tea: none"),
        reply("Done."),
    )
    assert edge_of(records, program, Changes(policy=policy(NO_PRICES))).ungrounded == ()


def test_a_tool_that_is_not_there_cannot_be_dropped() -> None:
    """Of the tools that there are, one is meant."""
    records, program = run(*BUY)
    with pytest.raises(BadInput, match="no tool 'ghost' to drop; there are count, pay, poke, price_of"):
        branched(records, program, Changes(dropped=("ghost",)))


def test_a_branch_changes_no_record() -> None:
    """The recording stays as it is."""
    records, program = run(*BUY)
    before = list(records)
    branched(records, program, Changes(policy=policy(NO_PRICES), beyond=True))
    assert records == before
