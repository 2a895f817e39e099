"""A world that gives recorded answers: what happened once happens again, in the same order, at the same times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from redrive_engine import Happened, Program, Waiting, append_of
from redrive_events import ANSWERS, INPUTS, CannotReplay, Record, RunStarted
from redrive_projections import RunState, answered_by


class Script:
    """The inputs of a recording, one after the other; it never waits, and has nothing that could act."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._inputs: Iterator[Record] = (
            record for record in records if type(record.event) in INPUTS and type(record.event) is not RunStarted
        )

    async def begin(self, state: RunState, worker: str) -> Happened:
        """The first input, commonly the lease."""
        return self._next()

    async def answer(self, waiting: Waiting) -> Happened:
        """The next input.

        Raises:
            CannotReplay: the recording is short, or its next answer is to a request that is not open.
        """
        happened = self._next()
        if type(happened.event) in ANSWERS and happened.cause not in waiting.requests:
            raise CannotReplay(f"run {waiting.run_id}: nothing asked for the answer to position {happened.cause}")
        return happened

    def _next(self) -> Happened:
        record = next(self._inputs, None)
        if record is None:
            raise CannotReplay("the recording is short: it has no further input")
        return Happened(record.event, record.at, record.cause)  # type: ignore[arg-type]


def written_down(program: Program, run_id: str, inputs: Iterable[Happened]) -> list[Record]:
    """The records of a run to which ``inputs`` happen: what `drive` would write, without a log.

    An input's ``cause`` is found here: an answer goes to the oldest open request of its kind and call.

    Raises:
        ValueError: an answer to nothing, the importer's mistake.
    """
    state = RunState(run_id=run_id)
    records: list[Record] = []
    for event, at, _ in inputs:
        cause = answered_by(state.requests, event) if type(event) in ANSWERS else 0
        if type(event) in ANSWERS and not cause:
            raise ValueError(f"{type(event).__name__} answers no open request of run {run_id}")
        records += append_of(program, state, Happened(event, at, cause))
    return records
