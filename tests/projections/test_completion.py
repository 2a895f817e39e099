"""Whether a run is done, how it reads, and what its answer claims."""

from __future__ import annotations

import pytest

from redrive_events import Claim, Json, Predicate, RunEnded
from redrive_projections import MISSING, Fact, claims, compare, holds, missing, problem_of, same, slots, status, worded
from tests.projections.story import STARTED, Line, folded

FACTS = {"paid": Fact(5, 28, (25,), "v"), "item": Fact("tea", 29, (25, 26), "v"), "open": Fact(None, 30, (), "v")}


@pytest.mark.parametrize(
    ("done", "then"),
    [
        pytest.param({}, (), id="nothing is asked for"),
        pytest.param({"paid": {"known": True}}, (), id="known"),
        pytest.param({"open": {"known": True}}, (), id="null is something"),
        pytest.param({"paid": {"is": 5.0}, "item": {"is": "tea"}}, (), id="equal"),
        pytest.param(
            {"price": {"known": True}, "paid": {"at_least": 6}}, ("price", "paid"), id="in the contract's order"
        ),
        pytest.param({"price": {"is": None}}, ("price",), id="not known is not null"),
        pytest.param({"price": {"is_not": 5}}, ("price",), id="nor anything else"),
        pytest.param({"item": {"at_least": 1}}, ("item",), id="what cannot be compared does not hold"),
    ],
)
def test_which_criteria_do_not_hold(done: dict[str, Predicate], then: tuple[str, ...]) -> None:
    """A criterion holds only if it surely does."""
    assert missing(done, FACTS) == then


@pytest.mark.parametrize(
    ("template", "words", "claimed"),
    [
        pytest.param("", "", (), id="empty"),
        pytest.param("Done.", "Done.", (), id="no slot"),
        pytest.param(
            "{paid} for {item}, {paid}!",
            "5 for tea, 5!",
            (Claim(text="paid: 5", evidence=(28, 25)), Claim(text="item: tea", evidence=(29, 25, 26))),
            id="each slot once",
        ),
        pytest.param("At {price}.", "At {price}.", (), id="what is not known stays a slot"),
        pytest.param("{open}", "null", (Claim(text="open: null", evidence=(30,)),), id="what is no text is JSON"),
        pytest.param("{} {{paid}}", "{} {5}", (Claim(text="paid: 5", evidence=(28, 25)),), id="braces"),
    ],
)
def test_what_an_answer_says_and_claims(template: str, words: str, claimed: tuple[Claim, ...]) -> None:
    """Each claim with the place of its fact, and the evidence of that."""
    assert worded(template, FACTS) == words
    assert claims(template, FACTS) == claimed


def test_the_slots_of_a_template_are_named_once_and_in_order() -> None:
    """A contract is refused if nothing commits one of them."""
    assert slots("{b} {a} {b}") == ("b", "a")


@pytest.mark.parametrize(
    ("given_", "held", "then"),
    [
        pytest.param([STARTED], True, "running", id="a worker has it"),
        pytest.param([STARTED], False, "unfinished", id="nobody has it"),
        pytest.param([STARTED, RunEnded(status="blocked", reason="", state="")], True, "blocked", id="it has ended"),
    ],
)
def test_how_a_run_reads(given_: list[Line], held: bool, then: str) -> None:
    """An end is told by its event, and by nothing else."""
    assert status(folded(*given_), held=held) == then


@pytest.mark.parametrize(
    ("operator", "value", "limit", "then"),
    [
        pytest.param("is", 1, 1.0, True, id="numbers are equal by value"),
        pytest.param("is", True, 1, False, id="true is no number"),
        pytest.param("is", "1", 1, False, id="nor is a text"),
        pytest.param("is", {"a": [1, None]}, {"a": [1, None]}, True, id="tables"),
        pytest.param("is", None, None, True, id="null"),
        pytest.param("is", MISSING, None, None, id="missing is not null"),
        pytest.param("is_not", 2, 1, True, id="is not"),
        pytest.param("is_not", MISSING, 1, None, id="what is missing is not known to differ"),
        pytest.param("one_of", 2, [1, 2.0], True, id="one of"),
        pytest.param("one_of", 2, 2, None, id="one of no list"),
        pytest.param("not_one_of", 3, [1, 2], True, id="not one of"),
        pytest.param("not_one_of", 3, "3", None, id="not one of no list"),
        pytest.param("at_most", 5, 5, True, id="at most"),
        pytest.param("at_most", 5.5, 5, False, id="more than that"),
        pytest.param("at_most", "5", 5, None, id="a text is not at most"),
        pytest.param("at_most", True, 5, None, id="nor is a truth"),
        pytest.param("at_least", 5, 5, True, id="at least"),
        pytest.param("at_least", 4, 5, False, id="less than that"),
        pytest.param("matches", "ord_1", r"ord_\d+", True, id="matches"),
        pytest.param("matches", "ord_1 or 2", r"ord_\d+", False, id="as a whole"),
        pytest.param("matches", "ord_1\n", r"ord_\d+", False, id="line breaks too"),
        pytest.param("matches", 1, r"\d", None, id="a number matches nothing"),
        pytest.param("matches", "a" * 50_000 + "!", r"(a+)+", False, id="a pattern over which others never end"),
        pytest.param("matches", "\ud800", ".", None, id="half a character matches nothing"),
        pytest.param("matches", "王芳", r"\p{Han}+", True, id="a script"),
        pytest.param("known", None, True, True, id="null is known"),
        pytest.param("known", MISSING, True, False, id="missing is not"),
        pytest.param("known", MISSING, False, True, id="and may be asked for"),
    ],
)
def test_how_values_compare(operator: str, value: Json, limit: Json, then: bool | None) -> None:
    """None where nobody can say, which is neither yes nor no."""
    assert compare(operator, value, limit) is then


def test_a_predicate_holds_if_all_of_it_surely_does() -> None:
    """What cannot be said does not hold, so a scope with a missing value is closed."""
    assert holds({"at_least": 1, "at_most": 5}, 3)
    assert not holds({"at_least": 1, "at_most": 5}, 6)
    assert not holds({"at_most": 5}, MISSING)
    assert same([1, True], [1, True])


@pytest.mark.parametrize(
    ("predicate", "problem"),
    [
        pytest.param({"is": None}, None, id="fine"),
        pytest.param({}, "a predicate is a table of operators", id="empty"),
        pytest.param("5", "a predicate is a table of operators", id="no table"),
        pytest.param({"matches": "("}, "'(' is no regular expression of RE2: missing ): (", id="no pattern"),
        pytest.param({"matches": 5}, "5 is no regular expression", id="no text"),
        pytest.param(
            {"matches": "\ud800"}, "'\\ud800' is no regular expression: half a character", id="half a character"
        ),
        pytest.param(
            {"matches": "(?=a)"},
            "'(?=a)' is no regular expression of RE2: invalid perl operator: (?=",
            id="looking ahead takes more than one pass",
        ),
        pytest.param({"one_of": "ab"}, "one_of takes a list", id="no list"),
        pytest.param({"at_most": True}, "at_most takes a number", id="no number"),
        pytest.param({"known": 1}, "known takes true or false", id="no truth"),
        pytest.param({"is": 1, "at_least": "1"}, "at_least takes a number", id="the second operator"),
    ],
)
def test_what_is_wrong_with_a_predicate(predicate: object, problem: str | None) -> None:
    """In one clause a person can act on."""
    assert problem_of(predicate) == problem
