"""Whether a call may be made: by rules, by the contract, and never by accident."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from redrive_engine.policy import NOT_ALLOWED, Grants, Question, RulesPolicy, Ruling
from redrive_engine.toml_file import TomlFile
from redrive_events import BadInput, Effect, Json, Reading, Terms, VerdictGiven, canonical, parse_json
from redrive_projections import MISSING, compare

REFUNDS = """\
# first match wins; no match, an error, a missing value: deny
[[rule]]
name = "looking is free"
when = { effect = "read" }
then = "allow"
[[rule]]
name = "only the account that paid"
reason = "money goes back to where it came from"
when = { tool = "refund", arguments.iban = { is_not = "$facts.iban" } }
then = "deny"
[[rule]]
name = "small sums"
when = { tool = "refund", arguments.cents = { at_most = 5_000 } }
then = "allow"
"""
POLICY = RulesPolicy.from_toml(REFUNDS)


def asked(tool: str = "refund", facts: dict[str, Json] | None = None, **arguments: Json) -> Question:
    """A call as it is judged."""
    return Question(
        principal="ana",
        tenant="north",
        tool=tool,
        arguments=arguments,
        effect="read" if tool == "find_order" else "write",
        object=arguments.get("order_id", MISSING),
        destination=arguments.get("iban", MISSING),
        facts={"iban": "DE1"} if facts is None else facts,
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def looked(path: str, operator: str, value: Json, limit: Json) -> Reading:
    """What a verdict looked at."""
    return Reading(path=path, operator=operator, value=value, limit=limit)


IS_REFUND = looked("tool", "is", "refund", "refund")
ACCOUNT = "only the account that paid"
ACCOUNT_WHY = "money goes back to where it came from"


@pytest.mark.parametrize(
    ("question", "ruling"),
    [
        pytest.param(
            asked("find_order"),
            Ruling("allow", "looking is free", read=(looked("effect", "is", "read", "read"),)),
            id="the first rule that matches decides",
        ),
        pytest.param(
            asked(iban="DE1", cents=5000),
            Ruling("allow", "small sums", read=(IS_REFUND, looked("arguments.cents", "at_most", 5000, 5000))),
            id="at the limit",
        ),
        pytest.param(
            asked(iban="DE2", cents=1),
            Ruling(
                "deny",
                ACCOUNT,
                ACCOUNT_WHY,
                NOT_ALLOWED,
                (IS_REFUND, looked("arguments.iban", "is_not", "DE2", "DE1")),
            ),
            id="a deny before an allow",
        ),
        pytest.param(
            asked(iban="DE1", cents=5001),
            Ruling("deny", "no rule", "no rule matches", NOT_ALLOWED),
            id="no match is a denial",
        ),
        pytest.param(
            asked(facts={}, iban="DE1", cents=1),
            Ruling(
                "deny",
                ACCOUNT,
                "facts.iban is missing",
                NOT_ALLOWED,
                (IS_REFUND, looked("arguments.iban", "is_not", "DE1", None)),
            ),
            id="a limit that is not known denies there and then",
        ),
        pytest.param(
            asked(cents=1),
            Ruling(
                "deny",
                ACCOUNT,
                "arguments.iban is missing",
                NOT_ALLOWED,
                (IS_REFUND, looked("arguments.iban", "is_not", None, "DE1")),
            ),
            id="a value that is missing denies there and then",
        ),
        pytest.param(
            asked(iban="DE1", cents="1"),
            Ruling(
                "deny",
                "small sums",
                "arguments.cents cannot be compared (at_most)",
                NOT_ALLOWED,
                (IS_REFUND, looked("arguments.cents", "at_most", "1", 5000)),
            ),
            id="what cannot be compared denies there and then",
        ),
        pytest.param(
            replace(asked(), arguments="{'iban': not JSON"),
            Ruling(
                "deny",
                ACCOUNT,
                "arguments.iban is missing",
                NOT_ALLOWED,
                (IS_REFUND, looked("arguments.iban", "is_not", None, "DE1")),
            ),
            id="arguments that could not be read hold nothing",
        ),
    ],
)
def test_refunds(question: Question, ruling: Ruling) -> None:
    """The whole ruling, with what was read for the record and nothing of it for the model."""
    assert POLICY.judge(question) == ruling


NESTED: dict[str, Any] = {
    "to": {"city": "Kiel", "is": "a"},
    "lines": [{"cents": 3}, {"cents": 5}],
    "a.b": 1,
    "copy": "ord_7",
    "note": "$x",
    "odd": {"a": float("nan")},
    "until": "2026-02-01T00:00Z",
    "url": "https://eu.b.example/in",
}


@pytest.mark.parametrize(
    ("when", "matches"),
    [
        pytest.param("", True, id="nothing to compare"),
        pytest.param("arguments.to.city = 'Kiel'", True, id="a nested name"),
        pytest.param("arguments = { to = { city = { one_of = ['Kiel', 'Ulm'] } } }", True, id="nested tables"),
        pytest.param("arguments.to.city.zip = 1", None, id="deeper than there is"),
        pytest.param("arguments.lines.1.cents = 5", True, id="an index"),
        pytest.param("arguments.lines.2.cents = 5", None, id="an index too far"),
        pytest.param("arguments.lines.first.cents = 5", None, id="a name in a list"),
        pytest.param("arguments.'a.b' = 1.0", True, id="a name with a dot"),
        pytest.param("arguments.is = 1", None, id="an argument called as an operator"),
        pytest.param("arguments.to = { is = { city = 'Kiel', is = 'a' } }", True, id="a whole table"),
        pytest.param("facts.order.lines.0 = true", True, id="inside a fact"),
        pytest.param("facts.'order.id' = '$arguments.copy'", True, id="a fact against an argument"),
        pytest.param("arguments.copy = '$facts.\"order.id\"'", True, id="an argument against a fact with a dot"),
        pytest.param("arguments.copy = { one_of = ['a', '$facts.\"order.id\"'] }", True, id="a reference in a list"),
        pytest.param("arguments.copy = { one_of = ['ord_7', '$facts.gone'] }", None, id="a list with a gap"),
        pytest.param("arguments.copy = { one_of = '$facts.orders' }", True, id="a list that is a fact"),
        pytest.param("arguments.copy = { one_of = '$facts.limit' }", None, id="a number in the place of a list"),
        pytest.param("arguments.to = { is_not = { city = '$facts.city' } }", None, id="a table with a gap"),
        pytest.param("arguments.to.city = { is = '$facts.order.city' }", True, id="inside a fact, as a limit"),
        pytest.param("arguments.note = '$$x'", True, id="a plain dollar"),
        pytest.param("principal = 'ana', tenant = { not_one_of = ['south'] }", True, id="who asks"),
        pytest.param("principal = '$arguments.copy'", False, id="a principal against an argument"),
        pytest.param("object = { matches = 'ord_\\d+' }, destination = 'a.example'", True, id="object and destination"),
        pytest.param("effect = 'read', arguments.gone = 1", False, id="surely not, whatever is missing"),
        pytest.param("arguments.gone = 1, facts.limit = 6", False, id="surely not, behind something missing"),
        pytest.param("arguments.gone = { known = false }", True, id="known not to be there"),
        pytest.param("arguments.gone = { known = true, at_most = 1 }", False, id="a guard against what may be missing"),
        pytest.param("facts.limit = { at_least = 5, at_most = 5 }", True, id="two operators"),
        pytest.param("arguments.copy = { matches = 'ord' }", False, id="a pattern matches as a whole"),
        pytest.param("facts.limit = true", False, id="a number is no truth"),
        pytest.param("arguments.odd = { is_not = { a = 1 } }", None, id="what JSON cannot spell"),
        pytest.param("facts.nothing = { known = true }", True, id="null is something"),
        pytest.param("at = { not_before = '2026-01-01', not_after = '2026-01-01' }", True, id="a day"),
        pytest.param("at = { not_before = '2026-01-01T00:00:01Z' }", False, id="a second too early"),
        pytest.param("hour = { at_least = 6, at_most = 17 }, weekday = { one_of = ['monday'] }", False, id="an hour"),
        pytest.param("hour = 0, weekday = 'thursday'", True, id="midnight"),
        pytest.param("arguments.until = { not_before = '$at' }", True, id="an argument against the time"),
        pytest.param("facts.'order.id' = { not_before = '2026-01-01' }", None, id="what is no time"),
        pytest.param("arguments.url = { domain_one_of = ['a.example', '*.b.example'] }", True, id="a host"),
        pytest.param("arguments.url = { domain_not_one_of = ['a.example'] }", True, id="another host"),
        pytest.param("arguments.url = { domain_one_of = '$facts.hosts' }", True, id="hosts that are a fact"),
        pytest.param("arguments.url = { domain_one_of = '$facts.limit' }", None, id="hosts that are none"),
        pytest.param("destination = { domain_one_of = ['a.example'] }", True, id="a name alone may be a host"),
        pytest.param("arguments.to = { domain_one_of = ['a.example'] }", None, id="no address"),
    ],
)
def test_a_rule(when: str, matches: bool | None) -> None:
    """Matches (the rule allows), does not (no rule), or cannot be said: then the rule denies, whatever its `then`."""
    facts = {
        "order.id": "ord_7",
        "order": {"lines": [True], "city": "Kiel"},
        "orders": ["ord_7"],
        "limit": 5,
        "nothing": None,
        "hosts": ["*.b.example"],
    }
    question = replace(asked(facts=facts, **NESTED), object="ord_7", destination="a.example")
    ruling = RulesPolicy.from_toml(f"[[rule]]\nname = 'it'\nwhen = {{ {when} }}\nthen = 'allow'\n").judge(question)
    assert (ruling.verdict, ruling.rule) == {
        True: ("allow", "it"),
        False: ("deny", "no rule"),
        None: ("deny", "it"),
    }[matches]


@pytest.mark.parametrize("clock", ["naive", "none"])
@pytest.mark.parametrize("when", ["at.not_before='2026-01-01'", "hour=0", "weekday='thursday'"])
def test_a_time_that_no_clock_gave_is_missing(when: str, clock: Literal["naive", "none"]) -> None:
    """The times of an imported run may be made up, or of a zone that nobody knows."""
    policy = RulesPolicy.from_toml(f"[[rule]]\nname='a'\nwhen.{when}\nthen='allow'")
    assert policy.judge(asked()).verdict == "allow"
    untimed = policy.judge(replace(asked(), clock=clock))
    assert (untimed.verdict, untimed.reason) == ("deny", f"{policy.written[0].clauses[0].path[0]} is missing")


def test_what_is_read_is_in_one_order_however_the_rule_is_written() -> None:
    """Recorded data has its keys sorted; a replay from it writes the same verdict."""
    written = "[[rule]]\nname='a'\nwhen={facts.x=1, arguments.b={at_most=2, at_least=1}, tool='refund'}\nthen='allow'"
    policy = RulesPolicy.from_toml(written)
    recorded = RulesPolicy.from_data(parse_json(canonical(policy.data)))
    question = asked(facts={"x": 1}, b=1)
    assert policy == recorded
    assert policy.judge(question) == recorded.judge(question)
    assert [reading.path for reading in policy.judge(question).read] == [
        "tool",
        "arguments.b",
        "arguments.b",
        "facts.x",
    ]


@pytest.mark.parametrize(("effect", "verdict"), [("read", "allow"), ("write", "deny"), ("unknown", "deny")])
def test_what_is_not_known_to_be_a_read_is_judged_as_a_write(effect: Effect, verdict: str) -> None:
    """A rule against writes holds for the tool of an import too, of which nobody knows what it does."""
    written = "[[rule]]\nname='a'\nwhen.effect='write'\nthen='deny'\n[[rule]]\nname='b'\nwhen={}\nthen='allow'"
    assert RulesPolicy.from_toml(written).judge(replace(asked(), effect=effect)).verdict == verdict


def test_a_denial_has_the_words_that_its_rule_has() -> None:
    """The model reads `text`, the record keeps `reason`."""
    written = "[[rule]]\nname='late'\nwhen={}\nthen='deny'\nreason='audit of May'\ntext='Ask a person.'"
    assert RulesPolicy.from_toml(written).judge(asked()) == Ruling("deny", "late", "audit of May", "Ask a person.")


def test_a_doubt_has_the_common_words() -> None:
    """Not those of its rule, and not its reason: what is missing is nothing that a model should learn."""
    written = "[[rule]]\nname='late'\nwhen={facts.due=true}\nthen='deny'\nreason='audit of May'\ntext='Ask a person.'"
    ruling = RulesPolicy.from_toml(written).judge(asked())
    assert (ruling.verdict, ruling.reason, ruling.text) == ("deny", "facts.due is missing", NOT_ALLOWED)


RULE = "[[rule]]\nname = 'a'\nwhen = {}\nthen = 'allow'\n"
OPERATORS_ARE = (
    "there are is, is_not, one_of, not_one_of, at_most, at_least, matches, not_before, not_after, domain_one_of, "
    "domain_not_one_of, known"
)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        pytest.param("[[rule]]\nname = \n", "policy:2: not TOML: Invalid value", id="no TOML"),
        pytest.param(f"a = {'[' * 5_000}{']' * 5_000}", "policy: nested too deeply", id="deeper than Python goes"),
        pytest.param(f"a{'.a' * 64} = 1", "policy: nested too deeply", id="deeper than allowed, without a bracket"),
        pytest.param(f"a{'.a' * 5_000} = 1", "policy: nested too deeply", id="deeper than Python goes, without one"),
        pytest.param(f"a = {'9' * 5_000}", "policy: a number has too many digits", id="longer than Python reads"),
        pytest.param("[[rule]]\nname = '''\n", "policy:2: not TOML: Expected \"'''\"", id="no TOML up to the end"),
        pytest.param("x = 1\n", "policy:1: no such table 'x'; there is [[rule]]", id="another table"),
        pytest.param("rule = 1\n", "policy:1: rules are written as [[rule]] tables", id="no rules"),
        pytest.param(
            f"{RULE}color = 'red'\n",
            "policy:5: no such key 'color'; a rule has name, when, then, set, reason, text",
            id="another key",
        ),
        pytest.param(f"{RULE}\n[[rule]]\nname = 'b'\nwhen = {{}}", "policy:6: the rule has no then", id="no then"),
        pytest.param("[[rule]]\nname = 'b'\nthen = 'deny'", "policy:1: the rule has no when", id="no when"),
        pytest.param(f"{RULE}{RULE}", "policy:6: there is another rule 'a'", id="a name twice"),
        pytest.param(RULE.replace("'a'", "'granted'"), "policy:2: a rule is not called 'granted'", id="a taken name"),
        pytest.param(
            RULE.replace("'a'", "'schema'"), "policy:2: a rule is not called 'schema'", id="what never blocks"
        ),
        pytest.param(RULE.replace("'a'", "''"), "policy:2: a rule is not called ''", id="no name"),
        pytest.param(RULE.replace("'a'", "1"), "policy:2: name is a text", id="a number as a name"),
        pytest.param(
            RULE.replace("allow", "wait"), "policy:4: then is allow, deny, ask, edit, not 'wait'", id="another verdict"
        ),
        pytest.param(
            f"{RULE}text = 'no'",
            "policy:5: text is what the model reads of a denial; a call that is made has none",
            id="words for an allowed call",
        ),
        pytest.param(
            RULE.replace("{}", "1"), "policy:3: when is a table; an empty one always matches", id="when is no table"
        ),
        pytest.param(
            RULE.replace("{}", "{ user = 'ana' }"),
            "policy:3: no such thing to look at: 'user'; there are tool, effect, principal, tenant, object, "
            "destination, at, hour, weekday, arguments.…, facts.…",
            id="something else to look at",
        ),
        pytest.param(
            RULE.replace("{}", "{ arguments = 1 }"), "policy:3: arguments is a table of names", id="arguments as such"
        ),
        pytest.param(
            RULE.replace("{}", "{ tool = {} }"), "policy:3: a predicate is a table of operators", id="no operator"
        ),
        pytest.param(
            RULE.replace("{}", "{ tool = { equals = 1 } }"),
            f"policy:3: no operator 'equals'; {OPERATORS_ARE}",
            id="another operator",
        ),
        pytest.param(
            RULE.replace("{}", "{ arguments.cents = { at_mots = 1 } }"),
            f"policy:3: no operator 'at_mots'; {OPERATORS_ARE}",
            id="a misspelt operator is no nested name",
        ),
        pytest.param(
            RULE.replace("{}", "{ arguments.cents = { at_most = 1, limit = 2 } }"),
            f"policy:3: no operator 'limit'; {OPERATORS_ARE}",
            id="an operator beside a name",
        ),
        pytest.param(
            RULE.replace("{}", "{ effect = 'delete' }"),
            "policy:3: an effect is read or write, not 'delete'",
            id="another effect",
        ),
        pytest.param(
            RULE.replace("{}", "{ hour = { at_least = 24 } }"),
            "policy:3: an hour is 0 to 23, of UTC, not 24",
            id="no hour",
        ),
        pytest.param(
            RULE.replace("{}", "{ weekday = { one_of = ['monday', 'freitag'] } }"),
            "policy:3: a weekday is monday, tuesday, wednesday, thursday, friday, saturday, sunday, not 'freitag'",
            id="no weekday",
        ),
        pytest.param(
            RULE.replace("{}", "{ at = '2026-01-01' }"),
            "policy:3: a time is compared by not_before and not_after, not by is",
            id="a moment is never met",
        ),
        pytest.param(
            RULE.replace("{}", "{ at.not_after = 'May' }"),
            "policy:3: not_after takes a day like 2026-01-31, or a moment like 2026-01-31T08:00Z",
            id="no day",
        ),
        pytest.param(
            RULE.replace("{}", "{ destination.domain_one_of = ['*'] }"),
            "policy:3: domain_one_of takes hosts in small letters, like a.example or *.a.example, not '*'",
            id="no host",
        ),
        pytest.param(
            RULE.replace("{}", "{ arguments.a = '$fact.b' }"),
            "policy:3: '$fact.b' names nothing; there are $tool, $effect, $principal, $tenant, $object, $destination, "
            "$at, $hour, $weekday, $arguments.…, $facts.…, and $$ is a plain $",
            id="a reference to nothing",
        ),
        pytest.param(
            RULE.replace("{}", "{ arguments.a = { matches = '$facts.b' } }"),
            "policy:3: matches takes no reference",
            id="a pattern from outside",
        ),
        pytest.param(
            RULE.replace("{}", "{ arguments.a = { matches = '(' } }"),
            "policy:3: '(' is no regular expression of RE2: missing ): (",
            id="no pattern",
        ),
        pytest.param(
            RULE.replace("{}", "{ arguments.a = { at_most = '5' } }"), "policy:3: at_most takes a number", id="a text"
        ),
        pytest.param(
            RULE.replace("{}", "{ arguments.a = { known = 1 } }"), "policy:3: known takes true or false", id="no truth"
        ),
        pytest.param(
            RULE.replace("{}", "{ arguments.a = nan }"),
            "policy:3: NaN and Infinity are no JSON numbers",
            id="not a number",
        ),
        pytest.param(
            RULE.replace("{}", "{ arguments.a = [2026-01-01] }"),
            "policy:3: 2026-01-01 is no JSON value; a date is written as a text",
            id="a date",
        ),
        pytest.param(
            RULE.replace("{}", f"{{ arguments.a = {2**64} }}"),
            f"policy:3: {2**64} has more than 64 bits",
            id="too large a number",
        ),
    ],
)
def test_what_no_rule_may_be(written: str, problem: str) -> None:
    """One line: where it stands, and what is allowed."""
    with pytest.raises(BadInput) as refused:
        RulesPolicy.from_toml(written)
    assert str(refused.value).startswith(problem)
    assert "\n" not in str(refused.value)


LINES = """\
# [[rule]] in a comment
title = '''
[[rule]]
'''

