"""`sql`: an answer in each form, to one query, to a file of them, or to whatever is typed."""

from __future__ import annotations

import io
import json
import os
import re
import select
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from rich.cells import cell_len

from redrive.statements import cut, statements
from redrive_projections.history import beside
from redrive_projections.history.segments import locked
from tests.cli.conftest import Redrive, Said

QUERY = "select 1 as n, 'a,b' as word, null as nothing, 1.5 as half, [1, 2] as list, true as yes"


def test_a_table(redrive: Redrive, incident: str) -> None:
    """Numbers to the right, NULL where there is nothing, and how many rows there are."""
    query = "select tool, count(*) as calls, min(cut_bytes) as cut from tool_calls group by tool order by tool"
    assert redrive("sql", query) == (
        0,
        "tool        calls  cut\nfind_order      1    0\nrefund          1    0\nsend_mail       1    0\n(3 rows)\n",
        "",
    )


@pytest.mark.parametrize("word", ["王芳", "🤖🧾", "é", "e\u0301", "ｱｲ", "한국어", "❤️", "🇩🇪"])
def test_columns_stand_below_each_other_in_every_script(redrive: Redrive, incident: str, word: str) -> None:
    """By the cells that a terminal gives a character."""
    said = redrive("sql", f"select '{word}' as word, 1 as n union all select 'abcdefghijklmn', 2 order by n")
    head, first, second, _ = said.out.splitlines()
    assert word in first
    assert {cell_len(line) for line in (head, first, second)} == {len("abcdefghijklmn") + 3}


def test_json(redrive: Redrive, incident: str) -> None:
    """Objects; numbers that JSON has not are text, and JSON columns are JSON."""
    (row,) = json.loads(redrive("sql", QUERY, "--json").out)
    assert row == {"n": 1, "word": "a,b", "nothing": None, "half": "1.5", "list": [1, 2], "yes": True}
    query = "select arguments, digest as a, digest as a, 'nan'::double as nan, 'x'::blob as bytes from steps limit 1"
    (row,) = json.loads(redrive("sql", query, "--format", "json").out)
    assert row["arguments"] == {"order_id": "ord_5512"}
    assert row["a"] == row["a_1"]
    assert (row["nan"], row["bytes"]) == ("nan", "78")


def test_json_lines(redrive: Redrive, incident: str) -> None:
    """One object a line."""
    said = redrive("sql", "select tool, arguments from steps where call < 3", "--format", "jsonl")
    assert [json.loads(line)["tool"] for line in said.out.splitlines()] == ["find_order", "refund"]


def test_csv(redrive: Redrive, incident: str) -> None:
    """Quoted where it must be, empty for NULL."""
    said = redrive("sql", QUERY, "--format", "csv")
    assert said.out == 'n,word,nothing,half,list,yes\n1,"a,b",,1.5,"[1,2]",true\n'


def test_markdown(redrive: Redrive, incident: str) -> None:
    """No cell can end a cell or a row, or begin markup."""
    said = redrive(
        "sql", "select 'a|b' as \"x|y\", 1.5 as n, null as no, e'l1\\nl2\\\\ <b>' as l", "--format", "markdown"
    )
    assert said.out == "| x\\|y | n | no | l |\n| --- | ---: | --- | --- |\n| a\\|b | 1.5 |  | l1<br>l2\\\\ &lt;b> |\n"


SIGNS = "select chr(27) || '[31m' || chr(8238) || 'a' || chr(9) || '订单' || chr(133) as t"
HARMLESS = {
    "table": "\ufffd[31m\ufffda 订单",
    "markdown": "| \ufffd[31m\ufffda 订单",
    "csv": "\\u001b[31m\\u202ea\t订单\\u0085\n",
    "json": '[{"t":"\\u001b[31m\\u202ea\\t订单\\u0085"}]\n',
    "jsonl": '{"t":"\\u001b[31m\\u202ea\\t订单\\u0085"}\n',
}


