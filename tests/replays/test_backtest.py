"""What another policy would have done: held against the same agents, run under it from the start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_engine.policy import Policy, RulesPolicy
from redrive_events import (
    BadInput,
    CannotReplay,
    DecisionMade,
    Event,
    Input,
    Lineage,
    MemoryLog,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    Quotas,
    Record,
    RunEnded,
    RunStarted,
    Source,
    Terms,
    VerdictGiven,
    canonical,
)
from redrive_projections.history import history
from redrive_replays import replay_records
from redrive_replays.backtest import (
    Candidate,
    Consequence,
    Flipped,
    Judged,
    consequence,
    consequences,
    in_a_word,
    judged_again,
)
from redrive_replays.difference import is_explaining
from redrive_replays.whatif import Branch, Changes, branched, edge_report
from tests.random_runs import doubtful_programs, driven_programs, policies, programs, random_run, tapes
from tests.replays.reacting import live
from tests.shop import recorded, seen, shop

ALLOW = '[[rule]]\nname = "all"\nwhen = {}\nthen = "allow"\n'


def rules(text: str) -> RulesPolicy:
    """Rules in TOML."""
    return RulesPolicy.from_toml(text)


def program(terms: Terms, policy: str) -> Program:
    """The shop."""
    return shop(terms, policy=rules(policy))


def judged(runs: dict[str, list[Record]], program: Program | str, policy: Policy, where: str = "true") -> Judged:
    """All calls of recorded runs, judged again; a text in the place of a program says why there is none."""

    def program_of(_: Candidate) -> Program:
        if isinstance(program, str):
            raise CannotReplay(program)
        return program

    log = MemoryLog()
    for run_id, records in runs.items():
        log.append(run_id, records, expected=0)
    with history(log) as notebook:
        return judged_again(notebook, {"new": policy}, program_of, where)["new"]


def what_comes(found: Judged, records: list[Record], program: Program, policy: Policy, **more: bool) -> Consequence:
    """What comes of the one run that flips."""
    (driven,) = consequences(found, lambda _: records, lambda _: program, policy, **more)
    return driven


def verdicts(records: Sequence[Record]) -> list[tuple[int, int, str, bytes, str]]:
    """Each verdict of a run, with where it stands and what it makes of the call."""
    events = ((one.position, one.event) for one in records)
    return [
        (position, one.call, one.verdict, canonical(one.arguments), one.text)
        for position, one in events
        if isinstance(one, VerdictGiven)
    ]


# Each reads facts, which others of them have changed; each of the four verdicts is among what they say.
RULES = {
    "stock": 'when = { tool = "pay", facts.stock = { at_most = LOW } }\nthen = "deny"',
    "unlike": 'when = { tool = "pay", facts.price = { known = true }, arguments.cents = { is_not = "$facts.price" } }'
    '\nthen = "edit"\nset = { arguments.cents = "$facts.price" }',
    "paid twice": 'when = { tool = "pay", facts.paid = { known = true, at_least = LOW } }\nthen = "ask"\ntext = "TEXT"',
    "gold": 'when = { tool = "count", arguments.item = "gold", facts.stock = { known = true } }\nthen = "ask"',
    "dear": 'when = { tool = "pay", arguments.cents = { at_least = HIGH } }\nthen = "deny"\ntext = "TEXT"',
    "price first": 'when = { tool = "count", facts.price = { known = false } }\nthen = "deny"',
    "sums": 'when = { tool = "pay", arguments.cents = HIGH }\nthen = "edit"\nset = { arguments.cents = LOW }',
}
some_rules = st.lists(st.sampled_from(sorted(RULES)), max_size=3, unique=True)
fact_policies = st.builds(
    lambda names, low, high, text: (
        "".join(
            f'[[rule]]\nname = "{name}"\n{RULES[name]}\n'.replace("LOW", str(low))
            .replace("HIGH", str(high))
            .replace("TEXT", text)
            for name in names
        )
        + ALLOW
    ),
    some_rules,
    st.sampled_from([1, 3]),
    st.sampled_from([5, 7, 9]),
    st.sampled_from(["Pay less.", "Stop.", "算了吧"]),
)
terms = st.builds(Terms, on_denied=st.sampled_from(["tell", "tell", "block"]))
# A history takes longer to open than many runs take to judge, so each example is of many.
many_seeds = st.integers(0, 10_000).map(lambda first: range(first, first + 12))


def happened(records: Sequence[Record]) -> list[Event]:
    """What happened, but for the digest of what was known: time is in it, and that of a branch is virtual."""
    events = (one.event for one in records)
    return [structs.replace(one, state="") if isinstance(one, ModelAsked | RunEnded) else one for one in events]


def check_against_live(flip: Flipped | None, driven: Consequence | None, branch: Branch, lived: list[Record]) -> None:
    """An ``exact`` run equals the live one to its end, one that is exact to a turn to all that the branch has."""
    if flip is None or driven is None:
        return
    branched, live = happened([one.record for one in branch.records]), happened(lived)
    assert driven.sureness in {"exact", "exact to turn"}
    if driven.sureness == "exact":
        assert branched == live
    else:
        assert branched == live[: len(branched)]
        assert driven.turn >= flip.step
        assert driven.turn == sum(isinstance(one, ModelReplied) for one in branched)


@settings(max_examples=15, deadline=None)
@given(many_seeds, terms, fact_policies, fact_policies)
def test_it_says_what_the_same_agent_does_under_the_new_policy(seeds: range, terms: Terms, then: str, now: str) -> None:
    """Agents that plan anew when a call is denied, changed or refused, run live under either policy.

    No verdict up to the reply of the first flip differs, and each run equals the live one as far as it is exact.
    """
    old, new = program(terms, then), program(terms, now)
    runs = {f"run-{seed}": live(old, seed) for seed in seeds}
    found = judged(runs, old, rules(now))
    driven = {one.run_id: one for one in consequences(found, runs.__getitem__, lambda _: old, rules(now))}
    for seed in seeds:
        lived, records, flip = live(new, seed), runs[f"run-{seed}"], found.first.get(f"run-{seed}")
        before, after = verdicts(records), verdicts(lived)
        if flip is None:
            assert before == after
            continue
        assert [one for one in before if one[0] < flip.position] == [one for one in after if one[0] < flip.position]
        (changed,) = [one for one in after if one[0] == flip.position]
        assert changed[1:3] == (flip.call, flip.after)
        assert changed not in before
        branch = branched(records, old, Changes(policy=rules(now)))
        check_against_live(flip, driven[flip.run_id], branch, lived)
    assert {word for _, word, _ in in_a_word(found, driven.values())} <= {"same", "exact", "exact to turn"}


@settings(max_examples=8, deadline=None)
@given(many_seeds, fact_policies)
def test_an_import_is_judged_like_a_run_of_ones_own(seeds: range, now: str) -> None:
    """By a program that knows any tool, and what comes of it is what would have."""
    source = Source(format="x", sha256="0" * 64)
    old = replace(shop(Terms()), tools=None, verifiers=())
    new = replace(old, policy=rules(now))
    runs = {f"run-{seed}": live(old, seed, source=source) for seed in seeds}
    found = judged(runs, old, rules(now))
    assert set(found.runs) == set(runs)
    for seed in seeds:
        records, lived = runs[f"run-{seed}"], live(new, seed, source=source)
        flip = found.first.get(f"run-{seed}")
        if flip is None:
            assert verdicts(records) == verdicts(lived)
        else:
            assert (flip.position, flip.call, flip.after) in [one[:3] for one in verdicts(lived)]
            branch = branched(records, old, Changes(policy=rules(now)))
            check_against_live(flip, consequence(records, old, rules(now), flip), branch, lived)


@settings(max_examples=20, deadline=None)
@given(many_seeds, fact_policies)
def test_without_a_change_a_run_is_the_same(seeds: range, then: str) -> None:
    """Whatever is approved while a write is under way, and begins another one beside it."""
    old = program(Terms(), then)
    runs = [live(old, seed) for seed in seeds]
    assert {edge_report(one, branched(one, old, Changes(policy=old.policy))).sureness for one in runs} == {"same"}


many_random_runs = st.lists(st.tuples(tapes, programs | driven_programs | doubtful_programs), min_size=8, max_size=8)


# So many runs are long to print, and which is wrong is of more use than that they are.
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=12, deadline=None)
@given(many_random_runs, policies)
def test_the_first_flip_is_where_a_replay_parts(made: list[tuple[bytes, Program]], policy: Policy | None) -> None:
    """Whatever happens to a run: approvals, edits over and over, children, lost workers, calls of the engine itself."""
    policy = policy or rules(ALLOW)
    runs = {f"run-{number}": named(random_run(*one), f"run-{number}") for number, one in enumerate(made)}
    found = judged(runs, shop(Terms()), policy)
    assert (found.runs, found.unjudged) == (list(runs), {})
    for (run_id, records), (_, program) in zip(runs.items(), made, strict=True):
        report = replay_records(run_id, records, replace(program, policy=policy))
        parted = (
            one.position
            for one in report.divergences
            if isinstance(one.recorded, VerdictGiven)
            and any(not is_explaining(one.recorded, differs) for differs in one.differences)
        )
        flip = found.first.get(run_id)
        assert (flip and flip.position) == next(parted, None)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=5, deadline=None)
@given(many_random_runs)
def test_under_its_own_policy_nothing_flips(made: list[tuple[bytes, Program]]) -> None:
    """Each recorded verdict is come to again from the columns."""
    for tape, program in made:
        if program.policy is not None:
            found = judged({"run": random_run(tape, program)}, program, program.policy)
            assert (found.first, found.unjudged) == ({}, {})


def named(records: list[Record], run_id: str) -> list[Record]:
    """The records of a run under another name."""
    return [structs.replace(one, run_id=run_id) for one in records]


PAYS = recorded(
    program(Terms(), ALLOW), reply("", use("pay", item="tea", cents=5)), seen(1, {"item": "tea", "cents": 5}), reply("")
)
CHANGED = '[[rule]]\nname = "less"\nwhen = { tool = "pay", arguments.cents = 5 }\nthen = "edit"\n'


@pytest.mark.parametrize(
    ("then", "now", "flips"),
    [
        pytest.param(ALLOW, ALLOW.replace('"all"', '"any"'), None, id="another rule"),
        pytest.param(ALLOW, ALLOW.replace("allow", "ask"), ("allow", "ask"), id="asks"),
        pytest.param(
            CHANGED + "set = { arguments.cents = 4 }\n" + ALLOW,
            CHANGED + "set = { arguments.cents = 3 }\n" + ALLOW,
            ("edit", "edit"),
            id="other arguments",
        ),
        pytest.param(
            ALLOW.replace("allow", "deny"),
            ALLOW.replace('"allow"', '"deny"\ntext = "Ask bo."'),
            ("deny", "deny"),
            id="another text for the model",
        ),
        pytest.param(
            CHANGED + "set = { arguments.cents = 4 }\n" + ALLOW,
            CHANGED
            + 'set = { arguments.cents = 4 }\n[[rule]]\nname = "four"\nwhen = { arguments.cents = 4 }\nthen = "deny"\n'
            + ALLOW,
            ("allow", "deny"),
            id="what an edit has made of it",
        ),
    ],
)
def test_what_is_a_flip(then: str, now: str, flips: tuple[str, str] | None) -> None:
    """Another verdict, other edited arguments, another text for the model; another rule alone is none."""
    old = program(Terms(), then)
    records = recorded(old, reply("", use("pay", item="tea", cents=5)))
    found = judged({"run": records}, old, rules(now))
    flip = found.first.get("run")
    assert (flip and (flip.before, flip.after)) == flips
    if flip is not None:
        assert what_comes(found, records, old, rules(now)).sureness != "same"


def test_each_transition_is_counted_up_to_the_first_flip() -> None:
    """What is recorded behind it may not have come to be."""
    old = program(Terms(), ALLOW)
    inputs: list[Input] = []
    for call, tool in enumerate(("pay", "count", "pay", "pay"), start=1):
        arguments = {"item": "tea", "cents": call} if tool == "pay" else {"item": "tea"}
        inputs += [reply("", use(tool, **arguments)), seen(call, arguments if tool == "pay" else 3)]
    records = recorded(old, *inputs, reply("Done."))
    no_counts = '[[rule]]\nname = "no"\nwhen = { tool = "count" }\nthen = "deny"\n' + ALLOW
    found = judged({"run": records}, old, rules(no_counts))
    assert {(one.tool, one.before, one.after): count for one, count in found.transitions.items()} == {
        ("pay", "allow", "allow"): 1,
        ("count", "allow", "deny"): 1,
    }
    assert (found.verdicts, found.first["run"].call) == (2, 2)


def test_all_calls_of_the_reply_that_flips_are_judged() -> None:
    """Before any is made all are judged, so they count; of the flipped one only what it flips to."""
    edits = CHANGED + "set = { arguments.cents = 4 }\n" + ALLOW
    old = program(Terms(), edits)
    pay = use("pay", item="tea", cents=5)
    records = recorded(old, reply("", pay, use("count", item="tea"), pay))
    found = judged({"run": records}, old, rules(ALLOW))
    assert {(one.tool, one.before, one.after): count for one, count in found.transitions.items()} == {
        ("pay", "edit", "allow"): 2,
        ("count", "allow", "allow"): 1,
    }


def test_what_the_contract_denied_stays_denied() -> None:
    """No policy was asked."""
    old = program(Terms(tools={"count": {}}), ALLOW)
    records = recorded(old, reply("", use("pay", item="tea", cents=1)), reply("I may not."))
    found = judged({"run": records}, old, rules(ALLOW + "# the same\n"))
    assert (found.first, found.verdicts) == ({}, 1)


UNDOES = Terms(quotas=Quotas(tool_failed=1), recovery=("compensate",))
NOT_TWICE = '[[rule]]\nname = "paid"\nwhen = { tool = "pay", facts.paid = { known = true } }\nthen = "deny"\n' + ALLOW


def test_what_the_engine_undoes_stays_undone() -> None:
    """No reply had wanted that call, so no policy was asked, and the tool of it stands nowhere in front of it."""
    old = program(UNDOES, ALLOW)
    paid = reply("", use("pay", item="tea", cents=5)), seen(1, {"item": "tea", "cents": 5})
    closed = ObservationReceived(call=2, status="error", content="Closed.", error="failed")
    records = recorded(old, *paid, reply("", use("price_of", item="tea")), closed)
    found = judged({"run": records}, old, rules(NOT_TWICE))
    assert (found.runs, found.unjudged, found.first) == (["run"], {}, {})
    assert found.transitions == {
        ("pay", "allow", "allow", "all"): 1,
        ("price_of", "allow", "allow", "all"): 1,
        ("pay", "allow", "allow", "compensation"): 1,
    }


def test_a_child_is_judged_with_what_its_parent_knew() -> None:
    """No event of its own says that."""
    old = program(Terms(), ALLOW)
    (start, *_), paid = (
        PAYS,
        '[[rule]]\nname = "paid"\nwhen = { facts.paid = { known = true } }\nthen = "deny"\n' + ALLOW,
    )
    assert isinstance(start.event, RunStarted)
    begun = structs.replace(start.event, known={"paid": 5}, parent=Lineage(run_id="run", call=1))
    records = [structs.replace(start, event=begun), *PAYS[1:]]
    child = [structs.replace(one, run_id="run/1") for one in records]
    assert judged({"run": PAYS}, old, rules(paid)).first == {}
    assert judged({"run/1": child}, old, rules(paid)).first["run/1"].rule_after == "paid"


def test_runs_are_chosen_by_an_expression() -> None:
    """Over the columns of runs."""
    old = program(Terms(), ALLOW)
    runs = {f"r{number}": named(PAYS, f"r{number}") for number in range(3)}
    assert judged(runs, old, rules(ALLOW), "run_id = 'r1' or run_id = 'r2'").runs == ["r1", "r2"]
    with pytest.raises(BadInput, match="query"):
        judged(runs, old, rules(ALLOW), "nonsense(")


def test_why_a_run_is_not_judged() -> None:
    """Without a program, as a mere view, with a tool that nobody knows, or with a call that nobody had wanted."""
    old = program(Terms(), ALLOW)
    view = structs.replace(PAYS[0].event, source=Source(format="x", sha256="0" * 64, grade="view-only"))
    viewed = [structs.replace(PAYS[0], event=view), *PAYS[1:]]
    unwanted = [
        structs.replace(one, event=structs.replace(one.event, calls=())) if isinstance(one.event, DecisionMade) else one
        for one in PAYS
    ]
    less = replace(old, tools={name: one for name, one in (old.tools or {}).items() if name != "pay"})

    def why(records: list[Record], program: Program | str) -> str:
        found = judged({"run": records}, program, rules(ALLOW))
        assert (found.runs, found.verdicts, found.transitions) == ([], 0, {})
        ((_, word, reason),) = in_a_word(found, [])
        assert word == "not judged"
        return reason

    assert why(PAYS, "no program for agent 'shop'") == "no program for agent 'shop'"
    assert why(viewed, old) == "it was imported as view-only"
    assert why(unwanted, old) == "it has verdicts on calls that nobody had wanted"
    assert why(PAYS, less) == "the program has no tool 'pay', which call 1 is of"


def test_a_run_with_an_event_that_cannot_be_read_is_not_judged() -> None:
    """Nobody knows which facts it would have shown."""
    log = MemoryLog()
    log.append("run", PAYS, expected=0)
    log._streams["run"][3] = log._streams["run"][3]._replace(line=b'{"event":"unheard_of"}')
    with history(log) as notebook:
        found = judged_again(notebook, {"new": rules(ALLOW)}, lambda _: program(Terms(), ALLOW))["new"]
    assert (found.runs, found.unjudged) == ([], {"run": "1 of its events cannot be read"})


def test_an_import_that_is_not_whole_is_judged_and_not_driven() -> None:
    """Its calls are there, and what would have come of it nobody can say."""
    source = Source(format="x", sha256="0" * 64, grade="verdicts-only")
    old = replace(shop(Terms()), tools=None, verifiers=())
    records = live(old, 1, source=source)
    denies = rules(ALLOW.replace("allow", "deny"))
    found = judged({"run-1": records}, old, denies)
    driven = what_comes(found, records, old, denies)
    assert (driven.sureness, driven.why) == ("not judged", "it was imported as verdicts-only")
    assert found.verdicts > 0


def test_an_agent_that_is_another_by_now_says_nothing_of_what_would_have_come() -> None:
    """Its calls are judged, and driven again it would part before the first of them that flips."""
    old, denies = program(Terms(), ALLOW), rules(ALLOW.replace("allow", "deny"))
    now = replace(old, prompt=({"role": "system", "content": "Be quick."},))
    driven = what_comes(judged({"run": PAYS}, now, denies), PAYS, now, denies)
    assert driven.sureness == "not judged"
    assert driven.why == "its agent is another by now, so that it parts before its first flip: prompt"


def test_beyond_the_edge_it_goes_on_under_assumptions() -> None:
    """Where that is asked for."""
    old, denies = program(Terms(), ALLOW), rules(ALLOW.replace("allow", "deny"))
    found = judged({"run": PAYS}, old, denies)
    assert what_comes(found, PAYS, old, denies).sureness == "exact to turn"
    assert what_comes(found, PAYS, old, denies, beyond=True).sureness == "under assumptions"