[[rule]]
name = "a"  # the first

  [[ rule ]]
name = "b"
note = \"\"\"
[[rule]]
name = "c"
\"\"\"
when.tool = [
  "x",

  "y",
]
[rule.when.arguments]
deep = { is = 1, one_of = [
  2 ] }
["rule"."with".quotes]
x = 1
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("rule",), 6),
        (("rule", 0, "name"), 7),
        (("rule", 1), 9),
        (("rule", 1, "note"), 11),
        (("rule", 1, "when", "tool"), 15),
        (("rule", 1, "when", "tool", 1), 15),
        (("rule", 1, "when", "arguments"), 20),
        (("rule", 1, "when", "arguments", "deep", "one_of", 0), 21),
        (("rule", 1, "with", "quotes", "x"), 24),
    ],
)
def test_the_line_on_which_something_stands(path: tuple[str | int, ...], line: int) -> None:
    """Whatever looks like a header inside a text or a comment is none."""
    assert TomlFile.of(LINES, name="it").line_of(*path) == line


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        (LINES, [6, 9]),
        ("a = 1\n  [[ rule ]] # one\n\n[[rule]]\n", [2, 4]),
        ("rule = [\n  {},\n  {} ]\n", [1, 1]),
        ("a = 1\n", []),
    ],
)
def test_the_lines_on_which_tables_begin(written: str, lines: list[int]) -> None:
    """All at once they are those of one after the other."""
    file = TomlFile.of(written, name="it")
    assert file.lines_of_tables("rule") == lines
    assert [file.line_of("rule", number) for number in range(len(lines))] == lines


