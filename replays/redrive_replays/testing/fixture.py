"""The fixture ``trajectories``: recorded runs driven again, and runs that are recorded when they are asked for."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, TypeAlias

import msgspec
import pytest

from redrive_engine import Agent, Run, Surroundings, load_agent
from redrive_engine.masking import Door, Mask, is_masked, masked_event
from redrive_engine.policy import Given
from redrive_events import NOTES, BadInput, CannotReplay, EventLog, MemoryLog, RedriveError
from redrive_replays.recording import Recording, recording_of
from redrive_replays.replayer import appends
from redrive_replays.strict import started_of
from redrive_replays.testing.driven import driven
from redrive_replays.testing.recordings import FOLDER, SUFFIX, file_name, read, run_id_of, written
from redrive_replays.testing.trajectory import Trajectory, run_and_children

Record: TypeAlias = Literal["none", "once", "new_episodes", "all"]

OPTION: Final = "--redrive-record"
# What a recording is asked by: another one is another run.
ASKED: Final = ("goal", "principal", "tenant")
# What a run that is recorded has of its test.
GIVEN: Final = ("log", "run_id")


@dataclass(frozen=True)
class Place:
    """A test: its file, its name in it (with the class), how pytest calls it, and where that is run."""

    file: Path
    name: str
    nodeid: str
    root: Path

    @property
    def folder(self) -> Path:
        """Where its recordings are."""
        return self.file.parent / FOLDER / self.file.stem


class Trajectories:
    """Makes trajectories: from recordings, always offline; live only where ``--redrive-record`` says so."""

    def __init__(
        self,
        place: Place,
        mode: Record,
        *,
        mask: Callable[[], Mask | None],
        use: Callable[[Path], None],
        beside: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._place, self._mode, self._mask, self._use = place, mode, mask, use
        self._tests_beside = beside
        self._runs = 0

    def load(self, recording: Path | str | Run) -> Trajectory:
        """A recorded run as it was recorded, or a run as its log has it; nothing is driven."""
        runs, run_id = self._recorded(recording)
        return run_and_children({name: tuple(one.records) for name, one in runs.items()}, run_id)

    def replay(
        self, recording: Path | str | Run, *, agent: Agent | str | None = None, policy: Given | str | None = None
    ) -> Trajectory:
        """A recorded run driven again, offline, by the program of ``agent`` as it is today.

        ``recording`` is a run, a file, or the name of one in the `__recordings__` of the test. ``agent`` may be
        ``MODULE:ATTR``; without one it is the registered one, or for an import the one that grants all. A file of a
        ``policy`` takes the place of the agent's.
        """
        runs, run_id = self._recorded(recording)
        return self._driven(runs, run_id, agent, self._beside(policy) if isinstance(policy, str | Path) else policy)

    def run(self, agent: Agent | str, goal: str, **settings: Any) -> Trajectory:
        """The run of an agent, offline from the recording of this test; ``settings`` are those of `Agent.run`.

        It has its log and its id of the test. The second run of a test has a recording of its own, and so on.
        """
        try:
            _known(settings)
            return self._run(self._agent(agent), goal, settings)
        except RedriveError as error:
            return _fail(str(error))

    def _run(self, found: Agent, goal: str, settings: dict[str, Any]) -> Trajectory:
        self._runs += 1
        path = self._place.folder / file_name(self._place.name, self._runs)
        self._use(path)
        if self._mode == "all" or (not path.exists() and self._mode != "none"):
            self._record(path, found, goal, settings, MemoryLog())
        elif not path.exists():
            self._missing(path)
        elif self._mode == "new_episodes":
            self._go_on(path, found, goal, settings)
        runs = self._read(path, anew=True)
        run_id = next(iter(runs))
        self._check(path, runs[run_id], goal, settings, found)
        return self._driven(runs, run_id, found, None)

    def _agent(self, agent: Agent | str) -> Agent:
        if not isinstance(agent, str | Agent):
            raise BadInput(f"an agent is an Agent or MODULE:ATTR, not {type(agent).__name__}", place="agent")
        return load_agent(agent) if isinstance(agent, str) else agent

    def _driven(
        self, runs: dict[str, Recording], run_id: str, agent: Agent | str | None, policy: Given | None
    ) -> Trajectory:
        try:
            found = self._agent(agent) if agent is not None else None
            return driven(runs, run_id, agent=found, policy=policy)
        except (BadInput, CannotReplay) as error:
            return _fail(str(error).replace("give --agent", "give agent="))  # as it is called in a test

    def _recorded(self, recording: Path | str | Run) -> tuple[dict[str, Recording], str]:
        if isinstance(recording, Run):
            return _of_log(recording.log, recording.run_id), recording.run_id
        runs = self._read(self._found(recording))
        return runs, next(iter(runs))

    def _found(self, name: Path | str) -> Path:
        """The file that is meant: a path, from the test's folder or where pytest runs; or a name beside the test."""
        folders = [self._place.folder, self._place.file.parent / FOLDER, self._place.file.parent, self._place.root]
        for folder in folders:
            for path in (folder / name, folder / f"{name}{SUFFIX}"):
                if path.is_file():
                    self._use(path)
                    return path
        looked = dict.fromkeys(_shown(one, self._place.root) for one in folders)
        return _fail(f"no recording {str(name)!r}: not in {', '.join(looked)}")

    def _beside(self, name: Path | str) -> Path:
        """A file by its path from the test's folder, or from where pytest runs."""
        beside = self._place.file.parent / name
        return beside if beside.exists() else self._place.root / name

    def _read(self, path: Path, *, anew: bool = False) -> dict[str, Recording]:
        """The runs of a file; ``anew`` if it is this test that records it."""
        try:
            return read(path)
        except RedriveError as error:
            shown, words = _shown(path, self._place.root), str(error)
            told = words.replace(str(path), shown) if str(path) in words else f"{shown}: {words}"
            return _fail(f"{told}; to record it anew: {self._command('all')}" if anew else told)

    def _command(self, mode: Record) -> str:
        return f'pytest "{self._place.nodeid}" {OPTION}={mode}'

    def _missing(self, path: Path) -> NoReturn:
        told = [
            f"{self._place.nodeid} has no recording, and nothing goes live by itself",
            f"to record it: {self._command('once')}",
        ]
        taken = {file_name(name) for name in self._tests_beside()}
        found = sorted(one.name for one in path.parent.glob(f"*{SUFFIX}")) if path.parent.is_dir() else []
        others = [one for one in found if one not in taken]
        if others:
            told.append(
                f"if the test was renamed, so is its recording: to {path.name}, from one of {', '.join(others)}"
            )
        _fail("\n".join(told))

    def _record(self, path: Path, agent: Agent, goal: str, settings: dict[str, Any], log: MemoryLog) -> None:
        """Let the agent run, or go on, live; a run that raises leaves no recording, and one that is there as it is."""
        given = {"surroundings": Surroundings.fixed(), "mask": agent.mask or self._mask(), **settings}
        run_id = run_id_of(self._place.name) if not any(log.runs()) else next(iter(log.runs())).run_id
        _live(partial(agent.run, goal, **given, log=log, run_id=run_id))
        written(log, path)
        trajectory = self._driven(self._read(path), run_id, agent, None)
        if trajectory.report is not None and not trajectory.report.same:
            first = trajectory.report.divergences[0]
            _fail(f"what was just recorded is driven again otherwise, at {first.position}: {first.why}")

    def _go_on(self, path: Path, agent: Agent, goal: str, settings: dict[str, Any]) -> None:
        """Keep a recording as far as it still follows, and let the agent go on live from there."""
        runs = self._read(path, anew=True)
        run_id = next(iter(runs))
        trajectory = self._driven(runs, run_id, agent, None)
        report = trajectory.report
        if report is None or report.outcome == "same":
            return
        log = MemoryLog()
        until = report.divergences[0].input if report.divergences else len(trajectory.recorded) + 1
        kept = [append for append in appends(trajectory.recorded) if append[-1].position < until]
        # What was masked is in the vault of a process that is gone, the prompt and the contract stand in the start,
        # and a run that began others goes on with them: then nothing of it can be kept.
        begins_anew = {"prompt", "contract"} & set(report.changed_parts) or len(runs) > 1
        if not begins_anew and not any(is_masked(msgspec.to_builtins(one.event)) for append in kept for one in append):
            for append in kept:
                log.append(run_id, append, expected=append[0].position - 1)
        self._record(path, agent, goal, settings, log)

    def _check(self, path: Path, recording: Recording, goal: str, settings: dict[str, Any], agent: Agent) -> None:
        """A recording answers only what it was made of."""
        try:
            started = started_of(recording)
        except CannotReplay as error:
            _fail(f"{error}; to record it anew: {self._command('all')}")
        wanted = {"goal": goal, "principal": settings.get("principal", ""), "tenant": settings.get("tenant", "")}
        asked = msgspec.structs.replace(started, **wanted)
        mask = settings.get("mask") or agent.mask or self._mask()
        if started.mask_key and mask is not None:
            try:
                asked = masked_event(Door.of(started, mask, run_id=recording.run_id), asked)
            except BadInput as error:
                _fail(f"{error}; to record it anew: {self._command('all')}")
        for word in ASKED:
            if getattr(started, word) != getattr(asked, word):
                _fail(f"{path.name} was recorded for another {word}; to record it anew: {self._command('all')}")
        if started.agent != agent.name:
            _fail(f"{path.name} was recorded with agent {started.agent!r}; to record it anew: {self._command('all')}")


def _known(settings: dict[str, Any]) -> None:
    """Refuse what a run cannot take, also where it is not run."""
    for name in settings:
        if name in GIVEN:
            raise BadInput("a run that is recorded has it of its test", place=f"{name}=")
        if name not in inspect.signature(Agent.arun).parameters:
            raise BadInput("there is no such setting of a run", place=f"{name}=")


def _live(run: Callable[[], object]) -> None:
    """Run an agent, in a thread where a test has an event loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        run()
        return
    with ThreadPoolExecutor(1) as threads:
        threads.submit(run).result()


def _of_log(log: EventLog, run_id: str) -> dict[str, Recording]:
    heads = [one for one in log.runs() if not one.run_id.endswith(NOTES)]
    ids = [one.run_id for one in heads if one.run_id == run_id or one.run_id.startswith(f"{run_id}/")]
    return {one: recording_of(log, one) for one in ids}


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _fail(words: str) -> NoReturn:
    raise pytest.fail.Exception(words, pytrace=False) from None