@pytest.mark.parametrize("form", HARMLESS)
def test_no_answer_commands_a_terminal(
    redrive: Redrive, incident: str, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """What would is spelled out there; JSON says the same even so."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    said = redrive("sql", SIGNS, "--format", form).out
    assert HARMLESS[form] in said
    assert not {"\x1b", "\u202e", "\x85"} & {*said}


def test_a_program_reads_every_sign(redrive: Redrive, incident: str) -> None:
    """In a pipe, or a file, nothing of the answer is changed."""
    signs = "\x1b[31m\u202ea\t订单\x85"
    assert redrive("sql", SIGNS, "--format", "csv").out == f"t\n{signs}\n"
    assert json.loads(redrive("sql", SIGNS, "--format", "jsonl").out) == {"t": signs}


def test_parquet(redrive: Redrive, incident: str, folder: Path) -> None:
    """One file, with its types, for its owner alone, and what wrote it in the metadata."""
    parquet = pytest.importorskip("pyarrow.parquet")
    query = "select run_id, steps, labels, started_at from runs where steps > $least; -- all of them"
    said = redrive("sql", query, "--param", "least=1", "--format", "parquet", "-o", "out.parquet")
    assert said == (0, "", "")
    table = parquet.read_table("out.parquet")
    assert table.column_names == ["run_id", "steps", "labels", "started_at"]
    assert table.to_pylist()[0]["run_id"] == incident
    assert table.schema.metadata[b"redrive_format"] == b"1"
    assert (folder / "out.parquet").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "jsonl"])
def test_an_answer_in_a_file(redrive: Redrive, incident: str, folder: Path, form: str) -> None:
    """Is what else stands on stdout."""
    query = "select tool, arguments from steps order by call"
    assert redrive("sql", query, "--format", form, "-o", "out") == (0, "", "")
    assert (folder / "out").read_text(encoding="utf-8") == redrive("sql", query, "--format", form).out


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_file_is_written_whole_or_not_at_all(redrive: Redrive, incident: str, folder: Path, form: str) -> None:
    """What was there stays."""
    (folder / "out").write_text("before")
    before = sorted(folder.iterdir())
    said = redrive("sql", "select error('mine') from runs", "--format", form, "-o", "out")
    assert (said.code, said.out) == (2, "")
    assert ((folder / "out").read_text(), sorted(folder.iterdir())[: len(before)]) == ("before", before)
    assert not list(folder.glob(".out*"))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(["select 1", "--format", "parquet"], "sql: Parquet goes into a file: give -o FILE", id="no file"),
        pytest.param(["select 1; select 2", "-o", "x"], "sql: a file takes the answer to one", id="two queries"),
        pytest.param(["-o", "x"], "sql: a file takes the answer to one query: ", id="no query"),
        pytest.param(["select 1", "-f", "x"], "sql: give a query or a file, not both", id="query and file"),
        pytest.param(["-f", "x"], "x: no such file or directory", id="no such file"),
        pytest.param(["select 1", "--param", "x"], "--param: 'x' is not NAME=VALUE", id="no value"),
        pytest.param(["select 1", "--param", "1x=1"], "--param: '1x=1' is not NAME=VALUE", id="no name"),
        pytest.param(["select $x", "--param", "x=1", "--param", "x=2"], "--param: x is given twice", id="twice"),
        pytest.param(["select $x", "--param", "y=2"], "--param: $y stands in no statement", id="of no use"),
        pytest.param(["select $x"], "query: ", id="none given"),
        pytest.param(["select 1", "--timeout", "0"], "Invalid value for '--timeout'", id="no time"),
    ],
)
def test_what_is_asked_for_wrongly_is_one_line(
    redrive: Redrive, incident: str, arguments: list[str], problem: str
) -> None:
    """Exit code 2, and nothing is written."""
    said = redrive("sql", *arguments)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"redrive: {problem}")
    assert said.err.count("\n") == 1
    assert not Path("x").exists()


@pytest.mark.parametrize(
    "query", ["selec", "select 1; select 2", "", "drop table runs", "select * from 'incident.json'"]
)
def test_what_is_no_question_is_told_in_one_line(redrive: Redrive, incident: str, query: str) -> None:
    """Exit code 2; nothing but the tables is read, and nothing is written."""
    said = redrive("sql", query)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("redrive: query: ")
    assert said.err.count("\n") == 1


def test_a_query_of_other_bytes_than_text_is_one_line(redrive: Redrive, incident: str) -> None:
    """As a shell of another encoding hands it in."""
    assert redrive("sql", "SELECT '\udcff'") == (2, "", "redrive: query: not UTF-8\n")


@pytest.mark.parametrize(("value", "cell"), [("5", 6), ("2.5", 3.5)])
def test_a_parameter_is_a_value_and_never_sql(redrive: Redrive, incident: str, value: str, cell: object) -> None:
    """A number where it is JSON."""
    (row,) = json.loads(redrive("sql", "select $n + 1 as n", "--param", f"n={value}", "--json").out)
    assert row["n"] == cell


@pytest.mark.parametrize("value", ["it's", "1; drop table runs", "a=b", "王芳", ""])
def test_a_parameter_is_text_where_it_is_no_json(redrive: Redrive, incident: str, value: str) -> None:
    """Whatever it looks like."""
    assert json.loads(redrive("sql", "select $t as t", "--param", f"t={value}", "--json").out) == [{"t": value}]


def test_an_answer_that_takes_too_long_is_given_up(redrive: Redrive, incident: str) -> None:
    """In one line; the next one is answered."""
    endless = "select count(*) from range(100000000) a, range(100000) b where a.range % 7 = b.range"
    assert redrive("sql", endless, "--timeout", "0.3") == (2, "", "redrive: query: not done within 0.3 s\n")
    assert redrive("sql", "select 1 as n", "--timeout", "60", "--format", "csv").out == "n\n1\n"


def test_reading_the_log_takes_of_the_same_time(redrive: Redrive, incident: str, folder: Path) -> None:
    """Whoever writes the history keeps the next one waiting no longer than it said; nothing is half-written."""
    kept = beside(folder / "redrive.db")
    with locked(kept):
        said = redrive("sql", "select 1 as n", "--timeout", "0.001")
        assert (said.code, said.out) == (2, "")
        assert re.fullmatch(r"redrive: query: (the log was not read|not done) within 0.001 s.*\n", said.err)
    assert redrive("sql", "select count(*) as n from runs", "--format", "csv").out == "n\n1\n"


def test_only_unsafe_sql_reaches_files(redrive: Redrive, incident: str, folder: Path) -> None:
    """And the log is what it was, even so."""
    (folder / "words.csv").write_text("word\nxyzzy\n")
    query = "select word from 'words.csv'"
    assert redrive("sql", query).code == 2
    assert redrive("sql", query, "--unsafe", "--format", "csv").out == "word\nxyzzy\n"
    assert redrive("sql", "copy runs to 'runs.csv'", "--unsafe").code == 0
    assert incident in (folder / "runs.csv").read_text()
    assert redrive("sql", "create table mine as from runs", "--unsafe").code == 0
    assert redrive("verify").code == 0


def test_a_file_of_statements(redrive: Redrive, incident: str, folder: Path) -> None:
    """Each is answered, as far as the first that cannot be; each takes the parameters that it speaks of."""
    (folder / "q.sql").write_text("-- first; the easy one\nselect $a as a;\nselect $b as b, ';' as semicolon\n")
    said = redrive("sql", "-f", "q.sql", "--param", "a=1", "--param", "b=x", "--format", "jsonl")
    assert said == (0, '{"a":1}\n{"b":"x","semicolon":";"}\n', "")
    (folder / "q.sql").write_text("select 1 as n; selec; select 3 as n;")
    said = redrive("sql", "-f", "q.sql", "--format", "jsonl")
    assert (said.code, said.out, said.err.count("\n")) == (2, '{"n":1}\n', 1)


@pytest.mark.parametrize(("content", "problem"), [(b"-- nothing", "no statement"), (b"\xff", "not UTF-8")])
def test_a_file_with_no_statement_is_one_line(
    redrive: Redrive, incident: str, folder: Path, content: bytes, problem: str
) -> None:
    """That names the file."""
    (folder / "q.sql").write_bytes(content)
    said = redrive("sql", "-f", "q.sql")
    assert said.code == 2
    assert said.err.startswith("redrive: q.sql: ")
    assert problem in said.err


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("select 1", ["select 1"]),
        ("select 1;", ["select 1"]),
        ("select ';' as \"a;b\"; select 2", ["select ';' as \"a;b\"", "select 2"]),
        ("select 'it''s;'; select 2", ["select 'it''s;'", "select 2"]),
        (r"select e'it\'s;'; select 2", [r"select e'it\'s;'", "select 2"]),
        ("-- a; b\nselect 1; /* c; d */", ["-- a; b\nselect 1"]),
        ("select $$a;b$$; select $x$a;$$b$x$", ["select $$a;b$$", "select $x$a;$$b$x$"]),
        ("select $n; select $m", ["select $n", "select $m"]),
        (";;", []),
        ("select 'open; select 2", ["select 'open; select 2"]),
        ("select /* open; select 2", ["select /* open; select 2"]),
        ("select 4 / 2; select 8 - -1;", ["select 4 / 2", "select 8 - -1"]),
    ],
)
def test_statements_end_where_they_end(text: str, found: list[str]) -> None:
    """Not within strings, names, comments or texts between dollars."""
    assert list(statements(text)) == found


def test_what_is_not_ended_waits() -> None:
    """For the lines behind it."""
    assert cut("select 1; select\n") == (["select 1"], " select\n")
    assert cut("select 'a;\n") == ([], "select 'a;\n")


def piped(redrive: Redrive, monkeypatch: pytest.MonkeyPatch, text: str, *options: str) -> Said:
    """What is said when this comes from a pipe."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return redrive("sql", *options)


def test_statements_from_a_pipe(redrive: Redrive, incident: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over several lines, the last one with no semicolon, and nothing of a prompt."""
    said = piped(redrive, monkeypatch, "select 1\n  as n;\n\n-- done\nselect 'x' as t", "--format", "csv")
    assert said == (0, "n\n1\nt\nx\n", "")
    assert piped(redrive, monkeypatch, "") == (0, "", "")


def test_the_first_mistake_from_a_pipe_is_the_end(
    redrive: Redrive, incident: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in any script."""
    code, out, err = piped(redrive, monkeypatch, "select 1 as n; selec; select 3 as n;", "--format", "csv")
    assert (code, out, err.count("\n")) == (2, "n\n1\n", 1)


def test_commands_with_a_dot(redrive: Redrive, incident: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What there is, what is in it, help, and the end."""
    text = ".help\n.tables\n.schema lineage trials pass_hat nope\n.nope\n.quit\nselect 1;"
    code, out, err = piped(redrive, monkeypatch, text)
    assert code == 0
    assert "A statement ends with a semicolon" in out
    assert "view   measures_by_arm" in out
    assert "macro  pass_hat_k(k)" in out
    assert "CREATE TABLE lineage (\n    run_id VARCHAR" in out
    assert "CREATE VIEW trials AS" in out
    assert "CREATE MACRO pass_hat(trials, successes, k) AS" in out
    assert "CREATE TABLE runs" not in out
    assert "CREATE TABLE runs (" in piped(redrive, monkeypatch, ".schema").out
    assert err.splitlines() == [
        "redrive: nope: no such table; .tables lists them",
        "redrive: .nope: no such command; .help lists them",
    ]
    assert "1 row" not in out


# Ctrl-C reaches only a process whose own terminal it is.
OWN_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from redrive.command import main
sys.exit(main(["sql"]))
"""


def test_a_prompt_at_a_terminal(incident: str, folder: Path) -> None:
    """It asks, goes on after a mistake, and remembers what was typed."""
    controller, terminal = os.openpty()
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "TERM": "dumb", "COLUMNS": "80"}
    with subprocess.Popen(
        [sys.executable, "-c", OWN_TERMINAL],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment,
        start_new_session=True,
    ) as process:
        os.close(terminal)
        try:
            said = _typed(controller)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
    with closing(os.fdopen(controller)):
        assert "42" in said
    assert "41 + 1 as n;" in (folder / "state" / "redrive" / "sql_history").read_text()
    assert (folder / "state" / "redrive" / "sql_history").stat().st_mode & 0o077 == 0


def _typed(terminal: int) -> str:
    """What is shown to somebody who asks, makes a mistake, and breaks off a statement."""
    said = ""
    for waits_for, typed in [
        ("redrive> ", "select\n"),
        ("     ... ", "41 + 1 as n;\n"),
        ("(1 row)", "selec;\n"),
        ("Parser Error", "select 1\n"),
        ("     ... ", "\x03"),
        ("redrive> ", ".quit\n"),
    ]:
        said += _until(terminal, waits_for)
        time.sleep(0.3)  # a key that comes before the line is read may go unheard
        os.write(terminal, typed.encode())
    return said


def _until(terminal: int, words: str) -> str:
    """What is shown, up to these words."""
    said = ""
    while words not in said:
        assert select.select([terminal], [], [], 60)[0], f"waited for {words!r} behind {said!r}"
        said += os.read(terminal, 4096).decode()
    return said
