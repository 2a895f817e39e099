"""The tables grow with the log, and are then those that a build from nothing makes."""

from __future__ import annotations

from typing import Any, TypeAlias

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive_events import EventLog, MemoryLog, Record
from redrive_projections.history import schema
from redrive_projections.history import sync as syncing
from redrive_projections.history.cache import in_memory
from redrive_projections.history.sync import sync
from tests import strategies
from tests.history.story import TURNS, begin_all, put, refund, remark, run_of

Tables: TypeAlias = dict[str, list[tuple[Any, ...]]]

# What happens to a log: appends of these streams, in any order; "look" asks in between.
STREAMS = ("a", "b", "a@notes", "a/1")


def tables(db: duckdb.DuckDBPyConnection) -> Tables:
    """All rows of all tables, in an order of their own."""
    return {table.name: db.execute(f"FROM {table.name} ORDER BY ALL").fetchall() for table in schema()}


def anew(log: EventLog) -> Tables:
    """What a build from nothing makes of a log."""
    with in_memory(log) as db:
        return tables(db)


def appends(records: list[Record]) -> list[list[Record]]:
    """The records of a run, append by append."""
    ends = [place for place, record in enumerate(records, start=1) if not record.left]
    return [records[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


@st.composite
def histories(draw: st.DrawFn) -> list[list[Record]]:
    """Appends to a few streams, mixed; an empty one stands for a question in between."""
    waiting = {run_id: appends(draw(strategies.runs(run_id))) for run_id in STREAMS}
    mixed: list[list[Record]] = []
    while left := [run_id for run_id, rest in waiting.items() if rest]:
        mixed.append(waiting[draw(st.sampled_from(left))].pop(0))
        if draw(st.booleans()):
            mixed.append([])
    return mixed


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=12)
@given(histories(), st.sampled_from([200_000, 3]))
def test_what_has_grown_equals_what_is_made_anew(mixed: list[list[Record]], records_max: int) -> None:
    """Whatever happened, whenever somebody asked, and however many records a transaction takes."""
    log = MemoryLog()
    with pytest.MonkeyPatch.context() as patch, in_memory(log) as db:
        patch.setattr(syncing, "RECORDS_MAX", records_max)
        for records in mixed:
            if records:
                log.append(records[0].run_id, records, expected=records[0].position - 1)
            else:
                sync(db, log)
        sync(db, log)
        grown = tables(db)
    assert grown == anew(log)
    assert len(grown["events"]) == sum(head.position for head in log.runs() if "@" not in head.run_id)


@settings(deadline=None, max_examples=10)
@given(st.lists(st.sampled_from(list(TURNS)), max_size=6))
def test_every_step_call_verdict_and_fact_is_there(turns: list[str]) -> None:
    """At every step of a run that could be one: as many rows as the log has events of the kind."""
    log = MemoryLog()
    with in_memory(log) as db:
        for append in appends(run_of(turns)):
            log.append("a", append, expected=append[0].position - 1)
        sync(db, log)
        kinds: dict[str, int] = dict(db.execute("SELECT kind, count(*) FROM events GROUP BY ALL").fetchall())
        found = db.execute(
            """SELECT (SELECT count(*) FROM tool_calls), (SELECT count(*) FROM verdicts), (SELECT count(*) FROM facts),
                (SELECT count(DISTINCT step) FROM steps), steps, tool_calls FROM runs"""
        ).fetchall()
    counted = [kinds.get(kind, 0) for kind in ("tool_called", "verdict_given", "fact_committed", "model_replied")]
    assert found == [(*counted, counted[3], turns.count("find") + turns.count("lost"))]


def test_a_run_keeps_its_number() -> None:
    """Runs are numbered as they began, a remark before the run is a beginning too, and no later run changes that."""
    log = MemoryLog()
    put(log, remark("b", "reward", 1))
    begin_all(log, ["a", "b"])
    with in_memory(log) as db:
        put(log, refund("c"))
        put(log, remark("a", "reward", 2))
        sync(db, log)
        assert db.execute("SELECT run, run_id FROM runs ORDER BY run").fetchall() == [(1, "b"), (2, "a"), (3, "c")]
        assert db.execute("SELECT run, run_id, value FROM annotations ORDER BY run").fetchall() == [
            (1, "b", "1"),
            (2, "a", "2"),
        ]


def test_a_transaction_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and watermark are committed together, or not at all."""
    log = MemoryLog()
    begin_all(log, ["a"])
    with in_memory(log) as db:
        before = tables(db)
        put(log, refund())
        with monkeypatch.context() as patch:
            patch.setattr(syncing, "rendered", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                sync(db, log)
        assert tables(db) == before
        sync(db, log)
        assert tables(db) == anew(log)


class GrowingLog(MemoryLog):
    """A log in which a run grows whenever somebody begins to read it."""

    def lines(self, run_id: str, *, after: int = 0) -> Any:
        """The lines, one more than before."""
        if self.head("a").position == 1:
            put(self, refund("a")[:3])
        return super().lines(run_id, after=after)


def test_what_is_appended_meanwhile_waits_for_the_next_time() -> None:
    """The rows stand at the watermark, not somewhere behind it."""
    log = GrowingLog()
    put(log, refund("a")[:1])
    with in_memory(log) as db:
        assert db.execute("SELECT records FROM runs").fetchall() == [(1,)]
        assert log.head("a").position == 3
        sync(db, log)
        assert db.execute("SELECT records, (SELECT max(position) FROM events) FROM runs").fetchall() == [(3, 3)]


def test_a_line_that_is_no_record_is_told() -> None:
    """Its run reads as degraded, and the others as ever."""
    log = MemoryLog()
    begin_all(log, ["a", "b"])
    log._streams["a"][0] = log._streams["a"][0]._replace(line=b'{"event":"unheard_of"}')
    with in_memory(log) as db:
        told = db.execute("SELECT run_id, status, quarantined FROM runs ORDER BY run").fetchall()
        assert told == [("a", "degraded", 1), ("b", "unfinished", 0)]
        events = db.execute(
            "SELECT run_id, kind, happened_at, payload, problem FROM events JOIN payloads USING (run_id, position)"
            " WHERE run_id = 'a'"
        )
        problem = "the bytes are not those that were written"
        assert events.fetchall() == [("a", "quarantined", None, '"unheard_of"', problem)]
