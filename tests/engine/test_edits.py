"""Rules that ask and edit: what is put into a call, what is passed over, and that judging comes to an end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from redrive_engine import approve
from redrive_engine.loop.judge import EDITS_MAX
from redrive_engine.models import reply, use
from redrive_engine.policy import EDITED_OVER, NOT_ALLOWED, Question, RulesPolicy, Ruling
from redrive_events import (
    BadInput,
    DeadlinePassed,
    Input,
    Json,
    SignalsHeard,
    Terms,
    ToolCalled,
    VerdictGiven,
    canonical,
    parse_json,
)
from redrive_replays import replay_records
from tests.engine.test_approving import RUN, asking, then
from tests.engine.test_policy import asked, looked, questions, whens
from tests.shop import NOON, Asking, recorded, shop

CAPPED = """\
[[rule]]
name = "never more than the price"
reason = "prices are fixed"
when = { tool = "refund", arguments.cents = { known = true } }
then = "edit"
set = { arguments.cents = "$facts.price" }
[[rule]]
name = "someone looks"
when = { tool = "refund" }
then = "ask"
reason = "money leaves"
text = "Ask for less."
"""


def ruled(policy: str, question: Question) -> Ruling:
    """What a policy says."""
    return RulesPolicy.from_toml(policy).judge(question)


def edit(written: str, **arguments: Json) -> Ruling:
    """What one rule that edits says of a call."""
    rule = f"[[rule]]\nname = 'it'\nwhen = {{}}\nthen = 'edit'\nset = {{ {written} }}\n"
    return ruled(rule, asked(facts={"price": 5, "order": {"lines": [1]}}, **arguments))


def test_an_edit_says_what_it_read_and_what_it_put_there() -> None:
    """Each comparison, then each change: what stood there, and what stands there now."""
    assert ruled(CAPPED, asked(facts={"price": 5}, cents=9, note="x")) == Ruling(
        "edit",
        "never more than the price",
        "prices are fixed",
        read=(
            looked("tool", "is", "refund", "refund"),
            looked("arguments.cents", "known", 9, True),
            looked("arguments.cents", "set", 9, 5),
        ),
        arguments={"cents": 5, "note": "x"},
    )


def test_an_edit_that_would_change_nothing_is_passed_over() -> None:
    """So the changed call comes to the next rule, which here leaves it to a person."""
    assert ruled(CAPPED, asked(facts={"price": 5}, cents=5)) == Ruling(
        "ask", "someone looks", "money leaves", "Ask for less.", (looked("tool", "is", "refund", "refund"),)
    )


@pytest.mark.parametrize(
    ("written", "arguments", "edited"),
    [
        pytest.param("arguments.cents = 5", {"cents": 9}, {"cents": 5}, id="in the place of another"),
        pytest.param("arguments.dry = true", {"cents": 9}, {"cents": 9, "dry": True}, id="beside others"),
        pytest.param("arguments.to.city = 'Ulm'", {"to": {"zip": 1}}, {"to": {"zip": 1, "city": "Ulm"}}, id="inside"),
        pytest.param("arguments.l.1.c = 5", {"l": [{}, {"c": 9}]}, {"l": [{}, {"c": 5}]}, id="inside a list"),
        pytest.param("arguments.l.0 = 5", {"l": [9, 9]}, {"l": [5, 9]}, id="in a list"),
        pytest.param("arguments.a = 1, arguments.b = '$arguments.a'", {"a": 2}, {"a": 1, "b": 2}, id="as it was asked"),
        pytest.param("arguments.a = ['$facts.price', '$$x']", {}, {"a": [5, "$x"]}, id="a list with a reference"),
        pytest.param("arguments.a = {}", {"a": {"b": 1}}, {"a": {}}, id="an empty table"),
        pytest.param("arguments.a = '$facts.order.lines'", {}, {"a": [1]}, id="a part of a fact"),
        pytest.param("arguments = { a = { b = 1 } }", {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}, id="nested tables"),
    ],
)
def test_what_is_put_into_a_call(written: str, arguments: dict[str, Json], edited: dict[str, Json]) -> None:
    """Only there; all else stays, and the arguments that were given are left as they were."""
    before = canonical(arguments)
    found = edit(written, **arguments)
    assert (found.verdict, found.arguments) == ("edit", edited)
    assert canonical(arguments) == before


@pytest.mark.parametrize(
    ("written", "arguments", "reason"),
    [
        pytest.param("arguments.a = '$facts.gone'", {}, "facts.gone is missing", id="a reference to nothing"),
        pytest.param("arguments.to.city = 'Ulm'", {}, "arguments.to.city cannot be set", id="inside nothing"),
        pytest.param("arguments.to.city = 'Ulm'", {"to": 1}, "arguments.to.city cannot be set", id="inside a number"),
        pytest.param("arguments.l.2 = 1", {"l": [1, 2]}, "arguments.l.2 cannot be set", id="an index too far"),
        pytest.param("arguments.l.a = 1", {"l": [1]}, "arguments.l.a cannot be set", id="a name in a list"),
        pytest.param("arguments.a = 1", {"b": float("nan")}, "the arguments cannot be spelled", id="no number"),
    ],
)
def test_what_cannot_be_put_there_is_denied(written: str, arguments: dict[str, Json], reason: str) -> None:
    """There and then: a call that should have been changed is not made as it is."""
    found = edit(written, **arguments)
    assert (found.verdict, found.rule, found.reason, found.text) == ("deny", "it", reason, NOT_ALLOWED)


def test_arguments_that_could_not_be_read_are_not_edited() -> None:
    """There is nothing to put anything into."""
    question = replace(asked(), arguments="{not json")
    found = ruled("[[rule]]\nname='a'\nwhen={}\nthen='edit'\nset.arguments.b=1", question)
    assert (found.verdict, found.reason) == ("deny", "arguments.b cannot be set")


RULE = "[[rule]]\nname = 'a'\nwhen = {}\nthen = 'edit'\n"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        pytest.param(RULE, "policy:1: an edit sets arguments, like set = { arguments.cents = 5_000 }", id="nothing"),
        pytest.param(f"{RULE}set = 1", "policy:5: an edit sets arguments, like", id="a number"),
        pytest.param(f"{RULE}set = {{ arguments = {{}} }}", "policy:5: an edit sets arguments, like", id="no argument"),
        pytest.param(f"{RULE}set = {{ tool = 'b' }}", "policy:5: an edit sets arguments, like", id="another tool"),
        pytest.param(
            f"{RULE}set = {{ tool = 'b', arguments.a = 1 }}", "policy:5: an edit sets arguments, like", id="both"
        ),
        pytest.param(
            f"{RULE}set = {{ arguments.a = '$fact.b' }}", "policy:5: '$fact.b' names nothing; there are", id="nowhere"
        ),
        pytest.param(
            f"{RULE}\n[rule.set.arguments]\na = 1\nb = [2026-01-01]",
            "policy:8: 2026-01-01 is no JSON value; a date is written as a text",
            id="a date",
        ),
        pytest.param(
            f"{RULE}set = {{ arguments.a = 1 }}\ntext = 'no'",
            "policy:6: text is what the model reads of a denial; a call that is made has none",
            id="words",
        ),
        pytest.param(
            f"{RULE.replace('edit', 'allow')}set = {{ arguments.a = 1 }}",
            "policy:5: only a rule that says edit sets anything",
            id="a rule that allows",
        ),
    ],
)
def test_what_no_edit_may_be(written: str, problem: str) -> None:
    """One line: where it stands, and what is allowed."""
    with pytest.raises(BadInput) as refused:
        RulesPolicy.from_toml(written)
    assert str(refused.value).startswith(problem)


def test_what_is_set_decides() -> None:
    """Another value is another policy; another order of the same is not."""
    one, other = (f"{RULE}set.arguments.{first}\nset.arguments.{second}" for first, second in (("a=1", "b=2"),) * 2)
    turned = f"{RULE}set.arguments.b=2\nset.arguments.a=1"
    digests = [RulesPolicy.from_toml(text).digest for text in (one, turned, other.replace("b=2", "b=3"))]
    assert digests[0] == digests[1] != digests[2]


values: st.SearchStrategy[Any] = st.sampled_from([1, 5, "DE1", "$arguments.iban", "$facts.iban", "$principal", [1], {}])
names = st.sampled_from(["iban", "cents", "new"])
rules = st.lists(
    st.tuples(
        whens, st.sampled_from(["allow", "deny", "ask", "edit", "edit"]), st.dictionaries(names, values, min_size=1)
    ),
    max_size=5,
).map(
    lambda drawn: [
        {"name": str(place), "when": when, "then": then} | ({"set": {"arguments": put}} if then == "edit" else {})
        for place, (when, then, put) in enumerate(drawn)
    ]
)


@settings(deadline=None)
@given(rules, questions)
def test_a_ruling_is_of_a_rule_or_a_denial(given_rules: list[Json], question: Question) -> None:
    """Whatever is asked, it never raises, the record can hold it, and nothing but a rule says anything else than no."""
    policy = RulesPolicy.from_data({"rule": given_rules})
    ruling = policy.judge(question)
    recorded = RulesPolicy.from_data(parse_json(canonical(policy.data)))
    assert recorded.judge(question) == ruling
    verdict = VerdictGiven(
        call=1, verdict=ruling.verdict, rule=ruling.rule, read=ruling.read, arguments=ruling.arguments
    )
    assert canonical(verdict)
    if ruling.verdict != "deny":
        assert given_rules[int(ruling.rule)]["then"] == ruling.verdict
    if ruling.verdict == "edit":
        assert canonical(ruling.arguments) != canonical(question.arguments)
        assert {one.operator for one in ruling.read} >= {"set"}


@settings(deadline=None)
@given(rules, questions)
def test_what_was_looked_at_leads_to_the_ruling(given_rules: list[Json], question: Question) -> None:
    """The explanation is of what judges, and not a second judge."""
    policy = RulesPolicy.from_data({"rule": given_rules})
    looks = list(policy.looks(question))
    decided = [one.ruling for one in looks if one.outcome == "decides"]
    assert decided == [one for one in [policy.opinion(question)] if one]
    assert [one.rule for one in looks] == [str(place) for place in range(len(looks))]
    for look in looks:
        assert (look.outcome == "no match") is any(clause.holds is False for clause in look.clauses)


@settings(deadline=None)
@given(
    rules.map(lambda drawn: parse_json(canonical(drawn).replace(b"iban", b"item"))),
    st.fixed_dictionaries({"item": st.sampled_from(["tea", "DE1"]), "cents": st.sampled_from([1, 5])}),
)
def test_judging_comes_to_an_end(given_rules: list[Json], arguments: dict[str, Json]) -> None:
    """The changed call is judged again, and edits that undo each other are a denial in the end."""
    program = shop(Terms(), policy=RulesPolicy.from_data({"rule": given_rules}))
    records = recorded(program, reply("", use("pay", **arguments)))
    verdicts = [one.event for one in records if isinstance(one.event, VerdictGiven)]
    *edits, last = verdicts
    assert last.verdict != "edit"
    assert len(edits) <= EDITS_MAX
    judged: Json = arguments
    for one in edits:
        assert (one.verdict, one.policy) == ("edit", RulesPolicy.from_data({"rule": given_rules}).digest)
        assert canonical(one.arguments) != canonical(judged)
        judged = one.arguments
    made = [one.event.arguments for one in records if isinstance(one.event, ToolCalled)]
    assert made == ([judged] if last.verdict == "allow" else [])
    assert replay_records("run", records, program).same


BACK_AND_FORTH = """\
[[rule]]
name = "there"
when = { arguments.cents = 1 }
then = "edit"
set = { arguments.cents = 2 }
[[rule]]
name = "back"
when = { arguments.cents = 2 }
then = "edit"
set = { arguments.cents = 1 }
"""


def test_edits_that_undo_each_other_are_a_denial() -> None:
    """After so many that nobody meant it."""
    program = shop(Terms(), policy=RulesPolicy.from_toml(BACK_AND_FORTH))
    records = recorded(program, reply("", use("pay", item="tea", cents=1)))
    verdicts = [one.event for one in records if isinstance(one.event, VerdictGiven)]
    assert [one.rule for one in verdicts] == ["there", "back"] * (EDITS_MAX // 2) + [EDITED_OVER]
    assert not [one for one in records if isinstance(one.event, ToolCalled)]


def test_a_change_that_does_not_fit_the_tool_is_denied() -> None:
    """What a rule puts into a call is checked like what a model wrote."""
    written = "[[rule]]\nname='a'\nwhen={}\nthen='edit'\nset.arguments.cents='five'"
    records = recorded(shop(Terms(), policy=RulesPolicy.from_toml(written)), reply("", use("pay", item="t", cents=1)))
    verdicts = [one.event for one in records if isinstance(one.event, VerdictGiven)]
    assert [(one.verdict, one.rule) for one in verdicts] == [("edit", "a"), ("deny", "schema")]


class Worded(Asking):
    """One that asks, and has words for a no."""

    def judge(self, question: Question) -> Ruling:
        """As ever, with words."""
        ruling = super().judge(question)
        return replace(ruling, text="Pay less.") if ruling.verdict == "ask" else ruling


@pytest.mark.parametrize("answer", ["refuse", "grant", None])
def test_the_rule_that_asks_may_have_words_for_a_no(answer: Literal["refuse", "grant"] | None) -> None:
    """Else the model reads the same for every call that people do not allow; and of a yes it is told nothing."""
    program, log = asking(policy=Worded(), approval_ms=5000)
    happens: Input = SignalsHeard()
    if answer is None:
        happens = DeadlinePassed(which="approval")
    else:
        approve(log, RUN, 1, by="bo", at=NOON + timedelta(seconds=3), answer=answer)
    batch = then(program, log, happens, after_s=4 if answer else 8)
    (verdict,) = [one.event for one in batch if isinstance(one.event, VerdictGiven)]
    assert (verdict.verdict, verdict.text) == (("allow", "") if answer == "grant" else ("deny", "Pay less."))
