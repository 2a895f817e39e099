"""What another policy would have done: held against the same agents, run under it from the start."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_events import BadInput, Input, MemoryLog, ModelAsked, Record, Terms, VerdictGiven
from redrive_projections.history import history
from redrive_replays import redriven
from redrive_replays.backtest import Judged, consequences, judged_again
from redrive_replays.redriving import inputs_of
from tests.shop import recorded, seen, shop

ALLOW = '[[rule]]\nname = "all"\nwhen = {}\nthen = "allow"\n'


def rules(text: str) -> RulesPolicy:
    """Rules in TOML."""
    return RulesPolicy.from_toml(text)


def program(terms: Terms, policy: str) -> Program:
    """The shop."""
    return shop(terms, policy=rules(policy))


class Cashier:
    """An agent of plain mind: it looks at prices, then pays, in an order and for sums that its tape says."""

    def __init__(self, tape: Sequence[int]) -> None:
        self.tape = tape

    def inputs(self) -> list[Input]:
        """What would happen to its run, whatever is allowed; nothing in it hangs on a denial."""
        happened: list[Input] = []
        for call, number in enumerate(self.tape, start=1):
            cents, pays = 1 + number % 9, number % 3
            if pays:
                happened += [
                    reply("", use("pay", item="tea", cents=cents)),
                    seen(call, {"item": "tea", "cents": cents}),
                ]
            else:
                happened += [reply("", use("count", item="tea")), seen(call, cents)]
        return [*happened, reply("Done.")]

    def run(self, under: Program, run_id: str = "run") -> list[Record]:
        """The run under a program: what nothing asks for any more does not happen."""
        records = recorded(shop(under.terms, policy=rules(ALLOW)), *self.inputs(), run_id=run_id)
        return redriven(under, records[0], inputs_of(records))


def judged(runs: dict[str, list[Record]], program: Program, policy: str, where: str = "true") -> Judged:
    """All calls of recorded runs, judged again."""
    log = MemoryLog()
    for run_id, records in runs.items():
        log.append(run_id, records, expected=0)
    with history(log) as notebook:
        return judged_again(notebook, {"new": rules(policy)}, lambda _: program, where)["new"]


def verdicts(records: Sequence[Record]) -> list[tuple[int, str, str]]:
    """Each verdict of a run: call, verdict, rule."""
    events = (one.event for one in records)
    return [(one.call, one.verdict, one.rule) for one in events if isinstance(one, VerdictGiven)]


policies = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(
    lambda limits: (
        f'[[rule]]\nname = "stock"\nwhen = {{ tool = "pay", facts.stock = {{ at_most = {limits[0]} }} }}\n'
        'then = "deny"\n'
        f'[[rule]]\nname = "paid"\nwhen = {{ tool = "pay", facts.paid = {{ known = true }}, '
        f"arguments.cents = {{ at_least = {limits[1]} }} }}\n"
        'then = "deny"\n' + ALLOW
    )
)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 26), min_size=1, max_size=7), policies, st.sampled_from(["tell", "block"]))
def test_it_says_what_the_same_agent_does_under_the_new_policy(tape: list[int], policy: str, on_denied: str) -> None:
    """No verdict up to the reply of the first flip differs, and a run that is exact ends as it does there."""
    terms = Terms(on_denied=on_denied)  # type: ignore[arg-type]
    old, new = program(terms, ALLOW), program(terms, policy)
    records = Cashier(tape).run(old)
    live = Cashier(tape).run(new)
    found = judged({"run": records}, old, policy)
    flip = found.first.get("run")
    before, after = verdicts(records), verdicts(live)
    if flip is None:
        assert [one[:2] for one in before] == [one[:2] for one in after]
        return
    assert [one[:2] for one in before if one[0] < flip.call] == [one[:2] for one in after if one[0] < flip.call]
    assert (flip.call, flip.after, flip.rule_after) in after
    (driven,) = consequences([flip], lambda _: records, lambda _: old, rules(policy))
    if driven.sureness == "exact":
        assert live[-1].event.status == driven.status  # type: ignore[union-attr]
    else:
        assert (driven.sureness, on_denied) == ("exact to turn", "tell")
        asked = [one for one in live if isinstance(one.event, ModelAsked)]
        assert driven.turn < len(asked)


def test_each_transition_is_counted_up_to_the_first_flip() -> None:
    """What is recorded behind it may not have come to be."""
    cashier = Cashier([1, 0, 2, 1])
    old = program(Terms(), ALLOW)
    no_counts = '[[rule]]\nname = "no"\nwhen = { tool = "count" }\nthen = "deny"\n' + ALLOW
    found = judged({"run": cashier.run(old)}, old, no_counts)
    assert {(one.tool, one.before, one.after): count for one, count in found.transitions.items()} == {
        ("pay", "allow", "allow"): 1,
        ("count", "allow", "deny"): 1,
    }
    assert (found.verdicts, found.first["run"].call) == (2, 2)


def test_what_the_contract_denied_stays_denied() -> None:
    """No policy was asked."""
    old = program(Terms(tools={"count": {}}), ALLOW)
    records = recorded(old, reply("", use("pay", item="tea", cents=1)), reply("I may not."))
    found = judged({"run": records}, old, ALLOW + "# the same\n")
    assert (found.first, found.verdicts) == ({}, 1)


def test_runs_are_chosen_by_an_expression() -> None:
    """Over the columns of runs."""
    old = program(Terms(), ALLOW)
    runs = {f"r{number}": Cashier([number]).run(old, f"r{number}") for number in range(3)}
    assert judged(runs, old, ALLOW, "run_id = 'r1'").runs == {"r1"}
    with pytest.raises(BadInput, match="query"):
        judged(runs, old, ALLOW, "nonsense(")


def test_a_run_without_a_program_is_not_judged() -> None:
    """It is counted apart."""
    old = program(Terms(), ALLOW)
    log = MemoryLog()
    log.append("run", Cashier([1]).run(old), expected=0)
    with history(log) as notebook:
        found = judged_again(notebook, {"new": rules(ALLOW)}, lambda _: None)["new"]
    assert (found.runs, found.unjudged, found.verdicts) == (set(), {"run"}, 0)
