"""Small records, for tests that care about places and not about what happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from redrive_events import Event, MessageReceived, Record

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def record(run_id: str, position: int, *, left: int = 0, after_s: float = 0, event: Event | None = None) -> Record:
    """A record at its place; ``after_s`` is its time behind `BEGIN`, and without an event somebody says its place."""
    return Record(
        run_id=run_id,
        position=position,
        at=BEGIN + timedelta(seconds=after_s),
        cause=0,
        left=left,
        event=event or MessageReceived(actor="user", content=f"{run_id} {position}"),
    )


def append(run_id: str, first: int, size: int = 1, *, after_s: float = 0) -> list[Record]:
    """One append of ``size`` records, from position ``first`` on."""
    return [record(run_id, first + n, left=size - 1 - n, after_s=after_s) for n in range(size)]
