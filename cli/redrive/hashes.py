"""The same replay in other processes, under other seeds of hashes: what hangs on the order of a set is found."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from redrive.agents import agent_named
from redrive_engine.policy import policy_in
from redrive_events import CannotReplay, Event, RedriveError
from redrive_replays import Reach, Recording, Report, Said, guarding, hang_doors, replay_under

T = TypeVar("T")

SEEDS = ("1", "2")
HASHES = "the order of hashes"
_MAIN = "from redrive.hashes import main; main()"


@dataclass(frozen=True, slots=True)
class Asked:
    """What another process is to drive, and by what, which it loads for itself."""

    recording: Recording
    agent: str | None
    policy: Path | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What was found there, what each part answered, and where recording and replay part."""

    reaches: Sequence[Reach]
    said: Sequence[Said]
    places: Sequence[tuple[int, Event | None]]


def hashed_otherwise(report: Report, recording: Recording, agent: str | None, policy: Path | None) -> Report:
    """``report``, with what two processes have found that hash otherwise, and where they part.

    They load the program behind doors, so that they see as well what reaches outside by a function that was handed on
    while the program was loaded.
    """
    if report.outcome == "cannot replay":
        return report
    one, other = (_elsewhere(Asked(recording, agent, policy), seed) for seed in SEEDS)
    found = dict.fromkeys((*report.reaches, *one.reaches, *other.reaches, *_parting(one, other)))
    return replace(report, reaches=tuple(sorted(found, key=lambda reach: reach.position)))


def _parting(one: Answered, other: Answered) -> Iterator[Reach]:
    """Which part answered otherwise, and about which call; if none did, it was something that stands between them."""
    ours, theirs = _by_place(one.said), _by_place(other.said)
    parts = [part for part in (*ours, *(new for new in theirs if new not in ours)) if ours[part] != theirs[part]]
    for position, part in parts:
        said = _first(ours[position, part], theirs[position, part])
        yield Reach(part, "chance", HASHES, position, said.tool)
    if not parts and one.places != other.places:
        yield Reach("program", "chance", HASHES, _first(one.places, other.places)[0])


def _first(ours: Sequence[T], theirs: Sequence[T]) -> T:
    """The first of two rows that is not the same in the other."""
    return next(mine or other for mine, other in zip_longest(ours, theirs) if mine != other)


def _by_place(said: Sequence[Said]) -> defaultdict[tuple[int, str], list[Said]]:
    places: defaultdict[tuple[int, str], list[Said]] = defaultdict(list)
    for each in said:
        places[each.position, each.part].append(each)
    return places


def _elsewhere(asked: Asked, seed: str) -> Answered:
    around = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryDirectory() as folder:
        there, back = Path(folder) / "asked", Path(folder) / "answered"
        there.write_bytes(pickle.dumps(asked))
        command = [sys.executable, "-c", _MAIN, str(there), str(back)]
        done = subprocess.run(command, env=around, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            problem = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise CannotReplay(f"another process could not drive it: {' '.join(problem)}")
        answered: Answered = pickle.loads(back.read_bytes())
    return answered


def main() -> None:
    """The other process: it reads what it is asked from one file, and answers in another."""
    there, back = map(Path, sys.argv[1:])
    asked: Asked = pickle.loads(there.read_bytes())
    hang_doors()
    guard = guarding()
    try:
        agent = agent_named(asked.agent) if asked.agent else None
        policy = policy_in(asked.policy) if asked.policy else None
        report = replay_under(guard, asked.recording, agent=agent, policy=policy)
    except RedriveError as error:
        sys.exit(str(error))
    places = [(one.position, one.replayed) for one in report.divergences]
    back.write_bytes(pickle.dumps(Answered(report.reaches, guard.said, places)))
