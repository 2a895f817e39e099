"""Policies that are functions: what they say, what they read, and that their mistakes are denials."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import redrive as rd
from redrive_engine.models import reply, use
from redrive_engine.policy import NOT_ALLOWED, FunctionPolicy, PolicyList, policy_of, recorded_policy
from redrive_events import BadInput, Json, Reading, Terms, VerdictGiven, canonical, parse_json
from redrive_replays import replay_records
from tests.engine.test_policy import POLICY, REFUNDS, asked, looked, questions, values
from tests.shop import recorded, seen, shop


@rd.policy
def by_hand(question: rd.Question) -> rd.Ruling | None:
    """A large sum is for a person, and one without a note gets one."""
    if question.tool != "refund":
        return None
    if question.arguments["cents"] > question.facts.get("limit", 100):
        return rd.ask("a large sum", text="Ask for less.")
    if "note" not in question.arguments:
        return rd.edit({**question.arguments, "note": "by policy"}, "each payment has a note")
    return rd.allow("a small sum")


def read(path: str, value: Json) -> Reading:
    """What a function looked at."""
    return looked(path, "read", value, None)


TOOL = read("tool", "refund")


@pytest.mark.parametrize(
    ("question", "ruling"),
    [
        pytest.param(asked("find_order"), None, id="nothing to say"),
        pytest.param(
            asked(facts={}, cents=500),
            rd.Ruling(
                "ask",
                "by_hand",
                "a large sum",
                "Ask for less.",
                (TOOL, read("arguments.cents", 500), read("facts.limit", None)),
            ),
            id="for a person",
        ),
        pytest.param(
            asked(facts={"limit": 9, "other": 1}, cents=5),
            rd.Ruling(
                "edit",
                "by_hand",
                "each payment has a note",
                read=(
                    *(TOOL, read("arguments.cents", 5), read("facts.limit", 9), read("arguments.note", None)),
                    read("arguments", {"cents": 5}),
                    looked("arguments.note", "set", None, "by policy"),
                ),
                arguments={"cents": 5, "note": "by policy"},
            ),
            id="changed",
        ),
        pytest.param(
            asked(facts={"limit": 9}, cents=5, note="x"),
            rd.Ruling(
                "allow",
                "by_hand",
                "a small sum",
                read=(TOOL, read("arguments.cents", 5), read("facts.limit", 9), read("arguments.note", "x")),
            ),
            id="allowed",
        ),
        pytest.param(
            asked(facts={}, cents="5"),
            rd.Ruling(
                "deny",
                "by_hand",
                "the policy raised TypeError",
                NOT_ALLOWED,
                (TOOL, read("arguments.cents", "5"), read("facts.limit", None)),
            ),
            id="what it did not think of",
        ),
        pytest.param(
            asked(),
            rd.Ruling(
                "deny", "by_hand", "the policy raised KeyError", NOT_ALLOWED, (TOOL, read("arguments.cents", None))
            ),
            id="what is missing",
        ),
        pytest.param(
            replace(asked(), arguments="{not json"),
            rd.Ruling(
                "deny", "by_hand", "the policy raised TypeError", NOT_ALLOWED, (TOOL, read("arguments", "{not json"))
            ),
            id="arguments that could not be read",
        ),
    ],
)
def test_a_function(question: rd.Question, ruling: rd.Ruling | None) -> None:
    """The whole opinion, with each thing that was read, in the order in which it was."""
    assert by_hand.opinion(question) == ruling


def test_without_an_opinion_the_call_is_denied() -> None:
    """Deny by default; and the plain function stays one."""
    assert by_hand.judge(asked("find_order")) == rd.Ruling("deny", "no rule", "no rule matches", NOT_ALLOWED)
    assert by_hand(asked("find_order")) is None


def leaves(question: rd.Question) -> rd.Ruling:
    """It leaves the program."""
    raise SystemExit(question.tool)


def recurses(question: rd.Question) -> rd.Ruling:
    """It never comes back."""
    return recurses(question)


def puts(question: rd.Question) -> rd.Ruling:
    """It changes what it was shown."""
    question.arguments["cents"] = 1
    return rd.allow()


async def waits(_: rd.Question) -> rd.Ruling:
    """It is no plain function."""
    return rd.allow()


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        pytest.param(leaves, "raised SystemExit", id="leaves"),
        pytest.param(recurses, "raised RecursionError", id="recurses"),
        pytest.param(puts, "raised TypeError", id="changes the arguments"),
        pytest.param(lambda question: question.principl, "raised AttributeError", id="reads what there is not"),
        pytest.param(lambda _: True, "gave no ruling but bool", id="a truth"),
        pytest.param(lambda _: "allow", "gave no ruling but str", id="a word"),
        pytest.param(
            lambda _: rd.Ruling(cast("Any", "maybe"), "a"), "gave a ruling that is none", id="another verdict"
        ),
        pytest.param(lambda _: rd.Ruling("allow", "granted"), "gave a ruling that is none", id="a rule of the engine"),
        pytest.param(lambda _: rd.Ruling("deny", "schema"), "gave a ruling that is none", id="what never blocks"),
        pytest.param(
            lambda _: rd.Ruling("allow", cast("Any", 1)), "gave a ruling that is none", id="a number as a rule"
        ),
        pytest.param(lambda _: rd.edit({"a": object()}), "gave arguments that are not plain JSON", id="no JSON"),
        pytest.param(lambda _: rd.edit({"a": float("nan")}), "gave arguments that are not plain JSON", id="no number"),
        pytest.param(lambda _: rd.edit([1]), "gave arguments that are no table", id="no table"),
    ],
)
def test_a_mistake_denies(function: Callable[[rd.Question], Any], reason: str) -> None:
    """By the name of its class alone: no text of a library is in a record."""
    found = FunctionPolicy(function, "it").judge(asked(cents=5))
    assert (found.verdict, found.rule, found.reason) == ("deny", "it", f"the policy {reason}")
    assert found.text == NOT_ALLOWED


def test_what_no_policy_may_be() -> None:
    """Said when it is declared, and not when a call is judged."""
    with pytest.raises(TypeError, match="policy waits: a plain function of a question is expected"):
        rd.policy(waits)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="policy nothing: a plain function"):
        FunctionPolicy(lambda: None, "nothing")  # type: ignore[arg-type, misc]
    with pytest.raises(BadInput, match=r"^policy 'scope': the engine itself rules by this name$"):
        rd.policy(name="scope")(leaves)
    with pytest.raises(BadInput, match=r"^policy: a policy is a Path, a function or a list of such, not int$"):
        policy_of(7)  # type: ignore[arg-type]


def test_an_edit_that_changes_nothing_is_no_opinion() -> None:
    """So that judging the changed call comes to an end."""
    assert FunctionPolicy(lambda question: rd.edit(question.arguments)).opinion(asked(cents=5)) is None


def test_a_name_for_the_record() -> None:
    """Verdicts bear the function's name, the one it was given, or the one of its ruling."""

    def office(_: rd.Question) -> rd.Ruling:
        return rd.allow()

    assert rd.policy(office).judge(asked()).rule == "office"
    assert rd.policy(name="office hours")(office).judge(asked()).rule == "office hours"
    assert FunctionPolicy(lambda _: rd.Ruling("allow", "at noon")).judge(asked()).rule == "at noon"


