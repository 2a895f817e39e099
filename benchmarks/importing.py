"""What an import costs, against its own stages: reading, telling, building, writing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import Figure, compared
from redrive_events import Batch, MemoryLog, SqliteLog, encode
from redrive_replays.traces import import_bytes
from redrive_replays.traces.reading import read
from redrive_replays.traces.records import records_of
from redrive_replays.traces.table import importer_of

ATTEMPTS = 40


def figures(folder: Path) -> Iterator[Figure]:
    """A file of invented attempts, about 30 messages each; a unit is a kilobyte of it."""
    data = json.dumps([_attempt(number) for number in range(ATTEMPTS)]).encode()
    kilobytes = len(data) // 1000
    material = read(data, "attempts.json")
    importer, material = importer_of(material)
    traces = list(importer.read(material))
    built = [records_of(trace, f"run-{trace.entry}", format="x", sha256=material.sha256)[0] for trace in traces]
    made = iter(range(1_000_000))

    def whole() -> None:
        import_bytes(data, "attempts.json", MemoryLog())

    def write() -> None:
        log = SqliteLog(folder / f"import-{next(made)}.db")
        log.append_all(Batch(records[0].run_id, records, 0) for records in built)
        log.close()

    def build() -> None:
        for trace in traces:
            records_of(trace, f"run-{trace.entry}", format="x", sha256=material.sha256)

    def tell() -> None:
        list(importer.read(read(data, "attempts.json")))

    for name, subject, limit_name, limit in (
        ("import into memory, a kB", whole, "read + tell", tell),
        ("  of it: build the run", build, "encode its records", lambda: [encode(r) for one in built for r in one]),
        ("  write it to SQLite", write, "encode its records", lambda: [encode(r) for one in built for r in one]),
    ):
        figure = compared(name, subject, limit_name, limit, units=kilobytes, rounds=5)
        yield replace(figure, note=f"{kilobytes / 1000 / figure.subject_s:.1f} MB/s")


def _attempt(number: int) -> dict[str, object]:
    messages: list[dict[str, object]] = [{"role": "system", "content": "You are a clerk of a shop. " * 200}]
    for turn in range(8):
        call = {"name": "find_order", "arguments": json.dumps({"order_id": f"ord_{number}_{turn}"})}
        messages += [
            {"role": "user", "content": f"And what of my order ord_{number}_{turn}, please? 我想知道。"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{turn}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{turn}", "content": json.dumps({"status": "sent", "note": "x" * 400})},
            {"role": "assistant", "content": "It was sent yesterday, and should be with you on Friday. " * 3},
        ]
    return {"task_id": number, "reward": 1.0, "info": {}, "traj": messages, "trial": 0}
