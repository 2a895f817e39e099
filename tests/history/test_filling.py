"""The tables grow with the log, and are then those that a build from nothing makes."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive_events import START, EventLog, MemoryLog, Record, SqliteLog, StoredLine, encode, link
from redrive_events.stores.sealing import Tip
from redrive_projections.history import History, beside, filling, opened, rows, schema, writing
from redrive_projections.history.deadline import Deadline, TimeOver
from tests import strategies
from tests.history.story import TURNS, begin_all, begun, put, refund, remark, run_of, told

Tables: TypeAlias = dict[str, list[tuple[Any, ...]]]

# What happens to a log: appends of these streams, in any order; "look" asks in between.
STREAMS = ("a", "b", "a@notes", "a/1")


def tables(db: duckdb.DuckDBPyConnection) -> Tables:
    """All rows of all tables, in an order of their own."""
    return {table.name: db.execute(f"FROM {table.name} ORDER BY ALL").fetchall() for table in schema()}


def anew(log: EventLog) -> Tables:
    """What a build from nothing makes of a log."""
    with History(log) as history:
        return tables(history.db)


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


SLOW = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=12)


@SLOW
@given(histories(), st.sampled_from([100_000, 3]), st.sampled_from([4_096, 2]), st.sampled_from([80, 0]))
def test_what_has_grown_equals_what_is_made_anew(
    mixed: list[list[Record]], records_max: int, events_max: int, few: int
) -> None:
    """Whatever happened, whenever somebody looked, and however many records a transaction or a batch of rows takes."""
    log = MemoryLog()
    with pytest.MonkeyPatch.context() as patch, History(log) as history:
        patch.setattr(filling, "RECORDS_MAX", records_max)
        patch.setattr(rows, "EVENTS_MAX", events_max)
        patch.setattr(writing, "FEW", few)
        for records in mixed:
            if records:
                log.append(records[0].run_id, records, expected=records[0].position - 1)
            else:
                history.refresh()
        history.refresh()
        grown = tables(history.db)
    assert grown == anew(log)
    assert len(grown["events"]) == sum(head.position for head in log.runs() if "@" not in head.run_id)


@settings(SLOW, max_examples=6)
@given(histories(), st.integers(0, 3))
def test_what_is_kept_in_files_equals_what_is_made_anew(mixed: list[list[Record]], tail_max: int) -> None:
    """However it is cut: into segments that are joined or not, and what is newer than these."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(opened, "TAIL_RECORDS_MAX", tail_max)
        path = Path(folder) / "redrive.db"
        log = SqliteLog(path, durability="os")
        held: list[History] = []
        for records in mixed:
            if records:
                log.append(records[0].run_id, records, expected=records[0].position - 1)
            else:
                held.append(History(log, path))
        with History(log, path) as history:
            found = tables(history.db)
        wanted = anew(log)
        assert found == wanted
        for earlier in held:
            earlier.refresh()
            assert tables(earlier.db) == wanted
            earlier.close()
        log.close()


class Looks(Deadline):
    """A time that is over when it was looked at so often."""

    def __init__(self, left: int) -> None:
        super().__init__(1e9)
        self.left = left

    def is_over(self) -> bool:
        """After so many looks, and from then on."""
        self.left -= 1
        return self.left < 0