def test_who_changes_the_source_changes_the_digest() -> None:
    """Two functions of one name and another body are two policies."""

    def first() -> FunctionPolicy:
        def it(_: rd.Question) -> rd.Ruling:
            return rd.allow()

        return FunctionPolicy(it)

    def second() -> FunctionPolicy:
        def it(_: rd.Question) -> rd.Ruling:
            return rd.deny()

        return FunctionPolicy(it)

    assert first().digest == first().digest != second().digest


def test_the_time_is_told_where_a_clock_gave_it() -> None:
    """Made-up times are none to judge by."""
    after_work = FunctionPolicy(lambda question: rd.allow() if question.at.hour < 8 else None, "early")
    assert after_work.judge(asked()).read == (read("at", "2026-01-01T00:00:00Z"),)
    assert after_work.judge(replace(asked(), clock="none")).reason == "the policy raised LookupError"


WAYS: list[tuple[str, Callable[[rd.Question], object], list[str]]] = [
    ("get", lambda question: question.arguments.get("a"), ["arguments.a"]),
    ("in", lambda question: "a" in question.arguments, ["arguments.a"]),
    ("a dotted name", lambda question: question.facts.get("a.b"), ['facts."a.b"']),
    ("for", lambda question: list(question.arguments), ["arguments"]),
    ("items", lambda question: list(question.arguments.items()), ["arguments"]),
    ("values", lambda question: question.facts.values(), ["facts"]),
    ("|", lambda question: question.arguments | {"b": 1}, ["arguments"]),
    ("==", lambda question: question.arguments == {"a": 1}, ["arguments"]),
    ("json", lambda question: json.dumps(question.arguments), ["arguments"]),
    ("dict", lambda question: dict(question.arguments), ["arguments"]),
    ("once", lambda question: (question.tool, question.tool, question.effect), ["tool", "effect"]),
    ("replace", lambda question: replace(question, tool="b").tool, ["tool"]),
]


