"""Strict replay: what follows from each recorded input is computed anew and compared with what was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress, count
from operator import attrgetter, not_

import msgspec

from redrive_engine import RULES, Program, react
from redrive_engine import cause_of as derived_from
from redrive_events import (
    ANSWERS,
    DRIVERS,
    INPUTS,
    STRANGERS,
    Event,
    LeaseGranted,
    ModelAsked,
    Quarantined,
    Record,
    RunForked,
    RunStarted,
    kind_of,
)
from redrive_projections import RunState, evolve, follow, is_answer, opening
from redrive_replays.causes import Cause, cause_of, changes_of, is_of_use, with_model
from redrive_replays.consequences import apart
from redrive_replays.difference import Difference, differences, is_explaining, is_worded_otherwise, same
from redrive_replays.guarded import Guard
from redrive_replays.report import Divergence, Outcome, Report

# The parts of a program that say why a call is allowed or denied.
JUDGES = frozenset({"policy", "contract"})
BEGINNINGS = frozenset({RunStarted, RunForked})
_left, _event = attrgetter("left"), attrgetter("event")


def replay_records(run_id: str, records: Iterable[Record], program: Program, *, guard: Guard | None = None) -> Report:
    """Drive recorded appends again, one by one, each from the recorded state before it.

    ``records`` are a run's from its beginning, and what stands behind one that cannot be read is not driven. Nothing is
    asked of the world: a replay has no executors. What a fork inherits is taken as it is. A ``guard`` notes what else
    the program's pure parts reach for.
    """
    records = list(records)
    kinds = list(map(type, map(_event, records)))
    begins = max(one.position for one in records if type(one.event) is RunForked) if RunForked in kinds else 0
    replay = _Replay(program if guard is None else guard.over(program), readable=Quarantined not in kinds)
    if begins and _kept_its_prompt((one for one in records if one.position >= begins), program):
        replay.prompting = frozenset()
    for append in appends(records):
        if append[0].position < begins:
            for record in append:
                evolve(replay.state, record)
            continue
        if guard is not None:
            guard.position = append[0].position
        replay.step(append)
        if replay.torn:
            break
    report = replay.report(run_id)
    if report.divergences:
        report = replace(report, divergences=apart(report.divergences, records))
    return report if guard is None else replace(report, reaches=tuple(guard.reaches))


def appends(records: Iterable[Record]) -> Iterator[list[Record]]:
    """``records`` in their appends; the last one may be torn."""
    whole, begin = list(records), 0
    for end in compress(count(1), map(not_, map(_left, whole))):
        yield whole[begin:end]
        begin = end
    if begin < len(whole):
        yield whole[begin:]


class _Replay:
    """The recorded state as far as it has been replayed, and what was found on the way."""

    def __init__(self, program: Program, *, readable: bool) -> None:
        self.program, self.state, self.readable = program, RunState(), readable
        self.found: list[Divergence] = []
        self.left_over, self.explained_otherwise, self.count = 0, 0, 0
        self.torn, self.prompting = "", BEGINNINGS

    def step(self, append: list[Record]) -> None:
        """One append further, from the recorded state; where it differs, the recorded events are adopted."""
        for record in () if self.readable else append:
            if type(record.event) is Quarantined:
                self.torn = f"position {record.position} cannot be read: {record.event.reason}"
                return
        first = append[0]
        self.count += len(append)
        if append[-1].left:
            self.torn = f"torn inside the append at position {first.position}: {append[-1].left} records are missing"
        elif (why := self._unexpected(first)) is not None:
            place = first.position
            self.found.append(Divergence(place, place, why, first.event, None, cause="left over"))
            self.left_over += len(append) == 1 and type(first.event) in ANSWERS | DRIVERS
        else:
            evolve(self.state, first)
            if type(first.event) in self.prompting:
                self._prompted()
            append = self._compare(append)
        for record in append:
            evolve(self.state, record)

    def _prompted(self) -> None:
        """A run begins with the prompt of the program that it is driven again with, and goes on with it from a fork."""
        started = self.state.started
        if started is not None and "prompt" in self._changed():
            prompt = {name: part for name, part in self.program.parts.items() if name == "prompt"}
            parts = {name: part for name, part in started.parts.items() if name != "prompt"} | prompt
            begun = msgspec.structs.replace(started, parts=parts)
            self.state.messages[: len(opening(started))] = opening(begun)

    def _unexpected(self, first: Record) -> str | None:
        """Why nothing can follow from this record; None if something can."""
        event, state = first.event, self.state
        kind = type(event)
        if kind not in INPUTS:
            return "no input: this does not follow from anything that happened"
        if state.end is not None and kind not in STRANGERS:
            return "the run had ended"
        if kind in ANSWERS:
            request = state.requests.get(first.cause)
            if request is None or not is_answer(request, event):
                return "nothing asked for this answer"
            if not isinstance(request, ModelAsked) and request.call not in state.calls:
                return "nothing is known of this call"
        return None

    def _compare(self, append: list[Record]) -> list[Record]:
        """Fold recorded events as long as they follow; what is left of them after the first that does not."""
        first, at, state = append[0], append[0].at, self.state
        batch = [first]
        follows = react(self.program, state, first)
        for record, event in zip(append[1:], follows, strict=False):
            recorded, after = record.event, derived_from(batch, event)
            if not (record.cause == after and record.at == at and same(recorded, event)) and not self._is_explained(
                record, event, after, first
            ):
                behind = append[len(batch) + 1 :]
                if type(record.event) is type(event) and any(same(one.event, event) for one in behind):
                    self._put_down_to("order")
                return append[len(batch) :]
            follow(state, recorded, record.position)
            batch.append(record)
        if rest := append[len(batch) :]:
            self._parts(first, rest[0], "does not follow", None)
        elif (further := next(follows, None)) is not None:
            changed = changes_of(self._named(), rules=state.started.rules if state.started else RULES)
            cause = cause_of(None, further, (), after=first, state=state, changed=changed)
            place, why = first.position + len(batch), "follows, but was not recorded"
            self.found.append(Divergence(place, first.position, why, None, further, cause=cause))
        return rest

    def _is_explained(self, record: Record, event: Event, cause: int, first: Record) -> bool:
        """Whether what differs is only why: if not, it is noted where recording and replay part."""
        if type(record.event) is not type(event):
            self._parts(first, record, "another event follows", event)
            return False
        found = differences(record.event, event)
        if record.cause != cause:
            found.append(Difference("/cause", record.cause, cause))
        if record.at != first.at:
            found.append(Difference("/at", record.at.isoformat(), first.at.isoformat()))
        # Another policy or contract may come to the same verdict by another rule.
        if JUDGES.intersection(self._changed()) and all(is_explaining(event, one) for one in found):
            self.explained_otherwise += is_worded_otherwise(event, found)
            return True
        self._parts(first, record, "differs", event, found)
        return False

    def _parts(
        self, first: Record, record: Record, why: str, replayed: Event | None, found: Sequence[Difference] = ()
    ) -> None:
        """Recording and replay part behind the input ``first``."""
        if self.found and is_of_use(found) and is_of_use(self.found[-1].differences):
            cause = self.found[-1].cause  # what was used up by then still is, and to look for why is dear
        else:
            changed = changes_of(self._named(), rules=self.state.started.rules if self.state.started else RULES)
            cause = cause_of(record.event, replayed, found, after=first, state=self.state, changed=changed)
        place = Divergence(record.position, first.position, why, record.event, replayed, tuple(found), cause)
        self.found.append(place)

    def _put_down_to(self, cause: Cause) -> None:
        """With the same program, what was found last has a cause that only the recording as a whole shows."""
        if not self._changed():
            self.found[-1] = replace(self.found[-1], cause=cause)

    def _changed(self) -> tuple[str, ...]:
        return changed_parts(self.state.parts, self.program.digests)

    def _named(self) -> tuple[str, ...]:
        """What has changed as it is told: another model by its own name."""
        started = self.state.started
        return with_model(self._changed(), started.contract, self.program.terms) if started else self._changed()

    def report(self, run_id: str) -> Report:
        """What was found in all."""
        state = self.state
        if self.found and self.found[-1].recorded is None and self.found[-1].position > state.position:
            self._put_down_to("recording short")
        return Report(
            run_id=run_id,
            outcome=self._outcome(),
            records=self.count,
            divergences=tuple(self.found),
            changed_parts=self._named(),
            explained_otherwise=self.explained_otherwise,
            open=tuple((place, kind_of(one)) for place, one in state.requests.items()),
            reason=self.torn,
        )

    def _outcome(self) -> Outcome:
        if self.torn:
            return "cannot replay"
        if len(self.found) > self.left_over:
            return "diverged"
        if self.found:
            return "left over"
        return "same" if self.state.end is not None else "same, unfinished"


def _kept_its_prompt(own: Iterable[Record], program: Program) -> bool:
    """Whether this very program took a fork up that was not given it, and went on in the words that stood there."""
    given, *later = [one.event.parts for one in own if isinstance(one.event, RunForked | LeaseGranted)]
    return not given and bool(later and later[0]) and later[0].get("prompt") == program.digests.get("prompt")


def changed_parts(recorded: dict[str, str], now: dict[str, str]) -> tuple[str, ...]:
    """The parts of the program whose digests differ, or that only one side has."""
    return tuple(name for name in dict.fromkeys([*recorded, *now]) if recorded.get(name) != now.get(name))
