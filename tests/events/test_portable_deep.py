"""A portable file whose brackets have no end."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive_events import BadInput, BrokenChain, load_portable


@pytest.mark.parametrize("where", ["header", "record"])
def test_a_file_nested_too_deeply_is_refused(tmp_path: Path, where: str) -> None:
    """It is no reason to crash."""
    deep, zeros = b"[" * 100_000, b"0" * 64
    header = b'{"format":"redrive","version":0,"runs":%b}\n'
    head = b'[{"digest":"%b","position":1,"run_id":"x"}]' % zeros
    line = b'{"d":"%b","r":{"a":%b}}\n' % (zeros, deep)
    (tmp_path / "deep.jsonl").write_bytes(header % deep if where == "header" else header % head + line)
    with pytest.raises((BadInput, BrokenChain)):
        load_portable(tmp_path / "deep.jsonl")