@pytest.mark.parametrize(("ways", "paths"), [pytest.param(*rest, id=name) for name, *rest in WAYS])
def test_however_it_is_read_it_is_noted(ways: Callable[[rd.Question], object], paths: list[str]) -> None:
    """What a verdict rests on is in the record."""

    def noting(question: rd.Question) -> rd.Ruling:
        ways(question)
        return rd.allow()

    assert [one.path for one in FunctionPolicy(noting).judge(asked(facts={"a.b": 1}, a=1)).read] == paths


def test_what_a_function_does_to_its_copy_is_done_to_nothing_else() -> None:
    """However deep: the call is made with the arguments that were judged."""

    def spoils(question: rd.Question) -> rd.Ruling:
        question.arguments["to"]["city"] = question.facts["cities"].pop()
        return rd.allow()

    arguments: Json = {"to": {"city": "Kiel"}}
    facts: dict[str, Json] = {"cities": ["Ulm"]}
    found = FunctionPolicy(spoils).judge(replace(asked(), arguments=arguments, facts=facts))
    assert (found.verdict, arguments, facts) == ("allow", {"to": {"city": "Kiel"}}, {"cities": ["Ulm"]})
    assert found.read == (read("facts.cities", ["Ulm"]), read("arguments.to", {"city": "Kiel"}))


def test_the_order_in_which_arguments_come_decides_nothing() -> None:
    """Recorded data has its keys sorted; what a live run read first, its replay reads first too."""

    def first(question: rd.Question) -> rd.Ruling:
        name = next(iter(question.arguments))
        return rd.deny(f"{name} {next(iter(question.arguments[name]))}")

    turned = {"b": {"d": 1, "c": 2}, "a": {"f": 1, "e": 2}}
    ordered = parse_json(canonical(turned))
    rulings = [FunctionPolicy(first).judge(replace(asked(), arguments=one)) for one in (turned, ordered)]
    assert rulings[0] == rulings[1]
    assert rulings[0].reason == "a e"


def test_a_pattern_reads_what_it_names() -> None:
    """Whoever writes it with `match`."""

    def small(question: rd.Question) -> rd.Ruling | None:
        match question:
            case rd.Question(tool="refund", arguments={"cents": int(cents)}) if cents < 10:
                return rd.allow()
        return None

    found = FunctionPolicy(small).judge(asked(cents=5, note="x"))
    assert (found.verdict, found.read) == ("allow", (TOOL, read("arguments.cents", 5)))


@settings(deadline=None)
@given(questions, st.sampled_from(["allow", "deny", "ask", "edit", "odd", "raise"]), values, st.booleans())
def test_whatever_a_function_does_there_is_a_ruling(question: rd.Question, does: str, put: Json, whole: bool) -> None:
    """It never raises, the record can hold it, what it was shown stays as it was, and asked again it says the same."""

    def anything(asked: rd.Question) -> Any:
        assert whole is (not whole) or asked.facts.get("iban", 1) is not None or list(asked.facts)
        if does == "raise":
            raise ValueError(str(put))
        if does == "odd":
            return put
        if does == "edit":
            return rd.edit({**asked.arguments, "iban": put} if whole else put, "so")
        return rd.Ruling(does, "", "so")  # type: ignore[arg-type]

    before = repr(question)
    found = FunctionPolicy(anything).judge(question)
    assert repr(question) == before
    assert canonical(
        VerdictGiven(call=1, verdict=found.verdict, rule=found.rule, read=found.read, arguments=found.arguments)
    )
    assert found.verdict in {does, "deny"}
    assert FunctionPolicy(anything).judge(question) == found


