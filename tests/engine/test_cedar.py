"""Cedar behind the same port: who may do what, and that a doubt of Cedar's is a denial here too."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

import redrive as rd
from redrive_engine.models import reply, use
from redrive_engine.policy import NOT_ALLOWED, CedarPolicy, PolicyList, policy_of, recorded_policy
from redrive_events import BadInput, Json, Reading, Terms, VerdictGiven, canonical, parse_json
from redrive_replays import replay_records
from tests.engine.test_policy import asked, looked, questions
from tests.shop import recorded, seen, shop

POLICIES = """\
// looking is free
@id("looking")
permit(principal, action, resource) when { context.effect == "read" };

@id("small sums")
@reason("the desk may pay that much")
permit(principal in Group::"desk", action == Action::"refund", resource)
when { context.arguments.cents <= 5000 };

@id("another account")
@text("Only to the account that paid.")
forbid(principal, action == Action::"refund", resource)
unless { context.facts.iban == context.arguments.iban };

permit(principal, action in [Action::"note", Action::"tag"], resource == Object::"ord_1");
"""
ENTITIES = '[{"uid": {"type": "User", "id": "ana"}, "attrs": {}, "parents": [{"type": "Group", "id": "desk"}]}]'
POLICY = CedarPolicy(POLICIES, ENTITIES)


def read(path: str, value: Json) -> Reading:
    """What a policy looked at."""
    return looked(path, "read", value, None)


IBANS = (read("arguments.iban", "DE1"), read("facts.iban", "DE1"))
SMALL = (read("arguments.cents", 5), read("principal", "ana"), read("tool", "refund"))


@pytest.mark.parametrize(
    ("question", "ruling"),
    [
        pytest.param(
            asked("find_order", facts={}), rd.Ruling("allow", "looking", read=(read("effect", "read"),)), id="a read"
        ),
        pytest.param(
            asked(iban="DE1", cents=5),
            rd.Ruling("allow", "small sums", "the desk may pay that much", read=SMALL),
            id="permitted",
        ),
        pytest.param(
            asked(iban="DE2", cents=5),
            rd.Ruling(
                "deny",
                "another account",
                "",
                "Only to the account that paid.",
                (read("arguments.iban", "DE2"), read("facts.iban", "DE1"), read("tool", "refund")),
            ),
            id="forbidden",
        ),
        pytest.param(asked(iban="DE1", cents=5001), None, id="nothing applies"),
        pytest.param(replace(asked(iban="DE1", cents=5), principal="bo"), None, id="not of the group"),
        pytest.param(
            replace(asked("note"), object="ord_1"),
            rd.Ruling("allow", "policy3", read=(read("object", "ord_1"), read("tool", "note"))),
            id="a policy without a name",
        ),
        pytest.param(
            asked(iban="DE1", facts={}, cents=5),
            rd.Ruling(
                "deny",
                "another account",
                "another account could not be evaluated",
                NOT_ALLOWED,
                (read("arguments.iban", "DE1"), read("facts.iban", None), read("tool", "refund")),
            ),
            id="allowed with an error is a denial",
        ),
        pytest.param(
            asked(iban="DE1"),
            rd.Ruling(
                "deny",
                "small sums",
                "small sums could not be evaluated",
                NOT_ALLOWED,
                (read("arguments.cents", None), *SMALL[1:]),
            ),
            id="an error alone is a denial",
        ),
        pytest.param(
            asked(iban="DE1", cents="5"),
            rd.Ruling(
                "deny",
                "small sums",
                "small sums could not be evaluated",
                NOT_ALLOWED,
                (read("arguments.cents", "5"), *SMALL[1:]),
            ),
            id="another type is an error",
        ),
    ],
)
def test_cedar(question: rd.Question, ruling: rd.Ruling | None) -> None:
    """The whole opinion: who determined it, and what that policy may have read."""
    assert POLICY.opinion(question) == ruling


def test_without_an_opinion_the_call_is_denied() -> None:
    """Deny by default, as Cedar has it too."""
    assert POLICY.judge(asked(iban="DE1", cents=5001)).rule == "no rule"


FREE = CedarPolicy("permit(principal, action, resource);")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        pytest.param({"a": None}, None, id="null is left out"),
        pytest.param({"a": [1, "b", {"c": [True]}]}, None, id="lists and tables"),
        pytest.param({"a": 1.5, "b": 2.0, "c": -0.0001}, None, id="a decimal"),
        pytest.param({"a": [None]}, "arguments.a is null for Cedar", id="null in a list"),
        pytest.param({"a": 2**63}, "arguments.a is too large for Cedar", id="too large"),
        pytest.param({"a": {"b": 0.00001}}, "arguments.a.b is no number that Cedar has", id="too fine"),
        pytest.param({"a": 1e300}, "arguments.a is no number that Cedar has", id="a huge decimal"),
        pytest.param({"a": float("nan")}, "arguments.a is no number that Cedar has", id="no number"),
        pytest.param(
            {"a": {"__entity": {"type": "Group", "id": "desk"}}},
            "arguments.a has a name that means something else to Cedar",
            id="a forged entity",
        ),
        pytest.param(
            {"__extn": {"fn": "ip", "arg": "127.0.0.1"}},
            "arguments has a name that means something else to Cedar",
            id="a forged value",
        ),
        pytest.param("{not json", "the arguments could not be read", id="no table"),
        pytest.param({"a": "\ud800"}, "Cedar cannot judge this call, or it does not fit the schema", id="no text"),
    ],
)
def test_what_cedar_has_no_words_for_is_denied(arguments: Json, reason: str | None) -> None:
    """Even by a policy that permits all: it would judge another call than the one that is made."""
    found = FREE.judge(replace(asked(), arguments=arguments))
    assert (found.verdict, found.reason) == (("allow", "") if reason is None else ("deny", reason))


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ('context.tenant == "north"', True),
        ('context.hour == 9 && context.weekday == "thursday"', True),
        ('context.at > datetime("2026-01-01T09:30:00Z") && context.at < datetime("2026-01-01T09:30:01Z")', True),
        ('context.destination like "*@shop.example"', True),
        ('resource == Object::"7"', True),
        ("context.object == 7", True),
        ('context.arguments.rate.lessThan(decimal("1.6"))', True),
        ('context.arguments["a b"].contains("x")', True),
        ("context.arguments has gone", False),
        ("context.facts has iban", True),
    ],
)
def test_what_cedar_is_told_of_a_call(condition: str, held: bool) -> None:
    """Each part of a question has its place."""
    question = replace(
        replace(asked(), arguments={"rate": 1.5, "a b": ["x"], "gone": None}),
        object=7,
        destination="ana@shop.example",
        at=datetime(2026, 1, 1, 9, 30, 0, 500_000, tzinfo=UTC),
    )
    policy = CedarPolicy(f"permit(principal, action, resource) when {{ {condition} }};")
    assert (policy.judge(question).verdict == "allow") is held
    assert CedarPolicy("permit(principal, action, resource is Tool) when { true };").judge(asked()).verdict == "allow"


def test_a_time_that_no_clock_gave_is_not_told() -> None:
    """So a policy about it cannot be evaluated."""
    policy = CedarPolicy("permit(principal, action, resource) when { context.hour == 0 };")
    assert [policy.judge(replace(asked(), clock=clock)).verdict for clock in ("utc", "none")] == ["allow", "deny"]


SCHEMA = """\
entity Group;
entity User in [Group];
entity Tool;
entity Object;
action find_order appliesTo { principal: User, resource: [Tool, Object], context: {
  tenant: String, effect: String, at?: datetime, hour?: Long, weekday?: String, facts: { iban?: String }, arguments: {}
} };
"""


def test_a_schema_is_held_against_policies_and_calls() -> None:
    """A policy that does not fit is refused when it is read, a call when it is judged."""
    one = 'permit(principal, action == Action::"find_order", resource) when { context.effect == "read" };'
    policy = CedarPolicy(one, ENTITIES, SCHEMA)
    assert policy.judge(asked("find_order")).verdict == "allow"
    for other in (asked("find_order", more=1), asked("refund"), replace(asked("find_order"), facts={"iban": 1})):
        found = policy.judge(other)
        assert (found.verdict, found.reason) == ("deny", "Cedar cannot judge this call, or it does not fit the schema")
    with pytest.raises(BadInput, match=r"^policy: odd: .*cause"):
        CedarPolicy(f'@id("odd"){one.replace("effect", "cause")}', ENTITIES, SCHEMA)


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        pytest.param(
            ["\n// a; b\npermit(principal, action, resource);\n\npermt(;"], r"policy:5: not Cedar: ", id="no Cedar"
        ),
        pytest.param(["permit("], r"policy:1: not Cedar: unexpected end of input$", id="cut off"),
        pytest.param(
            ['permit(principal, action, resource) when { context.tenant == "a;\\"b" };\n frobid(;'],
            r"policy:2: not Cedar: ",
            id="a semicolon in a text",
        ),
        pytest.param(
            ["permit(principal == ?principal, action, resource);"], "policy: a template is a policy", id="blanks"
        ),
        pytest.param(["", "[{]"], "policy: entities: ", id="no entities"),
        pytest.param(["", "[]", "entity User;;"], "policy: schema: ", id="no schema"),
        pytest.param(
            ['@id("a") permit(principal, action, resource);\n' * 2],
            "policy: 'a': there is another policy, or a rule of the engine, of this @id",
            id="a name twice",
        ),
        pytest.param(
            ['@id("scope") permit(principal, action, resource);'],
            "policy: 'scope': there is another policy, or a rule of the engine",
            id="a taken name",
        ),
    ],
)
def test_what_no_policy_may_be(texts: list[str], problem: str) -> None:
    """One line, and where."""
    with pytest.raises(BadInput) as refused:
        CedarPolicy(*texts)
    assert re.match(problem, str(refused.value)), str(refused.value)
    assert "\n" not in str(refused.value)


def test_policies_in_files(tmp_path: Path) -> None:
    """By its name a file is Cedar's; entities and schema stand beside it, or are named."""
    file = tmp_path / "desk.cedar"
    file.write_text(POLICIES, encoding="utf-8")
    assert policy_of(file) is not None
    assert CedarPolicy.in_file(file).judge(asked(iban="DE1", cents=5)).rule == "no rule"
    (tmp_path / "desk.entities.json").write_text(ENTITIES, encoding="utf-8")
    assert CedarPolicy.in_file(file).digest == POLICY.digest
    (tmp_path / "none.json").write_text("[]", encoding="utf-8")
    assert CedarPolicy.in_file(file, entities=tmp_path / "none.json").digest != POLICY.digest
    with pytest.raises(BadInput, match=r"gone\.cedarschema: no such file or directory$"):
        CedarPolicy.in_file(file, schema=tmp_path / "gone.cedarschema")
    file.write_bytes(b"\xff")
    with pytest.raises(BadInput, match=r"^desk\.cedar: not UTF-8$"):
        CedarPolicy.in_file(file)


