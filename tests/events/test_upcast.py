"""Events of earlier shapes: stored bytes stay what they are, and are read in today's shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from redrive_events import (
    BadInput,
    CancelRequested,
    Json,
    MemoryLog,
    Portable,
    Quarantined,
    SqliteLog,
    canonical,
    checked,
    codec,
    damage_of,
    decode,
    decode_page,
    encode,
    is_canonical,
    kind_of,
    load_portable,
    parse_json,
    write_portable,
)
from redrive_events.details import EventData
from redrive_events.stores import memory
from redrive_events.upcast import UPCASTERS
from redrive_projections import fold
from tests.records import record

# A vocabulary of another time: first it was wished for by name alone, then it was asked for.
TODAY = CancelRequested(by="ana", reason="enough")
WISHED = b'{"event":"cancel_wished","who":"ana, since enough"}'
ASKED = b'{"event":"cancel_asked","who":"ana","why":"enough"}'


def asked(old: dict[str, Json]) -> dict[str, Json]:
    """From the first shape to the second."""
    who, _, why = old["who"].partition(", since ")
    return {"event": "cancel_asked", "who": who, "why": why}


def requested(old: dict[str, Json]) -> dict[str, Json]:
    """From the second shape to today's."""
    return {"event": "cancel_requested", "by": old["who"], "reason": old["why"]}


@pytest.fixture(autouse=True)
def upcasters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps from both, as they would stand in the registry."""
    monkeypatch.setitem(UPCASTERS, "cancel_wished", asked)
    monkeypatch.setitem(UPCASTERS, "cancel_asked", requested)


def line(event: bytes, position: int = 1) -> bytes:
    """A record's line with another event."""
    return canonical(parse_json(encode(record("run", position))) | {"event": parse_json(event)})


OLD = [line(WISHED), line(ASKED, 2), encode(record("run", 3))]
NEW = [record("run", 1, event=TODAY), record("run", 2, event=TODAY), record("run", 3)]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> MemoryLog:
    """A log that was written at that time."""
    log = MemoryLog()
    with monkeypatch.context() as patch:
        patch.setattr(memory, "spelled", lambda _: OLD)
        log.append("run", NEW, expected=0)
    return log


def test_an_earlier_shape_is_read_in_todays(log: MemoryLog) -> None:
    """Step by step, one at a time or in pages."""
    assert [decode(one) for one in OLD] == decode_page("run", OLD, after=0) == NEW
    assert list(log.read("run")) == [one for _, one in log.read_all()] == NEW
    assert fold(log.read("run")).quarantined == {}


def test_nothing_that_is_stored_is_rewritten(log: MemoryLog) -> None:
    """The chain is that of the bytes of then, and is checked before anything is read."""
    stored = list(checked("run", log.lines("run"), head=log.head("run")))
    assert [one.line for one in stored] == OLD
    assert damage_of(log, log.head("run")) is None
    assert [is_canonical(one, spelled) for one, spelled in zip(NEW, OLD, strict=True)] == [True] * 3
    assert not is_canonical(NEW[0], OLD[0].replace(b'":', b'": '))


def test_what_is_written_now_has_todays_shape(log: MemoryLog) -> None:
    """Behind what is there."""
    log.append("run", [record("run", 4, event=TODAY)], expected=3)
    assert b'"event":"cancel_requested"' in next(log.lines("run", after=3)).line


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_recording_of_that_time_comes_in_as_it_is(log: MemoryLog, tmp_path: Path, *, packed: bool) -> None:
    """Byte for byte, into any store, out again and in again."""
    path = tmp_path / ("run.jsonl.zst" if packed else "run.jsonl")
    with path.open("wb") as file:
        write_portable(log, ["run"], file, compressed=packed)
    loaded, _ = load_portable(path)
    kept = SqliteLog(tmp_path / "log.db")
    for _ in range(2):
        kept.append_all(Portable(path).batches())
    for other in (loaded, kept):
        assert list(other.read("run")) == NEW
        assert list(other.lines("run")) == list(log.lines("run"))
    with (tmp_path / "again").open("wb") as file:
        write_portable(kept, ["run"], file, compressed=packed)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    kept.close()


def spoiled(log: MemoryLog, path: Path) -> Iterator[object]:
    """A recording whose old line has another spelling, though a right chain."""
    loose = MemoryLog()
    loose.keep("run", list(log.lines("run")))
    with path.open("wb") as file:
        write_portable(loose, ["run"], file)
    yield from Portable(path).batches()


def test_an_old_line_in_another_spelling_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Canonical bytes are canonical bytes, of whatever time."""
    log = MemoryLog()
    with monkeypatch.context() as patch:
        patch.setattr(memory, "spelled", lambda _: [OLD[0].replace(b'","who"', b'", "who"')])
        log.append("run", NEW[:1], expected=0)
    assert list(log.read("run")) == NEW[:1]
    with pytest.raises(BadInput, match="not in its canonical spelling"):
        list(spoiled(log, tmp_path / "run.jsonl"))


def fails(error: Exception) -> Callable[[dict[str, Json]], dict[str, Json]]:
    """A step that cannot cope with what it is given."""

    def step(_: dict[str, Json]) -> dict[str, Json]:
        raise error

    return step


@pytest.mark.parametrize("error", [KeyError("who"), TypeError("x"), ValueError("x"), AttributeError("x")], ids=repr)
def test_what_no_step_can_bring_further_is_quarantined(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old event that was damaged, or a step that is wrong: the bytes are kept, and the reason."""
    monkeypatch.setitem(UPCASTERS, "cancel_asked", fails(error))
    event = decode(OLD[0]).event
    assert isinstance(event, Quarantined)
    assert event.line == OLD[0]
    assert event.reason.startswith("event 'cancel_wished' cannot be brought into today's shape: ")


def test_a_step_into_a_shape_that_is_not_todays_is_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes out is held to the vocabulary as anything else is."""
    monkeypatch.setitem(UPCASTERS, "cancel_asked", lambda _: {"event": "cancel_requested", "by": 7})
    event = decode(OLD[1]).event
    assert isinstance(event, Quarantined)
    assert "Expected `str`, got `int` - at `$.event.by`" in event.reason


def test_where_no_old_event_is_nothing_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of today is read as fast as if there had never been another."""
    monkeypatch.setattr(codec, "UPCASTERS", None)
    lines = [encode(one) for one in NEW]
    assert decode_page("run", lines, after=0) == [decode(one) for one in lines] == NEW


class _Noted(EventData, frozen=True, tag="noted.2"):
    """An event in its second shape."""


def test_the_version_of_a_shape_is_no_part_of_its_kind() -> None:
    """A question in SQL outlives the change of an event."""
    assert kind_of(_Noted()) == "noted"  # type: ignore[arg-type]
    assert kind_of(TODAY) == "cancel_requested"
