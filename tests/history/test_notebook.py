"""`redrive.history`: a history that stays open, and gives relations of DuckDB's own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Any

import pytest

import redrive as rd
from redrive_events import BadInput, MemoryLog, SqliteLog
from redrive_projections.history import views
from tests.history.story import put, refund


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteLog]:
    """A log of one run, in a file that is called log.db."""
    with closing(SqliteLog(tmp_path / "log.db")) as log:
        put(log, refund())
        yield log


def test_a_relation_is_duckdbs_own_and_as_of_when_it_was_asked_for(log: SqliteLog, tmp_path: Path) -> None:
    """What is recorded later is in the next one."""
    with rd.history(tmp_path / "log.db") as history:
        first = history.sql("SELECT run_id, status FROM runs")
        put(log, refund("later"))
        later = history.sql("SELECT run_id FROM runs WHERE run_id = $name", {"name": "later"})
        assert (first.columns, first.fetchall()) == (["run_id", "status"], [("refund", "finished")])
        assert later.fetchall() == [("later",)]
        assert history.sql("FROM measures").project("runs").fetchall() == [(2,)]


@pytest.mark.usefixtures("log")
def test_a_relation_goes_together_with_one_that_was_made_of_it(tmp_path: Path) -> None:
    """Given by place or by name, and also as a copy."""
    with rd.history(tmp_path / "log.db") as notebook:
        runs = notebook.sql("SELECT run_id FROM runs")
        other = runs.set_alias("other")
        assert runs.join(other, "run_id").fetchall() == runs.join(other_rel=other, condition="run_id").fetchall()
        assert copy(runs).fetchall() == runs.fetchall()


def test_a_notebook_keeps_nobody_from_anything(log: SqliteLog, tmp_path: Path) -> None:
    """Two of them, a question and a writer at once."""
    with rd.history(tmp_path / "log.db") as one, rd.history(log) as other:
        put(log, refund("later"))
        for history in (one, other):
            assert history.sql("SELECT count(*) FROM runs").fetchall() == [(2,)]
        with rd.history(tmp_path / "log.db") as third:
            assert third.sql("SELECT count(*) FROM runs").fetchall() == [(2,)]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM runs",
        "WITH gone AS (DELETE FROM tail.runs RETURNING run) FROM gone",
        "FROM read_csv('{folder}/log.db')",
        "COPY runs TO '{folder}/out.csv'",
        "ATTACH '{folder}/out.duckdb'",
        "FROM no_such_table",
        "SELECT 1; SELECT 2",
        "",
    ],
)
def test_only_what_reads_is_a_question(query: str, log: SqliteLog, tmp_path: Path) -> None:
    """In one line; the tables are what they were."""
    with rd.history(log) as history:
        with pytest.raises(BadInput, match=r"^query: [^\n]*$"):
            history.sql(query.format(folder=tmp_path)).fetchall()
        assert history.sql("SELECT count(*) FROM runs").fetchall() == [(1,)]
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(("frame", "library"), [("df", "pandas"), ("pl", "polars"), ("arrow", "pyarrow")])
def test_frames_of_other_libraries(frame: str, library: str) -> None:
    """Where they are installed."""
    pytest.importorskip(library)
    log = MemoryLog()
    put(log, refund())
    with rd.history(log) as history:
        found: Any = getattr(history.sql("SELECT run_id, steps FROM runs"), frame)()
        rows = found.read_all() if frame == "arrow" else found
        assert len(rows) == 1


def test_a_connection_for_libraries_that_want_one(log: SqliteLog, tmp_path: Path) -> None:
    """With every view there is, and what was recorded by then."""
    with rd.history(tmp_path / "log.db") as history:
        put(log, refund("later"))
        found = history.connection().execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        assert {view.name for view in views()} <= {name for (name,) in found}
        assert history.connection().execute("SELECT count(*) FROM runs").fetchall() == [(2,)]


def test_there_must_be_a_log(tmp_path: Path) -> None:
    """None is made."""
    with pytest.raises(BadInput, match="no such log"):
        rd.history(tmp_path / "log.db")
    assert list(tmp_path.iterdir()) == []


def test_duckdb_is_loaded_when_a_history_is_opened() -> None:
    """To name the function costs nothing."""
    code = "import sys, redrive; redrive.history; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
