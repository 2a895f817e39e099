"""Times that whoever kept Anthropic's messages wrote on them; the API itself gives none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from redrive_events import Json
from redrive_replays.traces.conversation import NO_TIMES
from redrive_replays.traces.times import Moment, clock_of, moment
from redrive_replays.traces.trace import Said, Trace

TIMES: Final = ("timestamp", "created_at", "createdAt", "time")
SOME_TIMES: Final = "times (only some messages have one)"


class Clock:
    """The times of the messages of one run, as they are read."""

    def __init__(self) -> None:
        self._moments: list[Moment | None] = []

    def timed(self, turn: Mapping[str, Json], said: Iterable[Said]) -> Iterator[Said]:
        """What was said in a message, at its time."""
        when = next((found for key in TIMES if (found := moment(turn.get(key))) is not None), None)
        self._moments.append(when)
        for one in said:
            one.at = when and when.at
            yield one

    def tell(self, trace: Trace) -> None:
        """What the times are worth, and whether some are missing."""
        trace.clock = clock_of(self._moments)
        if trace.clock == "none":
            trace.lacks(NO_TIMES)
        elif None in self._moments:
            trace.lacks(SOME_TIMES)
