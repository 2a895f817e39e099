"""How large a log becomes: with its run and not with its context, and beside the files it was imported from."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

import pytest

import redrive as rd
from redrive_events import SqliteLog
from redrive_replays.traces import import_file
from tests.traces.shared import AT_HAND, SHARED

PAGE_CHARS = 8_000  # about 2,000 tokens: a hundred of them fill a context of 200,000
LARGE = sorted(path for path in SHARED.glob("tau*/**/*.json") if path.is_file() and path.stat().st_size > 500_000)


@rd.tool(effect="read", source="shelf")
def look_up(page: int) -> str:
    """A page of which no packing makes less than half."""
    return "".join(hashlib.sha256(b"%d %d" % (page, line)).hexdigest() for line in range(PAGE_CHARS // 64))


def grown(path: Path, turns: int) -> int:
    """The size of a log with one run, every turn of which looks up a page."""
    script = [rd.reply("Next page.", rd.use("look_up", page=page)) for page in range(turns - 1)]
    contract = rd.Contract(tools={"look_up": {}}, budget=rd.Budget(steps=turns + 1))
    agent = rd.Agent("reader", "1", contract, tools=[look_up], model=rd.ScriptedModel([*script, "That is all."]))
    with closing(SqliteLog(path, durability="os")) as log:
        assert agent.run("Read on.", log=log).status == "finished"
    return path.stat().st_size


def test_a_log_grows_with_the_run_and_not_with_its_context(tmp_path: Path) -> None:
    """A hundred turns that come to 200,000 tokens take less than 5 MB, and twice as much as half of them."""
    half, whole = (grown(tmp_path / f"{turns}.db", turns) for turns in (50, 100))
    assert whole < 5_000_000
    assert whole < 2.1 * half


@AT_HAND
@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.name[:40])
def test_an_import_is_about_as_large_as_its_file(tmp_path: Path, path: Path) -> None:
    """Although it says of every step what was decided, judged and asked, and seals each record."""
    with closing(SqliteLog(tmp_path / "log.db", durability="os")) as log:
        import_file(path, log)
    assert (tmp_path / "log.db").stat().st_size < 1.3 * path.stat().st_size