@settings(SLOW, max_examples=8)
@given(histories(), st.lists(st.integers(0, 40), max_size=4), st.sampled_from([100_000, 3]))
def test_what_was_not_there_in_time_is_there_the_next_time(
    mixed: list[list[Record]], looks: list[int], tail_max: int
) -> None:
    """At whatever moment the time was over, when it was opened or brought up to date: nothing is missing or twice."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(opened, "TAIL_RECORDS_MAX", tail_max)
        patch.setattr(filling, "LINES_UNWATCHED", 2)
        path = Path(folder) / "redrive.db"
        with closing(SqliteLog(path, durability="os")) as log, History(log, path) as held:
            for records in filter(None, mixed):
                log.append(records[0].run_id, records, expected=records[0].position - 1)
                for left in looks:
                    with suppress(TimeOver):
                        held.refresh(Looks(left))
            for left in looks:
                with suppress(TimeOver):
                    History(log, path, within=Looks(left)).close()
            wanted = anew(log)
            held.refresh()
            assert tables(held.db) == wanted
            with History(log, path) as history:
                assert tables(history.db) == wanted


def test_no_run_that_was_there_in_time_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was complete when the time was over is committed, and the next one begins behind it."""
    monkeypatch.setattr(opened, "TAIL_RECORDS_MAX", 3)
    with closing(SqliteLog(tmp_path / "redrive.db")) as log:
        begin_all(log, [f"run-{number}" for number in range(20)])
        spans = len(list(log.order()))
        with pytest.raises(TimeOver):
            History(log, tmp_path / "redrive.db", within=Looks(2 * (spans + 1) + 10))
        made: list[str] = []

        def making(run: int, run_id: str) -> rows.Rendering:
            made.append(run_id)
            return rows.Rendering(run, run_id)

        monkeypatch.setattr(filling, "Rendering", making)
        with History(log, tmp_path / "redrive.db") as history:
            assert history.db.execute("SELECT count(*) FROM runs").fetchall() == [(20,)]
        assert 0 < len(made) < 20


@settings(deadline=None, max_examples=10)
@given(st.lists(st.sampled_from(list(TURNS)), max_size=6))
def test_every_step_call_verdict_and_fact_is_there(turns: list[str]) -> None:
    """At every step of a run that could be one: as many rows as the log has events of the kind."""
    log = MemoryLog()
    with History(log) as history:
        for append in appends(run_of(turns)):
            log.append("a", append, expected=append[0].position - 1)
        history.refresh()
        kinds: dict[str, int] = dict(history.db.execute("SELECT kind, count(*) FROM events GROUP BY ALL").fetchall())
        found = history.db.execute(
            """SELECT (SELECT count(*) FROM tool_calls), (SELECT count(*) FROM verdicts), (SELECT count(*) FROM facts),
                (SELECT count(*) FROM observations), (SELECT count(*) FROM payloads) - (SELECT count(*) FROM events),
                (SELECT count(DISTINCT step) FROM steps), steps, tool_calls FROM runs"""
        ).fetchall()
    names = ("tool_called", "verdict_given", "fact_committed", "observation_received")
    replies = kinds.get("model_replied", 0)
    wanted = (*(kinds.get(kind, 0) for kind in names), 0, replies, replies)
    assert found == [(*wanted, turns.count("find") + turns.count("lost"))]


def test_a_run_keeps_its_number() -> None:
    """Runs are numbered as they began, a remark before the run is a beginning too, and no later run changes that."""
    log = MemoryLog()
    put(log, remark("b", "reward", 1))
    begin_all(log, ["a", "b"])
    with History(log) as history:
        put(log, refund("c"))
        put(log, remark("a", "reward", 2))
        history.refresh()
        db = history.db
        assert db.execute("SELECT run, run_id FROM runs ORDER BY run").fetchall() == [(1, "b"), (2, "a"), (3, "c")]
        assert db.execute("SELECT run, run_id, value FROM annotations ORDER BY run").fetchall() == [
            (1, "b", "1"),
            (2, "a", "2"),
        ]


