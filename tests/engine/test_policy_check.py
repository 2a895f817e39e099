"""What is wrong with rules that are well written, and never a rule that could still decide."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_engine.policy import Finding, Known, KnownTool, Question, RulesPolicy, check_policy, check_rules
from redrive_events import Json
from redrive_projections import MISSING
from tests.engine.test_policy import REFUNDS

KNOWN = Known(
    tools={
        "find_order": KnownTool("read", ("order_id",), "order_id", ""),
        "refund": KnownTool("write", ("order_id", "iban", "cents"), "order_id", "iban"),
        "send_mail": KnownTool("write", ("to", "words"), "", "to"),
        "wipe": KnownTool("write", (), "", ""),
    },
    granted=("find_order", "refund", "send_mail"),
    facts=("iban",),
)


def findings(written: str, known: Known | None = None) -> list[tuple[str, str, str]]:
    """Each finding of rules, without its number."""
    return [(one.rule, one.kind, one.text) for one in check_rules(RulesPolicy.from_toml(written), known)]


def rules(*whens: str, then: str = "allow") -> str:
    """Rules that say the same, called by letters."""
    return "".join(
        f"[[rule]]\nname = '{chr(97 + place)}'\nwhen = {{ {when} }}\nthen = '{then}'\n"
        for place, when in enumerate(whens)
    )


def test_nothing_is_wrong_with_sound_rules() -> None:
    """By themselves, and for an agent."""
    assert findings(REFUNDS) == []
    assert findings(REFUNDS, KNOWN) == []


@pytest.mark.parametrize(
    ("when", "place"),
    [
        pytest.param("arguments.cents = { at_least = 6, at_most = 5 }", "arguments.cents", id="an empty range"),
        pytest.param("arguments.a = { is = 1, is_not = 1.0 }", "arguments.a", id="what it is and is not"),
        pytest.param("arguments.a = { one_of = ['x', 'y'], matches = 'z.*' }", "arguments.a", id="none of a list"),
        pytest.param("arguments.a = { one_of = [] }", "arguments.a", id="an empty list"),
        pytest.param("arguments.a = { at_most = 5, matches = 'x' }", "arguments.a", id="a number and a text"),
        pytest.param("arguments.a = { known = false, is = 1 }", "arguments.a", id="missing, and something"),
        pytest.param("arguments.a = { known = false, is = '$principal' }", "arguments.a", id="missing, and another"),
        pytest.param("effect = { is_not = 'read', not_one_of = ['write'] }", "effect", id="no effect"),
        pytest.param("hour = { at_least = 18, at_most = 6 }", "hour", id="over midnight"),
        pytest.param("at = { not_before = '2026-02-01', not_after = '2026-01-31' }", "at", id="no day"),
        pytest.param("weekday = { is = 'monday', is_not = 'monday' }", "weekday", id="no weekday"),
        pytest.param("destination = { domain_one_of = [] }", "destination", id="nowhere"),
    ],
)
def test_a_rule_that_can_never_match(when: str, place: str) -> None:
    """Whatever is asked."""
    assert findings(rules(when)) == [("a", "unused", f"no {place} can be all that it wants")]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param("", "tool = 'refund'", id="what always matches"),
        pytest.param(
            "tool = 'refund'", "tool = 'refund', arguments.cents = 5", id="all that the other wants, and more"
        ),
        pytest.param("arguments.cents = { at_most = 5 }", "arguments.cents = { at_most = 4 }", id="a lower limit"),
        pytest.param("arguments.cents = { at_least = 5 }", "arguments.cents = 7", id="a number within a limit"),
        pytest.param("arguments.a = { one_of = ['x', 'y'] }", "arguments.a = 'y'", id="one of a list"),
        pytest.param("arguments.a = { matches = 'x.*' }", "arguments.a = { one_of = ['xy', 'x'] }", id="a pattern"),
        pytest.param("arguments.a = { is_not = 9 }", "arguments.a = { at_most = 8 }", id="what is beyond a limit"),
        pytest.param("arguments.a = { not_one_of = [9, 3] }", "arguments.a = { not_one_of = [3, 5, 9] }", id="fewer"),
        pytest.param("arguments.a = { known = true }", "arguments.a = { at_most = '$facts.b' }", id="is there"),
        pytest.param(
            "at = { not_before = '2026-01-31' }", "at = { not_before = '2026-02-01T08:00Z' }", id="a later day"
        ),
        pytest.param("at = { not_after = '2026-02-01' }", "at = { not_after = '2026-01-31' }", id="an earlier day"),
        pytest.param("hour = { at_least = 8 }", "hour = { at_least = 8, at_most = 17 }", id="fewer hours"),
        pytest.param(
            "destination = { domain_one_of = ['*.a.example'] }",
            "destination = { domain_one_of = ['x.a.example', '*.b.a.example'] }",
            id="fewer hosts",
        ),
        pytest.param(
            "destination = { domain_not_one_of = ['x.a.example'] }",
            "destination = { domain_not_one_of = ['*.a.example'] }",
            id="more hosts that it is not",
        ),
        pytest.param("arguments.a = '$facts.b'", "arguments.a = '$facts.b', effect = 'read'", id="the same reference"),
    ],
)
def test_a_rule_that_another_stands_before(earlier: str, later: str) -> None:
    """Wherever it matches, the other has decided; and not the other way round."""
    assert findings(rules(earlier, later)) == [("b", "shadowed", "rule 'a' matches whatever it does")]
    assert findings(rules(later, earlier)) == []


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param("arguments.cents = { at_most = 5 }", "arguments.cents = { at_most = 6 }", id="a higher limit"),
        pytest.param("arguments.a = '$facts.b'", "arguments.a = '$facts.c'", id="another reference"),
        pytest.param("arguments.a = { matches = 'x.*' }", "arguments.a = { matches = 'xy.*' }", id="another pattern"),
        pytest.param(
            "at = { not_before = '2026-01-31T08:00Z' }", "at = { not_before = '2026-01-31' }", id="a whole day"
        ),
        pytest.param("facts.a = 1", "arguments.a = 1", id="another value"),
        pytest.param(
            "destination = { domain_one_of = ['a.example'] }",
            "destination = { domain_one_of = ['*.a.example'] }",
            id="below",
        ),
        pytest.param("arguments.a = { known = false }", "arguments.a = { known = true }", id="the opposite"),
    ],
)
def test_a_rule_that_may_still_decide(earlier: str, later: str) -> None:
    """What cannot be shown is not told."""
    assert findings(rules(earlier, later)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("principal = { known = true }", "", id="what is always there"),
        pytest.param("effect = { is_not = 'read' }", "effect = 'write'", id="the other effect"),
        pytest.param("hour = { at_least = 12 }", "hour = { not_one_of = [0,1,2,3,4,5,6,7,8,9,10,11] }", id="hours"),
    ],
)
def test_of_two_that_say_the_same_the_second_is_idle(one: str, other: str) -> None:
    """In whatever words."""
    for pair in ((one, other), (other, one)):
        assert findings(rules(*pair)) == [("b", "shadowed", "rule 'a' matches whatever it does")]


@pytest.mark.parametrize("known", [None, KNOWN])
@pytest.mark.parametrize(
    ("whens", "first"),
    [
        (("tool = 'refund'", "effect = 'write'", "tool = 'refund', object = '1'"), "a"),
        (("tool = 'send_mail'", "effect = 'write'", "tool = 'refund'", "tool = 'refund', effect = 'write'"), "b"),
    ],
)
def test_the_first_of_all_that_stand_before_a_rule_is_named(whens: tuple[str, ...], first: str, known: Any) -> None:
    """Whether it wants the same tool or any; rules of other tools are not looked at."""
    told = findings(rules(*whens), known)
    assert told[-1] == (chr(96 + len(whens)), "shadowed", f"rule {first!r} matches whatever it does")


def test_an_edit_stands_before_nothing() -> None:
    """What it has changed comes to the rules behind it."""
    edit = "[[rule]]\nname = 'a'\nwhen = {}\nthen = 'edit'\nset = { arguments.cents = 5 }\n"
    assert findings(edit + rules("tool = 'refund'").replace("'a'", "'b'")) == []


@pytest.mark.parametrize(
    ("written", "found"),
    [
        pytest.param(
            rules("tool = 'refnd'"),
            [("a", "unknown", "no tool 'refnd'; there are find_order, refund, send_mail, wipe")],
            id="no such tool",
        ),
        pytest.param(
            rules("tool = { one_of = ['refund', 'wipe'] }"),
            [("a", "unused", "tool 'wipe' is not granted")],
            id="not granted",
        ),
        pytest.param(
            rules("tool = 'refund', effect = 'read'"),
            [("a", "unused", "no tool that is granted is what it wants")],
            id="of another effect",
        ),
        pytest.param(
            rules("tool = 'refund', arguments.centz = { at_most = 5 }"),
            [("a", "unknown", "no argument 'centz'; there are cents, iban, order_id")],
            id="no such argument",
        ),
        pytest.param(
            rules("arguments.cents = { at_most = '$arguments.limit' }"),
            [("a", "unknown", "no argument 'limit'; there are cents, iban, order_id, to, words")],
            id="no such argument of any",
        ),
        pytest.param(
            rules("tool = 'refund', arguments.iban = '$facts.account'"),
            [("a", "unknown", "no verifier commits fact 'account'; there are iban")],
            id="no such fact",
        ),
        pytest.param(
            rules("tool = 'find_order', destination = 'x'"),
            [("a", "unknown", "no tool that is meant names its destination")],
            id="no destination",
        ),
        pytest.param(
            rules("tool = 'refund'", then="edit").replace("'edit'", "'edit'\nset = { arguments.sum = '$facts.sum' }"),
            [
                ("a", "unknown", "no argument 'sum'; there are cents, iban, order_id"),
                ("a", "unknown", "no verifier commits fact 'sum'; there are iban"),
            ],
            id="what an edit sets",
        ),
        pytest.param(
            rules("effect = 'read'", "tool = 'find_order', arguments.order_id = 'ord_1'"),
            [("b", "shadowed", "rule 'a' matches whatever it does")],
            id="behind all reads",
        ),
        pytest.param(
            rules("effect = 'read'", "tool = 'refund'", "tool = 'send_mail'", "principal = 'ana'"),
            [("d", "shadowed", "earlier rules decide on all calls of find_order, refund, send_mail")],
            id="behind several",
        ),
        pytest.param(rules("tool = '$facts.iban'", "tool = 'refund'"), [], id="a tool that is not known before"),
    ],
)
def test_what_an_agent_does_not_have(written: str, found: list[tuple[str, str, str]]) -> None:
    """What is wrong, and what there is."""
    assert findings(written, KNOWN) == found


def test_policies_in_cedar_are_held_against_tools(tmp_path: Path) -> None:
    """The rest of them is the schema's."""
    file = tmp_path / "desk.cedar"
    written = 'permit(principal, action == Action::"refnd", resource);'
    written += '@id("w") forbid(principal, action in [Action::"wipe", Action::"refund"], resource);'
    file.write_text(written, encoding="utf-8")
    assert check_policy(file, KNOWN) == (
        2,
        [
            Finding("policy0", None, "unknown", "no tool 'refnd'; there are find_order, refund, send_mail, wipe"),
            Finding("w", None, "unused", "tool 'wipe' is not granted"),
        ],
    )
    assert check_policy(file) == (2, [])


