"""What a back-test found: for programs, for people, and as remarks for SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from redrive.fitting import Line, Rows
from redrive.imagined import sureness_of
from redrive.noting import noted
from redrive.terminal import counted
from redrive_engine.policy import Policy
from redrive_events import EventLog, Json
from redrive_replays.backtest import Consequence, Judged, in_a_word

RUNS_MAX = 20
BACKTEST = "backtest"


@dataclass(frozen=True, slots=True)
class Tested:
    """What one policy would have done: by the name of its file, with all calls judged and all flips driven."""

    name: str
    policy: Policy
    judged: Judged
    driven: Sequence[Consequence]

    def words(self) -> Counter[str]:
        """How many runs there are of each word for how sure it is."""
        return Counter(sureness for _, sureness, _ in in_a_word(self.judged, self.driven))

    def data(self) -> dict[str, Json]:
        """All of it as plain data."""
        flipped = self.judged.first
        return {
            "policy": self.policy.digest,
            "runs": len(self.judged.runs) + len(self.judged.unjudged),
            "verdicts": self.judged.verdicts,
            "behind_flips": self.judged.behind,
            "sureness": dict(self.words()),
            "transitions": [{**one._asdict(), "calls": count} for one, count in self.judged.transitions.most_common()],
            "flips": [_flip(one) for one in self.driven],
            "same": [run_id for run_id in self.judged.runs if run_id not in flipped],
            "not_judged": [{"run_id": run_id, "why": why} for run_id, why in self.judged.unjudged.items()],
        }

    def told(self) -> Iterator[Line]:
        """The same in lines: how many there are, why some are not judged, what changes, and which runs flip."""
        judged, driven = self.judged, self.driven
        runs = counted(len(judged.runs) + len(judged.unjudged), "run")
        words = " · ".join(f"{count:,} {word}" for word, count in self.words().most_common())
        yield Text.assemble((self.name, "bold"), f"  {runs}, {counted(judged.verdicts, 'verdict')}: {words or 'none'}")
        if judged.behind:
            yield f"{counted(judged.behind, 'verdict')} behind first flips not counted: they may not have come to be"
        for why, count in Counter(judged.unjudged.values()).most_common():
            yield f"{counted(count, 'run')} not judged: {why}"
        yield from self._changes()
        if driven:
            yield ""
            table = [("RUN", "FIRST FLIP", "HOW SURE", "RECORDED END", "END", "PREVENTED")]
            yield Rows([*table, *map(_row, driven[:RUNS_MAX])], headed=True)
        if len(driven) > RUNS_MAX:
            yield f"… and {len(driven) - RUNS_MAX:,} more; --json has them all"
        for why, count in Counter(one.why for one in driven if one.why).most_common():
            yield f"{counted(count, 'run')} not driven again: {why}"

    def _changes(self) -> Iterator[Line]:
        changed = [one for one in self.judged.transitions.most_common() if one[0].before != one[0].after]
        if changed:
            yield ""
            rows = [(one.tool, one.before, one.after, f"{count:,}", one.rule) for one, count in changed]
            yield Rows([("TOOL", "RECORDED", "NOW", "CALLS", "RULE"), *rows], right=[3], headed=True)

    def keep(self, log: EventLog) -> None:
        """Remark on each run how sure it is what would have come of it, for SQL."""
        flips = {one.run_id: _flip(one) for one in self.driven}
        for run_id, sureness, why in in_a_word(self.judged, self.driven):
            value = {"rules": self.name, "policy": self.policy.digest, "sureness": sureness, "why": why}
            noted(log, run_id, BACKTEST, [value | flips.get(run_id, {})], place=_place)


def _place(value: Json) -> int | None:
    return int(value["first"]["position"]) if "first" in value else None


def _row(one: Consequence) -> tuple[str, ...]:
    first = one.first
    after = f"{first.after} otherwise" if first.before == first.after else first.after
    flip = f"call {first.call} {first.tool}: {first.before} → {after}"
    prevented = ", ".join(f"call {call}" for call in one.prevented)
    if one.why:
        return one.run_id, flip, one.sureness, one.recorded_status, "", ""
    sure = sureness_of(one.sureness, one.turn, one.turns)
    return one.run_id, flip, sure, one.recorded_status or "unfinished", one.status or "not known", prevented


def _flip(one: Consequence) -> dict[str, Json]:
    return {**one._asdict(), "first": one.first._asdict(), "prevented": list(one.prevented)}
