"""A back-test of forks: their own verdicts, with what they inherit, and nothing of that twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from redrive_engine import Program, fork
from redrive_engine.models import reply, use
from redrive_events import LeaseGranted, Lineage, MemoryLog, ObservationReceived, RunStarted, Terms, VerdictGiven
from redrive_projections.history import history
from redrive_replays import replay_records
from redrive_replays.backtest import Transition, consequences, judged_again
from redrive_replays.difference import is_explaining
from tests.engine.test_forking import driven, ends_of
from tests.random_runs import AuditedLog, random_fork, random_run, tapes
from tests.replays.test_backtest import ALLOW, NOT_TWICE, PAYS, UNDOES, fact_policies, program, rules, terms
from tests.shop import recorded, seen


class Unaudited(AuditedLog):
    """A log that keeps what it is given: an audit knows no fork of a fork."""

    append = MemoryLog.append


def forks_of(old: Program, tapes: Sequence[bytes], data: st.DataObject) -> AuditedLog:
    """A run, and one after the other that is forked from the one before, driven by chance."""
    log = Unaudited(old)
    log.append("run", random_run(tapes[0], old), expected=0)
    parent = "run"
    for number, tape in enumerate(tapes[1:], start=1):
        place = data.draw(st.sampled_from(ends_of(list(log.read(parent)))))
        fork(log, parent, place, at=log_end(log, parent), new_id=f"fork-{number}")
        random_fork(tape, old, log, f"fork-{number}")
        parent = "run" if number == 2 else f"fork-{number}"
    return log


def log_end(log: AuditedLog, run_id: str) -> datetime:
    """When the last event of a run was."""
    return max(one.at for one in log.read(run_id))


@settings(max_examples=25, deadline=None)
@given(st.data(), st.lists(tapes, min_size=3, max_size=4), terms, fact_policies, fact_policies)
def test_a_fork_is_judged_with_what_it_inherits(
    data: st.DataObject, made: list[bytes], terms: Terms, then: str, now: str
) -> None:
    """Its own verdicts alone, each as a strict replay under the other policy comes to it; inherited ones count once."""
    old, new = program(terms, then), rules(now)
    log = forks_of(old, made, data)
    with history(log) as notebook:
        both = judged_again(notebook, {"old": rules(then), "new": new}, lambda _: old)
    assert both["old"].first == {}
    assert both["old"].verdicts == sum(isinstance(one.event, VerdictGiven) for _, one in log.read_all())
    for head in log.runs():
        report = replay_records(head.run_id, log.read(head.run_id), replace(old, policy=new))
        parted = (
            one.position
            for one in report.divergences
            if isinstance(one.recorded, VerdictGiven)
            and any(not is_explaining(one.recorded, differs) for differs in one.differences)
        )
        flip = both["new"].first.get(head.run_id)
        assert (flip and flip.position) == next(parted, None)


def test_a_call_that_is_judged_anew_in_a_fork_is_judged_as_it_was_wanted() -> None:
    """Another run has decided it, and a person was asked there; the facts that are inherited are known, too."""
    asks = '[[rule]]\nname = "look"\nwhen = { tool = "pay", facts.price = 5 }\nthen = "ask"\n' + ALLOW
    old = program(Terms(), asks)
    price, pay = reply("", use("price_of", item="tea")), reply("", use("pay", item="tea", cents=5))
    asked = recorded(old, price, seen(1, {"item": "tea", "cents": 5}), pay)
    log = MemoryLog()
    log.append("run", asked, expected=0)
    fork(log, "run", asked[-1].position, at=asked[-1].at, new_id="fork")
    driven(log, old, LeaseGranted(worker="w2", epoch=2))
    denies = rules(asks.replace('"ask"', '"deny"').replace("facts.price = 5", "facts.price = 5, arguments.cents = 5"))
    with history(log) as notebook:
        found = judged_again(notebook, {"new": denies}, lambda _: old)["new"]
    flip = found.first["fork"]
    assert (flip.tool, flip.call, flip.before, flip.after, flip.step) == ("pay", 2, "ask", "deny", 2)
    assert (found.verdicts, found.unjudged) == (3, {})
    consequence = {
        one.run_id: one for one in consequences(found, lambda run: list(log.read(run)), lambda _: old, denies)
    }
    assert (consequence["fork"].sureness, consequence["fork"].turn) == ("exact to turn", 2)


def test_a_fork_of_a_child_knows_what_its_parent_knew() -> None:
    """No event of either run says that."""
    (start, *rest), old = PAYS, program(Terms(), ALLOW)
    assert isinstance(start.event, RunStarted)
    begun = structs.replace(start.event, known={"paid": 5}, parent=Lineage(run_id="run", call=1))
    log = MemoryLog()
    records = [structs.replace(one, run_id="run/1") for one in [structs.replace(start, event=begun), *rest]]
    log.append("run/1", records, expected=0)
    fork(log, "run/1", 3, at=PAYS[-1].at, new_id="fork")
    driven(log, old, LeaseGranted(worker="w2", epoch=2), reply("", use("pay", item="tea", cents=5)), run_id="fork")
    denies = rules('[[rule]]\nname = "paid"\nwhen = { facts.paid = { known = true } }\nthen = "deny"\n' + ALLOW)
    with history(log) as notebook:
        found = judged_again(notebook, {"new": denies}, lambda _: old, "run_id = 'fork'")["new"]
    assert (found.first["fork"].rule_after, found.verdicts) == ("paid", 1)


def test_what_the_engine_undoes_in_a_fork_stays_undone() -> None:
    """That call neither the fork nor the run above it had wanted."""
    old, log = program(UNDOES, ALLOW), MemoryLog()
    bought = recorded(old, reply("", use("price_of", item="tea")), seen(1, {"item": "tea", "cents": 5}))
    log.append("run", bought, expected=0)
    fork(log, "run", bought[-1].position, at=bought[-1].at, new_id="fork")
    paid = reply("", use("pay", item="tea", cents=5)), seen(2, {"item": "tea", "cents": 5})
    closed = ObservationReceived(call=3, status="error", content="Closed.", error="failed")
    driven(
        log, old, LeaseGranted(worker="w2", epoch=2), *paid, reply("", use("count", item="tea")), closed, run_id="fork"
    )
    with history(log) as notebook:
        found = judged_again(notebook, {"new": rules(NOT_TWICE)}, lambda _: old)["new"]
    assert (found.runs, found.unjudged, found.first) == (["run", "fork"], {}, {})
    assert found.transitions[Transition("pay", "allow", "allow", "compensation")] == 1
    assert found.verdicts == 4


def test_a_fork_of_what_cannot_be_read_is_not_judged() -> None:
    """Nobody knows which facts it inherits; what was read of the run up to there is enough."""
    log = MemoryLog()
    log.append("run", PAYS, expected=0)
    place = next(one.position for one in PAYS[3:] if not one.left)
    fork(log, "run", place, at=PAYS[-1].at, new_id="fork")
    log._streams["run"][-1] = log._streams["run"][-1]._replace(line=b'{"event":"unheard_of"}')
    with history(log) as notebook:
        found = judged_again(notebook, {"new": rules(ALLOW)}, lambda _: program(Terms(), ALLOW))["new"]
    assert (found.runs, list(found.unjudged)) == (["fork"], ["run"])
    log._streams["run"][3] = log._streams["run"][3]._replace(line=b'{"event":"unheard_of"}')
    with history(log) as notebook:
        found = judged_again(notebook, {"new": rules(ALLOW)}, lambda _: program(Terms(), ALLOW))["new"]
    assert found.unjudged["fork"] == "1 of the events that it inherits cannot be read"