def test_a_finding_has_its_line(tmp_path: Path) -> None:
    """Where the rule begins."""
    file = tmp_path / "policy.toml"
    file.write_text("# two rules\n" + rules("", "tool = 'refund'"), encoding="utf-8")
    assert check_policy(file) == (2, [Finding("b", 6, "shadowed", "rule 'a' matches whatever it does")])


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
numbers: st.SearchStrategy[Json] = st.sampled_from([1, 2, 2.0, 3, "b", "ab", True, None, "$facts.a"])
days = st.sampled_from(["2026-01-30", "2026-01-31", "2026-01-31T12:00Z", "2026-02-01T00:00Z"])
hosts = st.lists(st.sampled_from(["a.example", "*.a.example", "x.a.example", "*.x.a.example"]), max_size=2)
predicates: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "is": numbers,
        "is_not": numbers,
        "one_of": st.lists(numbers, max_size=2),
        "not_one_of": st.lists(numbers, max_size=2),
        "at_most": st.integers(1, 3),
        "at_least": st.integers(1, 3),
        "matches": st.sampled_from(["b", ".*b", "a.*"]),
        "not_before": days,
        "not_after": days,
        "domain_one_of": hosts,
        "domain_not_one_of": hosts,
        "known": st.booleans(),
    },
).filter(lambda predicate: 0 < len(predicate) <= 3)
whens: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.sampled_from(["find_order", "refund"]),
        "effect": st.sampled_from(["read", "write"]),
        "facts": st.fixed_dictionaries({"iban": predicates}),
        "at": st.fixed_dictionaries({}, optional={"not_before": days, "not_after": days}).filter(bool),
        "hour": st.fixed_dictionaries({"at_most": st.integers(0, 23)}),
    },
)
values: st.SearchStrategy[Any] = (
    numbers | days | st.sampled_from(["a.example", "y.x.a.example", "x.a.example", MISSING])
)
asked = st.builds(
    lambda tool, iban, other, hours: Question(
        *("ana", "", tool, {}, KNOWN.tools[tool].effect, MISSING, MISSING),  # type: ignore[arg-type]
        {name: value for name, value in (("iban", iban), ("a", other)) if value is not MISSING},
        NOON + timedelta(hours=hours),
    ),
    st.sampled_from(["find_order", "refund", "send_mail"]),
    values,
    values,
    st.integers(-40, 40),
)


@settings(deadline=None)
@given(st.lists(whens, min_size=1, max_size=3), st.lists(asked, min_size=1, max_size=20), st.booleans())
def test_an_idle_rule_never_decides_as_it_says(drawn: list[Json], questions: list[Question], known: bool) -> None:
    """What is told is true: whatever is asked, no rule that is called idle ever matches before the others."""
    written = [{"name": str(place), "when": when, "then": "allow"} for place, when in enumerate(drawn)]
    policy = RulesPolicy.from_data({"rule": written})
    idle = {one.rule for one in check_rules(policy, KNOWN if known else None) if one.kind in {"unused", "shadowed"}}
    for question in questions:
        ruling = policy.judge(question)
        assert ruling.verdict == "deny" or ruling.rule not in idle
