"""What a test holds a trajectory to: promises that say in words how they are broken, and that can be combined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from redrive_engine import Budget, Contract
from redrive_events import Json, Limits, ModelAsked, Record, ToolCalled
from redrive_projections import RunState, evolve, exhausted, used
from redrive_replays.testing.answering import ANSWERS
from redrive_replays.testing.matching import Matcher, matcher_of
from redrive_replays.testing.references import References
from redrive_replays.testing.trajectory import Made, Trajectory

Find: TypeAlias = Callable[[Trajectory], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Promise:
    """Something that a trajectory keeps or breaks; ``find`` gives each way in which it breaks it, in words.

    ``a & b`` is kept if both are, ``a | b`` if one is, ``~a`` if ``a`` is broken.
    """

    told: str
    find: Find

    def broken_by(self, trajectory: Trajectory) -> list[str]:
        """Each way in which a trajectory breaks it; none if it is kept."""
        return list(self.find(trajectory))

    def __and__(self, other: Promise) -> Promise:
        return Promise(
            f"({self.told} and {other.told})", lambda trajectory: _named(trajectory, self) + _named(trajectory, other)
        )

    def __or__(self, other: Promise) -> Promise:
        def find(trajectory: Trajectory) -> list[str]:
            ours, theirs = _named(trajectory, self), _named(trajectory, other)
            return ours + theirs if ours and theirs else []

        return Promise(f"({self.told} or {other.told})", find)

    def __invert__(self) -> Promise:
        return Promise(
            f"not ({self.told})", lambda trajectory: () if self.broken_by(trajectory) else [f"{self.told} is kept"]
        )


def _named(trajectory: Trajectory, promise: Promise) -> list[str]:
    return [f"{promise.told}: {finding}" for finding in promise.broken_by(trajectory)]


@dataclass(frozen=True, slots=True)
class Which:
    """Calls of a tool whose arguments are these, or fit these matchers."""

    tool: str
    arguments: dict[str, Any]

    @property
    def told(self) -> str:
        """In words."""
        inside = ", ".join(f"{name}={_told(one)}" for name, one in self.arguments.items())
        return f"{self.tool}({inside})" if inside else self.tool

    def among(self, trajectory: Trajectory) -> list[Made]:
        """Those that were made, in order."""
        return [one for one in trajectory.calls if one.tool == self.tool and self._fits(one.arguments)]

    def _fits(self, arguments: Json) -> bool:
        given = arguments if isinstance(arguments, dict) else {}
        return all(name in given and _is(given[name], wanted) for name, wanted in self.arguments.items())


Calls: TypeAlias = Which | str


def calls(tool: str, /, **arguments: Any) -> Which:
    """Calls of a tool, to be named in a promise; each argument is a value, a matcher, a type or a function."""
    return Which(tool, arguments)


def called(tool: str, /, **arguments: Any) -> Promise:
    """Such a call was made."""
    which = Which(tool, arguments)

    def find(trajectory: Trajectory) -> Iterator[str]:
        if not which.among(trajectory):
            others = [one for one in trajectory.calls if one.tool == tool]
            yield f"it was not, but {_listed(trajectory, others)}" if others else "it was not"

    return Promise(f"{which.told} is called", find)


def never_called(tool: str, /, **arguments: Any) -> Promise:
    """No such call was made."""
    return at_most(0, Which(tool, arguments))


def at_most(times: int, which: Calls) -> Promise:
    """So many such calls were made, each attempt counted, or fewer."""
    one = _which(which)

    def find(trajectory: Trajectory) -> Iterator[str]:
        made = one.among(trajectory)
        if len(made) > times:
            yield f"there are {len(made)}: {_listed(trajectory, made)}"

    often = f"at most {times} time{'' if times == 1 else 's'}" if times else "never"
    return Promise(f"{one.told} is called {often}", find)


def called_before(first: Calls, then: Calls) -> Promise:
    """Whenever the second was called, the first had been before it."""
    one, other = _which(first), _which(then)

    def find(trajectory: Trajectory) -> Iterator[str]:
        before = min((made.position for made in one.among(trajectory)), default=None)
        for made in other.among(trajectory):
            if before is None or before > made.position:
                yield _listed(trajectory, [made])

    return Promise(f"{one.told} is called before {other.told}", find)


def never_after(which: Calls, after: Calls) -> Promise:
    """Once the second was called, the first no longer was."""
    one, other = _which(which), _which(after)

    def find(trajectory: Trajectory) -> Iterator[str]:
        since = min((made.position for made in other.among(trajectory)), default=None)
        for made in one.among(trajectory):
            if since is not None and made.position > since:
                yield f"{_listed(trajectory, [made])}, after {References(trajectory.records).at(since)}"

    return Promise(f"{one.told} is never called after {other.told}", find)


def fact(key: str, wanted: Any) -> Promise:
    """It is known in the end: a value, or what fits a matcher, a type or a function."""

    def find(trajectory: Trajectory) -> Iterator[str]:
        known = trajectory.facts
        if key not in known:
            yield f"nothing is known of it; there are {', '.join(known) or 'no facts'}"
        elif not _is(known[key], wanted):
            yield f"it is {known[key]!r}"

    return Promise(f"fact {key} is {_told(wanted)}", find)


def status_is(*wanted: str) -> Promise:
    """The run reads so in the end, or in one of these ways."""

    def find(trajectory: Trajectory) -> Iterator[str]:
        if trajectory.status not in wanted:
            yield f"it is {trajectory.status}"

    return Promise(f"status is {' or '.join(wanted)}", find)


def steps_at_most(steps: int) -> Promise:
    """It took so many steps, or fewer."""

    def find(trajectory: Trajectory) -> Iterator[str]:
        if trajectory.steps > steps:
            yield f"it took {trajectory.steps}"

    return Promise(f"at most {steps} steps", find)


def cost_at_most(cost: str) -> Promise:
    """It cost no more than this, as a contract says it: ``0.10 USD``.

    Raises:
        BadInput: that is no cost.
    """
    limits = Contract(budget=Budget(cost=cost)).terms().budget

    def find(trajectory: Trajectory) -> Iterator[str]:
        if trajectory.cost_micros > (limits.cost_micros or 0):
            yield f"it cost {trajectory.cost_micros / 1_000_000:.6f} {limits.currency}"

    return Promise(f"cost at most {cost}", find)


def _same(trajectory: Trajectory) -> Iterator[str]:
    if trajectory.report is None:
        yield "it was not driven again"
    elif not trajectory.report.same:
        for one in trajectory.report.divergences[:1]:
            names = References(trajectory.recorded)
            yield f"it parts at {names.at(one.position)}: {one.why}; cause: {one.cause}"


replay_is_same: Final = Promise("the replay is the same", _same)


def _over_budget(trajectory: Trajectory) -> Iterator[str]:
    """Whatever is asked of the model, or called, is asked while there is something left of each limit."""
    state = RunState()
    for record in trajectory.records:
        event = record.event
        budget = state.started.contract.budget if state.started else Limits()
        if isinstance(event, ModelAsked) and (spent := exhausted(budget, state)) is not None:
            yield f"the model is asked at {record.position}, with no {spent.replace('_', ' ')} left"
        evolve(state, record)
        most = budget.tool_calls if isinstance(event, ToolCalled) and event.compensates is None else None
        if most is not None and used(state)["tool_calls"] > most:
            yield f"what is called at {record.position} is beyond the calls of the budget, {most}"


# Of the run itself: those that it began have budgets of their own, and what they use counts in it.
the_budget_is_kept: Final = Promise("the budget is kept", _over_budget)


def _answer(name: str, breaks: Callable[[Sequence[Record]], Iterator[str]]) -> Promise:
    """Of a run and of those that it began."""

    def find(trajectory: Trajectory) -> Iterator[str]:
        yield from breaks(trajectory.records)
        for child in trajectory.children:
            yield from (f"run {child.run_id}: {finding}" for finding in find(child))

    return Promise(name.replace("_", " "), find)


# What every trajectory must answer for, whatever the agent.
EVERY: Final[tuple[Promise, ...]] = tuple(_answer(one.__name__, one) for one in ANSWERS)
(
    nothing_forbidden_was_called,
    what_was_called_is_what_was_allowed,
    every_claim_has_its_observation,
    nothing_observed_grants_anything,
    it_ended_for_a_known_reason,
    a_fault_leads_to_no_blind_retry,
    nothing_begins_after_the_end,
) = EVERY


def _which(calls_: Calls) -> Which:
    return Which(calls_, {}) if isinstance(calls_, str) else calls_


def _is(value: Json, wanted: Any) -> bool:
    if isinstance(wanted, Matcher | type) or callable(wanted):
        return matcher_of(wanted).fits(value)
    return type(value) is type(wanted) and bool(value == wanted)


def _told(wanted: Any) -> str:
    return matcher_of(wanted).told if isinstance(wanted, Matcher | type) or callable(wanted) else repr(wanted)


def _listed(trajectory: Trajectory, made: Sequence[Made]) -> str:
    names = References(trajectory.records)
    return ", ".join(f"{names.at(one.position)} {one.tool}({_inside(one.arguments)})" for one in made)


def _inside(arguments: Json) -> str:
    if not isinstance(arguments, dict):
        return repr(arguments)
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