def test_a_transaction_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a run are there together, or not at all."""
    log = MemoryLog()
    begin_all(log, ["a"])
    with History(log) as history:
        before = tables(history.db)
        put(log, refund())
        with monkeypatch.context() as patch:
            patch.setattr(filling, "Rendering", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                history.refresh()
        assert tables(history.db) == before
        history.refresh()
        assert tables(history.db) == anew(log)


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
    with History(log) as history:
        assert history.db.execute("SELECT records FROM runs").fetchall() == [(1,)]
        assert log.head("a").position == 3
        history.refresh()
        assert history.db.execute("SELECT records, (SELECT max(position) FROM events) FROM runs").fetchall() == [(3, 3)]


def test_who_reads_meanwhile_sees_no_run_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that has grown behind its segment stands in memory from one moment to the next."""
    monkeypatch.setattr(opened, "TAIL_RECORDS_MAX", 3)
    path = tmp_path / "redrive.db"
    log = SqliteLog(path)
    records = refund("a")
    put(log, records[:11])
    begin_all(log, ["b"])
    with History(log, path) as history:
        assert len([*beside(path).glob("*.duckdb")]) == 1
        reader = history.db.cursor()
        reader.execute("BEGIN")
        assert reader.execute("SELECT run_id, records FROM runs ORDER BY run").fetchall() == [("a", 11), ("b", 1)]
        put(log, records[11:])
        history.refresh()
        assert reader.execute("SELECT run_id, records FROM runs ORDER BY run").fetchall() == [("a", 11), ("b", 1)]
        reader.execute("COMMIT")
        assert reader.execute("SELECT run_id, records FROM runs ORDER BY run").fetchall() == [("a", 25), ("b", 1)]
        reader.close()
    log.close()


def test_what_is_appended_out_of_order_is_told() -> None:
    """Also in a run that was gone on with, of which all before was in order."""
    log = MemoryLog()
    put(log, refund("a")[:3])
    with History(log) as history:
        put(log, refund("a")[3:11])
        log._streams["a"][5] = log._streams["a"][5]._replace(line=b"{}")
        history.refresh()
        assert tables(history.db) == anew(log)
        problems = history.db.execute("SELECT position, status FROM events JOIN runs USING (run) WHERE problem <> ''")
        assert problems.fetchall() == [(6, "degraded")]
        put(log, refund("a")[11:15])
        history.refresh()
        assert tables(history.db) == anew(log)


@pytest.mark.parametrize("place", ["run_id", "position"])
def test_a_line_that_belongs_elsewhere_is_told(place: str) -> None:
    """Although it is sealed where it stands."""
    log = MemoryLog()
    other = begun("b") if place == "run_id" else told("a", [(begun("a")[0].event, 0)], after=1)
    line = encode(other[0])
    log._streams["a"] = [StoredLine(1, link(START, line), line)]
    log._order, log._tips["a"] = [("a", 1)], Tip(1, link(START, line), "")
    with History(log) as history:
        assert history.db.execute("SELECT status, kind FROM runs JOIN events USING (run)").fetchall() == [
            ("degraded", "quarantined")
        ]


def test_a_line_that_was_changed_is_told() -> None:
    """However well it reads."""
    log = MemoryLog()
    begin_all(log, ["a"], goal="tea")
    stored = log._streams["a"][0]
    log._streams["a"][0] = stored._replace(line=stored.line.replace(b"tea", b"tee"))
    with History(log) as history:
        told_of = history.db.execute("SELECT status, goal, problem FROM runs JOIN events USING (run)").fetchall()
    assert told_of == [("degraded", None, "the bytes are not those that were written")]


def test_a_line_that_is_no_record_is_told() -> None:
    """Its run reads as degraded, and the others as ever."""
    log = MemoryLog()
    begin_all(log, ["a", "b"])
    log._streams["a"][0] = log._streams["a"][0]._replace(line=b'{"event":"unheard_of"}')
    with History(log) as history:
        told = history.db.execute("SELECT run_id, status, quarantined FROM runs ORDER BY run").fetchall()
        assert told == [("a", "degraded", 1), ("b", "unfinished", 0)]
        events = history.db.execute(
            "SELECT run_id, kind, happened_at, payload, problem FROM events JOIN payloads USING (run_id, position)"
            " WHERE run_id = 'a'"
        )
        problem = "the bytes are not those that were written"
        assert events.fetchall() == [("a", "quarantined", None, '"unheard_of"', problem)]