def test_what_a_change_changes() -> None:
    """A comment is words; a limit, a name and an entity decide."""
    for old, new, decides in (
        ("// looking", "// Looking", False),
        ("  ", " ", False),
        ("5000", "5001", True),
        ('looking")', 'reads")', True),
    ):
        changed = CedarPolicy(POLICIES.replace(old, new), ENTITIES)
        assert (changed.digest != POLICY.digest, changed.wording != POLICY.wording) == (decides, old in POLICIES)
    assert CedarPolicy(POLICIES).digest != POLICY.digest


def test_what_a_run_records_is_the_policy() -> None:
    """Policies, entities and schema are data."""
    again = recorded_policy(parse_json(canonical(POLICY.data)))
    assert (again.digest, again.wording) == (POLICY.digest, POLICY.wording)
    with pytest.raises(BadInput, match=r"^policy: policies, entities and schema are texts$"):
        recorded_policy({"cedar": 1})


def test_in_a_list_it_may_keep_silent() -> None:
    """What it neither permits nor forbids is the next one's."""
    listed = PolicyList([POLICY, rd.RulesPolicy.from_toml("[[rule]]\nname='rest'\nwhen={}\nthen='ask'")])
    calls = [asked(iban="DE1", cents=5), asked(iban="DE2", cents=5), asked(iban="DE1", cents=5001)]
    assert [listed.judge(one).rule for one in calls] == ["small sums", "another account", "rest"]


