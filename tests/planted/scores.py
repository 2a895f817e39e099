"""How many planted faults a replay finds: at which place, and of which cause."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from redrive_engine import Program
from redrive_replays import Cause, replay_records
from tests.planted import afterwards, later, programs, recordings, sound, surroundings
from tests.planted.natural import naturals
from tests.planted.stories import (
    GENERATORS,
    Planted,
    program,
)

# Each joins the corpus as it is loaded.
SOURCES = (programs, recordings, surroundings, sound, later, afterwards)
# Those that were written after the causes were told apart.
LATER = frozenset(name for name, one in GENERATORS.items() if one.__module__ in {later.__name__, afterwards.__name__})
CASES_PER_GENERATOR = 16
PAIRS = 120
# Changes that surface in different places, and can be made together.
TOGETHER = ("a_rule_that_denies", "a_smaller_budget", "a_verifier_that_refuses", "a_criterion_more", "another_timeout")
PARTS = ("terms", "policy", "tools", "verifiers")


class Score(NamedTuple):
    """How one case came out: where a fault was planted and where one was told, 0 where there is none."""

    generator: str
    cause: Cause | None
    position: int
    told: int = 0
    told_cause: Cause | None = None

    @property
    def at_place(self) -> bool:
        """Whether it was told where it is; where there is none, whether none was told."""
        return self.told == self.position

    @property
    def by_cause(self) -> bool:
        """Whether the cause is the one that was planted."""
        return self.told_cause == self.cause


class Shares(NamedTuple):
    """Of the places that were told, how many are right; of those that were planted, how many were told; by cause."""

    precision: float
    recall: float
    cause: float


def scored(name: str, case: Planted) -> Score:
    """What a replay says of a case."""
    found = replay_records("run", case.records, case.program).divergences[:1]
    score = Score(name, case.cause, case.position)
    return score._replace(told=found[0].position, told_cause=found[0].cause) if found else score


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
        name = f"{earlier.cause} and {later.cause}"
        yield scored(name, Planted(earlier.records, both, earlier.position, earlier.cause))
        second = Score(name, later.cause, later.position)
        found = [each for each in report.divergences if each.position == later.position]
        yield second._replace(told=later.position, told_cause=found[0].cause) if found else second


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


def shares(scores: Sequence[Score]) -> Shares:
    """Where there is no fault, a place that is told is one too many; the cause is that of the faults alone."""
    told = [one for one in scores if one.told]
    planted = [one for one in scores if one.position]
    return Shares(
        _share(sum(one.at_place for one in told), len(told)),
        _share(sum(one.at_place for one in planted), len(planted)),
        _share(sum(one.by_cause for one in planted), len(planted)),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
