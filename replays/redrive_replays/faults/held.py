"""What a run with a fault in it is held to: the promises of every trajectory, in the light of what was spoilt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from redrive_engine.loop import ACTING
from redrive_events import EffectReconciled, FactCommitted, ObservationReceived, Record, RunEnded, ToolCalled, canonical
from redrive_replays.faults.course import Course
from redrive_replays.testing import (
    Promise,
    Trajectory,
    a_fault_leads_to_no_blind_retry,
    every_claim_has_its_observation,
    it_ended_for_a_known_reason,
    nothing_begins_after_the_end,
    nothing_forbidden_was_called,
    nothing_observed_grants_anything,
    replay_is_same,
    the_budget_is_kept,
    what_was_called_is_what_was_allowed,
)

State: TypeAlias = Literal["held", "broken", "not reached"]
# Each way in which a promise is broken, and at which position of which run.
Found: TypeAlias = Iterator["Breach"]


@dataclass(frozen=True, slots=True)
class Breach:
    """A promise that is broken: in which run, at which position, and how."""

    run_id: str
    position: int
    how: str


@dataclass(frozen=True, slots=True)
class Held:
    """How one promise stands after one run."""

    state: State
    breach: Breach | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A promise by the name under which it stands in the table; ``at_end`` is one that only an end can keep."""

    name: str
    told: str
    find: Callable[[Course, Course], Found]
    at_end: bool = False

    def of(self, course: Course, sound: Course) -> Held:
        """How it stands after a run; ``sound`` is the same without a fault."""
        breach = next(self.find(course, sound), None)
        if breach is not None:
            return Held("broken", breach)
        return Held("not reached" if self.at_end and course.edge else "held")


def _first(promise: Promise, trajectory: Trajectory) -> Found:
    """The first breach of a promise by one run: where the shortest beginning ends that breaks it alike."""
    alone = replace(trajectory, children=())
    broken = promise.broken_by(alone)
    if not broken:
        return
    records = alone.records
    ends = (index for index in range(1, len(records)) if broken[0] in promise.broken_by(_until(alone, index)))
    yield Breach(alone.run_id, records[next(ends, len(records)) - 1].position, f"{broken[0]} (against: {promise.told})")


def _until(trajectory: Trajectory, index: int) -> Trajectory:
    return replace(trajectory, records=trajectory.records[:index])


def _kept(*promises: Promise) -> Callable[[Course, Course], Found]:
    def find(course: Course, _: Course) -> Found:
        for trajectory in course.all():
            for promise in promises:
                yield from _first(promise, trajectory)

    return find


def _evidence(course: Course, _: Course) -> Found:
    """What a success claims is shown by what was not spoilt, and its answer repeats nothing that was spoken in."""
    for trajectory in course.all():
        false = _false(course, trajectory)
        sound = tuple(one for one in trajectory.records if one.position not in false)
        yield from _first(every_claim_has_its_observation, replace(trajectory, records=sound))
        for record in trajectory.records:
            if isinstance(record.event, RunEnded) and (mark := _marked(course, record.event.answer)):
                yield Breach(trajectory.run_id, record.position, f"the answer has what was spoken into data: {mark}")


def _false(course: Course, trajectory: Trajectory) -> set[int]:
    """The positions of what a fault made untrue, and of the facts that rest on it, in a run that it began as well."""
    below = {int(child.run_id.rpartition("/")[2]): _believed(course, child) for child in trajectory.children}
    returned: dict[int, set[str]] = {}
    found = set[int]()
    for record in trajectory.records:
        event = record.event
        if isinstance(event, ObservationReceived) and event.returned is not None:
            returned[record.position] = below.get(event.call, set())
        if isinstance(event, FactCommitted):
            if any(place in found or event.key in returned.get(place, ()) for place in event.evidence):
                found.add(record.position)
        elif _is_false(course, trajectory.run_id, record):
            found.add(record.position)
    return found


