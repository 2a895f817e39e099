"""Runs without a fault: what is another one here makes no difference, and whatever a replay tells is too much."""

from __future__ import annotations

import random

from redrive_events import LeaseGranted, Limits, MemoryLog, ModelReplied, ObservationReceived, StopDecided, Terms
from redrive_replays.recording import keep
from tests.planted.stories import (
    ALLOW,
    NO_POKE,
    Planted,
    changed,
    first,
    planted,
    program,
    some,
    story,
    with_event,
    without_fault,
)


@planted
def nothing_at_all(chance: random.Random) -> Planted:
    """The very program."""
    return without_fault(story(chance, rules=NO_POKE + ALLOW), program(rules=NO_POKE + ALLOW))


@planted
def a_comment_in_the_rules(chance: random.Random) -> Planted:
    """It reads otherwise, and judges alike."""
    return without_fault(story(chance), program(rules=f"# {chance.choice(('May', '五月'))}\n{ALLOW}"))


@planted
def rules_by_another_name(chance: random.Random) -> Planted:
    """Each verdict is explained otherwise."""
    return without_fault(story(chance), program(rules=ALLOW.replace('"all"', '"everything"')))


@planted
def a_rule_for_what_never_comes(chance: random.Random) -> Planted:
    """Nobody pays a million."""
    sum_ = f"arguments.cents = {{ at_least = {chance.randint(1_000, 9_000)} }}"
    much = f'[[rule]]\nname = "much"\nwhen = {{ tool = "pay", {sum_} }}\nthen = "deny"\n'
    return without_fault(story(chance), program(rules=much + ALLOW))


@planted
def a_budget_that_is_never_used_up(chance: random.Random) -> Planted:
    """There are more steps than it takes."""
    return without_fault(story(chance), program(Terms(budget=Limits(steps=chance.randint(50, 90)))))


@planted
def a_principal_whom_nobody_looks_at(chance: random.Random) -> Planted:
    """No rule reads who asked."""
    records = story(chance)
    return without_fault(with_event(records, 1, changed(records[0], principal="bo")), program())


@planted
def the_worker_of_another_host(chance: random.Random) -> Planted:
    """Who drove a run is no part of it."""
    records = story(chance)
    where = first(records, LeaseGranted)
    return without_fault(with_event(records, where.position, changed(where, worker="w2@elsewhere")), program())


@planted
def an_answer_of_another_id(chance: random.Random) -> Planted:
    """What the provider calls its reply is nothing that anything follows from."""
    records = story(chance)
    where = some(chance, records, ModelReplied)
    return without_fault(with_event(records, where.position, changed(where, response_id="r-7")), program())


@planted
def another_size(chance: random.Random) -> Planted:
    """Nor is how long an observation was before it was cut."""
    records = story(chance)
    where = some(chance, records, ObservationReceived)
    return without_fault(with_event(records, where.position, changed(where, size_bytes=9_000)), program())


@planted
def an_unfinished_run(chance: random.Random) -> Planted:
    """It ends with a whole append, and what is open there is no fault."""
    records = story(chance)
    ends = [one.position for one in records if not one.left and one.position < first(records, StopDecided).position]
    return without_fault(records[: chance.choice(ends)], program())


@planted
def out_of_a_log(chance: random.Random) -> Planted:
    """Written and read again, it is what it was."""
    log = MemoryLog()
    keep(log, story(chance))
    return without_fault(list(log.read("run")), program())