def test_a_policy_in_a_file(tmp_path: Path) -> None:
    """A path is a file, a text is the rules themselves; what is wrong is named by the file."""
    file = tmp_path / "policy.toml"
    file.write_text(REFUNDS, encoding="utf-8")
    assert RulesPolicy.from_toml(file) == POLICY
    file.write_text(REFUNDS + "[[rule]]\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"^policy\.toml:15: the rule has no name$"):
        RulesPolicy.from_toml(file)
    file.write_bytes(b"# \xe9t\xe9\n")
    with pytest.raises(BadInput, match=r"^policy\.toml: not UTF-8$"):
        RulesPolicy.from_toml(file)
    with pytest.raises(BadInput, match=r"gone\.toml: no such file or directory$"):
        RulesPolicy.from_toml(tmp_path / "gone.toml")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param([], "policy: a table with a list of rules is wanted", id="no table"),
        pytest.param({"rule": [], "wording": 1}, "policy.wording: wording is a digest", id="no digest"),
        pytest.param({"rule": [{}]}, "policy.rule.0: the rule has no name", id="no rule"),
    ],
)
def test_what_no_recorded_policy_may_be(data: Json, problem: str) -> None:
    """A log from elsewhere is no excuse for a traceback."""
    with pytest.raises(BadInput) as refused:
        RulesPolicy.from_data(data)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("old", "new", "decides", "words"),
    [
        pytest.param("# first", "# The first", False, True, id="a comment"),
        pytest.param("{ effect = ", "{effect=", False, True, id="spacing"),
        pytest.param('"read" }', '"read" }\n', False, True, id="an empty line"),
        pytest.param("money goes", "Money goes", False, True, id="a reason"),
        pytest.param('effect = "read"', 'effect = { is = "read" }', False, True, id="another spelling of the same"),
        pytest.param("5_000", "5_001", True, True, id="a limit"),
        pytest.param('then = "deny"', 'then = "deny"\ntext = "No."', True, True, id="what the model reads"),
        pytest.param("small sums", "Small sums", True, True, id="a name, which verdicts bear"),
        pytest.param("looking is free", "looking is free", False, False, id="nothing"),
    ],
)
def test_what_a_change_changes(old: str, new: str, decides: bool, words: bool) -> None:
    """Two digests: one of what decides, one of how it is put."""
    changed = RulesPolicy.from_toml(REFUNDS.replace(old, new, 1))
    assert (changed.digest != POLICY.digest, changed.wording != POLICY.wording) == (decides, words)


