"""Forks that are driven on by an agent, live: while their parent goes on, and with what it has masked."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import redrive as rd
from redrive_engine.models import reply, use
from redrive_events import BadInput, EventLog, SqliteLog, ToolCalled, damage_of
from redrive_projections import fold

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADDRESS = "ana@mail.example"


class Desk:
    """An agent that looks somebody up and pays them; ``keys`` are what it was paid under."""

    def __init__(self, *, mask: rd.Mask | None = None) -> None:
        self.keys: list[str] = []
        self.given: list[str] = []
        self.waits: threading.Event | None = None
        self.asked = threading.Event()

        @rd.tool(effect="read", timeout=None)
        def look(who: str) -> str:
            """Look somebody up."""
            self.given.append(who)
            self.asked.set()
            if self.waits is not None:
                assert self.waits.wait(30)
            return f"{who} is known"

        @rd.tool(effect="write", timeout=None)
        def pay(who: str, *, call: rd.Call) -> str:
            """Pay somebody."""
            self.keys.append(call.key)
            self.given.append(who)
            return "paid"

        self.agent = rd.Agent(
            "desk", "1", rd.Contract(), tools=[look, pay], model=rd.ScriptedModel(self._say), mask=mask
        )

    def _say(self, turn: int, request: Any) -> Any:
        who = str(request.messages[0].content)
        return [reply("", use("look", who=who)), reply("", use("pay", who=who)), reply("Done.")][turn - 1]


def places(log: EventLog, run_id: str) -> list[int]:
    """The ends of appends."""
    return [one.position for one in log.read(run_id) if not one.left]


def test_a_run_that_is_under_way_is_forked_and_both_go_on(tmp_path: Path) -> None:
    """Nothing of it is touched; each pays once, under a key of its own, and both replay."""
    log = SqliteLog(tmp_path / "log.db")
    desk = Desk()
    desk.waits = threading.Event()
    driving = threading.Thread(target=lambda: desk.agent.run(ADDRESS, log=log, run_id="run"))
    driving.start()
    assert desk.asked.wait(30)
    made = rd.fork(log, "run", places(log, "run")[-1], at=NOW, new_id="fork")
    assert [type(one) for one in made.open] == [ToolCalled]
    desk.waits.set()
    driving.join(30)
    fork = desk.agent.run(ADDRESS, log=log, run_id="fork")
    assert (fork.status, fold(log.read("run")).end is not None) == ("finished", True)
    assert len(set(desk.keys)) == len(desk.keys) == 2
    for run_id in ("run", "fork"):
        assert rd.replay(rd.Run(run_id, log, fold(log.read(run_id))), agent=desk.agent).same
    assert [damage_of(log, head) for head in log.runs()] == [None, None]
    log.close()


def test_a_fork_puts_back_what_its_parent_has_masked(tmp_path: Path) -> None:
    """It belongs to the tree of its root, under whose name the vault keeps values; without the key it is not driven."""
    mask = rd.Mask(b"a key of the tests", classes=["email"], vault=rd.MemoryVault())
    log = SqliteLog(tmp_path / "log.db")
    desk = Desk(mask=mask)
    desk.agent.run(ADDRESS, log=log, run_id="run")
    second = places(log, "run")[3]
    rd.fork(log, "run", second, at=NOW, new_id="fork", labels={"for": ADDRESS}, mask=mask)
    rd.fork(log, "fork", second + 1, at=NOW, new_id="below")
    desk.given.clear()
    for run_id in ("fork", "below"):
        assert desk.agent.run(ADDRESS, log=log, run_id=run_id).status == "finished"
    assert desk.given
    assert set(desk.given) == {ADDRESS}
    assert ADDRESS.encode() not in b"".join(one.line for one in log.lines("below"))
    with pytest.raises(BadInput, match="is masked under key"):
        Desk().agent.run(ADDRESS, log=log, run_id="fork")
    with pytest.raises(BadInput, match="is masked under key"):
        rd.fork(log, "run", second, at=NOW, labels={"for": ADDRESS})
    log.close()


@pytest.mark.parametrize("given", [False, True], ids=["as it stood", "given to the fork"])
def test_a_fork_that_another_prompt_takes_up_replays(given: bool) -> None:
    """An agent that has changed since goes on in the words that stand there, unless the fork was made by it."""
    log = rd.MemoryLog()
    contract = rd.Contract(budget=rd.Budget(steps=4))
    old, new = (
        rd.Agent("desk", "1", contract, model=rd.ScriptedModel(lambda *_: "Done."), prompt=prompt)
        for prompt in ("Be brief.", "请有礼貌。")
    )
    old.run("Say so.", log=log, run_id="run")
    rd.fork(log, "run", places(log, "run")[1], at=NOW, new_id="fork", agent=new if given else None)
    fork = new.run("Say so.", log=log, run_id="fork")
    assert rd.replay(fork, agent=new).same
    assert rd.replay(fork, agent=old).same is not given
