"""A recorded run under other policies: what would have been asked, edited or denied, and what is only worded so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

import redrive as rd
from redrive_engine import Happened, append_of, approve
from redrive_engine.models import reply, use
from redrive_engine.policy import CedarPolicy, FunctionPolicy, Policy, PolicyList, RulesPolicy
from redrive_engine.program import Program
from redrive_events import MemoryLog, Record, SignalsHeard, Terms, VerdictGiven
from redrive_projections import fold
from redrive_replays import Report, replay_records
from tests.shop import NOON, recorded, seen, shop


def rule(then: str, name: str = "it", **more: str) -> Policy:
    """A policy of one rule, for all calls."""
    fields = "".join(f"{key} = {value}\n" for key, value in more.items())
    return RulesPolicy.from_toml(f"[[rule]]\nname = '{name}'\nwhen = {{}}\nthen = '{then}'\n{fields}")


ALLOWS = rule("allow")
PAID = recorded(
    shop(Terms(), policy=ALLOWS),
    reply("", use("pay", item="tea", cents=9)),
    seen(1, {"item": "tea", "cents": 9}),
    reply("Bought."),
)


def under(policy: Policy | None, records: list[Record] = PAID) -> Report:
    """The run driven again."""
    return replay_records("run", records, shop(Terms(), policy=policy))


def by_hand(_: rd.Question) -> rd.Ruling | None:
    """All is well."""
    return rd.allow("all is well")


@pytest.mark.parametrize(
    ("policy", "differs"),
    [
        pytest.param(rule("ask"), {"/verdict": ("allow", "ask")}, id="asks"),
        pytest.param(
            rule("edit", set="{ arguments.cents = 5 }"),
            {"/verdict": ("allow", "edit"), "/arguments/cents": (None, 5)},
            id="edits",
        ),
        pytest.param(rule("deny"), {"/verdict": ("allow", "deny")}, id="denies"),
        pytest.param(PolicyList([]), {"/verdict": ("allow", "deny")}, id="has no opinion"),
        pytest.param(FunctionPolicy(lambda _: rd.ask()), {"/verdict": ("allow", "ask")}, id="a function that asks"),
    ],
)
def test_another_verdict_is_a_divergence(policy: Policy, differs: dict[str, tuple[object, object]]) -> None:
    """At the verdict, with the policy as the changed part."""
    report = under(policy)
    assert (report.outcome, report.changed_parts) == ("diverged", ("policy",))
    first = report.divergences[0]
    found = {one.pointer: (one.recorded, one.replayed) for one in first.differences}
    assert isinstance(first.recorded, VerdictGiven)
    assert first.position == next(one.position for one in PAID if isinstance(one.event, VerdictGiven))
    assert found["/verdict"] == differs["/verdict"]
    if "/arguments/cents" in differs:
        assert isinstance(first.replayed, VerdictGiven)
        assert first.replayed.arguments == {"item": "tea", "cents": 5}


@pytest.mark.parametrize(
    ("policy", "otherwise"),
    [
        pytest.param(rule("allow", "another name"), 1, id="by another rule"),
        pytest.param(rule("allow", reason="'so'"), 1, id="for a reason"),
        pytest.param(FunctionPolicy(by_hand), 1, id="by a function"),
        pytest.param(CedarPolicy("permit(principal, action, resource);"), 1, id="by Cedar"),
        pytest.param(None, 1, id="by the contract alone"),
        pytest.param(PolicyList([FunctionPolicy(lambda _: None), ALLOWS]), 0, id="by the same rule of a list"),
    ],
)
def test_the_same_verdict_is_the_same_whoever_gave_it(policy: Policy | None, otherwise: int) -> None:
    """Rule, reason, what was read and the digest say why, and not what; a digest alone does not even say that."""
    report = under(policy)
    assert (report.outcome, report.explained_otherwise, report.changed_parts) == ("same", otherwise, ("policy",))


def test_a_digest_alone_is_a_difference_where_no_policy_changed() -> None:
    """A log in which a verdict bears the digest of another policy was not written by this one."""
    forged = [replace_event(one, policy="0" * 64) if isinstance(one.event, VerdictGiven) else one for one in PAID]
    report = under(ALLOWS, forged)
    assert (report.outcome, [one.pointer for one in report.divergences[0].differences]) == ("diverged", ["/policy"])


def replace_event(record: Record, **changes: object) -> Record:
    """The record with an event that says something else."""
    return structs.replace(record, event=structs.replace(record.event, **changes))


def asked_and_answered(policy: Policy) -> tuple[Program, list[Record]]:
    """A run in which a person allowed what a rule asked about."""
    program = shop(Terms(), policy=policy)
    log, append = MemoryLog(), list[Record]()
    for record in recorded(program, reply("", use("pay", item="tea", cents=9))):
        append.append(record)
        if record.left == 0:
            log.append("run", append, expected=append[0].position - 1)
            append = []
    approve(log, "run", 1, by="bo", at=NOON + timedelta(seconds=9))
    heard = append_of(program, fold(log.read("run")), Happened(SignalsHeard(), NOON + timedelta(seconds=10)))
    log.append("run", heard, expected=heard[0].position - 1)
    return program, list(log.read("run"))


CAPS = """\
[[rule]]
name = "cap"
when = { arguments.cents = { at_least = 6 } }
then = "edit"
set = { arguments.cents = 5 }
[[rule]]
name = "look"
when = {}
then = "ask"
"""


@pytest.mark.parametrize(
    ("old", "new", "outcome", "words"),
    [
        pytest.param("", "", "same, unfinished", 0, id="the same"),
        pytest.param('"look"', '"someone looks"', "same, unfinished", 1, id="asked by another rule"),
        pytest.param('"cap"', '"a cap"', "same, unfinished", 1, id="edited by another rule"),
        pytest.param("= 5 }", "= 4 }", "diverged", 0, id="edited otherwise"),
        pytest.param('"ask"', '"allow"', "diverged", 0, id="not asked"),
        pytest.param('"ask"', '"ask"\ntext = "Pay less."', "diverged", 0, id="other words for the model"),
    ],
)
def test_what_people_allowed_is_replayed_with_their_answer(old: str, new: str, outcome: str, words: int) -> None:
    """An edit, the question that follows, and the answer to it."""
    program, records = asked_and_answered(RulesPolicy.from_toml(CAPS))
    verdicts = [(one.event.verdict, one.event.rule) for one in records if isinstance(one.event, VerdictGiven)]
    assert verdicts == [("edit", "cap"), ("ask", "look"), ("allow", "approval")]
    report = replay_records("run", records, replace(program, policy=RulesPolicy.from_toml(CAPS.replace(old, new))))
    assert (report.outcome, report.explained_otherwise) == (outcome, words) or outcome == "diverged" == report.outcome
