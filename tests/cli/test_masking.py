"""A masked run leaves no byte of what it masks, on no way, in no file and in nothing that is said of it."""

from __future__ import annotations

from pathlib import Path

import redrive as rd
from redrive_events import SqliteLog
from redrive_projections import fold
from tests.cli.conftest import Redrive
from tests.masked_story import CANCELLED, RUN, WAYS, Story, address, credential, left_in, said, ways_in

KEY = b"a key of the tests, and no other"
LOG = "redrive.db"
VAULT = f"{LOG}.vault"
ASKED = (
    ("show", RUN),
    ("show", RUN, "--json", "--thoughts"),
    ("show", RUN, "--at", "20"),
    ("show", RUN, "--at", "20", "--json"),
    ("show", RUN, "--request", "3"),
    ("show", RUN, "--request", "3", "--json"),
    ("show", CANCELLED),
    ("runs",),
    ("runs", "--json"),
    ("stats",),
    ("verify",),
    ("approvals", "--json"),
    ("sql", "FROM steps"),
    ("sql", "FROM runs"),
    ("sql", "FROM payloads", "--format", "csv"),
    ("sql", "FROM payloads", "--format", "parquet", "-o", "payloads.parquet"),
    ("export", "--all"),
    ("export", "--all", "-o", "runs.jsonl"),
    ("export", "--all", "-o", "runs.jsonl.zst"),
    ("export", "--all", "--parquet", "tables"),
    ("rebuild",),
)


def lived(redrive: Redrive, mask: rd.Mask | None) -> tuple[Story, set[str]]:
    """The story, with all that can be said of it afterwards, and the ways of which that says something."""
    log = SqliteLog(Path(LOG))
    story = Story(log, mask)
    story.run()
    told: set[str] = set()
    for command in ASKED:
        answer = redrive(*command, *(("--unmasked",) if command[0] == "show" else ()))
        assert answer.code in {0, 1}, (command, answer.err)
        told |= ways_in((answer.out + answer.err).encode())
    return story, told


def test_what_is_masked_is_in_no_byte(redrive: Redrive, folder: Path) -> None:
    """Not in log, vault, history, recording or table, packed or not, nor on the terminal; tools are given all of it."""
    story, told = lived(redrive, rd.Mask(KEY, classes=["email"], vault=rd.FileVault(VAULT)))
    assert left_in(folder) == set()
    assert told == set()
    assert ways_in("".join(story.read).encode()) == set()
    assert story.given == [said("argument"), said("edit")]


def test_where_nothing_is_masked_it_is_everywhere(redrive: Redrive, folder: Path) -> None:
    """So the test above looks where there is something to be seen."""
    story, told = lived(redrive, None)
    assert left_in(folder) == set(WAYS)
    assert set(WAYS) - told == set()
    assert story.given == [said("argument"), said("edit")]
    for kind in ("*.db*", "*.history/*.duckdb", "*.jsonl", "*.zst", "tables/**/*.parquet"):
        others = [path.name for path in folder.rglob("*") if path.is_file() and path not in set(folder.glob(kind))]
        assert {"goal", "result", "words"} <= left_in(folder, *others), kind


def test_show_masks_credentials_of_a_run_that_was_recorded_without_a_mask(redrive: Redrive, folder: Path) -> None:
    """In lines, in JSON, and in what the model was asked; addresses are shown."""
    Story(SqliteLog(Path(LOG)), None).run()
    for command in (command for command in ASKED if command[0] == "show"):
        answer = redrive(*command)
        assert credential("goal")[:8] not in answer.out, command
        assert answer.out.count("[masked]") > 0
    assert address("goal") in redrive("show", RUN).out
    assert credential("goal") in redrive("show", RUN, "--unmasked").out


def test_a_masked_run_replays_without_its_key(folder: Path, redrive: Redrive) -> None:
    """A replay asks no tool, so it needs no value."""
    log = SqliteLog(Path(LOG))
    story = Story(log, rd.Mask(KEY, classes=["email"]))
    story.run()
    bare = Story(log, None).agent(rd.ScriptedModel([]))
    for run_id in (RUN, CANCELLED):
        assert rd.replay(rd.Run(run_id, log, fold(log.read(run_id))), agent=bare).same
