"""A durable step of four events, beside what others keep of a step; each that is not installed is skipped and named.

pip install eventsourcing langgraph-checkpoint-sqlite dbos
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.many_writers import placed
from benchmarks.measure import Figure, Work, compared
from redrive_events import SqliteLog, encode

STEPS = 20
EVENTS = 4


def figures(folder: Path) -> Iterator[Figure | str]:
    """A unit is one step; ours is the subject, theirs the limit, so that less than 1 is less time than theirs."""
    for number, (package, peer) in enumerate(PEERS.items()):
        try:
            steps = peer(folder)
        except ImportError as error:
            yield f"{package}: not measured ({error})"
            continue
        log = SqliteLog(folder / f"beside-{number}.db")
        yield compared(f"{EVENTS} events, durable", _ours(log), package, steps, units=STEPS, rounds=9)
        log.close()


def _ours(log: SqliteLog) -> Work:
    position = 0

    def steps() -> None:
        nonlocal position
        for _ in range(STEPS):
            records = [placed("run", position + n) for n in range(1, EVENTS + 1)]
            log.append("run", records, expected=position)
            position += EVENTS

    return steps


def _payload() -> bytes:
    """As many bytes as an event of ours has."""
    return encode(placed("run", 1))


def _eventsourcing(folder: Path) -> Work:
    sqlite: Any = import_module("eventsourcing.sqlite")
    stored: Any = import_module("eventsourcing.persistence").StoredEvent
    recorder = sqlite.SQLiteAggregateRecorder(sqlite.SQLiteDatastore(str(folder / "eventsourcing.db")))
    recorder.create_table()
    run, payload, versions = uuid.uuid4(), _payload(), iter(range(1, 1_000_000))

    def steps() -> None:
        for _ in range(STEPS):
            recorder.insert_events([stored(run, next(versions), "topic", payload) for _ in range(EVENTS)])

    return steps


def _langgraph(folder: Path) -> Work:
    """A checkpoint of a short state: what it keeps of a step grows with the run, and this is its beginning."""
    saver: Any = import_module("langgraph.checkpoint.sqlite").SqliteSaver
    empty: Any = import_module("langgraph.checkpoint.base").empty_checkpoint
    opened = saver(import_module("sqlite3").connect(folder / "langgraph.db", check_same_thread=False))
    opened.setup()
    payload = _payload().decode()

    def steps() -> None:
        for step in range(STEPS):
            checkpoint = empty() | {"channel_values": {"messages": [payload] * EVENTS}}
            place = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}
            opened.put(place, checkpoint, {"source": "loop", "step": step}, {})

    return steps


def _dbos(folder: Path) -> Work:
    """A workflow of steps that return what a step of ours has written."""
    dbos: Any = import_module("dbos")
    address = f"sqlite:///{folder / 'dbos.db'}"
    dbos.DBOS(config={"name": "beside", "system_database_url": address, "log_level": "ERROR"})
    payload = _payload().decode() * EVENTS

    def one() -> str:
        return payload

    step = dbos.DBOS.step()(one)

    def workflow() -> None:
        for _ in range(STEPS):
            step()

    work: Work = dbos.DBOS.workflow()(workflow)
    dbos.DBOS.launch()
    return work


PEERS: dict[str, Callable[[Path], Work]] = {
    "eventsourcing": _eventsourcing,
    "langgraph-checkpoint-sqlite": _langgraph,
    "dbos": _dbos,
}
