"""`sql`: an answer as a table, as JSON and as CSV."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Redrive

QUERY = "select 1 as n, 'a,b' as word, null as nothing, 1.5 as half, [1, 2] as list, true as yes"


def test_a_table(redrive: Redrive, incident: str) -> None:
    """Numbers to the right, NULL where there is nothing, and how many rows there are."""
    query = "select tool, count(*) as calls, min(cut_bytes) as cut from tool_calls group by tool order by tool"
    assert redrive("sql", query) == (
        0,
        "tool        calls  cut\nfind_order      1    0\nrefund          1    0\nsend_mail       1    0\n(3 rows)\n",
        "",
    )


def test_json(redrive: Redrive, incident: str) -> None:
    """Objects; numbers that JSON has not are text, and JSON columns are JSON."""
    (row,) = json.loads(redrive("sql", QUERY, "--json").out)
    assert row == {"n": 1, "word": "a,b", "nothing": None, "half": "1.5", "list": [1, 2], "yes": True}
    query = "select arguments, digest as a, digest as a, 'nan'::double as nan, 'x'::blob as bytes from steps limit 1"
    (row,) = json.loads(redrive("sql", query, "--format", "json").out)
    assert row["arguments"] == {"order_id": "ord_5512"}
    assert row["a"] == row["a_1"]
    assert (row["nan"], row["bytes"]) == ("nan", "78")


def test_csv(redrive: Redrive, incident: str) -> None:
    """Quoted where it must be, empty for NULL."""
    said = redrive("sql", QUERY, "--format", "csv")
    assert said.out == 'n,word,nothing,half,list,yes\n1,"a,b",,1.5,"[1,2]",true\n'


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