def test_the_order_of_rules_decides() -> None:
    """First match wins, so another order is another policy."""
    head, *rules = REFUNDS.split("[[rule]]")
    turned = RulesPolicy.from_toml("[[rule]]".join([head, *reversed(rules)]))
    assert turned.digest != POLICY.digest


TERMS = Terms(
    tools={"find_order": {"order_id": {"matches": r"ord_\d+"}, "page.size": {"at_most": 9}}, "refund": {}, "wipe": {}},
    exclude={"refund": {"cents": {"at_least": 100}, "gift": {"is": True}}, "wipe": {}},
)
IN_SCOPE = looked("arguments.order_id", "matches", "ord_1", r"ord_\d+")
PAGE = looked("arguments.page.size", "at_most", 9, 9)


@pytest.mark.parametrize(
    ("question", "ruling"),
    [
        pytest.param(
            asked("find_order", order_id="ord_1", page={"size": 9}),
            Ruling("allow", "granted", read=(IN_SCOPE, PAGE)),
            id="granted, in scope",
        ),
        pytest.param(
            asked("find_order", order_id="1", page={"size": 9}),
            Ruling(
                "deny",
                "scope",
                "arguments.order_id is out of scope (matches)",
                NOT_ALLOWED,
                (looked("arguments.order_id", "matches", "1", r"ord_\d+"), PAGE),
            ),
            id="out of scope",
        ),
        pytest.param(
            asked("find_order", order_id="ord_1", page=[]),
            Ruling(
                "deny",
                "scope",
                "arguments.page.size is missing",
                NOT_ALLOWED,
                (IN_SCOPE, looked("arguments.page.size", "at_most", None, 9)),
            ),
            id="a missing argument is out of scope",
        ),
        pytest.param(
            asked("find_order", order_id=1, page={"size": 9}),
            Ruling(
                "deny",
                "scope",
                "arguments.order_id cannot be compared (matches)",
                NOT_ALLOWED,
                (looked("arguments.order_id", "matches", 1, r"ord_\d+"), PAGE),
            ),
            id="what cannot be compared is out of scope",
        ),
        pytest.param(
            asked("deploy"),
            Ruling(
                "deny",
                "not granted",
                "tool 'deploy' is not granted",
                "There is no tool 'deploy' here. The tools are: find_order, refund, wipe.",
                (looked("tool", "one_of", "deploy", ["find_order", "refund", "wipe"]),),
            ),
            id="granted tools are no secret",
        ),
        pytest.param(
            asked("wipe"), Ruling("deny", "excluded", "the contract excludes this call", NOT_ALLOWED), id="out"
        ),
        pytest.param(
            asked(cents=100, gift=True),
            Ruling(
                "deny",
                "excluded",
                "the contract excludes this call",
                NOT_ALLOWED,
                (looked("arguments.cents", "at_least", 100, 100), looked("arguments.gift", "is", True, True)),
            ),
            id="excluded",
        ),
        pytest.param(asked(cents=99), Ruling("allow", "granted"), id="surely not excluded"),
        pytest.param(
            asked(cents="100", gift=True),
            Ruling(
                "deny",
                "excluded",
                "arguments.cents cannot be compared (at_least)",
                NOT_ALLOWED,
                (looked("arguments.cents", "at_least", "100", 100), looked("arguments.gift", "is", True, True)),
            ),
            id="nobody can say, so it is excluded",
        ),
    ],
)
def test_the_contract_as_a_policy(question: Question, ruling: Ruling) -> None:
    """Grants, then scopes, then exclusions; the model reads no limit."""
    assert Grants(TERMS).judge(question.tool, question.arguments) == ruling


