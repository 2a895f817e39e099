"""Questions read, say what they found, and can do nothing else."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from redrive_events import BadInput, MemoryLog, SqliteLog
from redrive_projections.history import Answer, ask, schema, views
from tests.history.story import begin_all, put, refund

# Each is asked with {folder} in place, which then must hold what it held before.
FORBIDDEN = [
    pytest.param("INSERT INTO runs (run) VALUES (7)", id="insert"),
    pytest.param("UPDATE runs SET status = 'succeeded'", id="update"),
    pytest.param("DELETE FROM runs", id="delete"),
    pytest.param("TRUNCATE runs", id="truncate"),
    pytest.param("MERGE INTO runs USING (SELECT 1 AS run) AS other USING (run) WHEN MATCHED THEN DELETE", id="merge"),
    pytest.param("WITH gone AS (DELETE FROM runs RETURNING run) FROM gone", id="delete in a with"),
    pytest.param("WITH new AS (INSERT INTO runs (run) VALUES (7) RETURNING run) FROM new", id="insert in a with"),
    pytest.param("WITH gone AS (DELETE FROM tail.runs RETURNING run) FROM gone", id="delete below the views"),
    pytest.param("EXPLAIN ANALYZE DELETE FROM tail.runs", id="explained while it is done, below the views"),
    pytest.param("EXPLAIN ANALYZE DELETE FROM runs", id="explained while it is done"),
    pytest.param("CREATE TABLE mine AS FROM runs", id="create table"),
    pytest.param("CREATE TEMP TABLE mine AS FROM runs", id="create temp table"),
    pytest.param("CREATE OR REPLACE VIEW runs AS SELECT 1", id="create view"),
    pytest.param("CREATE MACRO one() AS 1", id="create macro"),
    pytest.param("DROP TABLE runs", id="drop"),
    pytest.param("ALTER TABLE runs ADD COLUMN mine INTEGER", id="alter"),
    pytest.param("COPY runs TO '{folder}/out.csv'", id="copy to"),
    pytest.param("COPY runs FROM '{folder}/secret.csv'", id="copy from"),
    pytest.param("EXPORT DATABASE '{folder}/out'", id="export"),
    pytest.param("IMPORT DATABASE '{folder}/out'", id="import"),
    pytest.param("ATTACH '{folder}/out.duckdb' AS other", id="attach"),
    pytest.param("ATTACH '{folder}/redrive.db' AS log (TYPE sqlite)", id="attach the log"),
    pytest.param("DETACH memory", id="detach"),
    pytest.param("USE memory", id="use"),
    pytest.param("INSTALL httpfs", id="install"),
    pytest.param("LOAD httpfs", id="load"),
    pytest.param("SET enable_external_access = true", id="set"),
    pytest.param("SET VARIABLE mine = 1", id="set variable"),
    pytest.param("RESET lock_configuration", id="reset"),
    pytest.param("PRAGMA enable_profiling", id="pragma"),
    pytest.param("PRAGMA database_list", id="pragma that reads"),
    pytest.param("CALL pragma_version()", id="call"),
    pytest.param("CHECKPOINT", id="checkpoint"),
    pytest.param("VACUUM", id="vacuum"),
    pytest.param("BEGIN", id="begin"),
    pytest.param("COMMIT", id="commit"),
    pytest.param("PREPARE mine AS FROM runs", id="prepare"),
    pytest.param("EXECUTE mine", id="execute"),
    pytest.param("COMMENT ON TABLE runs IS 'mine'", id="comment"),
    pytest.param("FROM read_csv('{folder}/secret.csv')", id="read_csv"),
    pytest.param("FROM read_json('{folder}/secret.csv')", id="read_json"),
    pytest.param("FROM read_parquet('{folder}/secret.csv')", id="read_parquet"),
    pytest.param("FROM read_text('{folder}/secret.csv')", id="read_text"),
    pytest.param("FROM read_blob('{folder}/redrive.db')", id="read_blob"),
    pytest.param("FROM read_duckdb('{folder}/redrive.db.history.duckdb')", id="read_duckdb"),
    pytest.param("FROM '{folder}/secret.csv'", id="a file as a table"),
    pytest.param("FROM glob('{folder}/*')", id="glob"),
    pytest.param("FROM sniff_csv('{folder}/secret.csv')", id="sniff_csv"),
    pytest.param("FROM 'http://localhost:1/runs.csv'", id="the network as a table"),
    pytest.param("FROM read_csv('http://localhost:1/runs.csv')", id="the network"),
    pytest.param("FROM enable_logging(storage_path = '{folder}/out')", id="a log of DuckDB's own"),
    pytest.param("FROM enable_profiling(save_location = '{folder}/out')", id="a profile in a file"),
    pytest.param("FROM query('DELETE FROM runs')", id="a statement in a text"),
    pytest.param("FROM mine", id="a variable of Python's"),
    pytest.param("FROM duckdb_secrets()", id="secrets"),
    pytest.param("SELECT 1; SELECT 2", id="two statements"),
    pytest.param("SELECT 1; DELETE FROM runs", id="a second statement that writes"),
    pytest.param("", id="nothing"),
    pytest.param("-- nothing", id="a comment"),
    pytest.param(";", id="a semicolon"),
]


@pytest.fixture(scope="module")
def log() -> MemoryLog:
    """One run."""
    log = MemoryLog()
    put(log, refund())
    return log


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SqliteLog, Path]]:
    """A log of one run, whose history is kept in a file; a secret lies beside it."""
    path = tmp_path_factory.mktemp("log") / "redrive.db"
    path.with_name("secret.csv").write_text("word\nxyzzy\n")
    log = SqliteLog(path)
    begin_all(log, ["a"])
    ask(log, "FROM runs", path=path)
    yield log, path
    log.close()


@pytest.mark.parametrize("in_file", [True, False], ids=["in a file", "in memory"])
@pytest.mark.parametrize("query", FORBIDDEN)
def test_a_question_only_reads(query: str, in_file: bool, kept: tuple[SqliteLog, Path]) -> None:
    """Refused in one line; nothing was written, and the next answer is the same as ever."""
    log, path = kept
    mine: Any = [{"a": 1}]
    before = sorted(file.name for file in path.parent.iterdir())
    with pytest.raises(BadInput) as refused:
        ask(log, query.format(folder=path.parent), path=path if in_file else None)
    assert mine
    assert "\n" not in str(refused.value)
    assert "xyzzy" not in str(refused.value)
    assert sorted(file.name for file in path.parent.iterdir()) == before
    still = "SELECT list(name), (SELECT list((run_id, status)) FROM runs) FROM (SHOW ALL TABLES) WHERE schema = 'main'"
    ((tables, runs),) = ask(log, still, path=path).rows
    there = {table.name for table in schema()} | {view.name for view in views()}
    assert (set(tables), runs) == (there, [("a", "unfinished")])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        pytest.param(
            "SELECT statsu FROM runs",
            r'query: Binder Error: .*"statsu".* not found .* Candidate bindings: "status", .*',
            id="no such column",
        ),
        pytest.param(
            "FROM rums", r'query: Catalog Error: .*rums does not exist! Did you mean "runs"\?', id="no such table"
        ),
        pytest.param("SELEC 1", r'query: Parser Error: syntax error at or near "SELEC"', id="no SQL"),
        pytest.param("SELECT 'a'::INTEGER", r"query: Conversion Error: .*'a' to INT32.*", id="no number"),
        pytest.param("SELECT error('mine')", r"query: Invalid Input Error: mine", id="an error of its own"),
        pytest.param("DROP TABLE runs", r"query: only what reads is allowed here: SELECT, .*", id="no question"),
        pytest.param("SELECT 1; SELECT 2", r"query: one statement at a time", id="two statements"),
        pytest.param(" ", r"query: there is none", id="nothing"),
    ],
)
def test_a_bad_query_is_told_in_one_line(query: str, said: str, log: MemoryLog) -> None:
    """What is wrong, and what was probably meant."""
    with pytest.raises(BadInput) as refused:
        ask(log, query)
    assert re.fullmatch(said, str(refused.value))  # without DOTALL: one line


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        pytest.param("SELECT status FROM runs;", [("finished",)], id="select"),
        pytest.param("FROM runs SELECT status", [("finished",)], id="from"),
        pytest.param("WITH mine AS (SELECT 1) FROM mine", [(1,)], id="with"),
        pytest.param("VALUES (1), (2)", [(1,), (2,)], id="values"),
        pytest.param("SELECT list(call ORDER BY call) FROM tool_calls", [([1, 3],)], id="a list"),
        pytest.param("SELECT labels['suite'] FROM runs", [("s",)], id="a label"),
        pytest.param("SELECT arguments->>'$.id' FROM steps WHERE call = 1", [("7",)], id="inside an argument"),
        pytest.param("SELECT column_name FROM (DESCRIBE runs) LIMIT 1", [("run_id",)], id="describe"),
        pytest.param("SELECT count(*) FROM (SUMMARIZE facts)", [(10,)], id="summarize"),
        pytest.param(
            "PIVOT (SELECT verdict FROM verdicts) ON verdict USING count(*)", [(2, 1)], id="pivot"
        ),
        pytest.param("SELECT started_at FROM runs", [(datetime(2026, 1, 1, 12, tzinfo=UTC),)], id="times are UTC"),
        pytest.param("SELECT ended_at - started_at FROM runs", [(timedelta(seconds=7),)], id="a duration"),
        pytest.param("SELECT 1 WHERE false", [], id="no row"),
    ],
)  # fmt: skip
def test_what_a_question_may_be(query: str, rows: list[tuple[Any, ...]], log: MemoryLog) -> None:
    """Whatever reads."""
    assert ask(log, query).rows == rows


def test_explain_is_a_question(log: MemoryLog) -> None:
    """With or without running it."""
    for explain in ("EXPLAIN", "EXPLAIN ANALYZE"):
        assert ask(log, f"{explain} FROM runs").rows


def test_an_answer_names_its_columns_and_their_types(log: MemoryLog) -> None:
    """Two columns may have the same name."""
    answer = ask(log, "SELECT status, 1 AS status, started_at, payload FROM runs JOIN payloads USING (run) LIMIT 1")
    assert answer == Answer(
        columns=("status", "status", "started_at", "payload"),
        types=("VARCHAR", "INTEGER", "TIMESTAMP WITH TIME ZONE", "JSON"),
        rows=answer.rows,
    )
    assert answer.rows[0][:2] == ("finished", 1)


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        pytest.param("SELECT tool FROM steps WHERE step = ? AND call = ?", [1, 1], id="in order"),
        pytest.param("SELECT tool FROM steps WHERE step = $1 AND call = $1", [1], id="by number"),
        pytest.param("SELECT tool FROM steps WHERE step = $n AND call = $n", {"n": 1}, id="by name"),
    ],
)
def test_parameters(query: str, parameters: Any, log: MemoryLog) -> None:
    """They are values, never SQL."""
    assert ask(log, query, parameters=parameters).rows == [("find",)]


@pytest.mark.parametrize("parameters", [[], [1, 2], {"n": 1}, {}], ids=["none", "too many", "a name", "no name"])
def test_parameters_that_do_not_fit_are_told(parameters: Any, log: MemoryLog) -> None:
    """In one line."""
    with pytest.raises(BadInput) as refused:
        ask(log, "SELECT ?", parameters=parameters)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("imported", ["redrive_projections", "redrive_projections.history"])
def test_duckdb_is_loaded_when_something_is_asked(imported: str) -> None:
    """It takes a third of a second, which only a question is worth."""
    code = f"import sys, {imported}; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_question_leaves_nothing_on_the_error_stream(kept: tuple[SqliteLog, Path]) -> None:
    """In a process of its own, until its very end."""
    code = (
        "import sys; from redrive_events import SqliteLog; from redrive_projections.history import ask; "
        "print(ask(SqliteLog(sys.argv[1]), 'SELECT count(*) FROM runs', path=sys.argv[1]).rows)"
    )
    done = subprocess.run([sys.executable, "-c", code, kept[1]], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "[(1,)]\n")


WORKING = """
import signal
import subprocess
import sys
from redrive_events import MemoryLog
from redrive_projections.history import Questions
with Questions(MemoryLog()) as questions:
    questions.ask("SELECT 1")
    try:
        print("ready", flush=True)
        questions.ask("SELECT count(*) FROM range(100000) a, range(100000) b, range(1000) WHERE a.range + b.range < 0")
    except KeyboardInterrupt:
        print(questions.ask("SELECT 7").rows)
"""


def test_a_question_that_takes_long_can_be_broken_off() -> None:
    """By Ctrl-C while the database is at work; the next one is answered."""
    with subprocess.Popen(
        [sys.executable, "-c", f"import signal\nsignal.signal(2, signal.default_int_handler)\n{WORKING}"],
        stdout=subprocess.PIPE,
        text=True,
    ) as working:
        assert working.stdout is not None
        assert working.stdout.readline() == "ready\n"
        time.sleep(0.5)  # by then the database is at work
        working.send_signal(signal.SIGINT)
        assert working.communicate(timeout=60)[0] == "[(7,)]\n"
