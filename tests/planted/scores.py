"""How many planted faults a replay finds: at which place, and of which cause."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from redrive_engine import Program
from redrive_replays import Cause, Divergence, replay_records
from tests.planted import later, programs, recordings
from tests.planted.natural import naturals
from tests.planted.stories import (
    GENERATORS,
    Planted,
    program,
)

# Each joins the corpus as it is loaded.
SOURCES = (programs, recordings, later)
CASES_PER_GENERATOR = 16
PAIRS = 120
# Changes that surface in different places, and can be made together.
TOGETHER = ("a_rule_that_denies", "a_smaller_budget", "a_verifier_that_refuses", "a_criterion_more", "another_timeout")
PARTS = ("terms", "policy", "tools", "verifiers")


class Score(NamedTuple):
    """How one case came out."""

    generator: str
    cause: Cause
    found: Divergence | None
    at_place: bool
    by_cause: bool


def scored(name: str, case: Planted) -> Score:
    """What a replay says of a case."""
    report = replay_records("run", case.records, case.program)
    found = report.divergences[0] if report.divergences else None
    at_place = found is not None and found.position == case.position
    return Score(name, case.cause, found, at_place, found is not None and found.cause == case.cause)


def singles() -> Iterator[Score]:
    """Each generator, so many times."""
    for name, generator in GENERATORS.items():
        for seed in range(CASES_PER_GENERATOR):
            yield scored(name, generator(random.Random(f"{name} {seed}")))


def versions() -> Iterator[Score]:
    """Two versions of an example, each once."""
    for name, case in naturals():
        yield scored(name, case)


def pairs() -> Iterator[Score]:
    """Two changes of a program at once, in the same run: the first to surface is found first, the other behind it."""
    for seed in range(PAIRS):
        chance = random.Random(f"pair {seed}")
        one, other = (GENERATORS[name](random.Random(seed)) for name in chance.sample(TOGETHER, 2))
        if _append(one) == _append(other) or not (changes := _merged(one.program, other.program)):
            continue  # in one append the first is found, and what stands behind it is adopted
        earlier, later = sorted((one, other), key=lambda case: case.position)
        both = dataclasses.replace(program(), **changes)
        report = replay_records("run", earlier.records, both)
        found = {(each.position, each.cause) for each in report.divergences}
        name = f"{earlier.cause} and {later.cause}"
        yield scored(name, Planted(earlier.records, both, earlier.position, earlier.cause))
        at_place = later.position in {position for position, _ in found}
        yield Score(name, later.cause, None, at_place, (later.position, later.cause) in found)


def _append(case: Planted) -> int:
    """Where the append ends in which a fault surfaces."""
    return case.position + case.records[case.position - 1].left


def _merged(one: Program, other: Program) -> dict[str, Any]:
    """The parts that either has changed; none where both have changed the same."""
    base = program()
    ours, theirs = (
        {name: getattr(each, name) for name in PARTS if getattr(each, name) != getattr(base, name)}
        for each in (one, other)
    )
    return {} if ours.keys() & theirs.keys() else ours | theirs


def shares(scores: Sequence[Score]) -> tuple[float, float]:
    """How many are found at their place, and by their cause."""
    return sum(one.at_place for one in scores) / len(scores), sum(one.by_cause for one in scores) / len(scores)