def test_without_a_list_every_tool_is_granted() -> None:
    """None grants all, an empty list nothing; what is excluded stays so."""
    assert Grants(Terms(tools=None)).judge("deploy", {}) == Ruling("allow", "granted")
    assert Grants(Terms(tools={})).judge("deploy", {}).text == "There is no tool 'deploy' here. The tools are: none."
    assert Grants(Terms(exclude={"deploy": {}})).judge("deploy", {}).rule == "excluded"


@pytest.mark.parametrize("predicate", [{"is_like": "a"}, {"matches": "("}])
def test_a_recorded_predicate_that_nobody_understands_denies(predicate: dict[str, Json]) -> None:
    """A log of another version, or a broken one, opens nothing."""
    assert Grants(Terms(tools={"refund": {"a": predicate}})).judge("refund", {"a": "b"}).rule == "scope"


words = st.text(max_size=5) | st.sampled_from(["refund", "iban", "cents", "DE1", "\ud800"])
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
questions = st.builds(
    Question,
    principal=words,
    tenant=words,
    tool=words,
    arguments=values | st.fixed_dictionaries({}, optional={"iban": values, "cents": values}),
    effect=st.sampled_from(["read", "write", "unknown"]),
    object=values | st.just(MISSING),
    destination=values | st.just(MISSING),
    facts=st.dictionaries(words, values, max_size=3),
    at=st.just(datetime(2026, 1, 1, tzinfo=UTC)),
)
predicates = st.sampled_from(
    [
        {"is": "DE1"},
        {"is_not": "$facts.iban"},
        {"is": "$arguments.iban"},
        {"one_of": ["DE1", 5, None, "$principal"]},
        {"at_most": 5},
        {"at_least": "$facts.cents"},
        {"matches": "DE.*"},
        {"not_before": "$at"},
        {"domain_one_of": ["a.example"]},
        {"known": True},
        {"known": False},
    ]
)
names = st.sampled_from(["iban", "cents"])
whens = st.fixed_dictionaries(
    {},
    optional={
        "tool": predicates,
        "object": predicates,
        "arguments": st.dictionaries(names, predicates, min_size=1),
        "facts": st.dictionaries(names, predicates, min_size=1),
    },
)
rules = st.lists(st.tuples(whens, st.sampled_from(["allow", "deny"])), max_size=4).map(
    lambda pairs: [{"name": str(place), "when": when, "then": then} for place, (when, then) in enumerate(pairs)]
)


