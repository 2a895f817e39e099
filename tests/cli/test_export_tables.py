"""`export --parquet`: all tables, for any engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redrive_events import SqliteLog
from redrive_projections.history import ask, schema, schema_version
from tests.cli.conftest import Redrive
from tests.history.story import begun, put, refund, remark


@pytest.fixture
def parquet() -> Any:
    """What another engine reads them with."""
    return pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def log(folder: Path) -> SqliteLog:
    """Two runs, remarks on one of them, and on one that is not there."""
    log = SqliteLog("redrive.db")
    for records in (refund(), begun("other"), remark("refund", "reward", 1), remark("gone", "reward", 0)):
        put(log, records)
    return log


def read(parquet: Any, table: str) -> Any:
    """A table from its folder, as pyarrow reads it."""
    return parquet.read_table(Path("out") / table)


def test_every_table_has_its_columns_and_rows(redrive: Redrive, log: SqliteLog, parquet: Any) -> None:
    """Those of the history, in folders by day; an empty table too."""
    assert redrive("export", "--all", "--parquet", "out") == (0, "2 runs in 19 tables: out\n", "")
    assert sorted(place.name for place in Path("out").iterdir()) == sorted(table.name for table in schema())
    for table in schema():
        found = read(parquet, table.name)
        assert set(found.column_names) == {column.name for column in table.columns} | {"day"}
        assert found.num_rows == ask(log, f"SELECT count(*) FROM {table.name}").rows[0][0], table.name
    assert [place.name for place in (Path("out") / "steps").iterdir()] == ["day=2026-01-01"]
    assert {place.name for place in (Path("out") / "annotations").iterdir()} == {
        "day=2026-01-01",
        "day=unknown",
    }


def test_values_are_what_they_were(redrive: Redrive, log: SqliteLog, parquet: Any) -> None:
    """Numbers, times, lists, maps and NULL."""
    redrive("export", "--all", "--parquet", "out")
    columns = ["run_id", "run", "steps", "started_at", "missing", "labels", "answer", "parent"]
    query = f"SELECT {', '.join(columns)} FROM runs ORDER BY run"
    wanted = [dict(zip(columns, row, strict=True)) for row in ask(log, query).rows]
    found = sorted(read(parquet, "runs").select(columns).to_pylist(), key=lambda row: row["run"])
    assert [row | {"labels": dict(row["labels"])} for row in found] == wanted


def test_the_metadata_says_which_schema_it_is(redrive: Redrive, log: SqliteLog, parquet: Any) -> None:
    """In each file."""
    redrive("export", "--all", "--parquet", "out")
    files = list(Path("out").rglob("*.parquet"))
    assert len(files) > len(schema())
    for file in files:
        metadata = parquet.read_schema(file).metadata
        assert metadata[b"redrive_format"] == b"1"
        assert metadata[b"redrive_schema"] == schema_version().encode()
        assert metadata[b"redrive_table"] == file.parents[1].name.encode()


def test_some_runs(redrive: Redrive, log: SqliteLog, parquet: Any) -> None:
    """By the beginnings of their ids."""
    assert redrive("export", "ref", "--parquet", "out").out == "1 run in 19 tables: out\n"
    assert set(read(parquet, "events")["run_id"].to_pylist()) == {"refund"}
    assert read(parquet, "annotations").num_rows == 1
    days = parquet.read_table("out/steps", filters=[("day", "=", "2026-01-01")])
    assert days.num_rows == 4


def test_nothing_is_half_written(redrive: Redrive, log: SqliteLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the folder nor a trace of it."""
    monkeypatch.setattr("redrive_projections.history.parquet.FORMAT_VERSION", "'")
    said = redrive("export", "--all", "--parquet", "out")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("redrive: ")
    assert not [place for place in Path().iterdir() if "out" in place.name]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(["--all", "--parquet", "full"], "full: is there already, and not empty", id="in the way"),
        pytest.param(["--all", "--parquet", "file"], "file: is there already, and not empty", id="a file"),
        pytest.param(["--all", "--parquet", "no/such/out"], "no/such/out: no such file or directory", id="nowhere"),
        pytest.param(["--all", "--parquet", "a", "-o", "b"], "export: give -o FILE or --parquet DIR", id="both"),
        pytest.param(["--parquet", "a"], "export: give the runs that are to be written", id="none"),
        pytest.param(["recording.jsonl", "--parquet", "a"], "export: tables are made of runs in a log", id="a file's"),
    ],
)
def test_what_cannot_be_written_is_one_line(
    redrive: Redrive, log: SqliteLog, arguments: list[str], problem: str
) -> None:
    """And what was there is there."""
    Path("full").mkdir()
    Path("full/kept").touch()
    Path("file").touch()
    redrive("export", "refund", "-o", "recording.jsonl")
    said = redrive("export", *arguments)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith(f"redrive: {problem}")
    assert Path("full/kept").exists()


def test_an_empty_folder_is_filled(redrive: Redrive, log: SqliteLog) -> None:
    """As one that was made for it."""
    Path("out").mkdir()
    assert redrive("export", "--all", "--parquet", "out").code == 0
    assert (Path("out") / "runs").is_dir()
