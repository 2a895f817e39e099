"""A fault at work: which answers of a run it spoils, and what is known of the world behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from redrive_engine import Program
from redrive_engine.loop import ACTING
from redrive_events import Answer, ObservationReceived, Request, ToolCalled
from redrive_replays.faults.chance import Chance
from redrive_replays.faults.slices import Asked, Seen, Slice, Spoilt

# How often in a run a fault comes again, round for round: once, from then on, twice.
EVER: Final = 1_000_000
OFTEN: Final = (1, EVER, 2)


@dataclass(frozen=True, slots=True)
class Fault:
    """Which answers are spoilt: of those that could be, the one at ``first`` (0 is the first), and ``often`` in all.

    ``seed`` is what all chance in it hangs on, so that what comes again comes alike.
    """

    slice: Slice
    first: int
    often: int
    seed: str

    def spoilt(self, asked: Asked) -> Spoilt | None:
        """What it makes of a request, if it can make anything of it."""
        return self.slice.spoil(asked, Chance(self.seed))


class Hit(NamedTuple):
    """A request whose answer was spoilt: of which run, at which position of it; the mark by which that is known.

    ``call`` is 0, and ``tool`` empty, where the model was asked.
    """

    run_id: str
    position: int
    call: int = 0
    tool: str = ""
    mark: str = ""


class Landed(NamedTuple):
    """A write that took effect: the position of its request, and what the world answered."""

    position: int
    answer: ObservationReceived


@dataclass(slots=True)
class Tampering:
    """What passes the door of a run, and of those it begins, with a fault in it; without one it only looks on.

    ``asked`` are the requests so far, before and behind the world, ``landed`` the writes that took effect, wherever
    the answer went; ``passing`` are all requests, by run and position, and ``requests_max`` how many there may be.
    """

    program: Program
    fault: Fault | None = None
    requests_max: int = EVER
    asked: list[tuple[Asked, Asked]] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    landed: dict[tuple[str, int], Landed] = field(default_factory=dict)
    passing: set[tuple[str, int]] = field(default_factory=set)
    _seen: list[Seen] = field(default_factory=list)
    _sites: int = 0

    @property
    def endless(self) -> str:
        """That too much was asked for a run that comes to an end; empty if it was not."""
        return f"more than {self.requests_max:,} requests, and no end" if len(self.passing) > self.requests_max else ""

    def before(self, run_id: str, position: int, request: Request, at: datetime) -> Spoilt | None:
        """What is answered without asking the world; a request that was let through is under way."""
        if (run_id, position) in self.passing:
            return None
        self.passing.add((run_id, position))
        return self._spoilt(run_id, position, self._at_door(request, None, at))

    def behind(self, run_id: str, position: int, request: Request, answer: Answer, at: datetime) -> Spoilt | None:
        """What becomes of the world's answer."""
        asked = self._at_door(request, answer, at)
        self.asked.append((self._at_door(request, None, at), asked))
        if isinstance(request, ToolCalled) and isinstance(answer, ObservationReceived):
            if request.effect in ACTING and answer.status == "ok":
                self.landed.setdefault((run_id, request.call), Landed(position, answer))
            spoilt = self._spoilt(run_id, position, asked)
            self._seen += [Seen(request, answer)] if spoilt is None else []
            return spoilt
        return self._spoilt(run_id, position, asked)

    def _at_door(self, request: Request, answer: Answer | None, at: datetime) -> Asked:
        tools = self.program.tools or {}
        declared = tools.get(request.tool) if isinstance(request, ToolCalled) else None
        return Asked(request, answer, at, tuple(self._seen), declared, self.program.offered)

    def _spoilt(self, run_id: str, position: int, asked: Asked) -> Spoilt | None:
        fault = self.fault
        if fault is None or self.endless or (spoilt := fault.spoilt(asked)) is None:
            return None
        site, self._sites = self._sites, self._sites + 1
        call, tool = _call_of(asked.request)
        if site < fault.first or len(self.hits) >= fault.often or (self.hits and tool != self.hits[0].tool):
            return None
        self.hits.append(Hit(run_id, position, call, tool, spoilt.mark))
        return spoilt


def _call_of(request: Request) -> tuple[int, str]:
    return (request.call, request.tool) if isinstance(request, ToolCalled) else (0, "")


def sites_of(of: Slice, passed: Tampering, seed: str) -> int:
    """How many answers of a run a kind of fault could spoil."""
    fault = Fault(of, 0, 0, seed)
    return sum(fault.spoilt(one) is not None or fault.spoilt(other) is not None for one, other in passed.asked)
