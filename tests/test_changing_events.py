"""The page on changing an event is followed to the letter, in a copy of the sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_docs import ROOT, blocks
from tests.test_house import packages

PAGE = ROOT / "docs" / "changing-events.md"

LOOK = """
import sys
from redrive_events import Quarantined, damage_of, kind_of, load_portable
from redrive_projections import fold, partings, status, timeline
from redrive_replays import replay_records
from tests.renew_recordings import RECIPES, file_of

name = "cancelled-with-a-write-open"
log, _ = load_portable(file_of(name))
records = list(log.read(name))
print(status(fold(records)))
print(damage_of(log, log.head(name)))
print([(type(one.event).__name__, getattr(one.event, "who", None)) for one in records if "ancel" in kind_of(one.event)])
print([moment.text for moment in timeline(records) if moment.kind == "cancel_requested"])
print(replay_records(name, records, RECIPES[name].program).outcome, list(partings(records)))
"""

KEEP = """
from redrive_events.upcast import UPCASTERS
from tests.renew_recordings import VOCABULARY
from tests.shapes import read, renewed, shapes

before = read(VOCABULARY.read_text())
try:
    now = renewed(before, shapes(), upcasters=UPCASTERS, released=True)
except ValueError as error:
    print(error)
else:
    print(sorted(tag for tag in now if "cancel" in tag), {**now, **before} == now)
"""


class Change(NamedTuple):
    """A step of the page: the file it changes, and what stands there before and after."""

    file: str
    before: str
    after: str


def changes() -> list[Change]:
    """All steps of the page."""
    found = []
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        head, *lines = block.text.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        found.append(Change(head.removeprefix("--- ").strip(), before, after))
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources and the tests, to be changed."""
    without = shutil.ignore_patterns("__pycache__", "__snapshots__")
    for folder in [*packages(), "tests", "examples"]:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=without)
    return tmp_path


def follow(copy: Path, *steps: Change) -> None:
    """Make these changes in the copy; each is found once, as it is shown."""
    for file, before, after in steps:
        text = (copy / file).read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{PAGE.name}: {file} has no such lines"
        (copy / file).write_text(text.replace(before, after), encoding="utf-8")


def said(copy: Path, code: str) -> list[str]:
    """What a program says that runs on the copy."""
    roots = [copy, copy / "examples", *((copy / package).parent for package in packages())]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, roots)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=copy, env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_after_the_steps_an_earlier_log_is_read_as_ever(copy: Path) -> None:
    """Decoded, folded, told and replayed in the new shape, from the bytes of before."""
    before = said(copy, LOOK)
    follow(copy, *changes())
    after = said(copy, LOOK)
    assert (after[:2], after[3:]) == (before[:2], before[3:])
    assert before[1:5] == [
        "None",
        "[('CancelRequested', None)]",
        "['asked for by ana: enough']",
        "same []",
    ]
    assert after[2] == "[('CancelRequested', 'ana')]"
    assert said(copy, KEEP) == ["['cancel_requested', 'cancel_requested.2'] True"]


def test_each_step_left_out_is_noticed(copy: Path) -> None:
    """By the recordings, and by the shapes that are kept."""
    vocabulary, _, *readers = changes()
    in_place = vocabulary._replace(after=vocabulary.after.replace(".2", ""))
    follow(copy, in_place, *readers)
    assert said(copy, KEEP)[0].startswith("cancel_requested: another shape under the same tag")
    assert said(copy, LOOK)[0] == "degraded"
    follow(copy, Change(vocabulary.file, 'tag="cancel_requested"', 'tag="cancel_requested.2"'))
    assert said(copy, KEEP)[0].startswith("cancel_requested: nothing reads it any more")
    assert said(copy, LOOK)[0] == "degraded"
