"""Forks in SQL: rows of their own records alone, whatever was inherited, and however the history is cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive_engine import fork
from redrive_engine.models import reply
from redrive_engine.program import Program
from redrive_events import EventLog, ModelReplied, Record, SqliteLog, StopDecided, Terms, ToolCalled
from redrive_projections import used
from redrive_projections.folding import fold
from redrive_projections.history import History, ask, opened
from redrive_replays import appends
from tests.history.test_filling import anew, tables
from tests.random_runs import AuditedLog, driven_programs, programs, random_fork, random_run, tapes
from tests.shop import NOON, recorded, shop


def place_to_fork(records: list[Record], draw: st.DataObject) -> int:
    """The end of some append in front of the stop."""
    ends = []
    for append in appends(records):
        if any(isinstance(one.event, StopDecided) for one in append):
            break
        ends.append(append[-1].position)
    return draw.draw(st.sampled_from(ends))


def story(data: st.DataObject, program: Program) -> AuditedLog:
    """A run, one that is forked from it, and one that is forked from that."""
    log = AuditedLog(program)
    records = random_run(data.draw(tapes), program)
    log.append("run", records, expected=0)
    for parent, run_id in (("run", "fork"), ("fork", "below")):
        fork(log, parent, place_to_fork(records, data), new_id=run_id, at=NOON + timedelta(days=1))
        records = random_fork(data.draw(tapes), program, log, run_id)
    return log


def as_written(log: EventLog) -> Iterator[list[Record]]:
    """All appends, in the order in which they were written."""
    return appends(record for _, record in log.read_all())


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=12)
@given(st.data(), programs | driven_programs, st.integers(0, 3))
def test_a_fork_is_told_by_its_own_records(data: st.DataObject, program: Program, tail_max: int) -> None:
    """What is kept in files equals what is made anew, also with a parent in an earlier one; nothing counts twice."""
    source = story(data, program)
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(opened, "TAIL_RECORDS_MAX", tail_max)
        path = Path(folder) / "redrive.db"
        with closing(SqliteLog(path, durability="os")) as log:
            for append in as_written(source):
                log.append(append[0].run_id, append, expected=append[0].position - 1)
                if data.draw(st.integers(0, 9)) == 0:
                    History(log, path).close()
            with History(log, path) as history:
                assert tables(history.db) == anew(log)
            events = [record.event for _, record in log.read_all()]
            replies = [one for one in events if isinstance(one, ModelReplied)]
            calls = [one for one in events if isinstance(one, ToolCalled)]
            counted = "SELECT sum(records), sum(steps), sum(tool_calls), coalesce(sum(cost_micros), 0) FROM runs"
            cost = sum(one.cost_micros or 0 for one in replies)
            made = sum(one.attempt == 1 for one in calls)
            assert ask(log, counted).rows == [(len(events), len(replies), made, cost)]
            assert ask(log, "SELECT count(*) FROM events").rows == [(len(events),)]
            assert ask(log, "SELECT count(*) FROM tool_calls").rows == [(len(calls),)]
            written = "SELECT run_id, call FROM effects WHERE run_id <> 'run' ORDER BY ALL"
            assert set(ask(log, written).rows) <= set(called(log))


def called(log: EventLog) -> Iterator[tuple[str, int]]:
    """The run and the number of each call that may act."""
    for _, record in log.read_all():
        if isinstance(record.event, ToolCalled) and record.event.effect != "read":
            yield record.run_id, record.event.call


def test_a_fork_says_where_it_is_from(tmp_path: Path) -> None:
    """It has agent, goal and contract of the run it goes on from, its own labels, and its place in lineage."""
    with closing(SqliteLog(tmp_path / "log.db")) as log:
        log.append("run", recorded(shop(Terms()), reply("Done.")), expected=0)
        fork(log, "run", 3, new_id="fork", at=NOON, labels={"arm": "second"})
        fork(log, "fork", 1, new_id="sister", at=NOON)
        query = "SELECT run_id, agent, goal, principal, arm, status, steps, records, parent FROM runs ORDER BY run"
        assert ask(log, query).rows == [
            ("run", "shop", "Buy tea", "ana", "loop", "finished", 1, 7, None),
            ("fork", "shop", "Buy tea", "ana", "second", "unfinished", 0, 1, None),
            ("sister", "shop", "Buy tea", "ana", "loop", "unfinished", 0, 1, None),
        ]
        query = "SELECT run_id, parent_id, parent_position, kind, known_by FROM lineage ORDER BY run"
        assert ask(log, query).rows == [("fork", "run", 3, "fork", "start"), ("sister", "run", 1, "fork", "start")]
        assert used(fold(log.read("fork")))["steps"] == 0