TEA = "[[rule]]\nname = 'tea is free'\nwhen = { arguments.item = 'tea' }\nthen = 'allow'\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A file of rules."""
    file = tmp_path / "policy.toml"
    file.write_text(TEA, encoding="utf-8")
    return file


def no_gold(question: rd.Question) -> rd.Ruling | None:
    """Gold is never bought."""
    return rd.deny("too dear") if question.arguments.get("item") == "gold" else None


def asks(_: rd.Question) -> rd.Ruling | None:
    """What nobody else knows is for a person."""
    return rd.ask("nobody knows")


@pytest.mark.parametrize(
    ("item", "verdict", "rule"),
    [("gold", "deny", "no_gold"), ("tea", "allow", "tea is free"), ("milk", "ask", "asks")],
)
def test_the_first_opinion_of_a_list_decides(rules: Path, item: str, verdict: str, rule: str) -> None:
    """Functions and files in one order; one that has no opinion leaves it to the next."""
    listed = policy_of([no_gold, rules, rd.policy(asks)])
    assert listed is not None
    found = listed.judge(asked(item=item))
    assert (found.verdict, found.rule) == (verdict, rule)


def test_a_list_without_an_opinion_denies(rules: Path) -> None:
    """And so does one of nothing."""
    for listed in (policy_of([no_gold, rules]), policy_of([])):
        assert listed is not None
        assert listed.judge(asked(item="milk")).rule == "no rule"


def test_a_rule_stands_in_one_policy_of_a_list(rules: Path) -> None:
    """A verdict names it, so there is no other of that name."""
    with pytest.raises(BadInput, match=r"^policy: there is another rule 'tea is free'$"):
        policy_of([rules, rules])


def test_a_policy_that_cannot_keep_silent_rules_on_all(rules: Path) -> None:
    """Somebody's own, which is no more than the port."""

    class Strict:
        digest = wording = "0" * 64
        data = None

        def judge(self, question: rd.Question) -> rd.Ruling:
            return rd.Ruling("deny", "strict")

    listed = policy_of([rules, Strict()])
    assert listed is not None
    assert [listed.judge(asked(item=item)).rule for item in ("tea", "milk")] == ["tea is free", "strict"]


def test_what_a_run_records_of_a_policy(rules: Path) -> None:
    """Rules are data, and rebuilt from it; a function's code is in no log."""
    listed = PolicyList([POLICY, rd.RulesPolicy.from_toml(rules)])
    assert recorded_policy(parse_json(canonical(listed.data))).digest == listed.digest
    assert recorded_policy(parse_json(canonical(POLICY.data))) == POLICY
    with pytest.raises(BadInput, match=r"^policy by_hand: its code is not in the log; give --agent$"):
        recorded_policy(PolicyList([POLICY, by_hand]).data)
    with pytest.raises(BadInput, match=r"^policy of this run: its code is not in the log; give --agent$"):
        recorded_policy(None)


@pytest.mark.parametrize("change", ["order", "function", "rule"])
def test_each_of_a_list_decides(change: str) -> None:
    """Its digest is made of theirs, in their order."""
    one, two = rd.RulesPolicy.from_toml(REFUNDS), FunctionPolicy(no_gold)
    others: dict[str, list[rd.Policy]] = {
        "order": [two, one],
        "function": [one, FunctionPolicy(asks)],
        "rule": [rd.RulesPolicy.from_toml(TEA), two],
    }
    assert PolicyList([one, two]).digest != PolicyList(others[change]).digest


def test_a_run_under_a_list_is_the_same_again(rules: Path) -> None:
    """Each verdict says which rule, of which policy as a whole, and what was read."""
    program = shop(Terms(), policy=policy_of([no_gold, rules]))
    records = recorded(
        program, reply("", use("count", item="tea"), use("count", item="gold")), seen(1, 3), reply("Ok.")
    )
    verdicts = [one.event for one in records if isinstance(one.event, VerdictGiven)]
    assert [(one.verdict, one.rule) for one in verdicts] == [("allow", "tea is free"), ("deny", "no_gold")]
    assert program.policy is not None
    assert {one.policy for one in verdicts} == {program.policy.digest}
    assert verdicts[1].read == (read("arguments.item", "gold"),)
    assert replay_records("run", records, program).same
