"""What the command says of runs without an end, and of those in which there is nothing to drive."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

import redrive as rd
from redrive_events import ModelReplied, RunStarted, Source
from tests.cli.conftest import Redrive

AGENT = ["--agent", "refund_desk:agent"]


def test_what_nobody_heard_ends_the_report(
    redrive: Redrive, refund: str, folder: Path, snapshot: SnapshotAssertion
) -> None:
    """With no finding where nothing is changed: somebody wanted it to stop, and no worker was there to do so."""
    with closing(rd.SqliteLog("redrive.db")) as whole, closing(rd.SqliteLog("cut.db")) as log:
        records = list(whole.read(refund))
        first = next(at for at, one in enumerate(records) if isinstance(one.event, ModelReplied))
        log.append(refund, [one for one in records if one.position < records[first].position], expected=0)
        rd.cancel(log, refund, by="ana", at=records[first].at)
    said = redrive("whatif", refund, *AGENT, "--log", "cut.db")
    assert said.code == 0
    assert said == snapshot


def test_a_mere_view_is_refused(redrive: Redrive, refund: str, folder: Path) -> None:
    """With what is missing, and the exit code of what cannot be replayed."""
    with closing(rd.SqliteLog("redrive.db")) as whole, closing(rd.SqliteLog("view.db")) as log:
        start = next(iter(whole.read(refund)))
        assert isinstance(start.event, RunStarted)
        source = Source(format="codex", sha256="0" * 64, grade="view-only", missing=("the conversation",))
        log.append(refund, [replace(start, event=replace(start.event, source=source))], expected=0)
    for more in (), ("--json",):
        said = redrive("whatif", refund, "--log", "view.db", *more)
        assert (said.code, said.out) == (3, "")
        assert said.err.strip().endswith("it was imported as view-only: the conversation")
