"""No replay of any kind starts a tool, opens a socket or writes a file: an audit hook listens, over all examples."""
# ruff: noqa: ARG001 - each way to drive again is given the same

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from redrive_engine import Program
from redrive_engine.policy import RulesPolicy
from redrive_events import MemoryLog, Record
from redrive_replays import bisected, compared, replay_records, shrunk
from redrive_replays.faults import Recorded, faulted
from redrive_replays.guarded import guarding
from redrive_replays.whatif import Changes, branched, edge_report
from tests.scenarios import Scenario, examples

DENY = RulesPolicy.from_toml('[[rule]]\nname = "none"\nwhen = {}\nthen = "deny"\n')
SPEAKS_OUT = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "urllib.")
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.truncate", "shutil.")


class Ear:
    """Hears what the interpreter tells of files, sockets and processes, as long as somebody listens."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.listening = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.listening:
            return
        mode = arguments[1] if event == "open" and len(arguments) > 1 else ""
        if event.startswith((*SPEAKS_OUT, *CHANGES)) or (isinstance(mode, str) and set(mode) & set("wax+")):
            self.heard.append(f"{event} {arguments}")

    @contextmanager
    def silence(self) -> Iterator[None]:
        """Nothing is to be heard."""
        self.heard, self.listening = [], True
        try:
            yield
        finally:
            self.listening = False
        assert self.heard == []


EAR = Ear()


def again(records: Sequence[Record], program: Program) -> object:
    """Strictly."""
    return replay_records("run", records, program)


def under_guard(records: Sequence[Record], program: Program) -> object:
    """Watched."""
    return replay_records("run", records, program, guard=guarding())


def denied(records: Sequence[Record], program: Program) -> object:
    """Under a policy that denies everything, as far as it goes and beyond."""
    branch = branched(records, program, Changes(policy=DENY, beyond=True))
    return edge_report(records, branch)


def smaller(records: Sequence[Record], program: Program) -> object:
    """To what still asks the model once."""
    return shrunk(records, program, lambda candidate: len(candidate) >= 3)


def turned(records: Sequence[Record], program: Program) -> object:
    """Against a cut of itself."""
    short = shrunk(records, program, lambda candidate: len(candidate) >= 3).records
    return bisected(short, records, program, lambda candidate: len(candidate) > len(short))


def with_faults(records: Sequence[Record], program: Program) -> object:
    """Of each kind, as far as it goes and beyond."""
    return faulted(Recorded(records, program, frozenset(program.tools or ()), beyond=True), rounds=2)


def side_by_side(records: Sequence[Record], program: Program) -> object:
    """Two runs."""
    return compared(records, records)


@pytest.mark.parametrize("drives", [again, under_guard, denied, smaller, turned, with_faults, side_by_side])
@pytest.mark.parametrize("scenario", examples(), ids=lambda one: one.module)
def test_a_replay_does_nothing_outside(
    scenario: Scenario,
    drives: Callable[[Sequence[Record], Program], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even if every tool of the agent would tell."""
    log = MemoryLog()
    run = scenario.agent.run(scenario.goal, principal="ana", log=log)
    records, program = run.records(), scenario.agent.program
    called: list[str] = []
    for name, tool in scenario.agent.tools.items():
        monkeypatch.setattr(tool, "run", lambda *_, name=name, **__: called.append(name))
    drives(records, program)  # what is loaded when it is first needed
    with EAR.silence():
        drives(records, program)
    assert called == []


def test_the_ear_hears(tmp_path: Path) -> None:
    """Else the silence proves nothing."""
    with pytest.raises(AssertionError), EAR.silence():
        (tmp_path / "a.txt").write_text("x", encoding="utf-8")
