"""Where the part of a run begins that is driven again: at its start, or where it was forked from another run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from msgspec import to_builtins
from msgspec.structs import replace

from redrive_engine import Program
from redrive_events import CannotReplay, Input, LeaseGranted, ModelReplied, Record, RunForked, RunStarted
from redrive_projections import RunState, evolve, fold, start_of
from redrive_replays.replayer import changed_parts


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first record of a run's own: its start, or how it was forked; what it inherits stands in front, as it is.

    ``drove`` are the parts, by digest, of the program that first took it up.
    """

    inherited: tuple[Record, ...]
    first: Record
    own: tuple[Record, ...]
    drove: dict[str, str]

    @property
    def run_id(self) -> str:
        """The run whose own part begins here."""
        return self.first.run_id

    @property
    def started(self) -> RunStarted:
        """How the run was begun; a fork, with what is given for it."""
        found = start_of([*self.inherited, self.first])
        assert found is not None
        return found

    def check_driven(self) -> None:
        """A run that was imported as a mere view holds nothing that could be driven.

        Raises:
            CannotReplay: it is one.
        """
        source = self.started.source
        if source is not None and source.grade == "view-only":
            raise CannotReplay(f"it was imported as {source.grade}: {', '.join(source.missing) or 'much is missing'}")

    def state(self) -> RunState:
        """What is known right before it: nothing, unless something is inherited."""
        state = fold(self.inherited)
        state.run_id = self.run_id
        return state

    def under(self, program: Program, *, nonce: str = "") -> Record:
        """The first record of a run that ``program`` drives from here on; its keys are made from ``nonce``, if given.

        A fork that was driven by this very program stands as it was recorded. Another one is given to it as `fork`
        gives an agent; but the words with which it went on stay, unless the program has other ones than those who drove
        it.
        """
        event = self.first.event
        if isinstance(event, RunStarted):
            begun = replace(event, contract=program.terms, parts=program.parts, nonce=nonce or event.nonce)
            return replace(self.first, event=begun)
        assert isinstance(event, RunForked)
        return replace(self.first, event=self._given(event, program, nonce))

    def _given(self, event: RunForked, program: Program, nonce: str) -> RunForked:
        if nonce:  # it shares the masked values of its root
            event = replace(event, nonce=f"{event.nonce.partition('/')[0]}/fork-{nonce}")
        changed = changed_parts(self.drove, program.digests)
        if not changed:
            return event
        if "contract" in changed:
            event = replace(event, contract=program.terms)
        if "policy" in changed:
            event = replace(event, policy=program.parts.get("policy"))
        words = self.started.parts.get("prompt")
        if "prompt" not in changed and (words.digest if words else None) != program.digests.get("prompt"):
            return event
        contract = replace(program.parts["contract"], data=to_builtins(program.terms))
        return replace(event, parts=program.parts | {"contract": contract})

    def lease(self, event: Input, state: RunState, program: Program) -> Input:
        """A lease of a fork that ``program`` takes up; that is named where it is not the one of before."""
        if not self.inherited or not isinstance(event, LeaseGranted):
            return event
        digests = program.digests
        return replace(event, epoch=state.epoch + 1, parts={} if digests == state.parts else digests)

    def inherited_call(self, number: int) -> str:
        """The run of which a call is inherited that is not asked for again here; empty if it is no such call."""
        if not self.inherited:
            return ""
        state = fold([*self.inherited, self.first])
        call = state.calls.get(number)
        again = call is not None and not call.outcome and not (call.attempt and call.effect != "read")
        if again or not 0 < number <= state.calls_made:
            return ""
        return next(one.run_id for one in reversed(self.inherited) if getattr(one.event, "call", None) == number)

    def inherited_step(self, number: int) -> str:
        """The run of which a step is inherited; empty if it is not."""
        steps = [one.run_id for one in self.inherited if isinstance(one.event, ModelReplied)]
        return steps[number - 1] if 0 < number <= len(steps) else ""


def beginning(records: Sequence[Record]) -> Beginning:
    """Where the own part of the run with these records begins.

    Raises:
        CannotReplay: the records do not begin with the start of a run.
    """
    if not records or not isinstance(records[0].event, RunStarted):
        raise CannotReplay("the recording does not begin with the start of a run")
    at = max((index for index, one in enumerate(records) if type(one.event) is RunForked), default=0)
    own = tuple(records[at:])
    return Beginning(tuple(records[:at]), own[0], own, _drove(records, at))


def _drove(records: Sequence[Record], at: int) -> dict[str, str]:
    """The parts of the program that took the run up; those of a run that is no fork are named at its start."""
    if not at:
        start = records[0].event
        return {name: part.digest for name, part in start.parts.items()} if isinstance(start, RunStarted) else {}
    state = fold(records[: at + 1])
    for record in _until_taken_up(records[at + 1 :]):
        evolve(state, record)
    return state.parts


def _until_taken_up(records: Sequence[Record]) -> Iterator[Record]:
    before = list(takewhile(lambda one: not isinstance(one.event, LeaseGranted), records))
    return iter(records[: len(before) + 1])
