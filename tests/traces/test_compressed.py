"""Compressed files: what is inside is read, as far as it goes, and never more than there is room for."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_events import BadInput, MemoryLog
from redrive_replays.traces import import_bytes

PLAIN = (Path(__file__).parent.parent / "fixtures" / "traces" / "codex" / "session.jsonl").read_bytes()
PACKED: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("kind", PACKED)
def test_what_is_inside_is_read(kind: str) -> None:
    """Also of several streams one behind the other."""
    half = PLAIN.index(b"\n", len(PLAIN) // 2) + 1
    for data in (PACKED[kind](PLAIN), PACKED[kind](PLAIN[:half]) + PACKED[kind](PLAIN[half:])):
        report = import_bytes(data, "packed", MemoryLog())
        assert (report.format, report.calls, report.grades, report.diagnostics) == ("codex", 5, {"full": 2}, [])


@pytest.mark.parametrize("kind", PACKED)
@settings(max_examples=30, deadline=None)
@given(at=st.integers(1, 100_000), byte=st.integers(0, 255))
def test_what_is_cut_or_changed_is_told(kind: str, at: int, byte: int) -> None:
    """It is refused, or has a note of what is lost."""
    data = PACKED[kind](PLAIN * 4)
    place = 4 + at % (len(data) - 5)
    for spoilt in (data[:place], data[:place] + bytes([byte]) + data[place + 1 :]):
        log = MemoryLog()
        try:
            report = import_bytes(spoilt, "packed", log)
        except BadInput:
            assert list(log.runs()) == []
            continue
        assert spoilt == data or report.diagnostics or len(spoilt) == len(data)


@pytest.mark.parametrize("kind", PACKED)
def test_a_bomb_is_refused(kind: str) -> None:
    """Before all of it is unpacked."""
    with pytest.raises(BadInput, match="would unpack to more than 67108864 bytes"):
        import_bytes(PACKED[kind](b" " * (80 << 20)), "bomb", MemoryLog())