def test_a_run_under_cedar_is_the_same_again() -> None:
    """Verdicts as by any other policy."""
    only_tea = 'permit(principal == User::"ana", action, resource) when { context.arguments.item == "tea" };'
    program = shop(Terms(), policy=CedarPolicy(only_tea))
    records = recorded(
        program, reply("", use("count", item="tea"), use("count", item="gold")), seen(1, 3), reply("Ok.")
    )
    verdicts = [one.event for one in records if isinstance(one.event, VerdictGiven)]
    assert [(one.verdict, one.rule) for one in verdicts] == [("allow", "policy0"), ("deny", "no rule")]
    assert verdicts[0].read == (read("arguments.item", "tea"), read("principal", "ana"))
    assert replay_records("run", records, program).same


@settings(deadline=None)
@given(questions)
def test_whatever_is_asked_there_is_a_ruling(question: rd.Question) -> None:
    """It never raises, the record can hold it, and nothing but a satisfied permit allows."""
    found: Any = POLICY.judge(question)
    assert canonical(VerdictGiven(call=1, verdict=found.verdict, rule=found.rule, read=found.read))
    if found.verdict == "allow":
        assert {*found.rule.split(", ")} <= {"looking", "small sums", "policy3"}
        assert "small sums" not in found.rule or question.facts["iban"] == question.arguments["iban"]


def test_who_does_not_use_it_does_not_load_it() -> None:
    """And who has not installed it is told how."""
    program = (
        "import sys; sys.modules['cedarpy'] = None; import redrive as rd; rd.RulesPolicy\n"
        "try: rd.CedarPolicy('')\nexcept rd.BadInput as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout == "policy: Cedar needs more than is installed: pip install 'redrive[cedar]'\n"