def _believed(course: Course, trajectory: Trajectory) -> set[str]:
    """The facts of a run that rest on what a fault made untrue, by what was known of each last."""
    false = _false(course, trajectory)
    last = {one.event.key: one.position for one in trajectory.records if isinstance(one.event, FactCommitted)}
    return {key for key, position in last.items() if position in false}


def _is_false(course: Course, run_id: str, record: Record) -> bool:
    """Whether it is an answer that a fault made untrue, or says that landed what was never begun."""
    fault, hits, event = course.fault, course.tampering.hits, record.event
    if isinstance(event, EffectReconciled) and event.outcome == "landed":
        begun = (run_id, event.call) in course.tampering.landed
        return not begun and any((one.run_id, one.call) == (run_id, event.call) for one in hits)
    untrue = fault is not None and fault.slice.untrue
    return untrue and any((one.run_id, one.position) == (run_id, record.cause) for one in hits)


def _marked(course: Course, said: object) -> str:
    words = said if isinstance(said, str) else canonical(said).decode()
    return next((one.mark for one in course.tampering.hits if one.mark and one.mark in words), "")


def _permitted(course: Course, sound: Course) -> Found:
    """Nothing forbidden, nothing other than what was judged, and no effect that words in data asked for."""
    promises = (nothing_forbidden_was_called, what_was_called_is_what_was_allowed, nothing_observed_grants_anything)
    yield from _kept(*promises)(course, sound)
    for trajectory in course.all():
        for record in trajectory.records:
            event = record.event
            if isinstance(event, ToolCalled) and event.effect in ACTING and (mark := _marked(course, event.arguments)):
                how = f"call {event.call} of {event.tool} has what was spoken into data: {mark}"
                yield Breach(trajectory.run_id, record.position, how)


def _once(course: Course, sound: Course) -> Found:
    """Nothing is begun again that has landed, nor lands more often than it did without a fault."""
    usual, often = _landings(sound), Counter[tuple[str, str]]()
    for trajectory in course.all():
        run_id = trajectory.run_id
        for record in trajectory.records:
            event = record.event
            if not isinstance(event, ToolCalled) or event.compensates is not None:
                continue
            if (landed := course.tampering.landed.get((run_id, event.call))) is None:
                continue
            write = (event.tool, event.digest)
            if record.position > landed.position:
                how = f"call {event.call} of {event.tool} is begun again, which landed at {landed.position}"
                yield Breach(run_id, record.position, how)
            elif record.position == landed.position:
                often[write] += 1
                if often[write] > max(1, usual[write]):
                    how = f"call {event.call} of {event.tool} has landed before, with the same arguments"
                    yield Breach(run_id, record.position, how)


def _landings(course: Course) -> Counter[tuple[str, str]]:
    """How often each write landed."""
    landed = course.tampering.landed
    return Counter(
        (one.event.tool, one.event.digest)
        for trajectory in course.all()
        for one in trajectory.records
        if isinstance(one.event, ToolCalled)
        and (known := landed.get((trajectory.run_id, one.event.call))) is not None
        and known.position == one.position
    )


def _ended(course: Course, sound: Course) -> Found:
    """It came to an end, and says why; at an edge nobody can know."""
    if course.trouble:
        last = course.trajectory.records[-1]
        yield Breach(course.run_id, last.position, course.trouble)
    if not course.edge:
        yield from _kept(it_ended_for_a_known_reason)(course, sound)


CHECKS: Final[Mapping[str, Check]] = {
    one.name: one
    for one in (
        Check("evidence", "it succeeded only with evidence", _evidence, at_end=True),
        Check("once", "no write was made twice", _once),
        Check("stopped", "nothing began after a cancellation or a stop", _kept(nothing_begins_after_the_end)),
        Check("permitted", "nothing forbidden was begun", _permitted),
        Check("ended", "it ended for a known reason", _ended, at_end=True),
        Check(
            "no blind retry", "what failed was settled or asked again in bounds", _kept(a_fault_leads_to_no_blind_retry)
        ),
        Check("replay", "a strict replay is the same", _kept(replay_is_same)),
        Check("budget", "the budget was kept", _kept(the_budget_is_kept)),
    )
}