@given(rules, questions)
def test_a_call_is_allowed_only_by_a_rule_of_which_all_surely_holds(
    given_rules: list[Json], question: Question
) -> None:
    """Deny by default: what the ruling read is the proof, and the record can hold it; nothing ever raises."""
    ruling = RulesPolicy.from_data({"rule": given_rules}).judge(question)
    verdict = VerdictGiven(call=1, verdict=ruling.verdict, rule=ruling.rule, read=ruling.read)
    assert canonical(verdict)
    if ruling.verdict == "allow":
        assert given_rules[int(ruling.rule)]["then"] == "allow"
        assert all(one.operator == "known" or compare(one.operator, one.value, one.limit) for one in ruling.read)


@given(rules, rules, questions)
def test_a_later_rule_never_changes_an_earlier_match(first: list[Json], later: list[Json], question: Question) -> None:
    """Rules are read from top to bottom, by people too."""
    renamed = [rule | {"name": f"later {rule['name']}"} for rule in later]
    before = RulesPolicy.from_data({"rule": first}).judge(question)
    after = RulesPolicy.from_data({"rule": first + renamed}).judge(question)
    assert after == before or before.rule == "no rule"


@given(st.integers(0, REFUNDS.count("\n")), st.text(st.characters(exclude_categories=["C"])), questions)
def test_a_comment_changes_the_wording_alone(line: int, comment: str, question: Question) -> None:
    """Wherever it stands."""
    lines = REFUNDS.splitlines(keepends=True)
    commented = RulesPolicy.from_toml("".join([*lines[:line], f"#{comment}\n", *lines[line:]]))
    assert (commented.digest, commented.data["rule"]) == (POLICY.digest, POLICY.data["rule"])
    assert commented.wording != POLICY.wording
    assert commented.judge(question) == POLICY.judge(question)


@given(st.dictionaries(names, predicates), questions)
def test_the_contract_judges_whatever_comes(scope: dict[str, Json], question: Question) -> None:
    """A model may send anything; the answer is a ruling that the record can hold."""
    for terms in (Terms(tools={question.tool: scope}), Terms(exclude={question.tool: scope})):
        ruling = Grants(terms).judge(question.tool, question.arguments)
        assert canonical(VerdictGiven(call=1, verdict=ruling.verdict, rule=ruling.rule, read=ruling.read))
