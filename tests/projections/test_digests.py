"""What events say of the state they came from is what the fold comes to, and a difference is named where it begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from redrive_engine.program import Program
from redrive_events import (
    BadInput,
    MemoryLog,
    ModelAsked,
    ModelReplied,
    Quarantined,
    Record,
    RunEnded,
    ToolCalled,
    Usage,
    load_portable,
)
from redrive_projections import Parting, fold, partings, state_at
from tests.random_runs import programs, random_run, tapes
from tests.renew_recordings import FOLDER, records_of

RECORDINGS = sorted(FOLDER.glob("*.jsonl"))
NAME = "write-in-doubt-tried-again"
OTHER = "0" * 64


@settings(max_examples=60, deadline=None)
@given(tapes, programs)
def test_every_digest_of_every_run_is_rebuilt(tape: bytes, program: Program) -> None:
    """Whatever the run came to."""
    assert list(partings(random_run(tape, program))) == []


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_digest_of_a_recording_is_rebuilt(path: Path) -> None:
    """For ever."""
    log, _ = load_portable(path)
    assert list(partings(log.read(path.stem))) == []


def changed(kind: type[Any], **fields: object) -> list[Record]:
    """A recording whose first event of a kind has other fields."""
    records = records_of(NAME)
    place = next(index for index, record in enumerate(records) if type(record.event) is kind)
    event = msgspec.structs.replace(records[place].event, **fields)
    return [*records[:place], msgspec.structs.replace(records[place], event=event), *records[place + 1 :]]


def first(kind: type[Any], records: list[Record]) -> Record:
    """The first record with an event of a kind."""
    return next(record for record in records if type(record.event) is kind)


@pytest.mark.parametrize(
    ("kind", "field"), [(ModelAsked, "state"), (ModelAsked, "request"), (ToolCalled, "digest"), (RunEnded, "state")]
)
def test_another_digest_is_named_with_its_event_and_field(kind: type[Any], field: str) -> None:
    """And with both sides."""
    records = changed(kind, **{field: OTHER})
    here = first(kind, records)
    (found,) = partings(records)
    rebuilt = getattr(first(kind, records_of(NAME)).event, field)
    what = f"its {field} is rebuilt with another digest"
    assert found == Parting(here.position, str(kind.__struct_config__.tag), field, what, OTHER, rebuilt)


CAUSES: list[tuple[Callable[[], list[Record]], tuple[str, str]]] = [
    (lambda: changed(ModelReplied, usage=Usage(input=1)), ("model_asked", "state")),
    (lambda: changed(ModelReplied, content="Something else."), ("model_asked", "request")),
    (lambda: changed(ToolCalled, arguments={"item": "milk"}), ("tool_called", "digest")),
]


@pytest.mark.parametrize(("records", "wanted"), CAUSES, ids=["tokens", "words", "arguments"])
def test_an_event_that_was_changed_shows_in_the_next_digest(
    records: Callable[[], list[Record]], wanted: tuple[str, str]
) -> None:
    """Even where somebody chained the whole run anew."""
    found = next(partings(records()))
    assert (found.kind, found.field) == wanted


def test_nothing_is_claimed_behind_an_event_that_cannot_be_read() -> None:
    """What it did to the state nobody knows."""
    records = records_of(NAME)
    unread = Quarantined(line=b"{}", reason="no more")
    records[4] = msgspec.structs.replace(records[4], event=unread)
    assert list(partings(records)) == [Parting(5, "quarantined", "", "cannot be read: no more")]


def test_the_state_at_any_event_is_what_it_was_then() -> None:
    """A run that goes on changes nothing of what it was."""
    records, log = records_of(NAME), MemoryLog()
    log.append(NAME, records, expected=0)
    for position in range(1, len(records) + 1):
        assert state_at(log, NAME, position) == fold(records[:position])
    for nowhere in (0, -1, len(records) + 1):
        with pytest.raises(BadInput, match=f"it has no event {nowhere}; the last one is {len(records)}"):
            state_at(log, NAME, nowhere)
